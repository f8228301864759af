"""What the store says of an anchor, and of one whose part of the journal is missing."""

from __future__ import annotations

from contextlib import closing

import pytest

from catmem.errors import DamagedError
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.merges import merge_appended
from tests.unit.store.journals import fill, journal_in, segments

SMALL = {"segment_records": 4}


@pytest.fixture
def home(tmp_path):
    """A folder with a journal of several segments."""
    with closing(store_of(tmp_path)) as store:
        store.commit("neo/user", None, lambda _: b"1", Change())
    with journal_in(tmp_path / ".catmem" / "journal", **SMALL) as journal:
        fill(journal, 20, "OTHER.md")
    return tmp_path


def store_of(home):
    return FileStore(lambda _: Place(home, (), "USER.md"), ["neo/user"], merge=merge_appended)


def anchor_of(home, sequence):
    with journal_in(home / ".catmem" / "journal") as journal:
        return {**journal.anchor(), "sequence": sequence, "line": list(journal.records())[sequence - 1].link}


def test_a_record_is_held_as_it_was_written(home):
    anchor = anchor_of(home, 2)
    with closing(store_of(home)) as store:
        assert store.holds(anchor)
        assert not store.holds({**anchor, "line": "0" * 64})


@pytest.mark.parametrize(("segment", "record"), [(0, 2), (1, 6)])
def test_a_record_in_a_missing_segment_is_damage(home, segment, record):
    anchor = anchor_of(home, record)
    segments(home / ".catmem" / "journal")[segment].unlink()
    with closing(store_of(home)) as store, pytest.raises(DamagedError, match=f"record {record} "):
        store.holds(anchor)
