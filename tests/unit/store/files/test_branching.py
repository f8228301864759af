"""Branches of a plain file: the file stays as it is, and what outsiders write comes first as ever."""

import pytest

from catmem.errors import DamagedError
from catmem.store.contract import Change
from tests.unit.store.one_file import ENTITY, add, store_on


def branch(store, line=b"mine\n", expected="1", **change):
    return add(store, line, expected, on_stale="branch", **change)


def test_a_branch_leaves_the_file_and_its_folder_alone(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    before = file.stat()
    beside = sorted(path.name for path in file.parent.rglob("*"))
    assert branch(store).revision == "2a"
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns, file.read_bytes()) == (before.st_ino, before.st_mtime_ns, b"one\ntwo\n")
    assert sorted(path.name for path in file.parent.rglob("*")) == beside


def test_a_merge_that_changes_no_byte_leaves_the_file_alone(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    before = file.stat().st_ino
    assert store.commit(ENTITY, None, lambda current: current.data, Change(merges=("2a",))).revision == "3"
    assert file.stat().st_ino == before
    assert [revision.revision for revision in store.branches(ENTITY)] == ["3"]


def test_a_branch_that_is_gone_from_the_end_of_the_journal_is_missed(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    store.close()
    (segment,) = (file.parent / ".catmem" / "journal").glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-1])
    again = store_on(file)
    assert "lost_records" in {fault.code for fault in again.verify()}
    with pytest.raises(DamagedError):
        add(again, b"three\n")
    assert again.mend()
    assert add(again, b"three\n").revision == "5"
    again.close()


def test_a_journal_that_begins_anew_has_no_branches_and_none_of_their_numbers(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    branch(store, expected="2a")
    (segment,) = (file.parent / ".catmem" / "journal").glob("*.log")
    data = bytearray(segment.read_bytes())
    data[data.index(b'"revision":"1"')] ^= 1
    segment.write_bytes(data)
    assert store.mend()[0].startswith("the damaged journal is kept with its branches as ")
    assert [each.revision for each in store.branches(ENTITY)] == ["4"]
    assert store.read(ENTITY).data == b"one\ntwo\n"
    (aside,) = (file.parent / ".catmem").glob("damaged-*/*.log")
    assert aside.read_bytes() == data
    assert store.verify() == []
