"""``catmem hermes`` and ``catmem init --from-hermes`` as a person calls them."""

import json
import signal
import sys
import venv

import pytest

from tests.commands import KILLED_BY_THE_LIMIT, limited
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.together import together
from tests.unit.hermes.homes import CONFIG, make_homes, snapshot


@pytest.fixture
def hermes(tmp_path, monkeypatch):
    """A home of Hermes Agent in ``~/.hermes`` with one named profile; the working folder is above it.

    Its program, ``hermes``, is not on the PATH.
    """
    make_homes(tmp_path / ".hermes", "coder")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HERMES_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".hermes"


@pytest.fixture
def rooted(hermes):
    run("init", "--from-hermes")
    return hermes


def test_a_dry_run_names_the_files_and_writes_none(hermes):
    before = snapshot(hermes)
    said = run("init", "--from-hermes", "--dry-run").stdout
    assert snapshot(hermes) == before
    assert said == run("init", "--from-hermes").stdout.partition("\nNext:\n")[0].replace("wrote ", "would write ")


def test_a_kill_leaves_no_half_of_a_file_and_running_it_again_goes_on(hermes):
    assert limited(60, "-c", KILLED_BY_THE_LIMIT, "init", "--from-hermes").returncode == -signal.SIGXFSZ
    assert not (hermes / "catmem.yaml").exists()
    assert "wrote .hermes/catmem.yaml\n" in run("init", "--from-hermes").stdout
    assert not list(hermes.rglob(".*.new"))


def test_the_next_commands_are_for_the_home_that_was_named(hermes, tmp_path, monkeypatch):
    made = run("init", "--from-hermes", hermes.rename(tmp_path / "elsewhere")).stdout
    *_, narrow, sort, sync, install = [line.strip() for line in made.splitlines()]
    assert narrow.startswith("catmem init --profile coder    # ")
    assert (sort, sync) == ("catmem sort -p default", "catmem seed default --all")
    assert install == "catmem hermes install --home . --all --dry-run"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "write profiles/coder/catmem.json\n" in run("hermes", "install", "--home", ".", "--all", "--dry-run").stdout


def test_a_specialist_of_a_root_over_hermes_is_seeded_from_its_own_first_profile(rooted, monkeypatch):
    put(rooted / "memories" / "USER.md", "Invoices are paid within 14 days.\n§\nVAT is filed by the tenth.\n")
    monkeypatch.chdir(rooted)
    made = run("init", "--profile", "finance").stdout
    assert "  $EDITOR catmem-profiles/finance.yaml  " in made
    assert "2 entries without a category in default/user" in made
    for step in ("sort -p default --unsure", "seed --all", "lint"):
        run(*step.split())
    assert "- Invoices are paid within 14 days." in run("prompt", "finance").stdout
    assert not (rooted / "catmem-profiles" / "orchestrator.yaml").exists()


def test_a_profile_of_hermes_agent_that_sees_all_gets_the_categories_of_its_kind(rooted, monkeypatch):
    put(rooted / "memories" / "USER.md", "Uses tabs in Python code, and pytest.\n§\nInvoices are due on the 15th.\n")
    profile = rooted / "catmem-profiles" / "coder.yaml"
    monkeypatch.chdir(rooted)
    before = snapshot(rooted)
    assert "would write ./catmem-profiles/coder.yaml\n" in run("init", "--profile", "coder", "--dry-run").stdout
    assert snapshot(rooted) == before
    made = run("init", "--profile", "coder", "--profile", "finance")
    assert "wrote ./catmem-profiles/coder.yaml\n" in made.stdout
    assert any(line.split() == ["code-style", "coder*"] for line in made.stdout.splitlines())
    assert "catmem sort -p coder" in made.stderr
    text = profile.read_text(encoding="utf-8")
    assert "\nseed_from: default " in text
    assert "\nwritable_categories: [code-style, " in text
    assert "include_uncategorized: true" not in text
    run("sort", "-p", "default", "--unsure")
    run("seed", "default", "--all")
    prompt = run("prompt", "coder").stdout
    assert "Uses tabs" in prompt
    assert "Invoices" not in prompt


def test_a_profile_of_hermes_agent_that_a_person_changed_and_the_default_one_stay(rooted, monkeypatch):
    monkeypatch.chdir(rooted)
    put(rooted / "catmem-profiles" / "coder.yaml", "user_memory_categories: [talk]\n")
    before = snapshot(rooted)
    for name in ("coder", "default"):
        assert "error[would_overwrite]" in run("init", "--profile", name, status=2).stderr
    assert snapshot(rooted) == before


def test_what_would_change_is_shown_first_and_nothing_is_written_unasked(rooted):
    before = snapshot(rooted)
    dry = run("hermes", "install", "--all", "--dry-run")
    assert "+  memory_enabled: false\n" in dry.stdout
    assert "-  provider: ''\n+  provider: catmem\n" in dry.stdout
    assert "write .hermes/profiles/coder/catmem.json\n" in dry.stdout
    unasked = run("hermes", "install", "--all", status=2)
    assert unasked.stdout == dry.stdout
    assert "Give --yes to do it." in unasked.stderr
    assert snapshot(rooted) == before


def test_it_is_on_where_the_python_of_hermes_can_load_it_and_else_a_problem(rooted, tmp_path):
    run("hermes", "install", "--yes")
    program = put(tmp_path / "bin" / "hermes", f"#!{sys.executable}\n")
    program.chmod(0o755)
    assert run("hermes", "status").stdout.splitlines()[1].split()[:2] == ["default", "on"]
    venv.create(tmp_path / "env", symlinks=True)
    put(program, f"#!{tmp_path}/env/bin/python\n")
    done = run("hermes", "status", status=1)
    assert "cannot be loaded" in done.stdout
    assert f"{tmp_path}/env/bin/python -m pip install " in done.stderr


def test_a_broken_profile_of_hermes_does_not_block_the_others(hermes):
    (hermes / "profiles" / "aide" / "memories").mkdir(parents=True)
    config = hermes / "profiles" / "aide" / "config.yaml"
    put(config, "memory: [")
    done = run("init", "--from-hermes", status=2)
    assert "wrote .hermes/catmem-profiles/coder.yaml\n" in done.stdout
    assert "aide: skipped" in done.stderr
    assert "error[hermes_config]" in done.stderr
    assert not (hermes / "catmem-profiles" / "aide.yaml").exists()
    assert json.loads(run("init", "--from-hermes", "--format", "json", status=2).stdout)["skipped"] == ["aide"]
    put(config, CONFIG)
    assert "wrote .hermes/catmem-profiles/aide.yaml\n" in run("init", "--from-hermes").stdout


def test_a_root_elsewhere_and_a_profile_of_another_name(hermes, tmp_path):
    run("init", "--example", "demo")
    said = run("hermes", "install", "-p", "coder", "--root", "demo", "--yes", status=2).stderr
    assert "--profile coder --as NAME" in said
    run("hermes", "install", "-p", "coder", "--root", "demo", "--as", "neo", "--yes")
    settings = json.loads((hermes / "profiles" / "coder" / "catmem.json").read_text(encoding="utf-8"))
    assert settings == {"version": 1, "for": "coder", "root": str(tmp_path / "demo"), "profile": "neo"}


def test_a_copied_home_does_not_go_on_with_the_memory_of_another(rooted):
    run("hermes", "install", "--yes")
    aide = rooted / "profiles" / "aide"
    (aide / "memories").mkdir(parents=True)
    for name, data in snapshot(rooted).items():
        if not name.startswith("profiles"):
            put(aide / name, data)
    run("init", "--from-hermes")
    (row,) = json.loads(run("hermes", "status", "-p", "aide", "--format", "json", status=1).stdout)["homes"]
    assert "these settings are those of 'default'" in row["problems"][0]
    run("hermes", "install", "-p", "aide", "--yes")
    (row,) = json.loads(run("hermes", "status", "-p", "aide", "--format", "json").stdout)["homes"]
    assert (row["profile"], row["problems"]) == ("aide", [])


WRONG = {
    "a root over it and the example": (
        ["init", "--from-hermes", "--example"],
        "--from-hermes does not go with --example",
    ),
    "a root over it and git": (["init", "--from-hermes", "--git"], "--from-hermes does not go with --git"),
    "no home at all": (["hermes", "status", "--home", "elsewhere"], "error[not_hermes]"),
    "one and all": (["hermes", "install", "-p", "coder", "--all"], "--all does not go with --profile"),
    "all under one name": (["hermes", "install", "--all", "--as", "neo"], "--all does not go with --as"),
    "nothing to uninstall": (["hermes", "uninstall"], "error[hermes_not_installed]"),
    "no root": (["hermes", "install", "--root", "elsewhere"], "error[no_root]"),
}


@together(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_input_changes_nothing_and_says_what_to_do(rooted, tmp_path, arguments, said):
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    before = snapshot(tmp_path)
    assert said in run(*arguments, status=2).stderr
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("config", "code"),
    [(None, "hermes_no_config"), ("memory: [", "hermes_config"), ("memory: {provider: mem0}\n", "hermes_by_hand")],
)
def test_a_home_that_is_not_understood_stops_all_of_them(rooted, config, code):
    path = rooted / "profiles" / "coder" / "config.yaml"
    path.unlink()
    if config is not None:
        put(path, config)
    before = snapshot(rooted)
    assert f"error[{code}]" in run("hermes", "install", "--all", "--yes", status=2).stderr
    assert snapshot(rooted) == before
