"""Branches, merges and whole histories in the contract of `catmem.store.contract`, held against every store."""

from dataclasses import replace

import pytest

from catmem.digest import bytes_digest
from catmem.errors import DamagedError, OperationCollisionError, StaleError, StoreError, UnknownRevisionError
from catmem.store.contract import Change, tips
from tests.store.memory import InMemoryStore
from tests.store.test_conformance import MEMORY, USER, lasting, never, write, written


def filled(store, count, entity=USER):
    """Write the revisions 1 to `count`; each is its number."""
    for number in range(1, count + 1):
        write(store, b"%d\n" % number, entity)


def branch(store, data, expected, entity=USER, **change):
    """Commit `data` from a caller who saw `expected`, in branch mode."""
    return write(store, data, entity, expected, on_stale="branch", **change)


def branched(store):
    """A history with two branches, one of them merged, and one branch of a branch."""
    filled(store, 3)
    branch(store, b"2 or so\n", "1", agent="planner", op_id="op-branch", request="sha256:asked", note={"why": "late"})
    branch(store, b"3 or so\n", "2", agent="auditor")
    write(store, b"4\n", merges=("2a",), op="merge")
    branch(store, b"4 or so\n", "3a")
    write(store, b"5\n", agent="planner")


@pytest.fixture
def other(kind, tmp_path):
    """A second store of a kind, that has nothing."""
    (tmp_path / "other").mkdir()
    made = kind.make(tmp_path / "other")
    yield made
    made.close()


def long(kind, number):
    """So many revisions where a journal has segments, of which this is more than two; a tenth where there are none."""
    return number if kind.name == "files" else number // 10


def told(history):
    """A history as it must be in every store: only the sequences are the store's own."""
    return [(replace(recorded, sequence=0), data) for recorded, data in history]


# --- branches -------------------------------------------------------------------------------------------------------


def test_a_branch_is_numbered_after_what_was_seen_and_at_most_one_ahead_of_the_head(store):
    filled(store, 2)
    assert [branch(store, b"a\n", "1").revision, branch(store, b"b\n", "2a").revision] == ["2a", "3a"]
    assert branch(store, b"c\n", "3a").revision == "3b"  # the head is 2
    filled(store, 9)
    assert branch(store, b"d\n", "3b").revision == "4a"


@pytest.mark.parametrize("view", ["revision", "digest"])
def test_the_second_writer_of_a_race_keeps_its_text_as_a_branch_of_what_it_saw(store, view):
    write(store, b"one\n")
    both_saw = getattr(store.read(USER), view)
    write(store, b"2 of A\n", expected=both_saw, agent="A")
    seen = []

    def update(current):
        seen.append(current)
        return current.data + b"of B\n"

    change = Change("put", agent="B", op_id="op-7", note={"why": "late"}, on_stale="branch")
    answer = store.commit(USER, both_saw, update, change)
    assert {(current.data, current.revision, current.base) for current in seen} == {(b"one\n", "1", None)}
    assert (answer.data, answer.revision, answer.branch) == (b"one\nof B\n", "2a", True)
    assert store.read(USER).data == b"2 of A\n"
    assert store.peek(USER) == b"2 of A\n"
    assert store.head(USER).revision == "2"
    assert replace(store.read(USER, "2a"), branch=True) == answer
    recorded = next(iter(store.log(USER)))
    assert (recorded.revision, recorded.parents, recorded.is_branch) == ("2a", ("1",), True)
    assert (recorded.agent, recorded.op_id, recorded.note["why"]) == ("B", "op-7", "late")
    assert (recorded.digest, recorded.size) == (answer.digest, len(answer.data))


def test_branches_from_one_revision_have_letters_in_order(store):
    filled(store, 2)
    names = [branch(store, b"branch %d\n" % number, "1").revision for number in range(28)]
    assert [*names[:2], *names[25:]] == ["2a", "2b", "2z", "2aa", "2ab"]
    assert len(set(dict(written(store)))) == 2 + 28


def test_a_digest_that_nobody_knows_cannot_be_branched_from(store):
    filled(store, 2)
    before = list(store.replay(USER))
    with pytest.raises(StaleError) as caught:
        store.commit(USER, bytes_digest(b"never\n"), never, Change(on_stale="branch"))
    assert caught.value.found == "2"
    assert list(store.replay(USER)) == before


@pytest.mark.parametrize("expected", ["2b", "3a", "7"])
def test_a_revision_that_is_not_there_cannot_be_branched_from(store, expected):
    filled(store, 2)
    branch(store, b"two\n", "1")
    with pytest.raises(UnknownRevisionError):
        store.commit(USER, expected, never, Change(on_stale="branch"))


@pytest.mark.parametrize(
    ("expected", "how"),
    [("1", {"on_stale": "branch"}), ("2", {"merges": ("2a",)})],
    ids=["a branch", "a merge that changes no byte"],
)
def test_a_retry_gets_the_first_answer(store, expected, how):
    filled(store, 2)
    branch(store, b"a\n", "1")
    change = Change(op_id="op-1", request="sha256:asked", **how)
    first = store.commit(USER, expected, lambda current: current.data if change.merges else b"two\n", change)
    write(store, b"another\n")
    before = list(store.replay(USER))
    assert store.commit(USER, expected, never, change) == first
    assert first.branch == (not change.merges)
    assert list(store.replay(USER)) == before
    with pytest.raises(OperationCollisionError):
        store.commit(USER, expected, never, replace(change, request="sha256:other"))


def test_the_head_comes_first_of_the_branches_and_then_the_newest(store):
    filled(store, 3)
    for seen in ("1", "2", "1"):
        branch(store, b"from %s, after %d\n" % (seen.encode(), len(written(store))), seen)
    assert [each.revision for each in store.branches(USER)] == ["3", "2b", "3a", "2a"]
    assert list(store.branches(USER)) == tips(store.log(USER))


def test_what_happened_long_ago_is_still_known(kind, store):
    filled(store, 2)
    asked = {"expected": "1", "request": "sha256:asked"}
    writes = [
        {"data": b"a\n", "op_id": "branch", "on_stale": "branch", **asked},
        {"data": b"b\n", "op_id": "merged", "on_stale": "branch", **asked},
        {"data": b"mine\n", "op_id": "merge", "on_drift": "merge", **asked},
    ]
    first = [write(store, **each) for each in writes]
    assert [answer.revision for answer in first] == ["2a", "2b", "3"]
    write(store, b"4\n", merges=("2b",))
    last = long(kind, 600)
    for number in range(5, last + 1):
        write(store, b"%d\n" % number)
    before = written(store)
    assert [write(store, **each) for each in writes] == first
    for each in writes:
        with pytest.raises(OperationCollisionError):
            write(store, **each | {"request": "sha256:other"})
    assert written(store) == before
    assert [each.revision for each in store.branches(USER)] == [f"{last}", "2a"]
    assert store.read(USER, "2a").data == b"a\n"
    assert store.read(USER, "2b").data == b"b\n"
    assert branch(store, b"another\n", "1").revision == "2c"
    assert branch(store, b"recent\n", f"{last - 2}").revision == f"{last - 1}a"
    assert store.verify() == []


# --- merges ---------------------------------------------------------------------------------------------------------


def test_a_merge_has_the_head_and_what_it_merges_as_parents(store):
    filled(store, 2)
    branch(store, b"a\n", "1")
    branch(store, b"b\n", "1")
    answer = write(store, b"2\na\n", expected="2", merges=("2a", "2b"), op="merge")
    assert (answer.revision, answer.branch) == ("3", False)
    assert store.head(USER).parents == ("2", "2a", "2b")
    assert list(store.branches(USER)) == [store.head(USER)]
    assert store.read(USER).data == b"2\na\n"
    assert store.read(USER, "2b").data == b"b\n"


def test_a_merge_that_changes_no_byte_is_recorded_too(store):
    filled(store, 2)
    branch(store, b"a\n", "1")
    answer = store.commit(USER, "2", lambda current: current.data, Change(merges=("2a",)))
    assert (answer.data, answer.revision) == (b"2\n", "3")
    assert store.read(USER) == answer
    assert store.head(USER).parents == ("2", "2a")
    assert [each.revision for each in store.branches(USER)] == ["3"]
    assert write(store, b"4\n", expected="3").revision == "4"
    assert store.verify() == []


@pytest.mark.parametrize("unknown", ["2b", "7", "0", ""])
def test_what_is_not_there_cannot_be_merged(store, unknown):
    filled(store, 2)
    branch(store, b"a\n", "1")
    before = list(store.replay(USER))
    with pytest.raises(UnknownRevisionError):
        store.commit(USER, "2", never, Change(merges=("2a", unknown)))
    assert list(store.replay(USER)) == before


# --- whole histories ------------------------------------------------------------------------------------------------


def test_a_history_is_taken_over_with_all_that_it_says(store, other):
    branched(store)
    filled(other, 3, MEMORY)
    assert other.import_history(USER, store.replay(USER)) == 8
    assert told(other.replay(USER)) == told(store.replay(USER))
    assert other.read(USER) == store.read(USER)
    assert other.peek(USER) == b"5\n"
    assert [each.revision for each in other.branches(USER)] == [each.revision for each in store.branches(USER)]
    assert other.verify() == []
    write(other, b"6\n")
    sequences = [each.sequence for each, _ in other.replay(USER)]
    assert sequences == sorted(set(sequences))


def test_a_long_history_is_taken_over(kind, store, other):
    count = long(kind, 700)
    for number in range(count):
        write(store, b"line\n" * (number % 50) + b"%d\n" % number)
    write(other, b"memory\n", MEMORY)
    assert other.import_history(USER, store.replay(USER)) == count
    assert told(other.replay(USER)) == told(store.replay(USER))
    assert other.read(MEMORY).data == b"memory\n"
    assert other.verify() == []


def test_writing_goes_on_where_a_history_ended(kind, store, other, tmp_path):
    branched(store)
    other.import_history(USER, store.replay(USER))
    assert write(other, b"6\n", expected="5").revision == "6"
    assert branch(other, b"or so\n", "1").revision == "2b"
    assert write(other, b"7\n", merges=("3a", "4a")).revision == "7"
    with pytest.raises(StaleError):
        write(other, b"8\n", expected="5")
    first = branch(other, b"never\n", "1", agent="planner", op_id="op-branch", request="sha256:asked")
    assert (first.revision, first.data) == ("2a", b"2 or so\n")
    again = kind.reopen(other, tmp_path / "other")
    assert [each.revision for each in again.branches(USER)] == ["7", "2b"]
    assert again.verify() == []
    again.close()


def test_a_history_does_not_go_where_there_is_one(store, other):
    filled(store, 2)
    write(other, b"mine\n")
    with pytest.raises(StoreError) as caught:
        other.import_history(USER, store.replay(USER))
    assert caught.value.code == "not_empty"
    assert written(other) == [("1", b"mine\n")]


@lasting
def test_a_history_that_breaks_off_leaves_nothing(store):
    source = InMemoryStore()
    for number in range(600):
        write(source, b"%d\n" % number)

    def broken():
        for place, each in enumerate(source.replay(USER)):
            if place == 550:
                raise StoreError("the server is gone", code="connection_lost")
            yield each

    with pytest.raises(StoreError) as caught:
        store.import_history(USER, broken())
    assert caught.value.code == "connection_lost"
    assert store.head(USER) is None
    assert store.peek(USER) == b""
    assert store.import_history(USER, source.replay(USER)) == 600
    assert store.read(USER).data == b"599\n"
    assert store.verify() == []


@lasting
def test_a_history_whose_bytes_are_not_what_it_says_is_not_taken_over(store):
    source = InMemoryStore()
    filled(source, 3)
    history = [(recorded, data.replace(b"2", b"9")) for recorded, data in source.replay(USER)]
    with pytest.raises(DamagedError):
        store.import_history(USER, history)
    assert store.head(USER) is None
