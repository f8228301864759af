"""Canonical JSON, and digests that name their algorithm."""

from __future__ import annotations

import hashlib
import json
from typing import Any

ID_PREFIX = "b2:"
_ENTRY_DIGEST_BYTES = 16


def canonical_json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """One value, one sequence of bytes: keys sorted, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode()


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_digest(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A short id of a JSON value, ``b2:`` and 32 hex digits (BLAKE2b, 128 bits)."""
    return ID_PREFIX + hashlib.blake2b(canonical_json(value), digest_size=_ENTRY_DIGEST_BYTES).hexdigest()


def bytes_digest(data: bytes) -> str:
    """The digest of whole files and prompts, ``sha256:`` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()
