"""Profiles: the cases of tests/conformance/profiles/, and what needs a file system."""

import json
from pathlib import Path

import pytest

from catmem.config import profile as profile_module
from catmem.config.config import Config, load_config
from catmem.config.profile import (
    Profile,
    check_profile,
    find_profile,
    load_profile,
    memory_dir,
    profile_names,
    where_set,
)
from catmem.digest import canonical_json
from catmem.errors import CatmemError, ConfigError, UnknownNameError, UnreadableError
from catmem.jsonable import jsonable
from tests.together import together

CASES = Path(__file__).parents[2] / "conformance" / "profiles"
GOOD = sorted(path.name for path in (CASES / "good").iterdir())
BAD = sorted(path.name for path in (CASES / "bad").iterdir())


def load_case(folder, load):
    config = load_config(folder) if (folder / "catmem.yaml").exists() else None
    if load == "catmem.yaml":
        return config
    profile = load_profile(folder / load, config=config)
    if config is not None:
        check_profile(profile, config)
        memory_dir(profile, config)
    return profile


@together("name", GOOD)
def test_good_case(name):
    expected = json.loads((CASES / "good" / name / "expected.json").read_text(encoding="utf-8"))
    profile = load_case(CASES / "good" / name, expected["load"])
    canonical = profile.canonical()
    assert {key: canonical[key] for key in expected["profile"]} == expected["profile"]
    for target, categories in expected.get("selects", {}).items():
        assert [one for one in categories if not profile.selectors(target).matches(one)] == []
    for target, categories in expected.get("leaves", {}).items():
        assert [one for one in categories if profile.selectors(target).matches(one)] == []


@together("name", BAD)
def test_bad_case(name):
    folder = CASES / "bad" / name
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    with pytest.raises(CatmemError) as caught:
        load_case(folder, expected["load"])
    found = jsonable(caught.value)
    found["file"] = Path(found["path"]).relative_to(folder).as_posix()
    assert {key: found.get(key) for key in expected["error"]} == expected["error"]
    assert ("key" in found) == ("key" in expected["error"])
    assert (expected["hint"] or "") in found["hint"]


def test_every_case_says_what_is_expected():
    cases = [path for kind in ("good", "bad") for path in (CASES / kind).iterdir()]
    assert [path for path in cases if not (path / "expected.json").is_file()] == []


@pytest.fixture
def write(tmp_path):
    """Writes files below the temporary folder, by their path."""

    def write_files(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write_files


# --- the shipped profiles ---


# --- settings ---


def test_equal_roles_have_equal_canonical_forms(write):
    root = write(
        {
            "one/neo.yaml": "tier: 2\nuser_memory_categories: [a]\nlimits: {user: 1, memory: 2}\n",
            "two/neo.yaml": "extends: base\nlimits: {memory: 2, user: 1}\n",
            "two/base.yaml": "user_memory_categories: [a]\n",
            "three/neo.yaml": "user_memory_categories: [a, b]\nlimits: {memory: 2, user: 1}\n",
        }
    )
    one, two, three = (canonical_json(load_profile(root / n / "neo.yaml").canonical()) for n in ("one", "two", "three"))
    assert one == two
    assert one != three
    keys = list(load_profile(root / "one/neo.yaml").canonical())
    assert keys == sorted(keys)
    assert str(root) not in one.decode()


def test_places_name_the_file_that_says_it(write):
    root = write(
        {
            "neo.yaml": "extends: base\nuser_memory_categories:\n  - x\nprompt:\n  order: file\n",
            "base.yaml": "user_memory_categories: [a, b]\nmemory_categories:\n  - m\nprompt: {style: xml}\n",
        }
    )
    neo, own, parent = load_profile(root / "neo.yaml"), root / "neo.yaml", str(root / "base.yaml")
    asked = {
        ("user_memory_categories", 0): {"path": str(own), "line": 3, "column": 5, "key": "user_memory_categories[0]"},
        ("user_memory_categories", 1): {"path": own, "key": "user_memory_categories[1]"},
        ("memory_categories", 0): {"path": parent, "line": 3, "column": 5, "key": "memory_categories[0]"},
        ("prompt", "style"): {"path": parent, "line": 4, "column": 10, "key": "prompt.style"},
        ("prompt", "order"): {"path": str(own), "line": 5, "column": 3, "key": "prompt.order"},
    }
    assert {key: where_set(neo, *key) for key in asked} == asked


# --- finding ---


def test_the_names_of_all_files(write):
    root = write({"b.yaml": "{}", "a.yml": "extends: b\n", ".hidden.yaml": "nonsense: [", "notes.txt": "x"})
    assert profile_names(root) == ["a", "b"]


def test_a_folder_that_is_a_file_is_an_error(write):
    root = write({"profiles": ""})
    with pytest.raises(UnreadableError):
        profile_names(root / "profiles")


def test_no_path_is_made_of_a_bad_name(write, monkeypatch):
    config = Config(write({"profiles/neo.yaml": "{}", "secret.yaml": "tier: 1\n"}))
    monkeypatch.setattr("catmem.config.profile._file_of", None)  # calling it would raise TypeError
    for name in ("../secret", "", ".", "Neo", "neo\n", "neo/../neo", "/etc/passwd", "neo.yaml"):
        with pytest.raises(UnknownNameError):
            find_profile(config, name)


# --- the memory folder ---


def test_the_memory_folder_may_be_named(tmp_path):
    config = Config(tmp_path)
    root = tmp_path.resolve()
    assert memory_dir(Profile("neo"), config) == root / "homes" / "neo"
    assert memory_dir(Profile("neo", memory_dir="a/b"), config) == root / "a" / "b"
    assert memory_dir(Profile("neo", memory_dir="a/../b"), config) == root / "b"
    assert memory_dir(Profile("neo", memory_dir="."), config) == root
    assert memory_dir(Profile("neo", memory_dir=str(tmp_path / "c")), config) == root / "c"


def test_a_memory_folder_outside_the_root_needs_leave(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "root").mkdir()
    config = Config(tmp_path / "root")
    for folder in ("..", "../x", "a/../../x", "/", "/etc", "~", "~/x", "../rootling"):
        with pytest.raises(ConfigError) as caught:
            memory_dir(Profile("neo", memory_dir=folder), config)
        assert caught.value.code == "outside_root"
        assert memory_dir(Profile("neo", memory_dir=folder, allow_outside=True), config).is_absolute()


@together("profile", [Profile("neo"), Profile("neo", memory_dir="homes/neo")])
def test_a_link_does_not_lead_out_of_the_root(tmp_path, profile):
    if not (tmp_path / "root").exists():
        (tmp_path / "root" / "homes").mkdir(parents=True)
        (tmp_path / "root" / "homes" / "neo").symlink_to(tmp_path)
    config = Config(tmp_path / "root")
    with pytest.raises(ConfigError) as caught:
        memory_dir(profile, config)
    assert caught.value.code == "outside_root"


def test_a_link_inside_the_root_is_followed(tmp_path):
    (tmp_path / "homes").mkdir()
    (tmp_path / "homes" / "neo").symlink_to(tmp_path / "elsewhere")
    assert memory_dir(Profile("neo"), Config(tmp_path)) == tmp_path.resolve() / "elsewhere"


def test_homes_that_plainly_lead_outside_are_the_owners_word(tmp_path):
    (tmp_path / "root").mkdir()
    config = Config(tmp_path / "root", homes=str(tmp_path / "people" / "{name}" / "memories"))
    assert memory_dir(Profile("neo"), config) == tmp_path.resolve() / "people" / "neo" / "memories"
    with pytest.raises(ConfigError):
        memory_dir(Profile("neo", memory_dir="../people/neo"), config)


def test_a_root_behind_a_link_is_still_a_root(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert memory_dir(Profile("neo"), Config(tmp_path / "link")) == tmp_path.resolve() / "real" / "homes" / "neo"


def test_leave_is_not_inherited(write):
    root = write({"neo.yaml": "extends: base\nmemory_dir: /etc\n", "base.yaml": "allow_outside: true\n"})
    with pytest.raises(ConfigError) as caught:
        memory_dir(load_profile(root / "neo.yaml"), Config(root))
    assert (caught.value.path, caught.value.line) == (str(root / "neo.yaml"), 2)


# --- long chains ---


def chain(length):
    return {
        f"p{number:03}.yaml": f"extends: p{number + 1:03}\n" if number < length - 1 else "{}"
        for number in range(length)
    }


def test_a_longer_chain_is_an_error_with_its_place(write):
    root = write(chain(9))
    with pytest.raises(ConfigError) as caught:
        load_profile(root / "p000.yaml")
    error = jsonable(caught.value)
    place = error["code"], error["path"], error["line"], error["key"]
    assert place == ("schema", str(root / "p007.yaml"), 1, "extends")
    assert "8" in error["message"]
    assert error["hint"]
    assert load_profile(root / "p001.yaml").name == "p001"


def test_a_long_chain_reads_no_more_files_than_it_may_have(write, monkeypatch):
    root = write(chain(300) | {"p299.yaml": "extends: p000\n"})  # and it is a circle
    read = []
    real = profile_module.read_bounded  # type: ignore[attr-defined]
    monkeypatch.setattr(profile_module, "read_bounded", lambda path, limit: read.append(path) or real(path, limit))
    with pytest.raises(ConfigError) as caught:
        load_profile(root / "p000.yaml")
    assert (len(read), caught.value.code) == (8, "schema")


@together("name", ["person", "external"])
def test_no_profile_is_called_like_somebody_who_has_none(tmp_path, name):
    (tmp_path / f"{name}.yaml").write_text("tier: 1\n")
    with pytest.raises(ConfigError) as caught:
        load_profile(tmp_path / f"{name}.yaml")
    assert caught.value.code == "bad_name"
    (tmp_path / f"{name}.yaml").unlink()


def test_a_profile_is_as_its_files_and_the_configuration_are_now(tmp_path):
    parent, own = tmp_path / "profiles" / "base.yaml", tmp_path / "profiles" / "neo.yaml"
    parent.parent.mkdir()
    parent.write_text("tier: 2\n", encoding="utf-8")
    own.write_text("extends: base\n", encoding="utf-8")
    config = load_config(tmp_path)
    assert find_profile(config, "neo").tier == 2
    parent.write_text("tier: 3\n", encoding="utf-8")
    assert find_profile(config, "neo").tier == 3
    own.write_text("tier: 2\n", encoding="utf-8")
    assert find_profile(config, "neo").tier == 2
    (tmp_path / "catmem.yaml").write_text("limits: {user: 900}\n", encoding="utf-8")
    assert find_profile(load_config(tmp_path), "neo").limits == {"user": 900}
    assert find_profile(config, "neo").limits == {}
