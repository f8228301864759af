"""The contract of `catmem.store.contract`, held against every store in `tests.store.stores`."""

import json
import re
import threading
from dataclasses import replace
from itertools import pairwise

import pytest

from catmem.digest import bytes_digest
from catmem.errors import OperationCollisionError, StaleError, UnknownRevisionError
from catmem.jsonable import jsonable
from catmem.store.contract import Change
from tests.erasures import erasure_of
from tests.store.stores import kinds

USER, MEMORY, OTHER = "trinity/user", "trinity/memory", "neo/user"
BYTES = [
    pytest.param(b"## A\nfact\n", id="text"),
    pytest.param(b"no newline at the end", id="no newline at the end"),
    pytest.param(b"a\r\nb\rc\n", id="every line end"),
    pytest.param(b"\n", id="one newline"),
    pytest.param(b"\x00", id="one zero"),
    pytest.param(b"\xff\xfe\x80 not UTF-8\n", id="not UTF-8"),
    pytest.param(b"\xef\xbb\xbfwith a BOM\n", id="BOM"),
    pytest.param(bytes(range(256)) * 4096, id="1 MB"),
]


def write(store, data, entity=USER, expected=None, **change):
    """Commit `data`, whatever was there."""
    return store.commit(entity, expected, lambda _: data, Change(**change))


def written(store, entity=USER):
    """Revision and bytes of all that was recorded."""
    return [(recorded.revision, data) for recorded, data in store.replay(entity)]


def never(current):
    """An update that must not be asked."""
    raise AssertionError("the update was called")


# --- an entity that does not exist ----------------------------------------------------------------------------------


def test_an_entity_that_was_never_written_is_empty_and_has_revision_0(store):
    snapshot = store.read(USER)
    assert (snapshot.data, snapshot.revision, snapshot.digest) == (b"", "0", bytes_digest(b""))
    assert store.peek(USER) == b""
    assert store.head(USER) is None
    assert list(store.log(USER)) == []
    assert list(store.branches(USER)) == []
    assert list(store.replay(USER)) == []
    assert store.verify() == []


# --- numbers --------------------------------------------------------------------------------------------------------


def test_revisions_are_numbered_from_1_without_gaps(store):
    assert [write(store, b"%d\n" % number).revision for number in range(12)] == [str(n) for n in range(1, 13)]
    assert [recorded.revision for recorded in store.log(USER)] == [str(n) for n in range(12, 0, -1)]


def test_refused_and_empty_writes_use_up_no_number(store):
    write(store, b"one\n")
    write(store, b"one\n")
    with pytest.raises(StaleError):
        write(store, b"two\n", expected="0")
    with pytest.raises(ZeroDivisionError):
        store.commit(USER, None, lambda _: 1 // 0, Change())
    assert write(store, b"two\n").revision == "2"


# --- bytes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", BYTES)
def test_bytes_come_back_as_they_went_in(store, data):
    answer = write(store, data)
    assert (answer.data, answer.revision, answer.digest) == (data, "1", bytes_digest(data))
    assert store.read(USER) == answer
    assert store.peek(USER) == data
    write(store, b"other\n")
    assert store.read(USER, "1") == answer
    assert written(store) == [("1", data), ("2", b"other\n")]


def test_every_old_revision_can_be_read(store):
    texts = [b"line\n" * number + b"end\n" for number in range(100)]
    for text in texts:
        write(store, text)
    for number, text in enumerate(texts, start=1):
        snapshot = store.read(USER, str(number))
        assert (snapshot.data, snapshot.revision, snapshot.digest) == (text, str(number), bytes_digest(text))


@pytest.mark.parametrize("revision", ["2", "8a", "-1", "", "00", "01", "sha256:", "one"])
def test_a_revision_that_is_not_there_is_an_error(store, revision):
    write(store, b"one\n")
    with pytest.raises(UnknownRevisionError):
        store.read(USER, revision)


# --- compare-and-swap -----------------------------------------------------------------------------------------------


def test_a_write_on_the_head_passes_whether_named_by_revision_or_by_digest(store):
    one = write(store, b"one\n", expected="0")
    two = write(store, b"two\n", expected=one.revision)
    three = write(store, b"three\n", expected=two.digest)
    assert three.revision == "3"


def test_a_new_entity_can_be_expected_by_the_digest_of_nothing(store):
    assert write(store, b"one\n", expected=bytes_digest(b"")).revision == "1"


@pytest.mark.parametrize("view", ["revision", "digest", "nothing"])
def test_a_write_on_an_old_view_is_refused_and_changes_nothing(store, view):
    one = write(store, b"one\n")
    write(store, b"two\n")
    before = list(store.replay(USER))
    expected = {"revision": one.revision, "digest": one.digest, "nothing": "0"}[view]
    with pytest.raises(StaleError) as caught:
        store.commit(USER, expected, never, Change())
    assert list(store.replay(USER)) == before
    assert store.read(USER).data == b"two\n"
    assert caught.value.expected == expected
    assert caught.value.found == "2"
    assert caught.value.code == "stale_prev"
    assert caught.value.hint
    said = jsonable(caught.value)
    assert (said["reason"], said["expected"], said["found"]) == ("stale_prev", expected, "2")


def test_a_digest_that_no_record_has_is_taken_for_an_older_text(store):
    write(store, b"one\n")
    with pytest.raises(StaleError) as caught:
        store.commit(USER, bytes_digest(b"never\n"), never, Change())
    assert caught.value.found == "1"


def test_a_caller_without_a_view_writes_on_what_is_there(store):
    write(store, b"one\n")
    answer = store.commit(USER, None, lambda current: current.data + b"two\n", Change())
    assert answer.data == b"one\ntwo\n"


def test_on_drift_merge_gives_a_stale_caller_what_it_saw_and_what_is_there(store):
    write(store, b"one\n")
    write(store, b"two\n")
    seen = []

    def update(current):
        seen.append(current)
        return current.data + b"mine\n"

    answer = store.commit(USER, "1", update, Change(on_drift="merge"))
    assert {(current.data, current.revision, current.base) for current in seen} == {(b"two\n", "2", b"one\n")}
    assert (answer.data, answer.revision) == (b"two\nmine\n", "3")


# --- updates --------------------------------------------------------------------------------------------------------


def test_an_update_that_changes_nothing_writes_nothing(store):
    one = write(store, b"one\n")
    before = list(store.replay(USER))
    assert store.commit(USER, "1", lambda current: current.data, Change(op_id="nothing")) == one
    assert list(store.replay(USER)) == before


@pytest.mark.parametrize("error", [ValueError, StaleError, KeyboardInterrupt])
def test_an_update_that_raises_leaves_everything_as_it_was(store, error):
    one = write(store, b"one\n")
    before = list(store.replay(USER))
    raised = error("no")

    def update(current):
        raise raised

    with pytest.raises(error) as caught:
        store.commit(USER, None, update, Change(op_id="failed"))
    assert caught.value is raised
    assert store.read(USER) == one
    assert list(store.replay(USER)) == before
    # Neither a lock nor the op_id is left behind.
    assert write(store, b"two\n", op_id="failed").revision == "2"


# --- retries --------------------------------------------------------------------------------------------------------


def test_a_retry_gets_the_first_answer_and_writes_nothing(store):
    write(store, b"one\n")
    change = Change(op_id="op-1", request="sha256:asked")
    first = store.commit(USER, "1", lambda current: current.data + b"two\n", change)
    before = list(store.replay(USER))
    assert store.commit(USER, "1", never, change) == first
    assert store.commit(USER, None, never, change) == first
    assert list(store.replay(USER)) == before


def test_one_op_id_for_two_requests_is_refused(store):
    write(store, b"one\n", op_id="op-1", request="sha256:this")
    before = list(store.replay(USER))
    for request in ("sha256:that", None):
        with pytest.raises(OperationCollisionError) as caught:
            store.commit(USER, None, never, Change(op_id="op-1", request=request))
        assert caught.value.code == "hash_collision"
        assert caught.value.expected == request
        assert caught.value.found == "1"
        assert "came first, as revision 1" in caught.value.message
        assert "another tab" in str(caught.value.hint)
    assert list(store.replay(USER)) == before


def test_an_op_id_is_the_agents_own(store):
    """Or a writer would learn by its own op_id that another one, whose text it may not see, has used it."""
    write(store, b"one\n", agent="boss", op_id="op-1", request="sha256:asked")
    change = Change(agent="neo", op_id="op-1", request="sha256:asked")
    second = store.commit(USER, None, lambda current: current.data + b"two\n", change)
    assert (second.revision, store.read(USER).data) == ("2", b"one\ntwo\n")
    write(store, b"three\n")
    assert store.commit(USER, "1", never, change) == second
    with pytest.raises(OperationCollisionError) as caught:
        store.commit(USER, "3", never, replace(change, request="sha256:that"))
    assert caught.value.found == "2"
    assert [(each.agent, each.op_id) for each in store.log(USER)][1:] == [("neo", "op-1"), ("boss", "op-1")]


def test_a_collision_is_told_before_a_stale_view(store):
    write(store, b"one\n", op_id="op-1", request="sha256:this")
    write(store, b"two\n")
    with pytest.raises(OperationCollisionError):
        store.commit(USER, "1", never, Change(op_id="op-1", request="sha256:that"))


def test_a_refused_write_may_be_tried_again_under_its_op_id(store):
    write(store, b"one\n")
    change = Change(op_id="op-1", request="sha256:asked")
    with pytest.raises(StaleError):
        store.commit(USER, "0", never, change)
    assert store.commit(USER, "1", lambda _: b"two\n", change).revision == "2"


# --- the record -----------------------------------------------------------------------------------------------------


def test_the_record_says_what_the_caller_said(store):
    write(store, b"one\n")
    write(store, b"two\n", op="restore", agent="planner", op_id="op-7", request="sha256:asked", note={"why": ["ä", 1]})
    recorded = store.head(USER)
    assert (recorded.entity, recorded.revision, recorded.parents) == (USER, "2", ("1",))
    assert (recorded.op, recorded.agent, recorded.op_id) == ("restore", "planner", "op-7")
    assert (recorded.digest, recorded.size) == (bytes_digest(b"two\n"), 4)
    assert recorded.note["why"] == ["ä", 1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", recorded.timestamp)
    assert json.loads(json.dumps(jsonable(recorded)))["note"]["why"] == ["ä", 1]


def test_the_first_revision_has_no_parent_and_each_other_one_the_one_before(store):
    for number in range(5):
        write(store, b"%d\n" % number)
    assert [recorded.parents for recorded, _ in store.replay(USER)] == [(), ("1",), ("2",), ("3",), ("4",)]


def test_another_mark_shows_each_change_and_the_same_one_that_there_was_none(store):
    def look():
        assert store.marks([]).keys() <= {USER}
        found = store.marks([USER])
        assert found == store.marks(iter([USER]))
        return found[USER]

    marks = [look()]
    write(store, b"one\n")
    marks.append(look())
    write(store, b"two\n")
    marks.append(look())
    write(store, b"late\n", expected="1", on_stale="branch")
    marks.append(look())
    assert all(one != other for number, one in enumerate(marks) for other in marks[:number])
    assert store.read(USER).data == b"two\n"
    write(store, b"two\n")  # it changes nothing
    with pytest.raises(StaleError):
        write(store, b"never\n", expected="1")
    assert look() == marks[-1]


def test_the_log_is_the_replay_backwards_and_the_head_its_first(store):
    for number in range(40):
        write(store, b"%d\n" % number)
        write(store, b"%d\n" % number, MEMORY)
    log = list(store.log(USER))
    assert log == [recorded for recorded, _ in store.replay(USER)][::-1]
    assert store.head(USER) == log[0]
    assert list(store.branches(USER)) == [log[0]]


def test_sequences_only_grow(store):
    for number in range(10):
        write(store, b"%d\n" % number)
        write(store, b"%d\n" % number, MEMORY)
    for entity in (USER, MEMORY):
        sequences = [recorded.sequence for recorded, _ in store.replay(entity)]
        assert all(one < other for one, other in pairwise(sequences))


def test_a_replay_gives_every_revision_byte_for_byte(store):
    texts = [bytes([number]) * (number % 7 * 100) + b"\n" for number in range(150)]
    for text in texts:
        write(store, text)
    for (recorded, data), text in zip(store.replay(USER), texts, strict=True):
        assert data == text
        assert (recorded.digest, recorded.size) == (bytes_digest(text), len(text))


def test_a_log_begun_before_a_write_can_be_read_to_its_end(store):
    for number in range(5):
        write(store, b"%d\n" % number)
    log = store.log(USER)
    assert next(log).revision == "5"
    write(store, b"after\n")
    assert [recorded.revision for recorded in log] == ["4", "3", "2", "1"]


# --- what is kept besides -------------------------------------------------------------------------------------------

SECRET = "## A\nthe word is swordfish\n\u00a7\nfact\n".encode()
WITHOUT = b"## A\nfact\n"


def without_secret(data):
    """The bytes without the word that is to be forgotten."""
    return data.replace(b"swordfish", b"")


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_a_backup_is_kept_and_says_what_was_there(kind, tmp_path):
    store = kind.make(tmp_path)
    write(store, SECRET)
    write(store, b"## B\nother\n", OTHER)
    path = store.backup(USER)
    write(store, WITHOUT)
    (copy,) = [each for each in store.kept(USER) if each.path == path]
    assert (copy.data, copy.own, copy.whole) == (SECRET, True, True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(each.path == path for each in store.kept(OTHER))
    store.close()


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_after_an_erasure_no_file_of_the_store_holds_the_text(kind, tmp_path):
    store = kind.make(tmp_path)
    write(store, SECRET)
    store.backup(USER)
    write(store, WITHOUT)
    assert holding(store, tmp_path)
    erased = store.erase(USER, erasure_of(without_secret))
    assert erased.revisions == 1
    assert erased.removed or erased.rewritten
    assert not [each for each in erased.left if each.path.exists()]
    assert not holding(store, tmp_path)
    assert store.read(USER).data == WITHOUT
    assert store.verify() == []
    store = kind.reopen(store, tmp_path)
    assert not holding(store, tmp_path)
    store.close()


def holding(store, folder):
    """The files below a folder, the revisions and what is kept besides, that hold the word."""
    files = [path for path in folder.rglob("*") if path.is_file() and b"swordfish" in path.read_bytes()]
    kept = [each.path for each in store.kept(USER) if b"swordfish" in each.data]
    return [*files, *kept, *(revision for revision, data in written(store) if b"swordfish" in data)]


# --- closing, and several at once -----------------------------------------------------------------------------------


def test_everything_is_there_after_closing_and_opening_again(kind, tmp_path):
    store = kind.make(tmp_path)
    change = Change(op_id="op-1", request="sha256:asked")
    first = store.commit(USER, None, lambda _: b"one\n", change)
    write(store, b"two\n")
    write(store, b"memory\n", MEMORY)
    before = [list(store.replay(entity)) for entity in (USER, MEMORY)]
    store = kind.reopen(store, tmp_path)
    assert [list(store.replay(entity)) for entity in (USER, MEMORY)] == before
    assert store.read(USER).data == b"two\n"
    assert store.commit(USER, None, never, change) == first
    assert write(store, b"three\n", expected="2").revision == "3"
    store.close()


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_two_stores_on_one_place_see_each_others_writes(kind, tmp_path):
    one, other = kind.make(tmp_path), kind.make(tmp_path)
    for number in range(1, 11):
        writer, reader = (one, other) if number % 2 else (other, one)
        answer = write(writer, b"%d\n" % number, expected=str(number - 1))
        assert reader.read(USER) == answer
        assert reader.head(USER).revision == str(number)
        with pytest.raises(StaleError):
            reader.commit(USER, str(number - 1), never, Change())
    assert written(one) == written(other)
    one.close()
    other.close()


def test_threads_lose_no_write(store):
    def work(name):
        for number in range(25):
            token = f"{name}-{number}\n".encode()
            store.commit(USER, None, lambda current, token=token: current.data + token, Change(agent=name))

    run_all([threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)])
    lines = store.read(USER).data.decode().split()
    assert sorted(lines) == sorted(f"t{name}-{number}" for name in range(4) for number in range(25))
    replay = written(store)
    assert [revision for revision, _ in replay] == [str(n) for n in range(1, 101)]
    assert all(
        after.startswith(before) and after.count(b"\n") == before.count(b"\n") + 1
        for (_, before), (_, after) in pairwise(replay)
    )


def test_of_threads_that_swap_the_same_revision_one_wins(store):
    for turn in range(10):
        won, lost = [], []
        start = threading.Barrier(4)

        def swap(name, turn=turn, won=won, lost=lost, start=start):
            start.wait()
            try:
                won.append(write(store, f"{turn} {name}\n".encode(), expected=str(turn)))
            except StaleError as error:
                lost.append(error.found)

        run_all([threading.Thread(target=swap, args=(name,)) for name in range(4)])
        assert [answer.revision for answer in won] == [str(turn + 1)]
        assert lost == [str(turn + 1)] * 3
        assert store.read(USER).data == won[0].data


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", kinds())
def test_a_note_that_has_to_be_kept_is_recorded_with_bytes_that_do_not_change(kind, tmp_path):
    store = kind.make(tmp_path)
    write(store, WITHOUT)
    same = store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}))
    assert (same.revision, len(list(store.log(USER)))) == ("1", 1)
    kept = store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}, keeps_note=True))
    assert (kept.revision, kept.data) == ("2", WITHOUT)
    beside = Change(note={"why": "beside"}, keeps_note=True, on_stale="branch")
    assert store.commit(USER, "1", lambda now: now.data, beside).revision == "2a"
    assert [each.note.get("why") for each in store.log(USER)] == ["beside", "swordfish", None]
    assert store.verify() == []
    store.close()


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_an_erasure_takes_out_of_notes_what_it_is_told_to(kind, tmp_path):
    def without_word(note, data):
        assert data == WITHOUT
        return {**note, "why": "-"} if note.get("why") == "swordfish" else note

    store = kind.make(tmp_path)
    write(store, WITHOUT)
    store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}, keeps_note=True))
    store.commit(USER, "2", lambda now: now.data, Change(note={"why": "a fish"}, keeps_note=True))
    store.erase(USER, erasure_of(without_secret)._replace(redact_note=without_word))
    assert [each.note["why"] for each in store.log(USER) if "why" in each.note] == ["a fish", "-"]
    assert store.verify() == []
    assert not holding(store, tmp_path)
    store.close()
