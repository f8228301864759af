"""Whether an envelope is plainly as ``schemas/envelope.schema.json`` wants it: nearly all are, and this is soon said.

What is not plain may still be right: then the schema says so, or what is wrong. A test holds one against the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_LARGEST_REVISION = 999_999_999_999
_LONGEST_TEXT = 16_777_216
_LONGEST_CATEGORY = 1024
_MOST_OPERATIONS = 1000


def _text(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _number(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


_digest = _text("sha256:[0-9a-f]{64}")
_revision = _number(0, _LARGEST_REVISION)


def _parents(value: object) -> bool:
    return isinstance(value, list) and len(value) <= 1 and all(map(_revision, value))


def _any_text(value: object) -> bool:
    return isinstance(value, str)


def _category(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST_CATEGORY


_OPERATION: Mapping[str, Callable[[Any], bool]] = {
    "action": lambda value: isinstance(value, str) and value in {"add", "replace", "remove", "move", "verify"},
    "content": _any_text,
    "old_text": _any_text,
    "category": _category,
    "to_category": _category,
}


def _content(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT
    return isinstance(value, list) and 1 <= len(value) <= _MOST_OPERATIONS and all(map(_operation, value))


def _operation(value: object) -> bool:
    return isinstance(value, dict) and "action" in value and _fit(value, _OPERATION)


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "entity_id": _text(f"{_NAME}/(user|memory)"),
    "agent_id": _text(_NAME),
    "role_id": _text(f"{_NAME}(@[A-Za-z0-9][A-Za-z0-9._-]{{0,63}})?"),
    "role_hash": _digest,
    "op_id": _text("[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"),
    "timestamp": _text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z"),
    "mem_rev": _number(1, _LARGEST_REVISION + 1),
    "prev_rev": _revision,
    "parents": _parents,
    "mem_hash": _digest,
    "content": _content,
    "alert": lambda value: isinstance(value, bool),
    "key_id": _text(_NAME),
    "signature": _text("hmac-sha256:[0-9a-f]{64}"),
}
_REQUIRED = frozenset(_FIELDS) - {"role_id", "role_hash", "alert", "key_id", "signature"}


def fits_plainly(fields: Mapping[str, Any]) -> bool:
    """Whether the fields certainly fit the schema; false says nothing."""
    return (
        fields.keys() >= _REQUIRED
        and ("role_id" in fields) == ("role_hash" in fields)
        and ("key_id" in fields) == ("signature" in fields)
        and _fit(fields, _FIELDS)
    )


def _fit(fields: Mapping[str, Any], wanted: Mapping[str, Callable[[Any], bool]]) -> bool:
    return all(name in wanted and wanted[name](value) for name, value in fields.items())
