"""The interfaces of an operation: the same values as a command line, a request, a tool call, or a call of the library."""

import json
import re
import shutil
from contextlib import chdir, closing
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner
from starlette.testclient import TestClient

from catmem.cli.main import group
from catmem.envelopes.tokens import new_token
from catmem.errors import CatmemError
from catmem.mcp.tools import call_tool
from catmem.ops.table import STREAMED, Call, Interface, OperationRow, call, option_of
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.server.routes import Endpoint
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from tests.http_root import ADDRESS
from tests.same_as.compare import Plain

VARIES = frozenset({"seconds", "milliseconds", "duration_ms", "tokens"})
"""What is measured, and places by the path of a root."""


class Told(NamedTuple):
    """What an interface answered: the code of the error, the JSON, and the bytes of every memory file then."""

    code: str | None
    data: Any
    files: dict[str, bytes]


def files_of(root: Path) -> dict[str, bytes]:
    """Memory files, by their path from the root."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("homes/**/*.md"))}


def plain(data: Any, root: Path) -> Any:
    """JSON without what differs from call to call: times, ids, places."""
    return None if data is STREAMED else _plain(json.loads(json.dumps(data)), str(root), Plain())


def _plain(value: Any, root: str, made: Plain) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each, root, made) for name, each in value.items() if name not in VARIES}
    if isinstance(value, list):
        return [_plain(each, root, made) for each in value]
    # A folder of keys or tokens goes by the path of its root.
    return made(re.sub("root-[0-9a-f]{12}", "ROOT", value.replace(root, "ROOT"))) if isinstance(value, str) else value


def by_library(
    row: OperationRow, root: Path, values: dict[str, Any], interface: Interface, actor: str | None = None
) -> Told:
    """What the library answers, as an interface would ask it, in the folder of the root."""
    with chdir(root):
        return _by_library(row, root, values, interface, actor)


def _by_library(row: OperationRow, root: Path, values: dict[str, Any], interface: Interface, actor: str | None) -> Told:
    workspace = Workspace.open(root, search=False)
    session = ToolSession() if interface == "tool" else None
    asked = Call(
        row, lambda _: workspace, interface, actor, actor, frozenset(values), for_program=True, session=session
    )
    with closing(workspace.store):
        if session is not None:
            session.begin(workspace, str(actor))
        try:
            done = call(asked, values)
            data = done.value if interface == "tool" and isinstance(done.value, dict) else done.seen_by(asked)
            return Told(None, plain(data, root), files_of(root))
        except CatmemError as error:
            return Told(error.code, None, files_of(root))


# --- the command line --------------------------------------------------------------------------------------------------


def words_of(row: OperationRow, values: dict[str, Any]) -> list[str]:
    """The command line that says these values."""
    words, arguments = row.name.split(), []
    for each in row.at("command"):
        value = values.get(each.name)
        if value is None or value is False:
            continue
        said = [f"{key}={_text(one)}" for key, one in value.items()] if isinstance(value, dict) else value
        said = [_text(one) for one in (said if isinstance(said, list) else [said])]
        if each.param.argument:
            arguments += said
        elif value is True:
            words.append(option_of(each))
        elif each.param.words_at_once:
            words += [option_of(each), *said]
        else:
            words += [word for one in said for word in (option_of(each), one)]
    return [*words, "--", *arguments] if arguments else words


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def by_command(row: OperationRow, root: Path, values: dict[str, Any]) -> Told:
    """What the command answers with ``--format json``."""
    name = row.name.split()
    words = words_of(row, values)[len(name) :]
    asked = [*name, *(["--root", str(root)] if row.rooted else []), *(["--format", "json"] if row.formats else [])]
    with chdir(root):
        done = CliRunner().invoke(group, [*asked, *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    try:
        said = json.loads(done.stderr.strip().splitlines()[-1])["error"]["code"] if done.exit_code > 1 else None
    except (ValueError, KeyError, TypeError, IndexError):
        said = "usage" if done.stderr.startswith("Usage: ") else None
    try:
        data = plain(json.loads(done.stdout), root) if said is None else None
    except ValueError:
        data = None
    return Told(said, data, files_of(root))


# --- HTTP --------------------------------------------------------------------------------------------------------------


def by_http(row: OperationRow, root: Path, values: dict[str, Any], actor: str | None = None) -> Told:
    """What the API answers a person, or the profile ``actor``."""
    assert row.http is not None
    workspace = Workspace.open(root, search=False)
    tokens = root.parent / f"{root.name}-tokens" / "tokens.json"
    with closing(workspace.store):
        _, token = new_token(workspace.config, tokens, actor or "somebody", person=actor is None)
        client = TestClient(create_app(workspace, ServerSettings(tokens=tokens)), base_url=ADDRESS)
        named = {
            row.parameters[name].called if name in row.parameters else name: value for name, value in values.items()
        }
        path = row.http.path.format(**named)
        inside = {name: value for name, value in named.items() if f"{{{name}}}" not in row.http.path}
        query = {name: ",".join(value) if isinstance(value, list) else _text(value) for name, value in inside.items()}
        query = {name: text.lower() if text in {"True", "False"} else text for name, text in query.items()}
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        writes = Endpoint(row, row.http).writes
        given: dict[str, Any] = {"json": inside} if writes else {"params": query}
        answer = client.request(row.http.method, path, headers=headers, **given)
    data = answer.json()
    refused = answer.status_code >= 400 and "files" not in data
    return Told(data["code"] if refused else None, None if refused else plain(data, root), files_of(root))


# --- tools -------------------------------------------------------------------------------------------------------------


def by_tool(row: OperationRow, root: Path, values: dict[str, Any], actor: str) -> Told:
    """What the tool answers to a model."""
    assert row.tool is not None
    workspace = Workspace.open(root, search=False)
    with closing(workspace.store):
        session = ToolSession()
        session.begin(workspace, actor)
        named = {
            row.parameters[name].called if name in row.parameters else name: value for name, value in values.items()
        }
        answer = call_tool(workspace, actor, row.tool_name, named, session)
    return Told(None if answer["success"] else answer["reason"], plain(answer, root), files_of(root))


def copied(root: Path, place: Path) -> Path:
    """A copy of a root, to be written to."""
    shutil.copytree(root, place, symlinks=True)
    return place
