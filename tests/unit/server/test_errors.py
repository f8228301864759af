"""Which status an error has, and what a caller is told of it."""

from __future__ import annotations

import pytest

from catmem import errors
from catmem.errors import (
    AmbiguousError,
    ApprovalError,
    BusyError,
    CatmemError,
    ChangedMeanwhileError,
    ConfigError,
    DamagedError,
    DriftError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    MergeConflictError,
    NoMatchError,
    NotUtf8Error,
    OperationCollisionError,
    OverBudgetError,
    ProposalError,
    QueryError,
    RefusedError,
    RequestError,
    StaleError,
    StoreError,
    TooLargeError,
    UnknownNameError,
    UnknownRevisionError,
    UnreadableError,
    WouldOverwriteError,
)
from catmem.jsonable import jsonable
from catmem.server.requests import answer_of
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

CASES = [
    (400, RequestError("m", code="c")),
    (401, RequestError("m", code="no_token")),
    (418, RequestError("m", code="request", status=418)),
    (403, ForbiddenError("m")),
    (403, ApprovalError("m")),
    (403, EnvelopeError("m", code="bad_signature")),
    (404, UnknownNameError("m")),
    (404, UnknownRevisionError("m")),
    (404, ConfigError("m", code="bad_name")),
    (409, RefusedError("m", code="role_drift")),
    (409, StaleError("m")),
    (409, DriftError("m")),
    (409, OperationCollisionError("m")),
    (409, MergeConflictError("m", [])),
    (409, ProposalError("m")),
    (409, ChangedMeanwhileError("m")),
    (413, TooLargeError("text", 2, 1)),
    (422, EnvelopeError("m")),
    (422, EditError("m")),
    (422, NoMatchError("m")),
    (422, AmbiguousError("m", [])),
    (422, OverBudgetError("m", size=2, limit=1)),
    (422, QueryError("m")),
    (500, CatmemError("m")),
    (500, WouldOverwriteError("folder", ["m"])),
    (503, BusyError("m")),
    (503, ConfigError("m")),
    (503, UnreadableError("m")),
    (503, NotUtf8Error(0, "r", path="p")),
    (503, TooLargeError("file", 2, 1, path="p")),
    (503, StoreError("m")),
    (503, DamagedError("m")),
]


@together(("status", "error"), CASES, ids=[f"{type(error).__name__}-{error.code}" for _, error in CASES])
def test_the_status_of_an_error(status, error):
    assert error.http_status == status
    assert answer_of(error)[0] == answer_of(error, bounded=False)[0] == status


def test_every_kind_of_error_has_a_case():
    kinds = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, CatmemError)}
    assert kinds <= {type(error) for _, error in CASES}


def test_a_person_is_told_all():
    error = StoreError("no space in /srv/root", path="/srv/root/x", hint="Make room.")
    assert answer_of(error, bounded=False)[1] == jsonable(error)


def test_of_a_content_that_is_no_json_an_agent_is_told_what_a_person_can_do(tmp_path):
    put(tmp_path / "catmem.yaml", "entities: {'project:alpha': {content: json}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "tier: 1\n")
    workspace = Workspace.open(tmp_path, search=False)
    workspace.put("project:alpha", {"a": 1}, expected=0)
    next(tmp_path.rglob("content.json")).write_text("{broken")
    with pytest.raises(UnreadableError) as caught:
        workspace.content("project:alpha")
    status, told = answer_of(caught.value)
    assert (status, told["code"]) == (503, "not_json")
    for words in ("Tell a person.", "catmem diff project:alpha", "catmem restore project:alpha REVISION"):
        assert words in told["hint"]
    assert "later" not in told["hint"]
    assert str(tmp_path) not in str(told)


def drifted(message, backup):
    error = DriftError(message, path="/srv/root/USER.md")
    error.drift_backup = backup
    return error


@together(
    "error",
    [
        StoreError("cannot write /srv/root", path="/srv/root/USER.md", hint="See /srv/root."),
        UnreadableError("cannot read /srv/root", path="/srv/root/USER.md"),
        ConfigError("/srv/root is odd", path="/srv/root/catmem.yaml", key="homes"),
        NotUtf8Error(17, "r", path="/srv/root/USER.md"),
        drifted("neo/user was changed", "/srv/root/USER.md.bak.1"),
        drifted("rows were changed (found 7, snapshot at /srv/root/memory.bak.1)", "/srv/root/memory.bak.1"),
        BusyError("neo/user is written", path="/srv/root/USER.md"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_agent_is_told_nothing_of_this_machine(error):
    status, told = answer_of(error)
    assert "/srv" not in str(told)
    assert {"code", "message"} <= told.keys()
    assert "offset" not in told
    assert status >= 400


def test_what_an_agent_can_act_on_is_told():
    error = StaleError("too late", expected="7", found="8", hint="Read again.")
    error.head = {"rev": 8, "hash": "sha256:8"}
    _, told = answer_of(error)
    assert told["reason"] == "stale_prev"
    assert (told["expected"], told["found"], told["head"]) == ("7", "8", {"rev": 8, "hash": "sha256:8"})
    assert told["remediation"] == told["hint"] == "Read again."
