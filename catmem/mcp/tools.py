"""The tools of the MCP server: their names, schemas and hints, and the one way from a call to an answer.

Each tool is one action of the ``memory`` tool. What an argument may be is said in the schema of that one; here stands
which tool takes which, in words that are true of that tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_types import Tool, ToolAnnotations

from catmem.config.json_schema import nearest, shown
from catmem.writing.memory_tool import GIVEN_TAGS, TOOL_SCHEMA, memory_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.workspace.workspace import Workspace
    from catmem.writing.memory_tool import ToolSession

_WHICH = "A piece of text that only it has, or its id (b2:...)."
_NARROWS = "Only this category."
_OWN_TARGET = "user: facts on the user (default); memory: notes."
_EITHER_TARGET = "user: facts on the user; memory: notes. Default: both."
_OFFSET = "Entries to pass over; answers say where to go on."
_HOW = {
    "target": _OWN_TARGET,
    "expected": "Revision you saw; refused if not the newest.",
    "op_id": "Names this call; a repeat does nothing.",
}


class _Kind(NamedTuple):
    """One tool: the action it stands for, what it says of itself, and its arguments with a line on each."""

    action: str
    title: str
    said: str
    takes: Mapping[str, str]
    needs: tuple[str, ...]
    hints: ToolAnnotations
    gives: Mapping[str, Any]


_SHOWN = frozenset({"type", "enum", "items", "additionalProperties"})
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FAILURE = {"error": _TEXT, "reason": _TEXT, "remediation": _TEXT}
_ENTRIES = {"type": "array", "items": {"type": "object", "required": ["category", "body", "tags", "id"]}}
_FILE = {"entity": _TEXT, "revision": {"type": ["string", "null"]}}
# A refused call answers with entries too: those that are on file now.
_FOUND = {**_FAILURE, "entries": _ENTRIES, "total": _NUMBER, "message": _TEXT}
_LISTED = {**_FAILURE, **_FILE, "entries": _ENTRIES, "total": _NUMBER, "message": _TEXT}
_WRITTEN = {**_FAILURE, **_FILE, "changed": {"type": "boolean"}, "entries": _ENTRIES, "message": _TEXT}
_SEEDED = {**_FAILURE, "files": {"type": "array", "items": {"type": "object"}}, "message": _TEXT}

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# Of several entries that say the same, the first is meant: a second call may change the next.
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
_SEEDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

_KINDS = {
    "memory_search": _Kind(
        "search",
        "Search memory",
        "Find entries, the best and newest first.",
        {
            "query": 'Words, any of which is enough; a "quoted phrase" must be there.',
            "target": _EITHER_TARGET,
            "category": _NARROWS,
            "state": "Only this state.",
            "offset": _OFFSET,
        },
        ("query",),
        _READS,
        _FOUND,
    ),
    "memory_list": _Kind(
        "list",
        "List memory",
        "List what is on file, with ids, states and revision.",
        {"target": _OWN_TARGET, "category": _NARROWS, "offset": _OFFSET},
        (),
        _READS,
        _LISTED,
    ),
    "memory_add": _Kind(
        "add",
        "Add to memory",
        "Remember one fact for later. A text that is there already is not added again.",
        {
            "content": "The fact, in a sentence or two.",
            "category": "Where the entry goes.",
            "tags": f"By name: {GIVEN_TAGS}.",
            **_HOW,
        },
        ("content",),
        _ADDS,
        _WRITTEN,
    ),
    "memory_replace": _Kind(
        "replace",
        "Replace in memory",
        "Give one entry other text or tags.",
        {
            "old_text": _WHICH,
            "content": "The whole new text; without it only tags change.",
            "category": _NARROWS,
            "tags": "Tags by name; null takes one away.",
            "confirm": "After semantic_collision: write it.",
            **_HOW,
        },
        ("old_text",),
        _CHANGES,
        _WRITTEN,
    ),
    "memory_remove": _Kind(
        "remove",
        "Remove from memory",
        "Remove one entry that is wrong or of no more use.",
        {"old_text": _WHICH, "category": _NARROWS, **_HOW},
        ("old_text",),
        _CHANGES,
        _WRITTEN,
    ),
    "memory_move": _Kind(
        "move",
        "Move in memory",
        "Put one entry into another category; its text and tags stay.",
        {"old_text": _WHICH, "category": "Where the entry goes to.", **_HOW},
        ("old_text", "category"),
        _CHANGES,
        _WRITTEN,
    ),
    "memory_verify": _Kind(
        "verify",
        "Verify memory",
        "Say that one entry was checked today and still holds.",
        {
            "old_text": _WHICH,
            "evidence": "What you checked it against.",
            "category": _NARROWS,
            "target": _OWN_TARGET,
            "expected": _HOW["expected"],
        },
        ("old_text",),
        _ADDS,
        _WRITTEN,
    ),
    "memory_seed": _Kind(
        "seed",
        "Seed other profiles",
        "Copy slices of your files to profiles seeded from you (tier 1 only).",
        {
            "targets": "Profiles; by default all seeded from you.",
            "target": _EITHER_TARGET,
            "categories": "Only these.",
            "category": _NARROWS,
            "fit": "Leave out what is over a file's limit.",
        },
        (),
        _SEEDS,
        _SEEDED,
    ),
    "memory_prompt": _Kind(
        "prompt",
        "Slice of memory",
        "Give a slice of what you see as text, for an agent without a profile.",
        {
            "categories": "Only these, or patterns (rules-*, !rules-pay).",
            "budget": "At most so many characters.",
            "from": "The profile whose files it is made of (tier 1 only).",
        },
        (),
        _READS,
        {**_FAILURE, "text": _TEXT, "message": _TEXT},
    ),
}


def _tool(name: str, kind: _Kind) -> Tool:
    properties = {argument: {**_form(argument), "description": said} for argument, said in kind.takes.items()}
    takes: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    gives = {
        "type": "object",
        "properties": {"success": {"type": "boolean"}, **kind.gives},
        "required": ["success"],
    }
    return Tool(
        name=name,
        title=kind.title,
        description=kind.said,
        input_schema={**takes, "required": list(kind.needs)} if kind.needs else takes,
        output_schema=gives,
        annotations=kind.hints,
    )


def _form(argument: str) -> dict[str, Any]:
    """What an argument may be. Its limits are not repeated here: every call pays for what a model is shown."""
    return {key: value for key, value in TOOL_SCHEMA["properties"][argument].items() if key in _SHOWN}


TOOLS = tuple(_tool(name, kind) for name, kind in _KINDS.items())
"""All tools, as ``tools/list`` gives them."""


def call_tool(
    workspace: Workspace, profile: str, name: str, arguments: Mapping[str, Any], session: ToolSession
) -> dict[str, Any]:
    """The answer of the tool ``name`` (a name of ``TOOLS``), as ``memory_tool`` gives it.

    An argument that the tool does not take is refused here, also one that another action would have a use for: what is
    quietly left out may be what the caller meant most.
    """
    kind = _KINDS[name]
    unknown = [argument for argument in arguments if argument not in kind.takes]
    if unknown:
        near = nearest(unknown[0], kind.takes)
        return {
            "success": False,
            "error": f"{name} takes no argument {shown(unknown[0])}",
            "reason": "bad_arguments",
            "remediation": f"{f'Did you mean {near!r}? ' if near else ''}It takes {', '.join(kind.takes)}.",
        }
    return memory_tool(workspace, profile, {**arguments, "action": kind.action}, session=session)
