import inspect
import json
from datetime import date, datetime
from pathlib import Path

import pytest

from catmem import EditError, Workspace, build_prompt, errors, lint, memory_tool, merge, parse
from catmem.errors import (
    CatmemError,
    DamagedError,
    OverBudgetError,
    StaleError,
    StoreError,
    catalogue,
)
from catmem.jsonable import jsonable
from tests.roots import make_root

CLASSES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)]


def test_each_class_has_a_code_of_its_own():
    assert len({one.code for one in CLASSES}) == len(CLASSES)  # type: ignore[attr-defined]
    assert {listed["exit"] for listed in catalogue().values()} == {1, 2, 3, 4}


def test_the_exit_status_of_a_code_is_not_that_of_its_class():
    assert (StoreError("x").exit_status, StoreError("x", code="bad_store").exit_status) == (4, 2)
    assert (DamagedError("x").exit_status, OverBudgetError("x", size=2, limit=1).exit_status) == (4, 1)


def test_an_error_of_a_plugin_has_the_statuses_of_what_it_is_a_kind_of():
    class PluginError(StaleError):
        code = "of_plugin"

    assert (PluginError("x").exit_status, PluginError("x").http_status) == (3, 409)


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ({}, "not right"),
        ({"path": "a.yaml"}, "a.yaml: not right"),
        ({"path": Path("a.yaml"), "line": 3, "column": 4}, "a.yaml:3:4: not right"),
        ({"path": "a.yaml", "line": 3, "key": "prompt.style"}, "a.yaml:3: prompt.style: not right"),
        ({"key": "name"}, "name: not right"),
        ({"hint": "Mend it.", "code": "other"}, "not right"),
    ],
)
def test_one_line_with_what_is_known(places, shown):
    error = CatmemError("not right", **places)
    assert str(error) == shown
    fields = jsonable(error)
    assert fields == {
        "code": "error",
        "message": "not right",
        **{name: str(value) if name == "path" else value for name, value in places.items()},
    }
    assert json.loads(json.dumps(fields)) == fields


# --- what a program gives of a wrong type ----------------------------------------------------------------------------


DAY, MOMENT = date(2026, 11, 1), datetime(2026, 11, 1, 12)  # noqa: DTZ001 - no day, whatever its zone

CALLS = [
    ("entity", lambda root: root.undo(3)),
    ("entity", lambda root: root.proposals(3)),
    ("entity", lambda root: root.content(["project:alpha"])),
    ("the name of a profile", lambda root: root.list(3)),
    ("the name of a profile", lambda root: root.envelope(3, "text")),
    ("category", lambda root: root.list("neo", category=3)),
    ("target", lambda root: root.read("neo", ["user"])),
    ("query", lambda root: root.search("neo", ["tabs"])),
    ("the id of a proposal", lambda root: root.approve(3)),
    ("as_of", lambda root: root.verify("neo", "tabs", as_of="2026-01-01")),
    ("as_of", lambda root: root.list("neo", as_of="2026-01-01")),
    ("as_of", lambda root: root.search("neo", "tabs", as_of="2026-01-01")),
    ("as_of", lambda root: root.prompt("neo", as_of="2026-01-01")),
    ("a selector", lambda root: root.prompt("neo", categories=[None])),
    ("categories", lambda root: root.prompt("neo", categories="talk")),
    ("the budget", lambda root: root.prompt("neo", budget=0)),
    ("state", lambda root: root.search("neo", "tea", state=3)),
    ("precedence", lambda _: merge("a", "b", "c", precedence="our")),
    ("precedence", lambda root: root.merge("neo", precedence=3)),
    ("precedence", lambda root: root.merge("neo", precedence=[3])),
    ("the budget", lambda root: root.prompt("neo", budget=True)),
    ("the text", lambda root: root.parse(None)),
    ("the document", lambda _: lint("text")),
    ("the configuration", lambda root: Workspace(root.root)),
    ("as_of", lambda root: root.list("neo", as_of=MOMENT)),
    ("as_of", lambda root: root.prompt("neo", as_of=MOMENT)),
    ("as_of", lambda root: root.search("neo", "tea", as_of=MOMENT)),
    ("as_of", lambda root: root.plan_seed("neo", "ann", as_of=MOMENT)),
    ("as_of", lambda _: lint(parse("text"), as_of=MOMENT)),
    ("as_of", lambda _: lint(parse("text"), as_of="2026-01-01")),
    ("as_of", lambda root: build_prompt({"user": parse("text")}, root.profile("neo"), as_of=MOMENT)),
    ("as_of", lambda root: build_prompt({"user": parse("text")}, root.profile("neo"), as_of=None)),
    ("the profile", lambda _: build_prompt({"user": parse("text")}, "neo", as_of=DAY)),
    ("a document", lambda root: build_prompt({"user": "text"}, root.profile("neo"), as_of=DAY)),
    ("tags", lambda root: root.search("neo", "tea", tags=["domain"])),
    ("the budget", lambda root: root.prompt("neo", budget="800")),
    ("the folder", lambda _: Workspace.open(None)),
    ("content", lambda root: root.envelope("neo", None)),
    ("content", lambda root: root.envelope("neo", ["x"])),
    ("branches", lambda root: root.merge("neo/user", [None])),
    ("branches", lambda root: root.merge("neo/user", "1a")),
    ("the plan", lambda root: root.apply_seed(None)),
    ("the name of a profile", lambda root: memory_tool(root, [], {"action": "list"})),
    ("session", lambda root: memory_tool(root, "neo", {"action": "list"}, session="x")),
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_value_of_a_wrong_type_is_named(tmp_path, name, call):
    with pytest.raises(EditError, match=f"{name} must be a") as caught:
        call(make_root(tmp_path, profiles={"neo": "", "ann": ""}))
    assert caught.value.code == "wrong_type"
