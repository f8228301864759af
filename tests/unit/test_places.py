"""Where the tests keep their files."""

from __future__ import annotations

import os
import tempfile

import pytest

from tests import places


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with room in memory, where nobody has said anything."""
    for name in ("TMPDIR", places.TOLD):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere/on/the/disk")
    monkeypatch.setattr(places, "MEMORY", tmp_path)
    monkeypatch.setattr(places, "ROOM", 1)
    return tmp_path


def test_files_go_to_memory_and_the_disk_is_remembered(machine):
    places.use_memory()
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(machine)
    assert places.disk() == "/somewhere/on/the/disk"


@pytest.mark.parametrize(("name", "value"), [("ROOM", 1 << 62), ("MEMORY", places.MEMORY / "not-there")])
def test_without_room_in_memory_they_stay_on_the_disk(machine, monkeypatch, name, value):
    monkeypatch.setattr(places, name, value)
    places.use_memory()
    assert ("TMPDIR" in os.environ, places.disk()) == (False, None)


def test_the_tests_whose_files_are_on_the_disk_are_there(root):
    tests = root / "tests"
    assert [each for each in places.ON_DISK if not (tests / each).exists()] == []
    assert places.is_on_disk(tests / "store" / "test_branches.py", tests)
    assert places.is_on_disk(tests / "unit" / "store" / "sql" / "test_faults.py", tests)
    assert not places.is_on_disk(tests / "unit" / "cli" / "test_main.py", tests)
