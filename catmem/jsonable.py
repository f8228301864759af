"""Records as JSON-ready data: what JSON shows of a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from types import NoneType
from typing import Any

_AS_IT_IS = (str, int, float, NoneType)


def jsonable(value: Any) -> Any:  # noqa: ANN401 - any value
    """A value as JSON-ready data: an error, a record, a list of them, a path, a day.

    A record shows its fields, in their order. Its class says otherwise with ``__json__``: a method that gives the data,
    or the names of fields as a text: ``day``, or ``date=day`` under another name, ``id=entry.id`` for a field of a
    field (null if there is none), ``*sizes`` for all that the record ``sizes`` shows, if there is one.
    """
    if isinstance(value, _AS_IT_IS):
        return value
    declared = getattr(value, "__json__", None)
    if isinstance(declared, str):
        value = _named_fields(value, declared)
    elif declared is not None:
        return jsonable(declared())
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    return value.__fspath__() if hasattr(value, "__fspath__") else value


def _named_fields(record: Any, names: str) -> dict[str, Any]:  # noqa: ANN401 - any record
    shown: dict[str, Any] = {}
    for name, path in _paths(names):
        value = record
        for step in path:
            value = None if value is None else getattr(value, step)
        shown |= {name: value} if name else jsonable(value) or {}
    return shown


@cache
def _paths(names: str) -> list[tuple[str, list[str]]]:
    """The name and the path of each field; of a record whose fields are all shown the name is empty."""
    parts = [each.partition("=") for each in names.split()]
    return [("", [name[1:]]) if name[0] == "*" else (name, (path or name).split(".")) for name, _, path in parts]
