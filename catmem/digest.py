"""Values as JSON, canonical JSON, and digests that name their algorithm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

_ENTRY_DIGEST_BYTES = 16


def record_dict(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """The fields of a dataclass as JSON-ready data, in their order."""
    return {each.name: jsonable(getattr(record, each.name)) for each in fields(record)}


class JsonRecord:
    """A dataclass that is JSON-ready data as it stands."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready data."""
        return record_dict(self)


def jsonable(value: Any) -> Any:  # noqa: ANN401 - any value
    """A value as JSON-ready data: a record by its ``to_dict`` or else its fields, a path and a day as a text."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return record_dict(value)
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {key: jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    return value.__fspath__() if hasattr(value, "__fspath__") else value


def canonical_json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """One value, one sequence of bytes: keys sorted, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode()


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_digest(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A short id of a JSON value, ``b2:`` and 32 hex digits (BLAKE2b, 128 bits)."""
    return "b2:" + hashlib.blake2b(canonical_json(value), digest_size=_ENTRY_DIGEST_BYTES).hexdigest()


def bytes_digest(data: bytes) -> str:
    """The digest of whole files and prompts, ``sha256:`` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()
