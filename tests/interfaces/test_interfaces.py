"""Every operation through every interface that it has: the same outcome as the call of the library.

What is said here is not said again for each interface. A row without a case fails, so a new operation gets its own.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.errors import ForbiddenError
from catmem.ops.library import ask
from catmem.ops.table import OPERATIONS, Interface, OperationRow, Parameter, UsageError, load_all
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.interfaces.calls import by_command, by_http, by_library, by_tool, copied, files_of, plain
from tests.interfaces.cases import CASES, SETUP, Case
from tests.same_as import roots
from tests.together import together

load_all()
WITHOUT = {
    "watch", "simulate", "memory proposals", "memory withdraw", "operations", "submit", "envelope", "merge-driver", "sort",
    "token new", "token remove", "key new", "key remove", "store copy", "hook", "sync",
    "hermes install", "hermes status", "hermes uninstall",
}  # fmt: skip
"""Those that do not end, ask a person, draw by lot or need another program or a body of their own: see their own tests."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory) -> tuple[Path, str]:
    """The root of the cases, and the proposal that waits in it."""
    root = tmp_path_factory.mktemp("interfaces") / "root"
    for name, text in {"catmem.yaml": roots.CONFIG, **roots.PROFILES, **roots.of_all()}.items():
        put(root / name, text)
    for line in SETUP:
        done = CliRunner().invoke(group, [*line, "--root", str(root)])
        assert done.exit_code == 0, done.output
    workspace = Workspace.open(root, search=False)
    (proposal,) = workspace.proposals()
    workspace.store.close()
    return root, proposal.id


def cases(interface: Interface) -> list[Any]:
    return [*_cases(interface)]


def _cases(interface: Interface) -> Iterator[Any]:
    for name, found in CASES.items():
        row = OPERATIONS[name]
        for number, case in enumerate(found if _has(row, interface) else ()):
            known = {each.name for each in row.at(interface)} | {
                each.name for each in row.parameters.values() if interface in each.param.caller
            }
            if set(case.values) <= known:
                yield pytest.param(name, case, id=f"{name}-{number}")


def _has(row: OperationRow, interface: Interface) -> bool:
    return {"command": row.command, "http": row.http is not None, "tool": row.tool is not None}[interface]


def filled(case: Case, proposal: str) -> dict[str, Any]:
    return {name: proposal if value == "{proposal}" else value for name, value in case.values.items()}


def test_every_operation_has_a_case():
    own = {
        name for name, row in OPERATIONS.items() if row.run.__module__.startswith(("catmem.ops.", "catmem.plugins."))
    }
    assert own - CASES.keys() - WITHOUT == set(), "add a case to CASES in tests/interfaces/cases.py"
    values = {(name, each) for name, found in CASES.items() for case in found for each in case.values}
    assert {(name, each) for name, each in values if each not in OPERATIONS[name].parameters} == set()


@pytest.mark.parametrize(("name", "case"), cases("command"))
def test_a_command_does_what_the_library_does(stage, tmp_path, name, case):
    root, proposal = stage
    row, values = OPERATIONS[name], filled(case, proposal)
    library = by_library(row, copied(root, tmp_path / "a" / "root"), values, "command")
    command = by_command(row, copied(root, tmp_path / "b" / "root"), values)
    assert (library.code, command.code) == (case.code, case.code)
    assert command.files == library.files
    if row.formats and library.data is not None:
        assert command.data == library.data


@pytest.mark.parametrize("actor", [None, "orchestrator", "neo"], ids=["person", "tier 1", "agent"])
@pytest.mark.parametrize(("name", "case"), cases("http"))
def test_the_api_does_what_the_library_does(stage, tmp_path, name, case, actor):
    root, proposal = stage
    row, values = OPERATIONS[name], filled(case, proposal)
    library = by_library(row, copied(root, tmp_path / "a" / "root"), values, "http", actor)
    told = by_http(row, copied(root, tmp_path / "b" / "root"), values, actor)
    assert told.files == library.files
    assert told.code == library.code or (row.http is not None and library.code == "merge_conflict")
    if actor is None:
        assert told.code == case.code
    if library.code is None:
        renamed = {("entity_id" if key == "entity" else key): value for key, value in library.data.items()}
        assert {**told.data, "unreadable": ()} == {**renamed, "unreadable": ()}


@pytest.mark.parametrize(("name", "case"), cases("tool"))
def test_a_tool_does_what_the_library_does(stage, tmp_path, name, case):
    root, proposal = stage
    row = OPERATIONS[name]
    callers = [each.name for each in row.parameters.values() if "tool" in each.param.caller]
    actor = next((str(case.values[each]) for each in callers if case.values.get(each)), "neo")
    values = {each: value for each, value in filled(case, proposal).items() if each not in callers}
    if actor == "nobody" or "vault" in values.values():
        return
    library = by_library(row, copied(root, tmp_path / "a" / "root"), values, "tool", actor)
    told = by_tool(row, copied(root, tmp_path / "b" / "root"), values, actor)
    assert (told.code, told.files) == (library.code, library.files)
    assert told.data["success"] == (library.code is None)


# --- a dry run ----------------------------------------------------------------------------------------------------------

LATER = {"dry_run", "revision", "notes", "removed", "written", "next", "in_sync", "seeds"}
"""What a dry run cannot know yet, and the form of a plan."""
IDLE = {"migrate", "promote"}
"""Those whose case finds nothing to do; a promotion asks a person first."""


def _bytes(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "case"),
    [
        each
        for each in cases("command")
        if "dry_run" in OPERATIONS[each.values[0]].parameters and not each.values[1].code
    ],
)
def test_a_dry_run_changes_no_byte_and_says_what_the_run_does(stage, tmp_path, name, case):
    root, proposal = stage
    row, values = OPERATIONS[name], {**filled(case, proposal), "dry_run": False}
    values |= {"yes": True} if "yes" in row.parameters else {}
    dry_root, real_root = (copied(root, tmp_path / each / "root") for each in "ab")
    for each in (dry_root, real_root):
        line = ["add", "-p", "orchestrator", "-c", "rules", "Paper is ordered in May.", "--root", str(each)]
        assert CliRunner().invoke(group, line).exit_code == 0
    before = _bytes(dry_root)
    dry = by_library(row, dry_root, values | {"dry_run": True} | ({"yes": False} if "yes" in values else {}), "command")
    assert _bytes(dry_root) == before
    before = _bytes(real_root)
    real = by_library(row, real_root, values, "command")
    assert (dry.code, real.code) == (None, None)
    assert (_bytes(real_root) != before) == (name not in IDLE)
    assert {key: each for key, each in dry.data.items() if key not in LATER} == {
        key: each for key, each in real.data.items() if key not in LATER
    }
    for planned, done in zip(dry.data.get("seeds", ()), real.data.get("seeds", ()), strict=True):
        assert [each["counts"] for each in planned["files"]] == [each["counts"] for each in done["files"]]


# --- what no interface takes, by the row itself -----------------------------------------------------------------------------


def _wrong(each: Parameter) -> Any:
    """A value that a parameter cannot have, if there is one that a text cannot hide."""
    if "enum" in each.schema:
        return "neither"
    if each.kind is int:
        return -7 if each.param.minimum is not None else "many"
    return "someday" if each.schema.get("format") == "date" else None


INTERFACES: tuple[Interface, ...] = ("command", "http", "tool")
REFUSALS = {"command": {"usage"}, "http": {"bad_parameter", "bad_body"}, "tool": {"bad_arguments"}}
WRONG = [
    pytest.param(interface, row.name, each.name, _wrong(each), id=f"{interface}-{row.name}-{each.name}")
    for interface in INTERFACES
    for row in OPERATIONS.values()
    if _has(row, interface)
    for each in row.at(interface)
    if not each.many and _wrong(each) is not None
]
TOO_LARGE = [
    pytest.param("command", row.name, "limit", 10**20, id=f"{row.name}-too-large")
    for row in OPERATIONS.values()
    if row.command and "limit" in row.parameters
]
UNKNOWN = [
    pytest.param(interface, row.name, "nonsense", "1", id=f"{interface}-{row.name}-unknown")
    for interface in INTERFACES[1:]
    for row in OPERATIONS.values()
    if _has(row, interface) and not (interface == "http" and row.http and row.http.conditional)
]


def least(row: OperationRow, interface: Interface) -> dict[str, Any]:
    """Values for what the row cannot go without."""
    needed = [each for each in row.at(interface) if each.required or (each.param.needed and interface != "command")]
    return {each.name: "neo/user" if "entity" in each.name else "neo" for each in needed}


@pytest.mark.parametrize(("interface", "name", "parameter", "value"), [*WRONG, *TOO_LARGE, *UNKNOWN])
def test_what_cannot_be_is_refused_and_nothing_is_done(  # noqa: PLR0917 - a row
    stage, tmp_path, interface, name, parameter, value
):
    row, root = OPERATIONS[name], copied(stage[0], tmp_path / "root")
    values = {**least(row, interface), parameter: value}
    if interface == "tool":
        told = by_tool(row, root, values, "orchestrator")
    else:
        told = {"command": by_command, "http": by_http}[interface](row, root, values)
    assert told.code in REFUSALS[interface]
    assert told.files == files_of(stage[0])


@together("name", [row.name for row in OPERATIONS.values() if row.command])
def test_a_command_refuses_an_option_that_there_is_not(name):
    done = CliRunner().invoke(group, [*name.split(), "--nonsense"])
    assert done.exit_code == 2
    assert "No such option" in done.output


def test_an_agent_calls_no_operation_that_is_for_the_command_line_alone(stage, tmp_path):
    root = copied(stage[0], tmp_path / "root")
    workspace = Workspace.open(root, search=False)
    with closing(workspace.store), pytest.raises(ForbiddenError):
        ask(workspace, "purge", "neo", entity="neo/user", old="couriers", yes=True)
    assert files_of(root) == files_of(stage[0])


@pytest.mark.parametrize(
    ("name", "values"),
    [("prompt", {"profile": "neo"}), ("lint", {}), ("export", {"profiles": ["neo"], "form": "json"})],
)
def test_a_program_gets_the_json_of_what_a_command_prints_as_it_comes(stage, tmp_path, name, values):
    root = copied(stage[0], tmp_path / "root")
    told = by_command(OPERATIONS[name], root, {**values, "form": "json"} if name == "lint" else values)
    workspace = Workspace.open(root, search=False)
    with closing(workspace.store):
        given = json.loads(json.dumps(ask(workspace, name, **values)))
    assert told.data is not None
    assert plain({key: given[key] for key in told.data}, root) == told.data


@pytest.mark.parametrize(
    ("name", "actor", "missing"), [("head", "neo", "entity_id"), ("log", "neo", "entity"), ("add", None, "content")]
)
def test_a_parameter_that_is_missing_is_named(stage, name, actor, missing):
    workspace = Workspace.open(stage[0], search=False)
    with closing(workspace.store), pytest.raises(UsageError, match=f"{name} needs {missing}"):
        ask(workspace, name, actor)
