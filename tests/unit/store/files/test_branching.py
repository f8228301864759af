"""Branches of a plain file: the file stays as it is, and what outsiders write comes first as ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catmem.errors import DamagedError, DriftError, StoreError
from catmem.store.contract import EXTERNAL, Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.erasures import erasure_of
from tests.merges import merge_appended

ENTITY = "neo/user"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "USER.md"


def opened_on(file):
    return FileStore(lambda _: Place(file.parent, (), file.name), [ENTITY], merge=merge_appended)


@pytest.fixture
def store(file):
    opened = opened_on(file)
    yield opened
    opened.close()


def add(store, line, expected=None, **change):
    return store.commit(ENTITY, expected, lambda current: current.data + line, Change(**change))


def branch(store, line=b"mine\n", expected="1", **change):
    return add(store, line, expected, on_stale="branch", **change)


def revisions(store):
    return [(recorded.revision, recorded.agent == EXTERNAL, data) for recorded, data in store.replay(ENTITY)]


def test_a_branch_leaves_the_file_and_its_folder_alone(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    before = file.stat()
    beside = sorted(path.name for path in file.parent.rglob("*"))
    assert branch(store).revision == "2a"
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns, file.read_bytes()) == (before.st_ino, before.st_mtime_ns, b"one\ntwo\n")
    assert sorted(path.name for path in file.parent.rglob("*")) == beside


def test_what_an_outsider_wrote_is_adopted_first_and_is_the_head(store, file):
    add(store, b"one\n")
    file.write_bytes(b"one\nby hand\n")
    answer = branch(store)
    assert (answer.revision, answer.adopted, answer.branch) == ("2a", "2", True)
    assert revisions(store) == [("1", False, b"one\n"), ("2", True, b"one\nby hand\n"), ("2a", False, b"one\nmine\n")]
    assert file.read_bytes() == b"one\nby hand\n"
    assert list(file.parent.glob("*.bak.*")) == []


def test_a_strict_root_refuses_an_outside_change_and_makes_no_branch(store, file):
    add(store, b"one\n")
    file.write_bytes(b"one\nby hand\n")
    with pytest.raises(DriftError) as caught:
        branch(store, on_drift="refuse")
    assert caught.value.drift_backup is not None
    assert [revision for revision, *_ in revisions(store)] == ["1", "2"]


def test_late_bytes_are_joined_before_a_branch_is_made(store, file):
    add(store, b"one\n")
    with file.open("ab", buffering=0) as held:
        add(store, b"two\n")
        held.write(b"late\n")
    assert branch(store).revision == "2a"
    assert file.read_bytes() == b"one\ntwo\nlate\n"


def test_a_merge_that_changes_no_byte_leaves_the_file_alone(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    before = file.stat().st_ino
    assert store.commit(ENTITY, None, lambda current: current.data, Change(merges=("2a",))).revision == "3"
    assert file.stat().st_ino == before
    assert [revision.revision for revision in store.branches(ENTITY)] == ["3"]


def test_purging_reaches_the_text_of_branches(store):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store, b"hunter2\n")
    erased = store.erase(ENTITY, erasure_of(lambda data: data.replace(b"hunter2", b"[gone]")))
    assert erased.revisions == 1
    assert store.read(ENTITY, "2a").data == b"one\n[gone]\n"
    assert [each.file for each in store.kept(ENTITY) if b"hunter2" in each.data] == []
    assert store.verify() == []


def test_a_branch_that_is_gone_from_the_end_of_the_journal_is_missed(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    store.close()
    (segment,) = (file.parent / ".catmem" / "journal").glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-1])
    again = opened_on(file)
    assert "lost_records" in {fault.code for fault in again.verify()}
    with pytest.raises(DamagedError):
        add(again, b"three\n")
    assert again.mend()
    assert add(again, b"three\n").revision == "5"
    again.close()


def test_a_journal_that_begins_anew_keeps_the_branches_that_wait_for_a_merge(store, file):
    add(store, b"one\n")
    add(store, b"two\n")
    branch(store)
    branch(store, expected="2a")
    (segment,) = (file.parent / ".catmem" / "journal").glob("*.log")
    data = bytearray(segment.read_bytes())
    data[data.index(b'"revision":"1"')] ^= 1
    segment.write_bytes(data)
    before = store.branches(ENTITY)[1]
    said = store.mend()
    assert said[-1] == f"the branch 3a of {file}, which was not merged, is in the new one too"
    head, kept = store.branches(ENTITY)
    assert (head.revision, store.read(ENTITY).data) == ("4", b"one\ntwo\n")
    assert replace(kept, sequence=0) == replace(before, sequence=0)
    assert store.read(ENTITY, "3a").data == b"one\nmine\nmine\n"
    assert store.commit(ENTITY, None, lambda current: current.data, Change(merges=("3a",))).revision == "5"
    assert store.verify() == []


def test_a_branch_that_cannot_be_written_is_not_made(store, file, monkeypatch):
    add(store, b"one\n")
    add(store, b"two\n")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(store._system), "write_at", full)
    with pytest.raises(StoreError) as caught:
        branch(store)
    assert caught.value.code == "no_space"
    monkeypatch.undo()
    again = opened_on(file)
    assert [revision for revision, *_ in revisions(again)] == ["1", "2"]
    again.close()
