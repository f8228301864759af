"""Which status an error has, and what a caller is told of it."""

import pytest

from catmem.errors import (
    BusyError,
    ConfigError,
    DriftError,
    NotUtf8Error,
    StaleError,
    StoreError,
    UnreadableError,
)
from catmem.jsonable import jsonable
from catmem.server.requests import answer_of
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together


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
