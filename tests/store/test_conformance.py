"""The contract of `catmem.store.contract`, held against every store in `tests.store.stores`."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from catmem.digest import bytes_digest
from catmem.errors import OperationCollisionError, StaleError, UnknownRevisionError
from catmem.jsonable import jsonable
from catmem.store.contract import Change, Snapshot
from catmem.store.judgement import dry_run_commit
from tests.erasures import erasure_of
from tests.store.stores import kinds

USER, MEMORY, OTHER = "trinity/user", "trinity/memory", "neo/user"
lasting = pytest.mark.parametrize("kind", kinds(lasting=True))
"""Not the store that ends with its process."""

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


def test_revisions_are_numbered_without_gaps_and_each_follows_the_one_before(store):
    for number in range(1, 13):
        assert write(store, b"%d\n" % number).revision == str(number)
        assert write(store, b"%d\n" % number, MEMORY).revision == str(number)
    log = list(store.log(USER))
    assert [recorded.revision for recorded in log] == [str(number) for number in range(12, 0, -1)]
    assert [recorded.parents for recorded in log] == [*((str(number),) for number in range(11, 0, -1)), ()]
    assert log == [recorded for recorded, _ in store.replay(USER)][::-1]
    assert store.head(USER) == log[0]
    assert list(store.branches(USER)) == [log[0]]
    for entity in (USER, MEMORY):
        sequences = [recorded.sequence for recorded in store.log(entity)]
        assert all(one > other for one, other in pairwise(sequences))


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


def test_every_old_revision_is_read_and_replayed_byte_for_byte(store):
    texts = [bytes([number]) * (number % 7 * 100) + b"\n" for number in range(150)]
    for text in texts:
        write(store, text)
    for number, ((recorded, data), text) in enumerate(zip(store.replay(USER), texts, strict=True), 1):
        assert (data, recorded.digest, recorded.size) == (text, bytes_digest(text), len(text))
        assert store.read(USER, str(number)) == Snapshot(text, str(number), bytes_digest(text))


@pytest.mark.parametrize("revision", ["2", "8a", "-1", "", "00", "01", "sha256:", "one"])
def test_a_revision_that_is_not_there_is_an_error(store, revision):
    write(store, b"one\n")
    with pytest.raises(UnknownRevisionError):
        store.read(USER, revision)


# --- compare-and-swap -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", ["0", bytes_digest(b"")])
def test_a_write_on_the_head_passes_whether_named_by_revision_or_by_digest(store, nothing):
    one = write(store, b"one\n", expected=nothing)
    two = write(store, b"two\n", expected=one.revision)
    three = write(store, b"three\n", expected=two.digest)
    assert three.revision == "3"


@pytest.mark.parametrize("expected", ["1", bytes_digest(b"one\n"), "0", bytes_digest(b"never\n")])
def test_a_write_on_an_old_view_is_refused_and_changes_nothing(store, expected):
    """A digest that no record has is taken for an older text."""
    write(store, b"one\n")
    write(store, b"two\n")
    before = list(store.replay(USER))
    with pytest.raises(StaleError) as caught:
        store.commit(USER, expected, never, Change())
    assert list(store.replay(USER)) == before
    assert store.read(USER).data == b"two\n"
    assert caught.value.hint
    said = jsonable(caught.value)
    assert (said["reason"], said["expected"], said["found"]) == ("stale_prev", expected, "2")


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
    assert write(store, b"two\n").revision == "2"


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


@pytest.mark.parametrize("expected", [None, "0"], ids=["no view", "a stale view"])
@pytest.mark.parametrize("request_", ["sha256:that", None])
def test_one_op_id_for_two_requests_is_refused(store, request_, expected):
    write(store, b"one\n", op_id="op-1", request="sha256:this")
    before = list(store.replay(USER))
    with pytest.raises(OperationCollisionError) as caught:
        store.commit(USER, expected, never, Change(op_id="op-1", request=request_))
    assert caught.value.code == "hash_collision"
    assert caught.value.expected == request_
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


def test_a_log_begun_before_a_write_can_be_read_to_its_end(store):
    for number in range(5):
        write(store, b"%d\n" % number)
    log = store.log(USER)
    assert next(log).revision == "5"
    write(store, b"after\n")
    assert [recorded.revision for recorded in log] == ["4", "3", "2", "1"]


def test_a_note_that_has_to_be_kept_is_recorded_with_bytes_that_do_not_change(store):
    write(store, WITHOUT)
    same = store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}))
    assert (same.revision, len(list(store.log(USER)))) == ("1", 1)
    kept = store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}, keeps_note=True))
    assert (kept.revision, kept.data) == ("2", WITHOUT)
    beside = Change(note={"why": "beside"}, keeps_note=True, on_stale="branch")
    assert store.commit(USER, "1", lambda now: now.data, beside).revision == "2a"
    assert [each.note.get("why") for each in store.log(USER)] == ["beside", "swordfish", None]
    assert store.verify() == []


# --- what is kept besides -------------------------------------------------------------------------------------------

SECRET = "## A\nthe word is swordfish\n\u00a7\nfact\n".encode()
WITHOUT = b"## A\nfact\n"


def without_secret(data):
    """The bytes without the word that is to be forgotten."""
    return data.replace(b"swordfish", b"")


@lasting
def test_a_backup_is_kept_and_says_what_was_there(store):
    write(store, SECRET)
    write(store, b"## B\nother\n", OTHER)
    path = store.backup(USER)
    write(store, WITHOUT)
    (copy,) = [each for each in store.kept(USER) if each.path == path]
    assert (copy.data, copy.own, copy.whole) == (SECRET, True, True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(each.path == path for each in store.kept(OTHER))


@lasting
def test_after_an_erasure_no_file_of_the_store_holds_the_text(kind, store, tmp_path):
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
    again = kind.reopen(store, tmp_path)
    assert not holding(again, tmp_path)
    again.close()


def holding(store, folder):
    """The files below a folder, the revisions and what is kept besides, that hold the word."""
    files = [path for path in folder.rglob("*") if path.is_file() and b"swordfish" in path.read_bytes()]
    kept = [each.path for each in store.kept(USER) if b"swordfish" in each.data]
    return [*files, *kept, *(revision for revision, data in written(store) if b"swordfish" in data)]


@lasting
def test_an_erasure_takes_out_of_notes_what_it_is_told_to(store, tmp_path):
    def without_word(note, data):
        assert data == WITHOUT
        return {**note, "why": "-"} if note.get("why") == "swordfish" else note

    write(store, WITHOUT)
    store.commit(USER, "1", lambda now: now.data, Change(note={"why": "swordfish"}, keeps_note=True))
    store.commit(USER, "2", lambda now: now.data, Change(note={"why": "a fish"}, keeps_note=True))
    store.erase(USER, erasure_of(without_secret)._replace(redact_note=without_word))
    assert [each.note["why"] for each in store.log(USER) if "why" in each.note] == ["a fish", "-"]
    assert store.verify() == []
    assert not holding(store, tmp_path)


# --- closing -----------------------------------------------------------------------------------


def test_everything_is_there_after_closing_and_opening_again(kind, store, tmp_path):
    change = Change(op_id="op-1", request="sha256:asked")
    first = store.commit(USER, None, lambda _: b"one\n", change)
    write(store, b"two\n")
    write(store, b"memory\n", MEMORY)
    write(store, b"beside\n", expected="1", on_stale="branch")
    before = [list(store.replay(entity)) for entity in (USER, MEMORY)]
    tips = list(store.branches(USER))
    again = kind.reopen(store, tmp_path)
    assert [list(again.replay(entity)) for entity in (USER, MEMORY)] == before
    assert list(again.branches(USER)) == tips
    assert sorted(again.entities()) == [MEMORY, USER]
    assert again.read(USER).data == b"two\n"
    assert again.commit(USER, None, never, change) == first
    assert write(again, b"three\n", expected="2").revision == "3"
    assert write(again, b"and another\n", expected="1", on_stale="branch").revision == "2b"
    again.close()


# --- a dry run says of every store what the commit itself does then -------------------------------------------------

CASES = {
    "no view": (None, {}),
    "the head": ("3", {}),
    "nothing": ("0", {}),
    "an old revision": ("1", {}),
    "an old revision, as a branch": ("1", {"on_stale": "branch"}),
    "a branch, as a branch": ("2a", {"on_stale": "branch"}),
    "an old revision, merged": ("1", {"on_drift": "merge"}),
    "a branch": ("2a", {}),
    "no revision": ("9", {}),
    "no digest": ("sha256:" + 64 * "0", {}),
    "a retry": (None, {"op_id": "b", "request": "r"}),
    "another write": (None, {"op_id": "b", "request": "other"}),
    "a merge": ("3", {"merges": ("2a",)}),
    "a merge of nothing": ("3", {"merges": ("2b",)}),
    "what waits": ("3", {"waits": True, "keeps_note": True}),
    "what waits, on an old revision": ("1", {"waits": True, "keeps_note": True}),
}


def outcome(commit):
    try:
        made = commit()
    except (StaleError, UnknownRevisionError, OperationCollisionError) as error:
        return type(error), error.code
    return made.data, made.digest, made.branch


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_store_does_what_a_dry_run_says(store, case, same):
    for expected, data, change in (
        (None, b"one\n", Change()),
        ("1", b"one\ntwo\n", Change(op_id="b", request="r")),
        ("1", b"side\n", Change(on_stale="branch")),
        ("2", b"one\ntwo\nthree\n", Change()),
    ):
        store.commit(USER, expected, lambda _, data=data: data, change)

    def update(current):
        return current.data + (b"" if same else b"last\n")

    expected, said = CASES[case]
    before = written(store)
    would = outcome(lambda: dry_run_commit(store, USER, expected, update, Change(**said)))
    assert written(store) == before
    assert would == outcome(lambda: store.commit(USER, expected, update, Change(**said)))
