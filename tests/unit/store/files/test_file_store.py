"""A store on a plain file: branches beside it, drift, histories from elsewhere, and when an outsider wrote."""

import pytest

from catmem.errors import DamagedError, DriftError
from catmem.store.contract import EXTERNAL, Change
from catmem.store.files.segments import SegmentFolder
from tests.store.memory import InMemoryStore
from tests.unit.store.one_file import ENTITY, add


@pytest.fixture
def segment(file):
    """Where the journal is, once something was written."""
    return file.parent / ".catmem" / "journal" / "000000000001.log"


@pytest.fixture
def two(store):
    """A store with two revisions."""
    add(store, b"one\n")
    add(store, b"two\n")
    return store


def branch(store, line=b"mine\n", expected="1", **change):
    return add(store, line, expected, on_stale="branch", **change)


# --- branches ------------------------------------------------------------------------------------------------------


def test_a_branch_leaves_the_file_and_its_folder_alone(two, file):
    before = file.stat()
    beside = sorted(path.name for path in file.parent.rglob("*"))
    assert branch(two).revision == "2a"
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns, file.read_bytes()) == (before.st_ino, before.st_mtime_ns, b"one\ntwo\n")
    assert sorted(path.name for path in file.parent.rglob("*")) == beside


def test_a_merge_that_changes_no_byte_leaves_the_file_alone(two, file):
    branch(two)
    before = file.stat().st_ino
    assert two.commit(ENTITY, None, lambda current: current.data, Change(merges=("2a",))).revision == "3"
    assert file.stat().st_ino == before
    assert [revision.revision for revision in two.branches(ENTITY)] == ["3"]


def test_a_branch_that_is_gone_from_the_end_of_the_journal_is_missed(two, segment, opened):
    branch(two)
    two.close()
    segment.write_bytes(segment.read_bytes()[:-1])
    again = opened()
    assert "lost_records" in {fault.code for fault in again.verify()}
    with pytest.raises(DamagedError):
        add(again, b"three\n")
    assert again.mend()
    assert add(again, b"three\n").revision == "5"
    assert [each.revision for each in again.log(ENTITY)] == ["5", "4"]


def test_a_journal_that_begins_anew_has_no_branches_and_none_of_their_numbers(two, file, segment):
    branch(two)
    branch(two, expected="2a")
    data = bytearray(segment.read_bytes())
    data[data.index(b'"revision":"1"')] ^= 1
    segment.write_bytes(data)
    assert two.mend()[0].startswith("the damaged journal is kept with its branches as ")
    assert [each.revision for each in two.branches(ENTITY)] == ["4"]
    assert two.read(ENTITY).data == b"one\ntwo\n"
    (aside,) = (file.parent / ".catmem").glob("damaged-*/*.log")
    assert aside.read_bytes() == data
    assert two.verify() == []


# --- drift ---------------------------------------------------------------------------------------------------------


def test_a_recorded_digest_is_drift_as_long_as_somebody_else_wrote_since(store, file):
    file.write_bytes(b"one\n")
    seen = add(store, b"more\n")
    file.write_bytes(file.read_bytes() + b"theirs\n")
    add(store, b"more\n")
    with pytest.raises(DriftError):
        add(store, b"more\n", seen.digest)


@pytest.mark.parametrize(("code", "kept"), [("drift", 1), ("not_utf8", 1), ("entry_too_large", 0), ("too_large", 0)])
def test_a_copy_is_kept_of_what_others_wrote_and_not_of_what_is_merely_in_the_way(store, file, code, kept):
    def refuse(_):
        raise DriftError("no", code=code)

    file.write_bytes(b"one\n")
    with pytest.raises(DriftError) as caught:
        store.commit(ENTITY, None, refuse, Change())
    error = caught.value
    assert len(list(file.parent.glob("*.bak.*"))) == kept
    assert (error.drift_backup is not None, error.found is not None) == (bool(kept), bool(kept))
    assert error.path == str(file)


# --- a history from another store: whole or not at all ---------------------------------------------------------------


@pytest.fixture
def source():
    """Nine heads; two branches, of which the second is the newest of all."""
    made = InMemoryStore()
    for number in range(1, 10):
        made.commit(ENTITY, None, lambda _, number=number: b"%d\n" % number, Change())
        if number in {3, 9}:
            made.commit(ENTITY, "2", lambda _, n=number: b"mine %d\n" % n, Change(on_stale="branch", agent="neo"))
    return made


def names(store):
    return [recorded.revision for recorded, _ in store.replay(ENTITY)]


ALL = ["1", "2", "3", "3a", "4", "5", "6", "7", "8", "9", "3b"]


def test_the_file_is_the_head_and_outsiders_may_write_to_it_at_once(store, source, file):
    assert store.import_history(ENTITY, source.replay(ENTITY)) == len(ALL)
    assert file.read_bytes() == b"9\n"
    with file.open("ab") as outsider:
        outsider.write(b"by hand\n")
    assert add(store, b"mine\n").adopted == "10"
    assert file.read_bytes() == b"9\nby hand\nmine\n"
    assert store.verify() == []


@pytest.mark.parametrize("there", [b"", b"9\n"], ids=["empty", "the head's bytes"])
def test_a_file_that_says_nothing_else_may_be_there(store, source, file, there):
    file.write_bytes(there)
    store.import_history(ENTITY, source.replay(ENTITY))
    assert (file.read_bytes(), store.read(ENTITY).revision) == (b"9\n", "9")
    assert add(store, b"10\n", "9").revision == "10"


def test_what_an_outsiders_record_says_is_still_to_be_done_is_not_done_here(store, file):
    """In a file store a record that ends with this note is finished by the next write; this one was written elsewhere."""
    source = InMemoryStore()
    source.commit(ENTITY, None, lambda _: b"one\n", Change())
    source.commit(ENTITY, None, lambda _: b"two\n", Change(agent=EXTERNAL, op="adopt", note={"merge_with": "1"}))
    store.import_history(ENTITY, source.replay(ENTITY))
    assert add(store, b"three\n", "2").revision == "3"
    assert file.read_bytes() == b"two\nthree\n"


@pytest.mark.parametrize("call", ["put", "settle"])
def test_a_stop_leaves_all_or_nothing_and_the_next_write_puts_the_file_in_place(store, source, file, monkeypatch, call):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SegmentFolder, call, stopped)
        with pytest.raises(KeyboardInterrupt):
            store.import_history(ENTITY, source.replay(ENTITY))
    store.close()
    assert names(store) == ([] if call == "put" else ALL)
    assert not file.exists()
    if call == "put":
        assert store.import_history(ENTITY, source.replay(ENTITY)) == len(ALL)
    else:
        assert ("unfinished", False) in [(fault.code, fault.damage) for fault in store.verify()]
    assert add(store, b"10\n", "9").revision == "10"
    assert file.read_bytes() == b"9\n10\n"
    assert [fault for fault in store.verify() if fault.damage] == []
