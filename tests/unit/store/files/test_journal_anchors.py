"""What the store, and the check of anchors, say of an anchor whose part of the journal is compacted away or missing."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime

import pytest

from catmem.errors import DamagedError, UnknownRevisionError
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.workspace.upkeep import check_anchors
from catmem.workspace.workspace import Workspace
from tests.golden.case import put as put_text
from tests.merges import merge_appended
from tests.unit.store.journals import fill, journal_in, segments

SMALL = {"segment_records": 4}


def write(store, entity, data):
    store.commit(entity, None, lambda _: data, Change())


def go_on(folder):
    """Write enough for five more segments."""
    with journal_in(folder / ".catmem" / "journal", **SMALL) as journal:
        fill(journal, 20, "OTHER.md")


def compact(folder):
    with journal_in(folder / ".catmem" / "journal", **SMALL) as journal:
        assert journal.compact(datetime.max.replace(tzinfo=UTC)) == 4


@pytest.fixture
def homes(tmp_path):
    """Two folders, of which the second is a copy of the first."""
    (tmp_path / "a").mkdir()
    with closing(store_of(tmp_path, "a")) as store:
        write(store, "a", b"1")
    go_on(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    return tmp_path


def store_of(homes, *entities):
    return FileStore(lambda entity: Place(homes / entity, (), "USER.md"), entities, merge=merge_appended)


def anchor_of(homes, sequence):
    with journal_in(homes / "a" / ".catmem" / "journal") as journal:
        return {**journal.anchor(), "sequence": sequence, "line": list(journal.records())[sequence - 1].link}


def test_whether_a_compacted_record_is_held_cannot_be_told(homes):
    anchor = anchor_of(homes, 2)
    with closing(store_of(homes, "a")) as store:
        assert store.holds(anchor)
        assert not store.holds({**anchor, "line": "0" * 64})
        compact(homes / "a")
        for line in (anchor["line"], "0" * 64):
            with pytest.raises(UnknownRevisionError, match="no longer goes back to record 2"):
                store.holds({**anchor, "line": line})


@pytest.mark.parametrize("compacted", ["a", "b"])
def test_a_copy_of_the_journal_that_still_goes_back_holds_the_record(homes, compacted):
    anchor = anchor_of(homes, 2)
    compact(homes / compacted)
    with closing(store_of(homes, "a", "b")) as store:
        assert store.holds(anchor)
        with pytest.raises(UnknownRevisionError):
            store.holds({**anchor, "line": "0" * 64})


def test_a_record_in_a_missing_segment_is_damage(homes):
    anchor = anchor_of(homes, 6)
    segments(homes / "a" / ".catmem" / "journal")[1].unlink()
    with closing(store_of(homes, "a")) as store, pytest.raises(DamagedError, match="record 6"):
        store.holds(anchor)


def test_the_check_of_an_anchor_says_that_its_record_was_compacted_away(tmp_path):
    put_text(tmp_path / "catmem.yaml", "version: 1\n")
    put_text(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put_text(tmp_path / "homes" / "neo" / "USER.md", "- one\n")
    workspace = Workspace.open(tmp_path, search=False)
    with closing(workspace.store) as store:
        write(store, "neo/user", b"- two\n")
        ((_, early),) = store.anchors()  # type: ignore[attr-defined]
        go_on(tmp_path / "homes" / "neo")
        compact(tmp_path / "homes" / "neo")
        ((_, late),) = store.anchors()  # type: ignore[attr-defined]
        text = "".join(f"{json.dumps({'folder': 'homes/neo', **anchor})}\n" for anchor in (early, late))
        ((fault,), _) = check_anchors(workspace, text)
    assert (fault.code, fault.path, fault.damage) == ("anchor_too_old", "homes/neo", False)
    assert "no longer goes back to record 2" in fault.message
    assert "take a new anchor" in fault.hint
