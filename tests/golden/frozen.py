"""What programs hold on to, as it is: JSON of the commands, the HTTP API, the tools of MCP, the promises.

The files in ``frozen/`` say it; ``python -m tests.golden.regenerate`` writes them anew. Of JSON they keep the form, that
is which fields hold which kinds of values, for ids and times change from run to run.
"""

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from catmem.mcp.tools import all_tools
from catmem.server.routes import document
from tests.docs.cli_reference import command_line
from tests.docs.pages import ROOT

FOLDER = Path(__file__).with_name("frozen")

STORY = """
init --example .
show homes/trinity/USER.md
list -p trinity
search -p trinity tests
prompt trinity
seed --all --dry-run
seed --all
seed --all
access
stats
lint
rule CM203
add -p neo -c dev-workflow "Prefers tabs over blanks."
add -p neo -c dev-workflow "Prefers tabs over blanks."
add -p neo -c dev-workflow "Runs tests on save." --expected 0
replace -p neo "tabs over" "Prefers blanks over tabs."
verify -p neo "blanks over"
move -p neo "blanks over" -c workflow-rules
remove -p neo "blanks over" --dry-run
remove -p neo "blanks over"
remove -p neo "blanks over"
add -p nobody "A fact."
log neo/user
diff neo/user
branches
merge neo/user
restore neo/user 1
log neo/user --verify
audit
store info
store copy files sqlite:///copy.db
fsck
fmt --check
migrate homes/neo/USER.md --dry-run
review -p trinity --list
export
import missing --from hermes -p neo
import --from mcp-memory -p neo memory.jsonl --dry-run
role-hash trinity
envelope -p trinity --add "Uses a Mac."
key new trinity
key list
key remove trinity
token new trinity
token list
simulate --agents 2 --writes 4
purge neo/user "blanks over" --dry-run
fsck neo/user
merge --all
"""
"""Commands on an example root, one after the other. Refusals are answers too."""


def form(value: Any) -> Any:
    """A JSON value with kinds in the place of values; of a list the forms that its members have."""
    if isinstance(value, dict):
        named = all(re.fullmatch(r"[a-z][a-z_]*", key) for key in value)
        return {key: form(each) for key, each in value.items()} if named else {"*": _forms(value.values())}
    if isinstance(value, list):
        return _forms(value)
    return "null" if value is None else type(value).__name__


def _forms(values: Iterable[Any]) -> list[Any]:
    return [json.loads(text) for text in sorted({json.dumps(form(value)) for value in values})]


def commands(folder: Path) -> dict[str, Any]:
    """The exit status of each command of the story, and the form of what it prints as JSON, in a fresh ``folder``."""
    answers: dict[str, Any] = {}
    (folder / "memory.jsonl").write_text(
        '{"type":"entity","name":"Ann","entityType":"person","observations":["Uses vim."]}\n'
    )
    with contextlib.chdir(folder):
        for line in STORY.strip().splitlines():
            done = CliRunner().invoke(command_line(), [*shlex.split(line), "--format", "json"])
            assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
            said = json.loads(done.stdout or done.stderr.splitlines()[-1])
            # A repeated command is a new question: the second seed finds nothing to do.
            answers[f"{len(answers) + 1} {line}"] = {"status": done.exit_code, "form": form(said)}
    return answers


def http() -> dict[str, Any]:
    """The OpenAPI document, with a member for each operation and form."""
    said = deepcopy(document())
    operations = {
        f"{method} {path}": how for path, methods in said.pop("paths").items() for method, how in methods.items()
    }
    forms_of_bodies = said["components"].pop("schemas")
    return {**said, **operations, **forms_of_bodies}


def promises() -> list[str]:
    """What each line of docs/guarantees.md promises that names a test: all before the tests, in parentheses."""
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    return [
        line.rpartition(" ([")[0].removeprefix("- ")
        for line in page.splitlines()
        if ".py)" in line and line.startswith("- ")
    ]


FROZEN: dict[str, Callable[[Path], Any]] = {
    "commands": commands,
    "http": lambda _: http(),
    "mcp": lambda _: [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in all_tools()],
    "promises": lambda _: promises(),
}


def text_of(name: str, folder: Path) -> str:
    """What the golden file of this name is to say: JSON, with a line for each of what it holds."""
    value = FROZEN[name](folder)
    ends = "{}" if isinstance(value, dict) else "[]"
    named = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    held = value.values() if isinstance(value, dict) else value
    lines = [key + json.dumps(each, ensure_ascii=False) for key, each in zip(named, held, strict=True)]
    return "\n".join([ends[0], ",\n".join(lines), ends[1], ""])
