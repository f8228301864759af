"""Values as JSON, canonical JSON, and digests that name their algorithm."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

_ENTRY_DIGEST_BYTES = 16


def record_dict(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """The fields of a dataclass as JSON-ready data, in their order: a path as a text, records by their ``to_dict``."""
    return {each.name: _jsonable(getattr(record, each.name)) for each in fields(record)}


class JsonRecord:
    """A dataclass that is JSON-ready data as it stands."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready data."""
        return record_dict(self)


def _jsonable(value: Any) -> Any:  # noqa: ANN401 - any value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
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
