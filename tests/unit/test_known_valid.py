"""What is kept of files that were found valid, and that no file passes which is not."""

from __future__ import annotations

import pytest

from catmem import known_valid
from catmem.config.json_schema import tag_faults, validate


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(known_valid, "_FOLDER", tmp_path / "cache" / "valid")
    return tmp_path / "cache" / "valid"


def test_a_valid_file_is_known_afterwards_and_another_is_not(folder):
    assert validate({"tier": 1}, "profile", path="a.yaml") == []
    digest = known_valid.digest_of({"tier": 1}, schema := "text of a schema")
    assert len(list(folder.iterdir())) == 1
    assert not known_valid.is_known(digest)
    known_valid.remember(digest)
    assert known_valid.is_known(digest)
    assert not known_valid.is_known(known_valid.digest_of({"tier": 2}, schema))
    assert not known_valid.is_known(known_valid.digest_of({"tier": 1}, "another schema"))


def test_what_is_not_valid_is_never_known(folder):
    for _ in range(2):
        assert validate({"tier": "one"}, "profile", path="a.yaml") != []
    assert not folder.exists()


def test_keys_in_another_order_and_values_of_another_kind_are_other_files():
    digests = {known_valid.digest_of(data, "s") for data in ({"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.0}, [{"a": 1}])}
    assert len(digests) == 5


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(folder):
    folder.parent.write_text("a file in the way")
    assert validate({"tier": 1}, "profile", path="a.yaml") == []
    assert not known_valid.is_known(known_valid.digest_of({"tier": 1}, "s"))


def test_no_more_than_a_thousand_are_kept(folder, monkeypatch):
    monkeypatch.setattr(known_valid, "_MOST", 3)
    for number in range(5):
        known_valid.remember(f"{number}")
    assert sorted(path.name for path in folder.iterdir()) == ["3", "4"]


def test_nothing_of_a_memory_file_is_kept(folder):
    declared = {"pin": {"type": "string", "maxLength": 4}}
    assert tag_faults({"pin": "4711", "note": "x", "domain": ["a", "b"], "source": "a call"}, declared) == []
    assert tag_faults({"domain": ["A b"]}) != []
    assert not folder.exists()
