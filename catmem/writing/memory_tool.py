"""The ``memory`` tool: one function for every interface through which an agent comes in.

The interface binds it to one profile, which owns the files and acts on them. Arguments come from a model and may be
wrong or hostile; every answer is JSON-ready data, bounded, and holds nothing of a category that the profile does not
see.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.config.access import Rights, visible
from catmem.config.json_schema import nearest
from catmem.config.profile import limit_of
from catmem.errors import (
    AmbiguousError,
    CatmemError,
    DriftError,
    EditError,
    ForbiddenError,
    NoMatchError,
    OverBudgetError,
    RefusedError,
    UnreadableError,
)
from catmem.names import TARGETS, slugify
from catmem.resources import schema
from catmem.staleness.freshness import advice, freshness
from catmem.text import size_of
from catmem.workspace.root import discreet
from catmem.workspace.seen_entry import entry_dict, rules_in, texts_of
from catmem.writing import gate
from catmem.writing.drift_guard import SHOWN, ToolSession, shown_in, text_digest
from catmem.writing.matching import is_digest
from catmem.writing.operation import asked_by
from catmem.writing.terms import terms_of
from catmem.writing.tool_arguments import BATCH, Call, read_arguments
from catmem.writing.write import found_target, write_operations
from catmem.writing.written import FileUsage, advice_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date

    from catmem.config.access import View
    from catmem.model.document import Entry
    from catmem.staleness.freshness import Freshness
    from catmem.workspace.profile_memory import Reading
    from catmem.workspace.root import Root
    from catmem.workspace.seen_entry import SeenEntry
    from catmem.writing.written import Crowded, Written

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

MOST_ENTRIES = 50
MOST_CHARACTERS = 8_000
"""Of all entries of one answer, as JSON."""

_LONGEST_BODY = 2_000
_LONGEST_WHOLE = 60_000
"""Characters of the entry at the offset that a list is asked for, so that an agent can read a long one."""
_LONGEST_IN_LIST, _MOST_CHANGES = 300, 20
"""Characters of each text of a proposal where several are listed, and changes of one that are shown."""
_FRAME = 100
"""Characters that an entry has in an answer at least, beside its body."""

_json = json.JSONEncoder(ensure_ascii=False).encode

_PATIENCE = 3
"""Refusals in a row after which the agent is asked to stop."""

_NAMED = 50
"""Categories that a message names at most."""

_NOTHING = "Nothing was found. Try other words, or list what is there."

_SHOWS_ENTRIES = (NoMatchError, AmbiguousError, OverBudgetError, RefusedError, UnreadableError)
"""Refusals after which what is on file helps to choose something else."""

_STOP = "This was refused {count} times in a row. Stop retrying in this turn, and say what could not be saved."


def memory_tool(
    workspace: Root, profile: str, arguments: object, *, session: ToolSession | None = None
) -> dict[str, Any]:
    """Do what a model asks of its memory, and answer as JSON-ready data with ``success``.

    ``arguments`` fit ``TOOL_SCHEMA`` or are refused. Raises nothing for bad arguments, or for anything else that catmem
    refuses. ``session`` is the conversation; without it all calls for a profile on one ``workspace`` are of one.
    """
    session = session or workspace._cache.conversations.setdefault(profile, ToolSession()).alone()  # noqa: SLF001
    tool = _BoundTool(workspace, profile, session)
    call: Call | None = None
    try:
        session.begin(workspace, profile)
        entity, asked = f"{profile}/{_target_of(arguments)}", _asked(arguments)
        op, writes = "write" if asked == BATCH else asked, _ACTIONS[asked].writes
        with discreet(workspace, profile):
            with gate.checks(workspace, entity, op=op, agent=profile, recorded=writes):
                call = read_arguments(arguments)
            call = tool.in_its_file(call)
            answer = _ACTIONS[call.action].answer(tool, call)
            if answer["success"]:
                session.learn(shown_in(answer))
            return answer
    except CatmemError as error:
        return tool.refused(error, call, _target_of(arguments) if call is None else call.target)


@dataclass(frozen=True, slots=True)
class _BoundTool:
    workspace: Root
    profile: str
    session: ToolSession

    def listed(self, call: Call) -> dict[str, Any]:
        """What is on file, perhaps of one category; of all, also how many entries each category has."""
        offset = call.offset or 0
        sight, view = self._sight(call.target, call.category, offset, whole=call.offset is not None)
        message = _counted(len(sight["entries"]), sight["total"], offset)
        if call.category is not None and not sight["total"]:
            message += _categories(call.category, view.categories)
        if call.category is None:
            counts = Counter(entry.category for entry in view.entries)
            sight["categories"] = {name: counts[name] for name in view.categories[:_NAMED]}
        return {"success": True, "action": "list", **sight, "message": message}

    def searched(self, call: Call) -> dict[str, Any]:
        """What a search finds, without what a prompt would withhold. What it shows counts as used."""
        from catmem.search.search import search

        workspace, day = self.workspace, clock.today()
        found, total = search(
            workspace,
            self.profile,
            call.query or "",
            target=None if call.anywhere else call.target,
            category=call.category,
            state=None if call.state is None else {call.state},
            offset=call.offset or 0,
            limit=MOST_ENTRIES,
            as_of=day,
            to_agent=True,
            fit=may_fit,
        )
        shown, cut = shown_found(found, total, call.offset or 0)
        message = _counted(len(shown), total, call.offset or 0) if total else _NOTHING
        if call.category is not None and not total:
            targets = TARGETS if call.anywhere else (call.target,)
            seen = [name for target in targets for name in workspace.view(self.profile, target).categories]
            message += _categories(call.category, list(dict.fromkeys(seen)))
        self._count_used(found[: len(shown)], day)
        advised = advice(each["state"] for each in shown)
        return {
            "success": True,
            "action": "search",
            "entries": shown,
            "total": total,
            **cut,
            **advised,
            "message": message,
        }

    def _count_used(self, found: Sequence[SeenEntry], day: date) -> None:
        from catmem.search.usage import count_used

        for target in dict.fromkeys(each.target for each in found):
            shown = [each.entry for each in found if each.target == target]
            count_used(self.workspace, f"{self.profile}/{target}", shown, day)

    def proposed(self, call: Call) -> dict[str, Any]:
        """What became of the profile's proposals, of one or of all."""
        from catmem.proposals.disclosure import disclosed, disclosed_all

        if call.proposal == "all":
            known, longest = disclosed_all(self.workspace, self.profile, own=True)[0], _LONGEST_IN_LIST
        else:
            known, longest = [disclosed(self.workspace, call.proposal, self.profile, own=True)], _LONGEST_BODY
        shown = _fitting(_cut_changes(each, longest) for each in known)
        said = f"{len(shown)} of {len(known)} shown. A person decides on {sum(not each['decision'] for each in known)}."
        return {"success": True, "action": "proposals", "proposals": shown, "message": said}

    def withdrawn(self, call: Call) -> dict[str, Any]:
        """Take one of its own back."""
        from catmem.proposals.deciding import reject
        from catmem.proposals.disclosure import disclosed

        name = disclosed(self.workspace, call.proposal, self.profile, own=True)["id"]
        done = reject(self.workspace, name, reason=call.reason, actor=self.profile)
        self.session.refusals = 0
        said = f"Proposal {name} is withdrawn. The file is as it was."
        return {"success": True, "action": "withdraw", "proposal": name, "state": done.verdict, "message": said}

    def seeded(self, call: Call) -> dict[str, Any]:
        """What a seed from the profile's own files did, in numbers."""
        from catmem.seeding.applying import seed_answer

        if self.session.proposes:
            raise ForbiddenError("a seed cannot wait for a person", hint="A person may seed.")
        only = None if call.anywhere else call.target
        answer = seed_answer(self.workspace, self.profile, call.targets, only, call.categories, fit=call.fit)
        self.session.refusals = 0 if answer["success"] else self.session.refusals + 1
        return answer

    def prompted(self, call: Call) -> dict[str, Any]:
        """A slice of what the profile sees, as text for an agent that has no profile of its own."""
        from catmem.workspace.answering import prompt_answer

        how: dict[str, Any] = {"source": call.source, "categories": call.categories or (), "budget": call.budget}
        said = prompt_answer(self.workspace, self.profile, self.profile, **how).make()
        given = {name: value for name, value in said.items() if name in {"text", "warnings", "advice", SHOWN}}
        return {"success": True, "action": "prompt", **given, "message": f"{len(said['text']):,} characters."}

    def _is_open(self, call: Call) -> bool:
        """Whether it depends on what is on file which of the two a call changes."""
        return bool(call.operations) and call.anywhere and call.expected is None

    def _with_entries(self) -> str:
        """The first file that has something to show."""
        views = (self.workspace.view(self.profile, each) for each in TARGETS)
        return next((each.target for each in views if each.entries), TARGETS[0])

    def in_its_file(self, call: Call) -> Call:
        """The call with the file that its changes mean, where it names none."""
        is_open, op = self._is_open(call), asked_by(call.operations)
        with gate.checks(
            self.workspace, f"{self.profile}/{'*' if is_open else call.target}", op=op, agent=self.profile
        ):
            if call.operations and call.expected is not None and is_digest(str(call.expected)):
                self._refuse_digest()
            if not is_open:
                return call
            in_file = partial(terms_of, self.workspace, self.profile, actor=self.workspace.profile(self.profile))
            target = found_target(self.workspace, call.operations, in_file, call.op_id)
        return call._replace(target=target, anywhere=False)

    def written(self, call: Call) -> dict[str, Any]:
        """What a write did."""
        done = write_operations(
            self.workspace,
            self.profile,
            call.operations,
            target=call.target,
            actor=self.profile,
            expected=call.expected,
            op_id=call.op_id,
            session=self.session,
            reason=call.reason,
            proposes=self.session.proposes,
        )
        self.session.wrote(done.entries)
        if done.waiting is not None:
            return self._waiting(call, done)
        self.session.refusals = 0
        entries, cut = shown_entries(done.entries)
        crowded = done.crowded
        return {
            "success": True,
            "action": call.action,
            "entity": done.entity,
            "revision": done.revision,
            "changed": done.changed,
            **({"branch": True} if done.branch else {}),
            "usage": usage_dict(done.usage),
            "entries": entries,
            **cut,
            **advice_on(self.workspace, done, self.profile),
            **({} if crowded is None else {"prompt": crowded.to_dict()}),
            **({"warnings": list(done.warnings)} if done.warnings else {}),
            "message": " ".join([_message(call, done), *([] if crowded is None else [_crowded_message(crowded)])]),
        }

    def _waiting(self, call: Call, done: Written) -> dict[str, Any]:
        """That a write waits: the file is as it was, and what the model saw of it is what it saw."""
        self.session.refusals = 0
        said = f"Not written yet: it waits as proposal {done.waiting}, and a person decides. Do not repeat it. "
        said += "".join(f"{note[0].upper()}{note[1:]}. " for note in done.notes[1:])
        answer = {"success": True, "action": call.action, "waiting": done.waiting, "entity": done.entity}
        return {**answer, "changed": False, "message": f"{said}Ask for it by its id to see what became of it."}

    def refused(self, error: CatmemError, call: Call | None, target: str) -> dict[str, Any]:
        """Why nothing was done, what is on file now, and what to do next."""
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
        if call is None or _ACTIONS[call.action].writes:
            self.session.refusals += 1
            if self.session.refusals >= _PATIENCE:
                answer |= {"done": True, "remediation": _STOP.format(count=self.session.refusals)}
        if not isinstance(error, _SHOWS_ENTRIES):
            return answer
        try:
            if isinstance(error, DriftError) and error.entry is not None:
                shown, how = self._unseen(error.entry, target)
                return answer | shown | ({} if "done" in answer else {"remediation": f"{answer['remediation']} {how}"})
            if isinstance(error, DriftError) and error.is_of_file:
                return answer  # there is no other entry to choose
            target = self._with_entries() if call is not None and self._is_open(call) else target
            answer |= self._sight(target)[0]
        except CatmemError as unreadable:
            # Unreadable is never empty: the answer is without entries, and says why.
            answer["entries_error"] = unreadable.message
        return answer

    def _unseen(self, entry: Entry, target: str) -> tuple[dict[str, Any], str]:
        """The entry that a refusal is about, whole if it fits in the answer, and how to go on."""
        if rules_in(texts_of(entry)):
            return {"found": None}, "Its text is withheld, so a person has to look at it."
        if len(entry.text) <= MOST_CHARACTERS:
            shown = {"found": text_digest(entry), "entry": {"category": entry.category, "text": entry.text}}
            return shown, "Its text is here under entry: to go on, give expected the digest that is in found."
        same = [index for index, each in enumerate(self._view(target)[1].entries) if each.text == entry.text]
        where = f" with target {target} and offset {same[0]}" if same else ""
        return {"found": None}, f"It has {len(entry.text):,} characters: list{where} shows it whole."

    def _refuse_digest(self) -> None:
        """Raise ``EditError`` for a digest from a profile that does not see the whole file: it may be a guess at it."""
        workspace = self.workspace
        if not Rights(workspace.profile(self.profile), "user", workspace.config.taxonomy).unbounded:
            raise EditError(
                "expected is a digest, and has to be a revision here",
                code="bad_expected",
                hint="Give the revision that an answer named, or leave expected out.",
            )

    def _view(self, target: str) -> tuple[Reading, View]:
        reading = self.workspace.read(self.profile, target)
        profile = self.workspace.profile(self.profile)
        return reading, visible(reading.document, target, profile, self.workspace.config.taxonomy)

    def _sight(
        self, target: str, category: str | None = None, offset: int = 0, *, whole: bool = False
    ) -> tuple[dict[str, Any], View]:
        """What the profile sees of its file now, perhaps of one category; ``whole`` is as in ``shown_entries``."""
        workspace = self.workspace
        profile = workspace.profile(self.profile)
        reading, view = self._view(target)
        entries = view.entries
        if category is not None:
            wanted = workspace.config.taxonomy.category(category)
            entries = tuple(entry for entry in entries if entry.category == wanted)
        usage = FileUsage(size_of(reading.document.text), limit_of(profile, target, workspace.config))
        rights = Rights(profile, target, workspace.config.taxonomy)
        unmerged = rights.unmerged(reading.entity, reading.document.text, workspace.parse)
        age = partial(freshness, profile=profile, config=workspace.config, as_of=clock.today())
        shown, cut = shown_entries(entries, age, offset, whole=whole)
        sight = {
            "entity": reading.entity,
            "revision": reading.revision,
            "usage": usage_dict(usage),
            "entries": shown,
            "total": len(entries),
            **cut,
            **advice(each["state"] for each in shown),
            **({"warnings": list(unmerged)} if unmerged else {}),
        }
        return sight, view


def _target_of(arguments: object) -> str:
    """The target that a call speaks of, as far as its arguments make sense."""
    target = arguments.get("target") if isinstance(arguments, dict) else None
    return "memory" if target == "memory" else "user"


def _asked(arguments: object) -> str:
    """The action that a call asks for, be it right or wrong; several at once where it names none that there is."""
    action = arguments.get("action") if isinstance(arguments, dict) else None
    return action if isinstance(action, str) and action in _ACTIONS else BATCH


class _Action(NamedTuple):
    """What answers a call of an action, whether it ``writes``, and how the message on one change begins."""

    answer: Callable[[_BoundTool, Call], dict[str, Any]]
    writes: bool = True
    done: str = ""


_ACTIONS = {
    "list": _Action(_BoundTool.listed, writes=False),
    "search": _Action(_BoundTool.searched, writes=False),
    "seed": _Action(_BoundTool.seeded),
    "prompt": _Action(_BoundTool.prompted, writes=False),
    "proposals": _Action(_BoundTool.proposed, writes=False),
    "withdraw": _Action(_BoundTool.withdrawn),
    "add": _Action(_BoundTool.written, done="Added to"),
    "replace": _Action(_BoundTool.written, done="Replaced in"),
    "remove": _Action(_BoundTool.written, done="Removed from"),
    "move": _Action(_BoundTool.written, done="Moved to"),
    "verify": _Action(_BoundTool.written, done="Verified in"),
    BATCH: _Action(_BoundTool.written),
}


# --- entries in an answer ------------------------------------------------------------------------------------------


def shown_entries(
    entries: Sequence[Entry],
    age: Callable[[Entry], Freshness] | None = None,
    offset: int = 0,
    *,
    whole: bool = False,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Entries from the one at ``offset`` on as JSON-ready data, as many as an answer takes.

    And what the answer says of those after them that are left out, if any. With ``age`` each entry tells its state
    and the date of that, and ``entries`` are what a list counts. A long body is cut, and says so; with ``whole`` not
    the first.
    """
    rows = (
        _cut(entry_dict(entry, to_agent=True), _LONGEST_WHOLE if whole and not index else _LONGEST_BODY)
        | ({} if age is None else age(entry).to_dict())
        for index, entry in enumerate(entries[offset : offset + MOST_ENTRIES])
    )
    shown = _fitting(rows)
    how = "list shows them" if age is None else f"list with offset {offset + len(shown)} shows them"
    return shown, _left_out(len(entries) - offset - len(shown), how)


def shown_found(found: Sequence[SeenEntry], total: int, offset: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a search found, ``total`` in all, from the one at ``offset`` on, as ``shown_entries`` shows it.

    Each tells its target, and its state by all clocks. The search has left out what a prompt would withhold.
    """
    shown = _fitting(
        {"target": each.target, **_cut(entry_dict(each.entry, to_agent=False)), **each.freshness.to_dict()}
        for each in found
    )
    return shown, _left_out(total - offset - len(shown), f"search with offset {offset + len(shown)} shows them")


def may_fit(entries: Iterable[Entry]) -> int:
    """How many of the entries an answer takes at most: all that ``shown_found`` shows are among them."""
    count = size = 0
    for entry in entries:
        size += _FRAME + min(len(entry.body), _LONGEST_BODY)
        if count and size > MOST_CHARACTERS:
            break
        count += 1
    return count


def usage_dict(usage: FileUsage) -> dict[str, Any]:
    """``{"size": 1074, "limit": 1375, "text": "1,074/1,375 characters"}``."""
    return {"size": usage.size, "limit": usage.limit, "text": str(usage)}


def _fitting(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows, as many as an answer takes; one at least."""
    shown: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        size += len(_json(row))
        if shown and size > MOST_CHARACTERS:
            break
        shown.append(row)
    return shown


def _left_out(count: int, how: str) -> dict[str, Any]:
    if count <= 0:
        return {}
    return {"entries_left_out": count, "entries_note": f"{count} more are not shown here; {how}."}


def _cut(data: dict[str, Any], longest: int = _LONGEST_BODY) -> dict[str, Any]:
    """The data of an entry, with a body and tags that leave room for others."""
    if len(data["body"]) > longest:
        data |= {"body": data["body"][:longest], "cut": True}
    if len(_json(data["tags"])) > longest:
        data |= {"tags": {}, "cut": True}
    return data


def _cut_changes(known: dict[str, Any], longest: int) -> dict[str, Any]:
    """A proposal whose changes leave room for others."""
    changes = [
        {name: value[:longest] if isinstance(value, str) else value for name, value in change.items()}
        for change in known["changes"][:_MOST_CHANGES]
    ]
    return known | {"changes": changes} | ({} if changes == known["changes"] else {"cut": True})


# --- messages ------------------------------------------------------------------------------------------------------


def _counted(count: int, total: int, offset: int) -> str:
    """How many entries of how many are shown, and how to see the rest."""
    entries = "entry" if total == 1 else "entries"
    if count == total:
        return f"{total} {entries}."
    start = f" from offset {offset}" if offset else ""
    rest = f"; offset {offset + count} for the rest" if offset + count < total else ""
    return f"{count} of {total} {entries}{start}{rest}."


def _categories(named: str, seen: Sequence[str]) -> str:
    """What to say of a category of which nothing is shown: in the same words whether it is there or not."""
    if not seen:
        return ""
    near = nearest(slugify(named), seen)
    meant = f" Did you mean {near!r}?" if near else ""
    more = f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else ""
    return f"{meant} Categories with entries that you see: {', '.join(seen[:_NAMED])}{more}."


def _message(call: Call, done: Written) -> str:
    if not done.changed:
        said = "Nothing was changed."
    elif call.action == BATCH:
        said = f"{len(call.operations)} changes were made."
    else:
        said = " ".join([_ACTIONS[call.action].done, *(entry.category for entry in done.entries[:1])]) + "."
    return " ".join([said, *(f"{note[:1].upper()}{note[1:]}." for note in done.notes)])


def _crowded_message(crowded: Crowded) -> str:
    """What a write pushes out of the agent's own prompt, and what it can do."""
    what = "It is on file, and not in your prompt" if crowded.written else "Other entries are no longer in your prompt"
    return f"{what}: it is {crowded.over()} Shorten, merge or remove entries to make room."
