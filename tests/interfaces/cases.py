"""Calls of every operation, good and bad: the values, and the code of the error that they are refused with."""

import shlex
from datetime import date
from typing import Any, NamedTuple

FACT = "The courier of the office is called Blitz."
SETUP = [
    shlex.split(line)
    for line in (
        'add -p neo -c rules "Vendor for couriers is Beta Ltd." --as-of 2026-11-20',
        'replace -p neo couriers "Vendor for couriers is Gamma Ltd." --expected 2',
        'add -p neo -c rules "Lyon closes at noon." --expected 2 --on-stale branch --as neo',
        "seed orchestrator neo",
        'add -p neo -c rules "Oslo closes at two." --as neo --propose',
    )
]
"""The command lines that make the root of these cases out of that of ``tests.same_as.roots``."""


class Case(NamedTuple):
    """One call. ``who`` calls over HTTP or as a tool; ``{proposal}`` stands for the one that waits."""

    values: dict[str, Any]
    code: str | None = None
    who: str | None = None


def good(**values: Any) -> Case:
    return Case(values)


def bad(refused: str, /, **values: Any) -> Case:
    return Case(values, refused)


CASES: dict[str, list[Case]] = {
    "add": [
        good(profile="neo", content=FACT, category="rules", as_of=date(2026, 11, 21)),
        good(
            profile="neo", content=FACT, category="rules", tags={"domain": "office", "owner": ["a", "b"]}, dry_run=True
        ),
        bad("unknown_name", profile="nobody", content=FACT, category="rules"),
        bad("stale_prev", profile="neo", content=FACT, category="rules", expected="1", target="user"),
        bad("forbidden", profile="neo", content=FACT, category="vault", actor="neo"),
        bad("unknown_category", profile="neo", content=FACT, category="rulse"),
    ],
    "replace": [
        good(profile="neo", old="couriers", new="Vendor for couriers is Delta Ltd."),
        good(profile="neo", old="couriers", tags={"domain": "office"}),
        bad("no_match", profile="neo", old="nothing of this kind", new="x"),
    ],
    "remove": [good(profile="neo", old="couriers"), bad("ambiguous", profile="neo", old="s")],
    "move": [
        good(profile="neo", old="couriers", category="talk"),
        bad("unknown_category", profile="neo", old="couriers", category="talks"),
        bad("no_match", profile="neo", old="nothing of this kind", category="talk"),
    ],
    "verify": [
        good(profile="neo", old="15th", as_of=date(2026, 11, 21), evidence="the contract"),
        bad("no_match", profile="neo", old="nothing of this kind"),
    ],
    "show": [
        good(profile="neo"),
        good(file="homes/neo/USER.md"),
        bad("missing", file="nowhere.md"),
        bad("unknown_name", profile="nobody"),
    ],
    "list": [
        good(),
        good(profile="neo", target="user", category="rules", as_of=date(2026, 11, 21)),
        bad("unknown_name", profile="nobody"),
    ],
    "search": [
        good(query="vendor"),
        good(query="vendor", profile="neo", limit=1),
        bad("empty_query", query='"', profile="neo"),
        bad("unknown_name", query="vendor", profile="nobody"),
    ],
    "prompt": [
        good(profile="neo", as_of=date(2026, 11, 21)),
        good(profile="neo", categories=["rules"], budget=200, style="xml"),
        good(profile="neo", categories=["rules", "!x"], budget=10_000),
        good(profile="neo", categories=["no-such"]),
        good(profile="neo", budget=1),
        good(profile="neo", source="orchestrator", categories=["rules"]),
        bad("unknown_name", profile="nobody"),
        bad("selector", profile="neo", categories=["!"]),
    ],
    "log": [
        good(entity="neo/user"),
        good(entity="neo/user", limit=1),
        bad("unknown_name", entity="nobody/user"),
    ],
    "blame": [good(entity="neo"), bad("unknown_name", entity="nobody")],
    "diff": [good(entity="neo/user", old="1", new="2"), bad("unknown_revision", entity="neo/user", old="99")],
    "restore": [
        good(entity="neo/user", revision="2"),
        bad("unknown_revision", entity="neo/user", revision="99"),
        bad("forbidden", entity="neo/user", revision="2", actor="neo"),
    ],
    "undo": [good(entity="neo/user", dry_run=True), bad("no_undo", entity="trinity/user")],
    "branches": [good(), good(entity="neo/user"), bad("unknown_name", entity="nobody/user")],
    "merge": [
        good(entity="neo/user", dry_run=True),
        bad("unknown_name", entity="nobody/user"),
    ],
    "proposals": [good(), good(which=["neo"])],
    "proposal": [good(name="{proposal}"), bad("unknown_proposal", name="p-0000000000")],
    "approve": [good(name="{proposal}"), bad("unknown_proposal", name="p-0000000000")],
    "reject": [good(name="{proposal}", reason="No."), bad("unknown_proposal", name="p-0000000000")],
    "changes": [good(), good(since=["neo/user@1"]), bad("unknown_name", since=["nobody/user"])],
    "head": [good(entity_id="neo/user"), bad("unknown_name", entity_id="nobody/user")],
    "read": [
        good(entity_id="neo/user", category="rules", as_of=date(2026, 11, 21)),
        good(entity_id="neo/user", revision="1", limit=1, offset=1),
        bad("unknown_revision", entity_id="neo/user", revision="99"),
    ],
    "lint": [good()],
    "rule": [good(code="CM101"), bad("unknown_rule", code="CM999")],
    "status": [good(as_of=date(2026, 11, 21))],
    "access": [good(), good(why=["neo", "rules"]), bad("unknown_name", profiles=["nobody"])],
    "stats": [good(as_of=date(2026, 11, 21))],
    "schema": [good(), bad("unknown_schema", name="nothing")],
    "memory list": [good(), good(target="memory", offset=1)],
    "memory search": [good(query="vendor"), good(query="xyzzy", category="rules")],
    "seed": [
        good(source="orchestrator", targets=["neo"], dry_run=True),
        good(source="orchestrator", targets=["neo"], target="user", categories=["rules"]),
        bad("unknown_name", source="orchestrator", targets=["nobody"]),
    ],
    "fmt": [good(check=True), good(diff=True)],
    "migrate": [good(files=["homes/neo/USER.md"], dry_run=True)],
    "promote": [good(profile="neo"), bad("unknown_name", profile="nobody")],
    "review": [
        good(only_list=True, as_of=date(2026, 11, 21)),
        bad("unknown_name", profiles=["nobody"], only_list=True),
    ],
    "audit": [good(limit=3)],
    "key list": [good()],
    "token list": [good()],
    "role-hash": [good(name="neo"), bad("unknown_name", name="nobody")],
    "fsck": [good(), good(ends=True), good(entity="neo/user"), bad("unknown_name", entity="nobody/user")],
    "doctor": [good()],
    "purge": [
        good(entity="neo/user", old="couriers", dry_run=True),
        bad("no_match", entity="neo/user", old="nothing of this kind", dry_run=True),
    ],
    "store info": [good()],
    "export": [good(profiles=["neo"], form="markdown")],
    "tidy": [good(profile="neo")],
    "import": [bad("missing", source="mcp-memory", path="nowhere.jsonl", profile="neo")],
    "init": [good(named="new")],
    "write": [bad("missing", place="nowhere.json")],
}
