"""The pictures in docs/architecture.md: a command or a request passes the modules below it, in their order."""

import re
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

import catmem
from catmem.cli.main import group
from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from tests.docs.pages import ROOT
from tests.http_root import ADDRESS

PACKAGE = Path(catmem.__file__).parent
PICTURE = re.compile(r"```\n(?:catmem )?(?P<command>(?:(?<=catmem )|POST ).+)\n(?P<lines>(?: +\S+ .*\n)+)```")


def pictures() -> dict[str, list[str]]:
    """Command to the modules below it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return {
        found["command"]: [line.split()[0] for line in found["lines"].splitlines()] for found in PICTURE.finditer(page)
    }


def passed(run: Callable[[], object]) -> list[str]:
    """The modules of the package in which a function runs, in the order of their first calls, in any new thread."""
    modules: dict[str, None] = {}

    def call(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            modules.setdefault(path.relative_to(PACKAGE).with_suffix("").as_posix())

    before = sys.getprofile()
    sys.setprofile(call)
    threading.setprofile(call)
    try:
        run()
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return list(modules)


def command(arguments: list[str]) -> None:
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0, done.output


def test_there_are_three_pictures():
    assert [drawn.split()[0] for drawn in pictures()] == ["prompt", "add", "POST"]


@pytest.mark.parametrize("line", [drawn for drawn in pictures() if not drawn.startswith("POST")])
def test_a_command_passes_its_modules_in_order(line, tmp_path, monkeypatch):
    CliRunner().invoke(group, ["init", "--example", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    arguments = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]
    command(arguments)  # what is made once in a process
    drawn = pictures()[line]
    order = passed(partial(command, [*arguments[:-1], "Uses spaces."] if line.startswith("add") else arguments))
    assert [module for module in order if module in drawn] == drawn


def test_a_request_passes_its_modules_in_order(tmp_path):
    command(["init", "--example", str(tmp_path / "root")])
    workspace = Workspace.open(tmp_path / "root", search=False)
    tokens = tmp_path / "tokens.json"
    headers = {"Authorization": f"Bearer {new_token(workspace.config, tokens, 'neo')[1]}"}

    def writing(old: str, new: str) -> Callable[[], None]:
        client = TestClient(create_app(workspace, ServerSettings(tokens=tokens)), base_url=ADDRESS, headers=headers)
        client.get("/healthz")  # what is made once in an application; it takes no thread to work in
        head = workspace.store.head("neo/user")
        change = {"action": "replace", "old_text": old, "content": new}
        body = {"entity_id": "neo", "prev_rev": 0 if head is None else int(head.revision), "content": [change]}

        def write() -> None:
            answer = client.post("/mem/write", json=body)
            assert (answer.status_code, answer.json()["changed"]) == (200, True)

        return write

    with closing(workspace.store):
        workspace.add("neo", "Uses tabs.", category="workflow-rules-development", actor="neo")
        writing("Uses tabs", "Uses two tabs.")()
        order = passed(writing("Uses two tabs", "Uses three tabs."))  # in an application and threads of its own
    (drawn,) = (below for line, below in pictures().items() if line.startswith("POST"))
    assert [module for module in order if module in drawn] == drawn
