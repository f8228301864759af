"""A dry run of a commit says of every store what the commit itself does then."""

import pytest

from catmem.errors import OperationCollisionError, StaleError, UnknownRevisionError
from catmem.store.contract import Change, Current
from catmem.store.judgement import dry_run_commit

USER = "trinity/user"
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

    def update(current: Current) -> bytes:
        return current.data + (b"" if same else b"last\n")

    expected, said = CASES[case]
    before = log_of(store)
    would = outcome(lambda: dry_run_commit(store, USER, expected, update, Change(**said)))
    assert log_of(store) == before
    assert would == outcome(lambda: store.commit(USER, expected, update, Change(**said)))


def log_of(store):
    return [each.revision for each in store.log(USER)]
