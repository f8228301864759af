"""The tools of the MCP server: their names, schemas and hints, and the one way from a call to an answer.

Each tool is one action of the ``memory`` tool. What an argument may be is said in the schema of that one; here stands
which tool takes which, in words that are true of that tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_types import Tool, ToolAnnotations

from catmem.config.access import Rights
from catmem.config.json_schema import nearest, shown
from catmem.config.selector import is_pattern
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.writing.memory_tool import GIVEN_TAGS, TOOL_SCHEMA, memory_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.workspace.workspace import Workspace
    from catmem.writing.drift_guard import ToolSession

_WHICH = "Text that only it has, or its id (b2:...)."
_NARROWS = "Only this category."
_OWN_TARGET = "user: facts on the user (default); memory: notes."
_THIS_TARGET = "Default: both."
_EITHER_TARGET = "user: facts on the user; memory: notes. Default: both."
_OFFSET = "Entries to skip."
_HOW = {
    "target": _THIS_TARGET,
    "expected": "Revision you saw; old: refused.",
    "op_id": "Same for a repeat.",
    "reason": "Why.",
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
_OF_WAITING = frozenset({"reason", "proposal"})
"""Arguments that are offered where ``catmem.yaml`` has writes wait for a person, and taken everywhere."""
_TEXT = {"type": "string"}
# What a refusal has instead is not repeated in each: every call pays for what a model is shown.
_LIST = {"type": "array"}
_FOUND = {"entries": _LIST, "total": {"type": "integer"}}
_WRITTEN = {"entries": _LIST, "changed": {"type": "boolean"}}
_SEEDED = {"files": _LIST}

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# Of several entries that say the same, the first is meant: a second call may change the next.
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
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
        "List what is on file, with ids, states and revision, in the prompt or not.",
        {"target": _OWN_TARGET, "category": _NARROWS, "offset": _OFFSET, "proposal": "Yours that wait: all, or an id."},
        (),
        _READS,
        _FOUND,
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
            "target": "user: facts on the user; memory: notes. Default: by category.",
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
            "target": _THIS_TARGET,
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
            "budget": "Most characters.",
            "from": "The profile whose files it is made of (tier 1 only).",
        },
        (),
        _READS,
        {"text": _TEXT},
    ),
}


def _tool(name: str, kind: _Kind, rights: Rights | None = None, *, waits: bool = True) -> Tool:
    """``waits``: a write may have to wait for a person."""
    takes_also = kind.takes.items() if waits else [each for each in kind.takes.items() if each[0] not in _OF_WAITING]
    properties = {argument: {**_form(argument), "description": said} for argument, said in takes_also}
    if rights is not None:
        if name in _INTO:
            properties["category"] |= _writable(rights)
        if not rights.unbounded:
            properties.pop("from", None)
    takes: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    gives = {"type": "object", "properties": {"success": {"type": "boolean"}, **kind.gives}}
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
"""All tools, as a profile that may do anything in an open taxonomy without categories is shown them."""

_INTO = frozenset({"memory_add", "memory_move"})
"""Those in which the category is where an entry goes."""
_MOST_NAMED = 64


def tools_of(workspace: Workspace, profile: str) -> list[Tool]:
    """The tools that a profile may use, as ``tools/list`` gives them, with the categories that it may write.

    Raises ``UnknownNameError`` and ``ConfigError``.
    """
    acting, taxonomy = workspace.profile(profile), workspace.config.taxonomy
    rights = [Rights(acting, target, taxonomy) for target in TARGETS]
    names = rights[0].writable_names()
    changes = any(each.changes for each in rights)
    may = {
        "memory_add": rights[0].unbounded or bool(names),
        "memory_replace": changes,
        "memory_remove": changes,
        "memory_move": changes and (rights[0].unbounded or rights[0].only_category() is None),
        "memory_verify": rights[0].may_verify,
        "memory_seed": rights[0].unbounded,
    }
    waits = workspace.config.approval is not None
    return [_tool(name, kind, rights[0], waits=waits) for name, kind in _KINDS.items() if may.get(name, True)]


def _writable(rights: Rights) -> dict[str, Any]:
    """What the schema says of the categories that may be written: all of them, or what they are like."""
    taxonomy = rights.taxonomy
    names = (*taxonomy.categories, UNCATEGORIZED) if rights.unbounded else rights.writable_names()
    fixed = taxonomy.closed if rights.unbounded else not any(map(is_pattern, names))
    if fixed and len(names) <= _MOST_NAMED:
        return {"enum": list(names)}
    if rights.unbounded:
        return {"description": f"Where the entry goes, such as {', '.join(names[:_MOST_NAMED])}."}
    return {"description": f"Where the entry goes: one of {', '.join(names[:_MOST_NAMED])} (* stands for any letters)."}


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
    action = "proposals" if kind.action == "list" and arguments.get("proposal") is not None else kind.action
    return memory_tool(workspace, profile, {**arguments, "action": action}, session=session)
