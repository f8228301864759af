"""The arguments of the memory tool, which a model wrote: checked, and turned into operations.

Whatever is wrong raises ``EditError`` (``bad_arguments``) in words that the model can act on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import EditError
from catmem.policy.schema import shown, validate
from catmem.policy.yamlfile import key_text
from catmem.service.operation import Operation, refuse_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping

LATER = ("seed", "search")
"""Actions that a later version brings."""

_DEEPEST = 8
_OF_ONE_CHANGE = ("content", "old_text", "category", "tags")


class Call(NamedTuple):
    """What a model asks for; ``operations`` is empty for an action that reads."""

    action: str
    target: str
    category: str | None
    operations: tuple[Operation, ...]
    expected: str | None
    op_id: str | None


def read_arguments(arguments: object) -> Call:
    """The call that the arguments make. Raises ``EditError`` (``bad_arguments``, ``bad_operation``, ``not_text``)."""
    _refuse_odd(arguments, 0)
    if not isinstance(arguments, dict):
        raise _bad("the arguments must be an object", "Give action, and what it needs, by name.")
    given = _used(arguments)
    if isinstance(given.get("operations"), list):
        given["operations"] = [_used(each) if isinstance(each, dict) else each for each in given["operations"]]
    if given.get("action") in LATER:
        raise EditError(
            f"this version has no {given['action']}",
            code="not_available",
            hint="Use list to see what is there. Do not call it again.",
        )
    faults = validate(given, "tool")
    if faults:
        fault = faults[0]
        raise _bad(fault.message, fault.hint, key_text(fault.key))
    target = given.get("target", "user")
    ids = given.get("expected"), given.get("op_id")
    if "operations" in given:
        beside = [name for name in ("action", *_OF_ONE_CHANGE) if name in given]
        if beside:
            raise _bad(
                f"operations stand beside {beside[0]}",
                "Put every change into operations, and leave out what belongs to a single one.",
            )
        changes = tuple(_operation(each, key_text(("operations", n))) for n, each in enumerate(given["operations"]))
        return Call("operations", target, None, changes, *ids)
    if "action" not in given:
        raise _bad("the action is missing", "Give action, or several changes as operations.")
    if given["action"] == "list":
        return Call("list", target, given.get("category"), (), *ids)
    return Call(given["action"], target, None, (_operation(given, None),), *ids)


def _used(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is null: some models name every argument, also those that they do not use."""
    return {name: value for name, value in arguments.items() if value is not None}


def _operation(given: Mapping[str, Any], key: str | None) -> Operation:
    """One change. For a move, the category that a model names is where the entry goes."""
    moves = given["action"] == "move"
    if moves and "category" not in given:
        raise _bad("move needs category", "Name the category that the entry goes to.", key)
    operation = Operation(
        action=given["action"],
        content=given.get("content"),
        old_text=given.get("old_text"),
        category=None if moves else given.get("category"),
        to_category=given.get("category") if moves else None,
        tags=given.get("tags"),
    )
    try:
        operation.check()
    except EditError as error:
        error.key = key
        raise
    return operation


def _refuse_odd(value: object, depth: int) -> None:
    """Refuse what no JSON text that a model writes holds, or what is nested too deep to be meant."""
    if depth > _DEEPEST:
        raise _bad("the arguments are nested too deep", "Give plain values.")
    if isinstance(value, str):
        refuse_surrogates([value])
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise _bad(f"the name of an argument is {shown(key)}, and must be text", "Give each argument by name.")
            refuse_surrogates([key])
            _refuse_odd(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _refuse_odd(inner, depth + 1)
    elif value is not None and not isinstance(value, bool | int | float):
        raise _bad(f"the arguments hold a {type(value).__name__}, which is not JSON", "Give plain values.")


def _bad(message: str, hint: str | None, key: str | None = None) -> EditError:
    return EditError(message, code="bad_arguments", key=key, hint=hint or "See the schema of this tool.")
