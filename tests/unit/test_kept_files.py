"""What is kept of files that were found valid, and that no file passes which is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from catmem import resources
from catmem.config.json_schema import check_file, tag_faults
from catmem.config.yamlfile import YamlFile, parse_yaml


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_CACHE", tmp_path / "cache" / "known")
    return tmp_path / "cache" / "known"


def test_a_valid_file_is_known_afterwards_and_another_is_not(folder):
    assert check_file(YamlFile({"tier": 1}, {}, "a.yaml"), "profile") == {"tier": 1}
    digest = resources.digest_of({"tier": 1}, schema := "text of a schema")
    assert len(list(folder.iterdir())) == 1
    assert resources.recall(digest) is None
    resources.remember(digest)
    assert resources.recall(digest) == ""
    assert resources.recall(resources.digest_of({"tier": 2}, schema)) is None
    assert resources.recall(resources.digest_of({"tier": 1}, "another schema")) is None


def test_what_is_kept_does_not_grow_for_ever(folder, monkeypatch):
    monkeypatch.setattr(resources, "_MOST_KEPT", 3)
    for digest in ("001", "11", "12", "13", "002", "14"):
        resources.remember(digest)
    assert sorted(path.name for path in folder.iterdir()) == ["002", "14"]


def test_nothing_of_a_memory_file_is_kept(folder):
    declared = {"pin": {"type": "string", "maxLength": 4}}
    assert tag_faults({"pin": "4711", "note": "x", "domain": ["a", "b"], "source": "a call"}, declared) == []
    assert tag_faults({"domain": ["A b"]}) != []
    assert not folder.exists()


TEXT = """\
tier: 1
names: [a, "no", no, 1.5, ~, {deep: [true]}]
"":
"""


def test_a_file_says_the_same_again_without_being_parsed(folder, monkeypatch):
    text = TEXT.replace('"":\n', "")
    first = parse_yaml(text, "a.yaml")
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o077 == folder.stat().st_mode & 0o077 == 0
    monkeypatch.setattr("catmem.config.yamlfile._parsed", None)
    assert parse_yaml(text.encode(), "b.yaml")[:2] == first[:2]
    assert parse_yaml(text, "a.yaml") == first
    assert first.data["names"] == ["a", "no", "no", 1.5, None, {"deep": [True]}]


@pytest.mark.parametrize("kept", ["", "[", "null", "{}", "[]", '[1, "x"]', "\udc80"])
def test_a_kept_file_that_was_damaged_is_parsed_again(folder, kept):
    first = parse_yaml("tier: 1\n", "a.yaml")
    (file,) = folder.iterdir()
    file.write_text(kept, errors="surrogateescape")
    assert parse_yaml("tier: 1\n", "a.yaml") == first
    assert parse_yaml("tier: 1\n", "a.yaml") == first


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_what_others_may_write_says_nothing(folder, mode):
    folder.mkdir(parents=True)
    folder.chmod(mode)
    resources.remember("digest", "text")
    assert list(folder.iterdir()) == []
    (folder / "digest").write_text("[1]")
    assert resources.recall("digest") is None


def test_a_folder_behind_a_link_and_one_that_depends_on_the_place_say_nothing(folder, tmp_path, monkeypatch):
    resources.remember("digest", "text")
    assert resources.recall("digest") == "text"
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder.parent)
    for other in (tmp_path / "link", Path("known"), Path("~/.cache")):
        monkeypatch.setattr(resources, "_CACHE", other)
        assert resources.recall("digest") is None
        resources.remember("other", "text")
    assert [each.name for each in folder.iterdir()] == ["digest"]


def test_an_account_without_a_home_folder_has_none(tmp_path):
    lookup = "import os; os.path.expanduser = lambda path: path"
    code = f"{lookup}; import catmem.resources as known; print(known._CACHE.is_absolute(), known.recall('a'))"
    environment = {name: value for name, value in os.environ.items() if name not in {"XDG_CACHE_HOME", "HOME"}}
    environment["PYTHONPATH"] = str(Path(resources.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "False None\n", done.stderr
