"""The ``memory`` tool: one function for every interface through which an agent comes in.

The interface binds it to one profile, which owns the files and acts on them. Arguments come from a model and may be
wrong or hostile; every answer is JSON-ready data, bounded, and holds nothing of a category that the profile does not
see. Each action is a row of the table.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from operator import getitem
from typing import Annotated, Any, Literal, get_args

from catmem import clock
from catmem.config.access import View, visible
from catmem.config.json_schema import nearest, validate
from catmem.config.profile import limit_of
from catmem.config.yamlfile import key_text
from catmem.errors import (
    AmbiguousError,
    CatmemError,
    DriftError,
    EditError,
    NoMatchError,
    OverBudgetError,
    RefusedError,
    UnreadableError,
    wrong_type,
)
from catmem.jsonable import jsonable
from catmem.model.document import Entry
from catmem.names import TARGETS, Target, slugify
from catmem.ops.shared import EITHER
from catmem.ops.table import OPERATIONS, Call, OperationRow, Outcome, P, Tool, UsageError, call, operation
from catmem.resources import schema
from catmem.staleness.freshness import advice, freshness
from catmem.text import size_of
from catmem.workspace.profile_memory import emptied_text
from catmem.workspace.root import hide_names
from catmem.workspace.seen_entry import SeenEntry, entry_dict, rules_in, texts_of
from catmem.workspace.workspace import Workspace
from catmem.writing import gate
from catmem.writing.drift_guard import ToolSession, shown_rows, text_digest
from catmem.writing.request import Action, Operation, placed_expected, refuse_untaken
from catmem.writing.written import FileUsage, Written, advice_on

# --- the arguments, which a model wrote ------------------------------------------------------------------------------

_MOST_BYTES = 256 << 10
"""Of a call as JSON."""
_MOST_VALUES = 4_000
_OTHER_NAMES = {"text": "content", "body": "content", "entry": "content", "id": "old_text", "old": "old_text"}
"""What models call an argument, and its name."""
_OF_PEOPLE = ("approve", "reject", "merge")
"""What models take for an action, and a person does."""
BATCH = "operations"
"""What stands for the action where several changes are made at once."""
TAKES: dict[str, tuple[str, ...]] = {}
"""What each action takes beside ``action``, as ``schemas/tool.schema.json`` says of each argument."""
for _name, _form in schema("tool")["properties"].items():
    for _action in _form.get("x-actions", ()):
        TAKES[_action] = (*TAKES.get(_action, ()), _name)
_NAMES = frozenset(schema("tool")["properties"])
_OF_ONE_CHANGE = tuple(schema("tool")["properties"][BATCH]["items"]["properties"])


def read_arguments(arguments: object) -> tuple[str, dict[str, Any]]:
    """The action that a call asks for, and its arguments by name."""
    given = _fitting(arguments)
    action = BATCH if BATCH in given else given.pop("action", None)
    if action is None:
        raise bad_arguments("the action is missing", "Give action, or several changes as operations.")
    if action == BATCH:
        beside = [name for name in _OF_ONE_CHANGE if name in given and name not in TAKES[BATCH]]
        if beside:
            raise bad_arguments(
                f"operations stand beside {beside[0]}",
                "Put every change into operations, and leave out what belongs to a single one.",
            )
    refuse_untaken(action, given, TAKES[action], "bad_arguments")
    if action == BATCH:
        given[BATCH] = tuple(_operation(each, key_text((BATCH, n))) for n, each in enumerate(given[BATCH]))
        placed_expected(given[BATCH], given.get("expected"))
    elif action in get_args(Action):
        _operation({**given, "action": action}, None)
    if action == "search" and "query" not in given:
        raise bad_arguments("search needs query", "Give the words to look for.", "query")
    if "category" in given and "categories" in given:
        raise bad_arguments("category stands beside categories", "Put every category into categories.", "category")
    if action == "seed" and "category" in given:
        given["categories"] = [given.pop("category")]
    whole = {name: int(given[name]) for name in ("offset", "budget") if name in given}  # 3.0 is a number of entries too
    return action, given | whole


def _fitting(arguments: object) -> dict[str, Any]:
    """The arguments that are used, if they fit the schema."""
    arguments = _as_json(arguments)
    if not isinstance(arguments, dict):
        raise bad_arguments("the arguments must be an object", "Give action, and what it needs, by name.")
    given = _used(arguments)
    if isinstance(given.get("operations"), list):
        given["operations"] = [_used(each) if isinstance(each, dict) else each for each in given["operations"]]
    faults = validate(given, "tool")
    if faults:
        fault = faults[0]
        value: Any = given
        asked = reduce(getitem, fault.key, value) if fault.key[-1:] == ("action",) else None
        if asked in _OF_PEOPLE:
            hint = "Go on without it, and say what a person should look at."
            raise bad_arguments(f"there is no action {asked!r} here: a person does that", hint, key_text(fault.key))
        meant = _OTHER_NAMES.get(str(fault.key[-1])) if fault.key else None
        raise bad_arguments(fault.message, f"Did you mean {meant!r}?" if meant else fault.hint, key_text(fault.key))
    return given


def _used(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is null: some models name every argument, also those that they do not use. No name is made up."""
    return {name: value for name, value in arguments.items() if value is not None or name not in _NAMES}


def _operation(given: Mapping[str, Any], key: str | None) -> Operation:
    """One change. For a move, the category that a model names is where the entry goes."""
    own = (name for name in given if name in _OF_ONE_CHANGE and name != "action")
    # Of several operations, ``expected`` is the entry that one of them changes, and an addition changes none.
    adds = key is not None and given["action"] == "add"
    takes = [name for name in TAKES[given["action"]] if not (adds and name == "expected")]
    refuse_untaken(given["action"], own, takes, "bad_arguments", key)
    moves = given["action"] == "move"
    if moves and "category" not in given:
        raise bad_arguments("move needs category", "Name the category that the entry goes to.", key)
    said = {name: given[name] for name in _OF_ONE_CHANGE if name in given and (key is not None or name != "expected")}
    if moves:
        said["to_category"] = said.pop("category")
    operation = Operation(**said)
    try:
        operation.check()
    except EditError as error:
        error.key = key
        raise
    return operation


def _as_json(arguments: object) -> Any:  # noqa: ANN401 - any JSON value
    """The arguments as JSON has them, however they came. Raises ``EditError`` for what is none or huge."""
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
        given = json.loads(text)
        count = _values_in(given)
    except UnicodeEncodeError:
        said = "the arguments hold a lone surrogate, half of a character"
        raise EditError(said, code="not_text", hint="Give the text as UTF-8.") from None
    except (TypeError, ValueError, RecursionError):
        raise bad_arguments("the arguments are not JSON", "Give plain values.") from None
    if size > _MOST_BYTES or count > _MOST_VALUES:
        raise bad_arguments(
            f"the arguments are too large: a call has at most {_MOST_BYTES >> 10} KiB and {_MOST_VALUES:,} values",
            "Give less in one call.",
        )
    return given


def _values_in(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values_in, inner))


def bad_arguments(message: str, hint: str | None = None, key: str | None = None) -> EditError:
    """The refusal of arguments."""
    return EditError(message, code="bad_arguments", key=key, hint=hint or "See the schema of this tool.")


# --- the tool --------------------------------------------------------------------------------------------------------

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
"""Refusals of one call after which the agent is asked to stop."""
_SHOWS_ENTRIES = (NoMatchError, AmbiguousError, OverBudgetError, RefusedError, UnreadableError)
"""Refusals after which what is on file helps to choose something else."""
_STOP = "This was refused {count} times. Stop retrying in this turn, and say what could not be saved."
_DONE = {
    "add": "Added to", "replace": "Replaced in", "remove": "Removed from", "move": "Moved to", "verify": "Verified in",
}  # fmt: skip
"""How the message on one change begins."""
_ROWS = {
    **{action: ("entries", action) for action in (*_DONE, BATCH)},
    **{action: ("memory_tool", f"memory {action}") for action in ("list", "search", "proposals", "withdraw")},
    "seed": ("seeding", "seed"),
    "prompt": ("reading", "prompt"),
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
    if not isinstance(profile, str):
        raise wrong_type("the name of a profile", profile)
    if not isinstance(session, ToolSession | None):
        raise wrong_type("session", session, "a ToolSession")
    session = session or workspace._cache.conversations.setdefault(profile, ToolSession()).alone()  # noqa: SLF001
    tool = _Turn(workspace, profile, session, arguments)
    try:
        session.begin(workspace, profile)
        with hide_names(workspace, profile):
            return tool.answer()
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
        with gate.checks(self.workspace, entity, op=op, agent=self.profile, recorded=self.action not in _READS):
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
        answer: dict[str, Any] = self._written(done.value) if self.action in {*_DONE, BATCH} else done.value
        self.session.learn(done.shows(answer))
        if self.action not in _READS and answer["success"]:
            self.session.new_turn()
        return answer

    def _written(self, done: Written) -> dict[str, Any]:
        """What a write did."""
        self.session.wrote(done.entries)
        if done.waiting is not None:
            return self._waiting(done)
        entries, cut = _shown_entries(done.entries)
        return {
            "success": True,
            "action": self.action,
            "entity": done.entity,
            "revision": done.revision,
            "changed": done.changed,
            **({"branch": True} if done.branch else {}),
            "usage": _usage_dict(done.usage),
            "entries": entries,
            **cut,
            **advice_on(self.workspace, done, self.profile),
            **({"warnings": list(done.warnings)} if done.warnings else {}),
            "message": self._message(done),
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
        counts = self.asked is None or self.action not in _READS
        if counts and (stop := stop_after(self.session, self.arguments)):
            answer |= {"done": True, "remediation": f"{stop} {answer['remediation']}"}
        if not isinstance(error, _SHOWS_ENTRIES):
            return answer
        try:
            if isinstance(error, DriftError) and error.entry is not None:
                shown, how = self._unseen(error.entry)
                return answer | shown | {"remediation": f"{answer['remediation']} {how}"}
            if isinstance(error, DriftError) and error.is_of_file:
                return answer  # there is no other entry to choose
            look = Call(row_of("list"), lambda _: self.workspace, "tool", self.profile)
            seen = _sight(look, self._target())[0]
            if isinstance(error, NoMatchError):  # its hint names the nearest entries
                seen = {name: said for name, said in seen.items() if name == "warnings"}
            answer |= seen
        except CatmemError as unreadable:
            # Unreadable is never empty: the answer is without entries, and says why.
            answer["entries_error"] = unreadable.message
        return answer

    def _target(self) -> str:
        """The file that is shown: the one that the call is of, else the first that has something to show."""
        if self.asked is None:
            return _target_of(self.arguments)
        named, values = self.asked.values.get("target"), self.asked.values
        if named is None and self.action in {*_DONE, BATCH} and values.get("expected") is None:
            views = (self.workspace.view(self.profile, each) for each in TARGETS)
            return next((each.target for each in views if each.entries), TARGETS[0])
        return str(named or "user")

    @staticmethod
    def _unseen(entry: Entry) -> tuple[dict[str, Any], str]:
        """The entry that a refusal is about, whole if it fits in the answer, and how to go on."""
        if rules_in(texts_of(entry)):
            return {"found": None}, "Its text is withheld, so a person has to look at it."
        if len(entry.text) <= _MOST_CHARACTERS:
            shown = {"found": text_digest(entry), "entry": {"category": entry.category, "text": entry.text}}
            return shown, "Its text is here under entry: to go on, give expected the digest that is in found."
        return {"found": None}, f"It has {len(entry.text):,} characters: list with its offset shows it whole."


def stop_after(session: ToolSession, asked: object) -> str | None:
    """Count a refusal of what was ``asked``; after many of the same in one turn, the words that ask for an end."""
    try:
        same = hash(repr(asked))
    except (ValueError, RecursionError):
        same = 0  # a number or a nesting without bounds, which may be another one each time
    count = session.refusals[same] = session.refusals[same] + 1
    return _STOP.format(count=count) if count >= _PATIENCE else None


def refusal(error: CatmemError) -> dict[str, Any]:
    """An error as an answer."""
    answer: dict[str, Any] = {
        "success": False,
        "error": f"{error.key}: {error.message}" if error.key else error.message,
        "reason": error.code,
        "remediation": error.hint or "Look at what is on file, and try something else.",
    }
    if isinstance(error, RefusedError):
        # Digests of a file that the profile does not see whole were taken out by ``hide_digests``.
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


# --- what a model is shown, in words that it can act on --------------------------------------------------------------

_MOST_ENTRIES = 50
_MOST_CHARACTERS = 8_000
"""Of all entries of one answer, as JSON."""
_LONGEST_BODY = 2_000
_LONGEST_WHOLE = 60_000
"""Characters of the entry at the offset that a list is asked for, so that an agent can read a long one."""
_LONGEST_IN_LIST, _MOST_CHANGES = 300, 20
"""Characters of each text of a proposal where several are listed, and changes of one that are shown."""
_NAMED = 50
"""Categories that a message names at most."""
_NOTHING = "Nothing was found. Try other words, or list what is there."
_as_text = json.JSONEncoder(ensure_ascii=False).encode

_Narrow = Annotated[str | None, P("Only this one.")]
_Offset = Annotated[int | None, P("Entries to skip.")]


@operation("memory list", tool=Tool("List memory", "List what is on file, in the prompt or not."))
def listed(
    call: Call,
    *,
    target: Annotated[Target | None, P(EITHER)] = None,
    category: _Narrow = None,
    offset: _Offset = None,
    proposal: Annotated[str | None, P("Yours that wait: all, or an id.", where_writes_wait=True)] = None,
) -> Outcome:
    """List what is on file, perhaps of one category; of all, also how many entries each category has."""
    if proposal is not None:
        return Outcome(proposed(call, proposal=proposal))
    skipped = offset or 0
    seen, views = _sight(call, target, category, skipped, whole=offset is not None)
    message = _counted(len(seen["entries"]), seen["total"], skipped)
    if category is not None and not seen["total"]:
        message += _categories(category, views)
    if category is None:
        counts = Counter(entry.category for view in views for entry in view.entries)
        seen["categories"] = {name: counts[name] for view in views for name in view.categories[:_NAMED]}
    return Outcome({"success": True, "action": "list", **seen, "message": message}, shows=shown_rows)


@operation("memory search", tool=Tool("Search memory", "Find entries, the best and newest first."))
def searched(
    call: Call,
    *,
    query: Annotated[str, P('Any of these words; a "quoted phrase" must be there.')],
    target: Annotated[Target | None, P(EITHER)] = None,
    category: _Narrow = None,
    state: Annotated[Literal["fresh", "stale", "expired", "unverified"] | None, P("Only this state.")] = None,
    offset: _Offset = None,
) -> Outcome:
    """Find entries, without what a prompt would withhold."""
    from catmem.search.search import search

    skipped = offset or 0
    found, total, _ = search(
        call.root,
        str(call.actor),
        query,
        target=target,
        category=category,
        state=None if state is None else {state},
        offset=skipped,
        limit=_MOST_ENTRIES,
        to_agent=True,
    )
    shown, cut = _shown_found(found, total, skipped)
    message = _counted(len(shown), total, skipped) if total else _NOTHING
    views = [call.root.view(str(call.actor), each) for each in (TARGETS if target is None else (target,))]
    if category is not None and not total:
        message += _categories(category, views)
    lost = [emptied_text(call.root, call.profile, f"{call.actor}/{each.target}", each.document) for each in views]
    warnings = [*filter(None, lost)]
    answer = {
        "success": True, "action": "search", "entries": shown, "total": total, **cut,
        **advice(each["state"] for each in shown), **({"warnings": warnings} if warnings else {}), "message": message,
    }  # fmt: skip
    return Outcome(answer, shows=shown_rows)


_ProposalNamed = Annotated[str, P("The id of one (p-...).")]


@operation("memory proposals")
def proposed(call: Call, *, proposal: _ProposalNamed = "all") -> dict[str, Any]:
    """Say what became of the profile's proposals, of one or of all."""
    from catmem.proposals.proposal import disclosed, disclosed_all

    actor = str(call.actor)
    if proposal == "all":
        known, longest = disclosed_all(call.root, actor, own=True)[0], _LONGEST_IN_LIST
    else:
        known, longest = [disclosed(call.root, proposal, actor, own=True)], _LONGEST_BODY
    shown = _first_of(_cut_changes(each, longest) for each in known)
    said = f"{len(shown)} of {len(known)} shown. A person decides on {sum(not each['decision'] for each in known)}."
    return {"success": True, "action": "proposals", "proposals": shown, "message": said}


@operation("memory withdraw")
def withdrawn(
    call: Call, *, proposal: _ProposalNamed = "all", reason: Annotated[str | None, P("Why.")] = None
) -> dict[str, Any]:
    """Take one of its own proposals back."""
    from catmem.proposals.deciding import reject
    from catmem.proposals.proposal import disclosed

    name = disclosed(call.root, proposal, str(call.actor), own=True)["id"]
    done = reject(call.root, name, reason=reason, actor=call.actor)
    said = f"Proposal {name} is withdrawn. The file is as it was."
    return {"success": True, "action": "withdraw", "proposal": name, "state": done.verdict, "message": said}


# --- what is on file -------------------------------------------------------------------------------------------------


def _sight(
    call: Call, target: str | None, category: str | None = None, offset: int = 0, *, whole: bool = False
) -> tuple[dict[str, Any], list[View]]:
    """What the profile sees now of its file, or of both, perhaps of one category, from the entry at ``offset`` on.

    That one is shown as a ``whole``, other long ones are cut.
    """
    root, profile = call.root, call.root.profile(str(call.actor))
    wanted = None if category is None else root.config.taxonomy.category(category)
    files: dict[str, dict[str, Any]] = {}
    views, warnings = list[View](), list[str]()
    entries: list[tuple[str, Entry]] = []
    for each in TARGETS if target is None else (target,):
        reading = root.read(profile.name, each)
        view = visible(reading.document, each, profile, root.config.taxonomy)
        usage = FileUsage(size_of(reading.document.text), limit_of(profile, each, root.config))
        files[each] = {"entity": reading.entity, "revision": reading.revision, "usage": _usage_dict(usage)}
        warnings += call.rights(each).unmerged(reading.entity, reading.document.text, root.parse)
        warnings += filter(None, [emptied_text(root, profile, reading.entity, reading.document)])
        views.append(view)
        entries += [(each, entry) for entry in view.entries if wanted in {None, entry.category}]
    age = partial(freshness, profile=profile, config=root.config, as_of=clock.today())
    shown = _first_of(
        {
            "target": each,
            **_cut(entry_dict(entry, to_agent=True), _LONGEST_WHOLE if whole and not index else _LONGEST_BODY),
            **jsonable(age(entry)),
        }
        for index, (each, entry) in enumerate(entries[offset : offset + _MOST_ENTRIES])
    )
    end = offset + len(shown)
    seen = {
        **({"files": files} if target is None else files[target]),
        "entries": shown,
        "total": len(entries),
        **_left_out(len(entries) - end, f"list with offset {end} shows them"),
        **advice(each["state"] for each in shown),
        **({"warnings": warnings} if warnings else {}),
    }
    return seen, views


# --- entries in an answer --------------------------------------------------------------------------------------------


def _shown_entries(entries: Sequence[Entry]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Entries as JSON-ready data, as many as an answer takes."""
    shown = _first_of(_cut(entry_dict(entry, to_agent=True)) for entry in entries[:_MOST_ENTRIES])
    return shown, _left_out(len(entries) - len(shown), "list shows them")


def _shown_found(found: Sequence[SeenEntry], total: int, offset: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a search found, ``total`` in all, from the one at ``offset`` on, as many as an answer takes."""
    shown = _first_of(
        {"target": each.target, **_cut(entry_dict(each.entry, to_agent=False)), **jsonable(each.freshness)}
        for each in found
    )
    return shown, _left_out(total - offset - len(shown), f"search with offset {offset + len(shown)} shows them")


def _usage_dict(usage: FileUsage) -> dict[str, Any]:
    """``{"size": 1074, "limit": 1375, "text": "1,074/1,375 characters"}``."""
    return {"size": usage.size, "limit": usage.limit, "text": str(usage)}


def _first_of(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows, as many as an answer takes; one at least."""
    shown: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        size += len(_as_text(row))
        if shown and size > _MOST_CHARACTERS:
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
    if len(_as_text(data["tags"])) > longest:
        data |= {"tags": {}, "cut": True}
    return data


def _cut_changes(known: dict[str, Any], longest: int) -> dict[str, Any]:
    """A proposal whose changes leave room for others."""
    changes = [
        {name: value[:longest] if isinstance(value, str) else value for name, value in change.items()}
        for change in known["changes"][:_MOST_CHANGES]
    ]
    return known | {"changes": changes} | ({} if changes == known["changes"] else {"cut": True})


def _counted(count: int, total: int, offset: int) -> str:
    """How many entries of how many are shown, and how to see the rest."""
    entries = "entry" if total == 1 else "entries"
    if count == total:
        return f"{total} {entries}."
    start = f" from offset {offset}" if offset else ""
    rest = f"; offset {offset + count} for the rest" if offset + count < total else ""
    return f"{count} of {total} {entries}{start}{rest}."


def _categories(named: str, views: Sequence[View]) -> str:
    """What to say of a category of which nothing is shown: in the same words whether it is there or not."""
    seen = list(dict.fromkeys(name for view in views for name in view.categories))
    if not seen:
        return ""
    near = nearest(slugify(named), seen)
    meant = f" Did you mean {near!r}?" if near else ""
    more = f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else ""
    return f"{meant} Categories with entries that you see: {', '.join(seen[:_NAMED])}{more}."
