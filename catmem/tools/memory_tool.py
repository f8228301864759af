"""The ``memory`` tool: one function for every interface through which an agent comes in.

The interface binds it to one profile, which owns the files and acts on them. Arguments come from a model and may be
wrong or hostile; every answer is JSON-ready data, bounded, and holds nothing of a category that the profile does not
see. Each action is a row of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from catmem.errors import (
    AmbiguousError,
    CatmemError,
    DriftError,
    NoMatchError,
    OverBudgetError,
    RefusedError,
    UnreadableError,
)
from catmem.jsonable import jsonable
from catmem.model.document import Entry
from catmem.names import TARGETS
from catmem.ops.recall import MOST_CHARACTERS, shown_entries, sight, usage_dict, view_of
from catmem.ops.table import OPERATIONS, Call, OperationRow, UsageError, call
from catmem.resources import schema
from catmem.tools.arguments import BATCH, bad_arguments, read_arguments
from catmem.workspace.root import discreet
from catmem.workspace.seen_entry import rules_in, texts_of
from catmem.workspace.workspace import Workspace
from catmem.writing import gate
from catmem.writing.drift_guard import ToolSession, shown_in, text_digest
from catmem.writing.written import Crowded, Written, advice_on

GIVEN_TAGS = ", ".join(
    f"{name} (YYYY-MM-DD)" if form.get("format") == "date" else name
    for name, form in schema("tags")["properties"].items()
    if not form.get("x-set-by-writes")
)
"""The tags of the format that a model may give, in words for it; a write sets the others itself."""

TOOL_SCHEMA: dict[str, Any] = {
    **{key: value for key, value in schema("tool").items() if not key.startswith("$")},
    "properties": {
        name: {key: value for key, value in form.items() if key != "title" and not key.startswith("x-")}
        for name, form in schema("tool")["properties"].items()
    },
}
TOOL_SCHEMA["properties"]["tags"]["description"] += f" Known ones: {GIVEN_TAGS}."
"""JSON Schema of the arguments, for a model."""

_PATIENCE = 3
"""Refusals in a row after which the agent is asked to stop."""
_SHOWS_ENTRIES = (NoMatchError, AmbiguousError, OverBudgetError, RefusedError, UnreadableError)
"""Refusals after which what is on file helps to choose something else."""
_STOP = "This was refused {count} times in a row. Stop retrying in this turn, and say what could not be saved."
_DONE = {
    "add": "Added to", "replace": "Replaced in", "remove": "Removed from", "move": "Moved to", "verify": "Verified in",
}  # fmt: skip
"""How the message on one change begins."""
_ROWS = {
    **{action: ("entries", action) for action in (*_DONE, BATCH)},
    **{action: ("recall", f"memory {action}") for action in ("list", "search", "proposals", "withdraw")},
    "seed": ("seeding", "seed"),
    "prompt": ("prompts", "prompt"),
}
"""The module and the name of the row of each action."""
ACTIONS = frozenset(_ROWS)
_READS = frozenset({"list", "search", "prompt", "proposals"})


def row_of(action: str) -> OperationRow:
    """The row of an action."""
    module, name = _ROWS[action]
    import_module(f"catmem.ops.{module}")
    return OPERATIONS[name]


def memory_tool(
    workspace: Workspace, profile: str, arguments: object, *, session: ToolSession | None = None
) -> dict[str, Any]:
    """Do what a model asks of its memory, and answer as JSON-ready data with ``success``.

    ``arguments`` fit ``TOOL_SCHEMA`` or are refused. Raises nothing for bad arguments, or for anything else that catmem
    refuses. ``session`` is the conversation; without it all calls for a profile on one ``workspace`` are of one.
    """
    session = session or workspace._cache.conversations.setdefault(profile, ToolSession()).alone()  # noqa: SLF001
    tool = _Turn(workspace, profile, session, arguments)
    try:
        session.begin(workspace, profile)
        with discreet(workspace, profile):
            answer = tool.answer()
            if answer["success"]:
                session.learn(shown_in(answer))
            return answer
    except CatmemError as error:
        return tool.refused(error)


@dataclass(slots=True)
class _Turn:
    """One call of the tool. ``asked`` is there once its arguments are read."""

    workspace: Workspace
    profile: str
    session: ToolSession
    arguments: object
    action: str = BATCH
    asked: Call | None = None

    def answer(self) -> dict[str, Any]:
        """What the call did."""
        self.action = _asked(self.arguments)
        entity, op = f"{self.profile}/{_target_of(self.arguments)}", "write" if self.action == BATCH else self.action
        writes = self.action not in _READS
        with gate.checks(self.workspace, entity, op=op, agent=self.profile, recorded=writes):
            self.action, given = read_arguments(self.arguments)
        row = row_of(self.action)
        values = {each.name: given[each.called] for each in row.at("tool") if each.called in given}
        self.asked = Call(
            row, lambda _: self.workspace, "tool", self.profile, self.profile, frozenset(values), session=self.session
        )  # fmt: skip
        try:
            done = call(self.asked, values)
        except UsageError as error:
            raise bad_arguments(error.message) from None
        if self.action in {*_DONE, BATCH}:
            return self._written(done.value)
        answer: dict[str, Any] = done.value if isinstance(done.value, dict) else done.value.for_model()
        if self.action == "withdraw":
            self.session.refusals = 0
        elif self.action == "seed":
            self.session.refusals = 0 if answer["success"] else self.session.refusals + 1
        return answer

    def _written(self, done: Written) -> dict[str, Any]:
        """What a write did."""
        self.session.wrote(done.entries)
        self.session.refusals = 0
        if done.waiting is not None:
            return self._waiting(done)
        entries, cut = shown_entries(done.entries)
        crowded = done.crowded
        return {
            "success": True,
            "action": self.action,
            "entity": done.entity,
            "revision": done.revision,
            "changed": done.changed,
            **({"branch": True} if done.branch else {}),
            "usage": usage_dict(done.usage),
            "entries": entries,
            **cut,
            **advice_on(self.workspace, done, self.profile),
            **({} if crowded is None else {"prompt": jsonable(crowded)}),
            **({"warnings": list(done.warnings)} if done.warnings else {}),
            "message": " ".join([self._message(done), *([] if crowded is None else [_crowded_message(crowded)])]),
        }

    def _waiting(self, done: Written) -> dict[str, Any]:
        """That a write waits: the file is as it was, and what the model saw of it is what it saw."""
        said = f"Not written yet: it waits as proposal {done.waiting}, and a person decides. Do not repeat it. "
        said += "".join(f"{note[0].upper()}{note[1:]}. " for note in done.notes[1:])
        answer = {"success": True, "action": self.action, "waiting": done.waiting, "entity": done.entity}
        return {**answer, "changed": False, "message": f"{said}Ask for it by its id to see what became of it."}

    def _message(self, done: Written) -> str:
        if not done.changed:
            said = "Nothing was changed."
        elif self.action == BATCH:
            said = f"{len(self.asked.values['operations']) if self.asked else 0} changes were made."
        else:
            said = " ".join([_DONE[self.action], *(entry.category for entry in done.entries[:1])]) + "."
        return " ".join([said, *(f"{note[:1].upper()}{note[1:]}." for note in done.notes)])

    def refused(self, error: CatmemError) -> dict[str, Any]:
        """Why nothing was done, what is on file now, and what to do next."""
        answer: dict[str, Any] = refusal(error)
        if self.asked is None or self.action not in _READS:
            self.session.refusals += 1
            if self.session.refusals >= _PATIENCE:
                answer |= {"done": True, "remediation": _STOP.format(count=self.session.refusals)}
        if not isinstance(error, _SHOWS_ENTRIES):
            return answer
        try:
            target = self._target()
            if isinstance(error, DriftError) and error.entry is not None:
                shown, how = self._unseen(error.entry, target)
                return answer | shown | ({} if "done" in answer else {"remediation": f"{answer['remediation']} {how}"})
            if isinstance(error, DriftError) and error.is_of_file:
                return answer  # there is no other entry to choose
            answer |= sight(self._look(), target)[0]
        except CatmemError as unreadable:
            # Unreadable is never empty: the answer is without entries, and says why.
            answer["entries_error"] = unreadable.message
        return answer

    def _look(self) -> Call:
        return Call(row_of("list"), lambda _: self.workspace, "tool", self.profile)

    def _target(self) -> str:
        """The file that is shown: the one that the call is of, else the first that has something to show."""
        if self.asked is None:
            return _target_of(self.arguments)
        named, values = self.asked.values.get("target"), self.asked.values
        if named is None and self.action in {*_DONE, BATCH} and values.get("expected") is None:
            views = (self.workspace.view(self.profile, each) for each in TARGETS)
            return next((each.target for each in views if each.entries), TARGETS[0])
        return str(named or "user")

    def _unseen(self, entry: Entry, target: str) -> tuple[dict[str, Any], str]:
        """The entry that a refusal is about, whole if it fits in the answer, and how to go on."""
        if rules_in(texts_of(entry)):
            return {"found": None}, "Its text is withheld, so a person has to look at it."
        if len(entry.text) <= MOST_CHARACTERS:
            shown = {"found": text_digest(entry), "entry": {"category": entry.category, "text": entry.text}}
            return shown, "Its text is here under entry: to go on, give expected the digest that is in found."
        entries = view_of(self._look(), target)[1].entries
        same = [index for index, each in enumerate(entries) if each.text == entry.text]
        where = f" with target {target} and offset {same[0]}" if same else ""
        return {"found": None}, f"It has {len(entry.text):,} characters: list{where} shows it whole."


def refusal(error: CatmemError) -> dict[str, Any]:
    """An error as an answer."""
    answer: dict[str, Any] = {
        "success": False,
        "error": f"{error.key}: {error.message}" if error.key else error.message,
        "reason": error.code,
        "remediation": error.hint or "Look at what is on file, and try something else.",
    }
    if isinstance(error, RefusedError):
        # Digests of a file that the profile does not see whole were taken out by the ``Writer``.
        fields = {"expected": error.expected, "found": error.found, "drift_backup": error.drift_backup}
        answer |= {name: value for name, value in fields.items() if value is not None} | error.generations()
    if isinstance(error, AmbiguousError):
        answer |= {"candidates": list(error.candidates), "places": list(error.places)}
    if isinstance(error, OverBudgetError):
        answer |= {"over_by": error.size - error.limit, "could_go": list(error.could_go)}
    return answer


def _target_of(arguments: object) -> str:
    """The target that a call speaks of, as far as its arguments make sense."""
    target = arguments.get("target") if isinstance(arguments, dict) else None
    return "memory" if target == "memory" else "user"


def _asked(arguments: object) -> str:
    """The action that a call asks for, be it right or wrong; several at once where it names none that there is."""
    action = arguments.get("action") if isinstance(arguments, dict) else None
    return action if isinstance(action, str) and action in _ROWS else BATCH


def _crowded_message(crowded: Crowded) -> str:
    """What a write pushes out of the agent's own prompt, and what it can do."""
    what = "It is on file, and not in your prompt" if crowded.written else "Other entries are no longer in your prompt"
    return f"{what}: it is {crowded.over()} Shorten, merge or remove entries to make room."
