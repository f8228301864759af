"""The arguments of the memory tool, which a model wrote: checked against ``schemas/tool.schema.json``.

Whatever is wrong raises ``EditError`` (``bad_arguments``) in words that the model can act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import getitem
from typing import Any, get_args

from catmem.config.json_schema import shown, validate
from catmem.config.yamlfile import key_text
from catmem.errors import EditError
from catmem.resources import schema
from catmem.writing.request import Action, Operation, placed_expected, refuse_surrogates, refuse_untaken

_DEEPEST = 8
_MOST_BYTES = 256 << 10
"""Of all texts of a call, with a little for each value: about what it has as JSON."""
_MOST_VALUES = 4_000
_MOST_NAMES = 64
"""In one object: tags, of which an entry has a few."""
_LONGEST_LIST = 100
_LARGEST = 1 << 64
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
    """The action that a call asks for, and its arguments by name.

    Raises ``EditError`` (``bad_arguments``, ``bad_operation``, ``not_text``).
    """
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
    whole = {name: int(given[name]) for name in ("offset", "budget") if name in given}  # 3.0 is a number of entries too
    return action, given | whole


def _fitting(arguments: object) -> dict[str, Any]:
    """The arguments that are used, if they fit the schema."""
    _Look().over(arguments)
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
    operation = Operation(
        action=given["action"],
        content=given.get("content"),
        old_text=given.get("old_text"),
        category=None if moves else given.get("category"),
        to_category=given.get("category") if moves else None,
        tags=given.get("tags"),
        evidence=given.get("evidence"),
        confirm=given.get("confirm"),
        expected=given.get("expected") if key is not None else None,
    )
    try:
        operation.check()
    except EditError as error:
        error.key = key
        raise
    return operation


class _Look:
    """One look over the arguments, which ends at the first thing that no call needs, however much follows."""

    def __init__(self) -> None:
        self.bytes = 0
        self.values = 0

    def over(self, value: object, depth: int = 0, key: str | None = None) -> None:
        """Refuse what no JSON text that a model writes holds, what is nested too deep to be meant, and what is huge."""
        self._count(2)
        if depth > _DEEPEST:
            raise bad_arguments("the arguments are nested too deep", "Give plain values.")
        if isinstance(value, str):
            self._text(value)
        elif isinstance(value, dict):
            self._named(value, depth, key)
        elif isinstance(value, list):
            self._refuse_many(len(value), _LONGEST_LIST, "values", key)
            for inner in value:
                self.over(inner, depth + 1, key)
        elif isinstance(value, int):
            if abs(value) > _LARGEST:
                raise bad_arguments("the arguments hold a number that is too large", "Give plain values.", key)
        elif value is not None and not isinstance(value, float):
            raise bad_arguments(f"the arguments hold a {type(value).__name__}, which is not JSON", "Give plain values.")

    def _named(self, values: Mapping[object, object], depth: int, key: str | None) -> None:
        self._refuse_many(len(values), _MOST_NAMES, "names", key)
        for name, inner in values.items():
            if not isinstance(name, str):
                raise bad_arguments(
                    f"the name of an argument is {shown(name)}, and must be text", "Give each argument by name."
                )
            self._text(name)
            self.over(inner, depth + 1, key or name)

    def _text(self, text: str) -> None:
        self._count(len(text))  # first, since a text may be too long to be encoded just to be counted
        refuse_surrogates([text])
        self._count(len(text.encode()) - len(text), values=0)

    def _count(self, size: int, values: int = 1) -> None:
        self.bytes += size
        self.values += values
        if self.bytes > _MOST_BYTES or self.values > _MOST_VALUES:
            raise bad_arguments(
                f"the arguments are too large: a call has at most {_MOST_BYTES >> 10} KiB and {_MOST_VALUES:,} values",
                "Give less in one call.",
            )

    def _refuse_many(self, count: int, most: int, what: str, key: str | None) -> None:
        if count > most:
            raise bad_arguments(f"{count:,} {what} are too many, at most {most} may be given", "Give fewer.", key)


def bad_arguments(message: str, hint: str | None = None, key: str | None = None) -> EditError:
    """The refusal of arguments."""
    return EditError(message, code="bad_arguments", key=key, hint=hint or "See the schema of this tool.")
