"""What is made from the package says what the package says, and every list has all that it is of."""

import json
import re

import click
from click.testing import CliRunner

import catmem
from benchmarks.__main__ import LONG, NAMES
from catmem import commands
from catmem.errors import (
    AmbiguousError,
    CatmemError,
    MergeConflictError,
    NotUtf8Error,
    OverBudgetError,
    StaleError,
    TooLargeError,
)
from catmem.jsonable import jsonable
from catmem.linting.rule import all_rules
from catmem.mcp.tools import all_tools
from catmem.ops.memory_tool import TOOL_SCHEMA
from catmem.ops.table import FAMILIES, OPERATIONS, load_all
from catmem.plugins.importers import SOURCES
from catmem.resources import SCHEMA_NAMES, schema
from tests.docs import api_page, cli_reference, rules_page
from tests.docs.generated import GENERATED
from tests.docs.pages import ROOT
from tests.golden.case import put
from tests.together import together

GROUP = cli_reference.command_line()
COMMANDS = dict(cli_reference.subcommands(GROUP, "catmem"))


def test_the_commands_are_those_of_the_table():
    load_all()
    rows = {name for name, row in OPERATIONS.items() if row.command}
    assert set(COMMANDS) == {f"catmem {name}" for name in {*commands.COMMANDS, *FAMILIES, *rows}}


@together("name", COMMANDS)
def test_every_command_and_option_has_help(name):
    command = COMMANDS[name]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts


def test_every_option_is_on_the_page():
    page = cli_reference.render(GROUP)
    for command in [GROUP, *COMMANDS.values()]:
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                for option in [*parameter.opts, *parameter.secondary_opts]:
                    assert f"`{option}`" in page


COPY = "USER.md.bak.20261121T120000Z"
JSON_CALLS = {
    "init": ["init", "--example", "demo"],
    "show": ["show", "demo/homes/orchestrator/USER.md"],
    "list": ["list", "-p", "orchestrator", "--root", "demo"],
    "search": ["search", "-p", "orchestrator", "invoice", "--root", "demo"],
    "prompt": ["prompt", "trinity", "--root", "demo"],
    "fmt": ["fmt", "--check", "--root", "demo"],
    "lint": ["lint", "--as-of", "2026-11-21", "--root", "demo"],
    "access": ["access", "--root", "demo"],
    "seed": ["seed", "--all", "--dry-run", "--root", "demo"],
    "stats": ["stats", "--from", "orchestrator", "--root", "demo"],
    "sort": ["sort", "--dry-run", "--yes", "--root", "demo", "demo/homes/trinity/USER.md"],
    "tidy": ["tidy", "--root", "demo"],
    "migrate": ["migrate", "--dry-run", "--root", "demo", "demo/homes/trinity/USER.md"],
    "rule": ["rule", "CM203"],
    "schema": ["schema"],
    "add": ["add", "-p", "neo", "-c", "projects", "The test runs.", "--root", "demo"],
    "replace": ["replace", "-p", "neo", "The test runs", "The test passes.", "--root", "demo"],
    "verify": ["verify", "-p", "neo", "The test passes", "--propose", "--root", "demo"],
    "envelope": ["envelope", "-p", "neo", "--as", "neo", "--add", "It is done.", "-c", "workflow-rules-development", "--root", "demo"],
    "write": ["write", "--envelope", "e.json", "--root", "demo"],
    "role-hash": ["role-hash", "neo", "--root", "demo"],
    "key new": ["key", "new", "neo", "--root", "demo"],
    "key list": ["key", "list", "--root", "demo"],
    "key remove": ["key", "remove", "neo", "--root", "demo"],
    "token new": ["token", "new", "neo", "--root", "demo"],
    "token list": ["token", "list", "--root", "demo"],
    "token remove": ["token", "remove", "neo", "--root", "demo"],
    "proposals": ["proposals", "--root", "demo"],
    "status": ["status", "--root", "demo"],
    "review": ["review", "--list", "--as-of", "2026-11-21", "--root", "demo"],
    "move": ["move", "-p", "neo", "The test passes", "-c", "communication-style", "--root", "demo"],
    "remove": ["remove", "-p", "neo", "The test passes", "--expected", "4", "--on-stale", "branch", "--root", "demo"],
    "log": ["log", "neo", "--root", "demo"],
    "diff": ["diff", "neo", "--root", "demo"],
    "branches": ["branches", "--root", "demo"],
    "merge": ["merge", "neo", "--precedence", "both", "--root", "demo"],
    "restore": ["restore", "neo", "2", "--root", "demo"],
    "undo": ["undo", "neo", "--root", "demo"],
    "blame": ["blame", "neo", "--root", "demo"],
    "log --verify": ["log", "--verify", "--root", "demo"],
    "store info": ["store", "info", "--root", "demo"],
    "store copy": ["store", "copy", "files", "sqlite:///copy.db", "--root", "demo"],
    "simulate": ["simulate", "--agents", "2", "--writes", "4"],
    "audit": ["audit", "--root", "demo"],
    "fsck": ["fsck", "--root", "demo"],
    "doctor": ["doctor", "--root", "demo"],
    "fsck --anchors": ["fsck", "--anchors", "--root", "demo"],
    "purge": ["purge", "neo", "The test passes", "--yes", "--root", "demo"],
    "merge COPY": ["merge", f"demo/homes/neo/{COPY}", "--root", "demo"],
    "fsck ENTITY": ["fsck", "neo", "--root", "demo"],
    "import": ["import", "--from", "hermes", "-p", "neo", "-t", "memory", "demo/homes/orchestrator/USER.md", "--root", "demo"],
    "export": ["export", "-p", "neo", "--root", "demo"],
    "sync": ["sync", "--profile", "neo", "--to", "copilot", "--project", "demo", "--root", "demo"],
    "hermes install": ["hermes", "install", "--home", "hermes", "--as", "neo", "--root", "demo", "--yes"],
    "hermes status": ["hermes", "status", "--home", "hermes"],
    "hermes uninstall": ["hermes", "uninstall", "--home", "hermes", "--yes"],
}  # fmt: skip
# Below these stand names from the files themselves, or from whoever wrote the record.
OPEN_ENDED = {
    "budget", "by_agent", "by_entity", "by_reason", "by_status", "categories", "hidden", "hidden_uncategorized", "note",
    "options", "sizes", "statistics", "tags",
}  # fmt: skip


def make_hermes_home(home):
    """A home of Hermes Agent with a second profile, and a root over both."""
    for folder in (home, home / "profiles" / "coder"):
        put(folder / "config.yaml", "memory:\n  memory_enabled: true\n")
    put(home / "memories" / "USER.md", "## Talk\nShort answers.\n")
    assert CliRunner().invoke(GROUP, ["init", "--from-hermes", str(home)]).exit_code == 0


def test_every_json_field_is_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = cli_reference.PAGE.read_text(encoding="utf-8").split("The fields of each command:")[1]
    lines = [line for line in page.splitlines() if line.startswith("- `")]
    rows = {name: line for line in lines for name in re.findall("`(.+?)`", line.split(": ")[0])}
    rows["prompt"] += page.split("The manifest of a prompt")[1]
    for name, line in dict(rows).items():
        rows[name] += "".join(rows[other] for other in re.findall("the fields of `(.+?)`", line))
    assert set(rows) == set(JSON_CALLS), "add a call to JSON_CALLS here, and a line with its fields to docs/cli.md"
    make_hermes_home(tmp_path / "hermes")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # where keys are
    for command, arguments in JSON_CALLS.items():
        if command == "merge COPY":
            put(tmp_path / "demo" / "homes" / "neo" / COPY, "## Projects\nWhat the file lacks.\n")
        words = command.count(" ") + 1
        result = CliRunner().invoke(GROUP, [*arguments[:words], "--format", "json", *arguments[words:]])
        assert result.stdout.startswith("{"), result.output
        if command == "envelope":
            put(tmp_path / "e.json", result.stdout)  # for write
        found = fields(json.loads(result.stdout))
        assert len(found) >= 3
        assert {name for name in found if f"`{name}`" not in rows[command]} == set(), command


def test_every_field_of_an_error_is_on_the_page():
    (row,) = (
        line for line in cli_reference.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- an error: ")
    )
    whole = {"code": "c", "path": "p", "line": 1, "column": 1, "key": "k", "hint": "h"}
    known = [CatmemError("m", **whole), NotUtf8Error(0, "r"), TooLargeError("file", 2, 1), AmbiguousError("m")]
    known += [OverBudgetError("m", size=2, limit=1), StaleError("m"), MergeConflictError("m")]
    for error in known:
        assert {name for name in jsonable(error) if f"`{name}`" not in row} == set()


def fields(value: object) -> set[str]:
    """The names of all fields in a JSON value, but not the names that files bring in."""
    if isinstance(value, list):
        return {name for part in value for name in fields(part)}
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for name, inner in value.items():
        if name == "categories":
            found |= {field for entries in inner.values() for field in fields(entries)}
        elif name not in OPEN_ENDED:
            found |= fields(inner)
    return found


@together("made", GENERATED, ids=[each.__name__ for each in GENERATED])
def test_it_is_up_to_date(made):
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "run `make docs`"


def test_all_that_the_package_offers_is_in_the_reference():
    page = api_page.reference()
    offered = [name for name in catmem.__all__ if name != "__version__"]
    assert [name for name in offered if f"`{name}" not in page and f"## {name}\n" not in page] == []


# --- the pages of the rules ---

RULES = all_rules()
SUBJECTS = {
    "CM1": "structure",
    "CM2": "entries",
    "CM3": "tags",
    "CM4": "profiles and configuration",
    "CM5": "budget",
    "CM6": "safety",
}


def test_the_rules_stand_below_their_families_in_the_order_of_their_codes():
    titles = re.findall(r"^###? CM.*$", rules_page.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [
        title
        for family, subject in SUBJECTS.items()
        for title in (
            f"## {family}xx {subject}",
            *(f"### {code} {rule.name}" for code, rule in RULES.items() if code.startswith(family)),
        )
    ]
    assert titles == wanted


@together("code", RULES)
def test_every_page_says_why_shows_an_example_and_what_to_do(code):
    rule = RULES[code]
    summary, why, *_ = rule.page.split("\n\n")
    assert not why.startswith(("Bad", "Good", "Fix"))
    labels = re.findall(r"^(Fix|Options): *", re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", rule.page), re.MULTILINE)
    assert labels == ["Fix"] + (["Options"] if rule.options else [])
    assert rule.summary.endswith(".")
    assert summary == rule.summary
    for option in rule.options:
        assert f"- `{option}`: " in rule.page


@together("code", RULES)
def test_every_example_says_what_is_bad(code):
    """And what is good, unless the fix says it."""
    assert re.search("^Bad(:|, )", RULES[code].page.partition("\nFix: ")[0], re.MULTILINE)


def test_what_fires_on_more_than_a_third_of_real_files_is_a_hint():
    files, found = rules_page.counts()
    often = [code for code, count in found.items() if 3 * count > files]
    assert [code for code in often if RULES[code].severity != "hint"] == []


# --- every list has all that it is of: tags, schemas, programs that are read, benchmarks ---

TAGS = list(schema("tags")["properties"])
SET_BY_ITSELF = {"verified_date", "created"}
"""What a write dates itself, so that no model is told to give it."""


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def part(text, start, end):
    """What stands between two texts, of which each is there once after the one before."""
    _, found, rest = text.partition(start)
    assert found, start
    inside, found, _ = rest.partition(end)
    assert found, end
    return inside


def test_the_table_of_the_format():
    rows = part(page("format.md"), "| tag | value | meaning |\n|---|---|---|\n", "\n\n").splitlines()
    assert [row.split("|")[1].strip(" `") for row in rows] == TAGS


TOLD = {
    "the memory tool": (TOOL_SCHEMA["properties"]["tags"]["description"], "Known ones: "),
    "memory_add": (next(t for t in all_tools() if t.name == "memory_add").input_schema["properties"]["tags"]["description"],
                   "By name: "),
}  # fmt: skip


@together("said", TOLD.values(), ids=TOLD)
def test_what_a_model_is_told(said):
    text, start = said
    assert re.sub(r" \(.*?\)", "", part(text, start, ".")).split(", ") == [
        tag for tag in TAGS if tag not in SET_BY_ITSELF
    ]


def test_the_table_of_the_schemas():
    rows = part(page("schemas.md"), "| file | what it describes |\n|---|---|\n", "\n\n").splitlines()
    files = [row.split("|")[1].strip(" `") for row in rows]
    assert sorted(files) == [f"{name}.schema.json" for name in SCHEMA_NAMES]


def test_the_programs_that_are_read():
    rows = part(page("import.md"), "| `--from` | PATH | an entry is | its category |\n|---|---|---|---|\n", "\n\n")
    assert [row.split("|")[1].strip(" `") for row in rows.splitlines()] == list(SOURCES)


def test_the_page_of_the_benchmarks_names_all_of_them():
    lines = part(page("benchmarks.md"), "## Times\n", "## The threat scan\n").splitlines()
    rows = {line.split("`")[1] for line in lines if line.startswith("| `")}
    assert rows | {"fleet"} == {*NAMES, *LONG}
    assert "python -m benchmarks fleet" in page("benchmarks.md")
