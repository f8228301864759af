"""Records as JSON-ready data: what JSON shows of a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any


def jsonable(value: Any) -> Any:  # noqa: ANN401 - any value
    """A value as JSON-ready data: an error, a record, a list of them, a path, a day.

    A record shows its fields, in their order. Its class says otherwise with ``__json__``: a method that gives the data,
    or the names of fields as a text: ``day``, or ``date=day`` under another name, ``id=entry.id`` for a field of a
    field (null if there is none), ``*sizes`` for all that the record ``sizes`` shows.
    """
    if value is None or isinstance(value, str | int | float):
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
    for named in names.split():
        if named.startswith("*"):
            shown |= jsonable(getattr(record, named[1:]))
        else:
            name, _, path = named.partition("=")
            shown[name] = _at(record, path or name)
    return shown


def _at(value: Any, path: str) -> Any:  # noqa: ANN401 - any record
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value
