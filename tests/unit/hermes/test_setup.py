"""The provider is put into a home and taken out again, and every byte of the home is as it was."""

import os

import pytest

from catmem.errors import CatmemError
from catmem.model.document import parse
from catmem.model.layout import formatted
from catmem.plugins.hermes.homes import HermesSettings, make_root_over, read_config, read_settings, write_settings
from catmem.plugins.hermes.operations import apply_step, installed, plan_install, plan_uninstall, statuses
from tests.golden.case import put
from tests.unit.hermes.homes import CONFIG, make_homes, snapshot


@pytest.fixture
def homes(tmp_path):
    return make_homes(tmp_path / "hermes", "coder")


@pytest.fixture
def home(homes):
    return homes["coder"]


def settings(home):
    return HermesSettings(home.root, home.name)


def install(home):
    apply_step(plan_install(home, settings(home)))


def let_hermes_show_its_user_file(home):
    said = home.config.read_text(encoding="utf-8")
    put(home.config, said.replace("user_profile_enabled: false", "user_profile_enabled: true"))


def test_uninstalling_gives_every_byte_back(home):
    put(home.path / "catmem.json", '{"version": 1, "root": ".", "profile": "old"}')
    put(home.path / "plugins" / "other" / "__init__.py", "")
    before = snapshot(home.path)
    install(home)
    put(home.path / "plugins" / "catmem" / "__pycache__" / "__init__.cpython-311.pyc", "")
    apply_step(plan_uninstall(home))
    assert snapshot(home.path) == before
    assert not (home.path / "plugins" / "catmem").exists()


def test_what_somebody_changed_in_the_configuration_since_stays(home):
    install(home)
    text = home.config.read_text(encoding="utf-8").replace("model: small", "model: large   # better")
    put(home.config, text)
    install(home)
    step = plan_uninstall(home)
    apply_step(step)
    assert step.notes
    usual = "memory:\n  memory_enabled: true\n  user_profile_enabled: true\n"
    assert home.config.read_text(encoding="utf-8") == text.replace(
        "memory:\n  memory_enabled: false\n  user_profile_enabled: false\n", usual
    ).replace("provider: catmem", "provider: ''")
    assert not installed(home)


def test_a_key_that_somebody_set_since_stays(home):
    put(home.config, CONFIG.replace("provider: ''", "provider: mem0"))
    install(home)
    put(home.config, home.config.read_text(encoding="utf-8").replace("memory_enabled: false", "memory_enabled: 7"))
    apply_step(plan_uninstall(home))
    assert read_config(home).memory == {
        "memory_enabled": 7,
        "user_profile_enabled": True,
        "user_char_limit": 1375,
        "provider": "mem0",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [("Tea.", "USER.md in "), ("\n", None)],
)
def test_what_becomes_of_hermes_own_files_is_said_where_catmem_reads_others(home, tmp_path, text, said):
    put(home.memories / "USER.md", text)
    notes = plan_install(home, settings(home), tmp_path / "elsewhere").notes
    assert [said in note for note in notes] == ([] if said is None else [True])
    assert plan_install(home, settings(home), home.memories).notes == ()


def test_a_plugin_of_that_name_by_somebody_else_is_left_alone(home):
    put(home.path / "plugins" / "catmem" / "__init__.py", "mine = 1\n")
    with pytest.raises(CatmemError) as caught:
        plan_install(home, settings(home))
    assert caught.value.code == "hermes_in_the_way"
    with pytest.raises(CatmemError) as caught:
        plan_uninstall(home)
    assert caught.value.code == "hermes_not_installed"


def test_a_file_by_somebody_else_in_the_folder_of_the_plugin_is_left_alone(home):
    path = home.path / "plugins" / "catmem" / "plugin.yaml"
    put(path, "name: mine\n")
    with pytest.raises(CatmemError) as caught:
        plan_install(home, settings(home))
    assert (caught.value.code, caught.value.path) == ("hermes_in_the_way", str(path))
    path.unlink()
    install(home)
    put(path, "name: mine\n")
    for plan in (plan_uninstall, lambda home: plan_install(home, settings(home))):
        with pytest.raises(CatmemError) as caught:
            plan(home)
        assert (caught.value.code, caught.value.path) == ("hermes_in_the_way", str(path))


@pytest.mark.parametrize("gone", ["config.yaml.before", "plugin.yaml", "__init__.py"])
def test_an_install_that_broke_off_is_taken_up_again(home, gone):
    install(home)
    put(home.config, CONFIG)
    (home.path / "plugins" / "catmem" / gone).unlink()
    install(home)
    apply_step(plan_uninstall(home))
    assert home.config.read_text(encoding="utf-8") == CONFIG


def test_settings_that_are_a_link_are_neither_written_through_nor_replaced(home, tmp_path):
    path, mine = home.path / "catmem.json", tmp_path / "mine.json"
    put(mine, '{"version": 1, "root": ".", "profile": "old"}')
    path.symlink_to(mine)
    before = snapshot(tmp_path)
    for write in (install, lambda home: write_settings(home, settings(home))):
        with pytest.raises(CatmemError) as caught:
            write(home)
        assert (caught.value.code, caught.value.path) == ("symlink", str(path))
    assert path.is_symlink()
    assert snapshot(tmp_path) == before
    path.unlink()
    install(home)
    path.unlink()
    path.symlink_to(mine)
    with pytest.raises(CatmemError) as caught:
        plan_uninstall(home)
    assert caught.value.code == "symlink"


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED: root may write everywhere")
def test_a_home_that_may_not_be_written_says_so(home):
    home.path.chmod(0o500)
    try:
        with pytest.raises(CatmemError) as caught:
            install(home)
    finally:
        home.path.chmod(0o700)
    assert caught.value.code == "not_writable"
    assert home.config.read_text(encoding="utf-8") == CONFIG


def test_a_configuration_that_is_read_only_is_left_and_catmem_is_not_on(home):
    home.config.chmod(0o400)
    with pytest.raises(CatmemError) as caught:
        install(home)
    assert caught.value.code == "not_writable"
    assert read_config(home).text == CONFIG
    assert not statuses([home])[0].active
    home.config.chmod(0o600)
    install(home)
    apply_step(plan_uninstall(home))
    assert home.config.read_text(encoding="utf-8") == CONFIG


def test_a_change_between_the_plan_and_the_write_is_kept(home):
    step = plan_install(home, settings(home))
    put(home.config, "model: other\n")
    with pytest.raises(CatmemError) as caught:
        apply_step(step)
    assert (caught.value.code, caught.value.exit_status) == ("changed_meanwhile", 3)
    assert home.config.read_text(encoding="utf-8") == "model: other\n"


# --- status ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "is_hidden"), [("## A\nSeen.\n", False), ("## A\nSeen.\n## B\nHidden.\n", True)])
def test_the_status_says_when_hermes_shows_what_is_hidden_from_the_profile(homes, text, is_hidden):
    make_root_over(homes["default"])
    put(homes["default"].path / "catmem-profiles" / "coder.yaml", "user_memory_categories: [a]\n")
    put(homes["coder"].memories / "USER.md", text)
    install(homes["coder"])
    let_hermes_show_its_user_file(homes["coder"])
    (status,) = statuses([homes["coder"]])
    assert status.shown_by_hermes == ("user",)
    hidden, layout = "hidden from it" in str(status.problems), "fmt --layout shared" in str(status.problems)
    assert (hidden, layout) == (is_hidden, True)
    put(homes["coder"].memories / "USER.md", formatted(parse(text), "shared"))
    assert bool(statuses([homes["coder"]])[0].problems) is is_hidden


WRONG = {
    "the root is gone": lambda home: put(home.path / "catmem.json", '{"version": 1, "root": "/nowhere", "profile": "coder"}'),
    "the profile is gone": lambda home: (home.root / "catmem-profiles" / "coder.yaml").unlink(),
    "the settings are broken": lambda home: put(home.path / "catmem.json", "{"),
    "the memory is not UTF-8": lambda home: (home.memories / "USER.md").write_bytes(b"\xff"),
    "the plugin is gone": lambda home: (home.path / "plugins" / "catmem" / "__init__.py").unlink(),
    "the configuration is broken": lambda home: put(home.config, "memory: ["),
}  # fmt: skip


@pytest.mark.parametrize("spoil", WRONG.values(), ids=list(WRONG))
def test_the_status_says_what_is_wrong(homes, spoil):
    make_root_over(homes["default"])
    install(homes["coder"])
    spoil(homes["coder"])
    (status,) = statuses([homes["coder"]])
    assert len(status.problems) == 1


# --- settings and root -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"version": 2, "root": ".", "profile": "neo"}',
        '{"version": 1, "root": "", "profile": "neo"}',
        '{"version": 1, "root": ".", "profile": "../neo"}',
        '{"version": 1, "root": ".", "profile": "neo", "rot": 1}',
        "\xff",
    ],
)
def test_settings_that_are_not_right_are_refused(home, text):
    (home.path / "catmem.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(CatmemError) as caught:
        read_settings(home)
    assert caught.value.code == "hermes_settings"
