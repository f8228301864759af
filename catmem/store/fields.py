"""Values out of JSON that nobody vouches for: each function gives one that is as it must be, or raises ``ValueError``.

``name`` says in the error which value it was.
"""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from catmem.digest import canonical_json

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping


def object_of(payload: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are."""
    try:
        value = json.loads(payload.decode("utf-8"), parse_constant=_refuse)
        # Half a surrogate pair can be read, but never written again. (A backslash before "ud" in a text looks alike.)
        if b"\\ud" in payload or b"\\uD" in payload:
            canonical_json(value)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error
    except ValueError as error:
        raise ValueError("not JSON in UTF-8") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - to whoever reads a file, any fault of it is one kind
    return value


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def text_in(fields: Mapping[str, Any], name: str) -> str:
    """The text under ``name``."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")  # noqa: TRY004
    return value


def flag_in(fields: Mapping[str, Any], name: str, *, default: bool) -> bool:
    """True or false under ``name``, or ``default`` where there is nothing."""
    value = fields.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")  # noqa: TRY004
    return value


def matching(value: object, name: str, pattern: re.Pattern[str]) -> str:
    """A text that all of ``pattern`` fits."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{name} is not as it must be")
    return value


def integer(value: object, name: str) -> int:
    """A whole number; true and false are none."""
    if type(value) is not int:
        raise ValueError(f"{name} is no whole number")
    return value


def natural(value: object, name: str) -> int:
    """A whole number from 0 on."""
    if integer(value, name) < 0:
        raise ValueError(f"{name} is below 0")
    return integer(value, name)


def positive(value: object, name: str) -> int:
    """A whole number from 1 on."""
    if integer(value, name) < 1:
        raise ValueError(f"{name} is below 1")
    return integer(value, name)


def listed(value: object, name: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")  # noqa: TRY004
    return value


def listed_exactly(value: object, name: str, length: int) -> list[Any]:
    """A list of ``length``."""
    values = listed(value, name)
    if len(values) != length:
        raise ValueError(f"{name} is not a list of {length}")
    return values


def bytes_of(value: object, name: str) -> bytes:
    """The bytes of a text in base64."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text in base64")  # noqa: TRY004
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError(f"{name} is not in base64") from error
