"""The envelope of a write: who writes what, on which revision, and the signature that vouches for all of it.

Values only: nothing here reads a file, a key or a clock. What an envelope must look like stands in
``schemas/envelope.schema.json``; a caller that receives one checks it by that first.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from catmem.digest import bytes_digest, canonical_json
from catmem.jsonable import jsonable
from catmem.store.contract import revision_number

Content: TypeAlias = Any
"""What is written: a whole text, the JSON form of a document, or a list of operations; any JSON value in an entity that
catmem.yaml declares."""

SIGNATURE = "hmac-sha256:"

_ALWAYS = ("entity_id", "agent_id", "op_id", "timestamp", "mem_rev", "prev_rev", "parents", "mem_hash", "content")
_SOMETIMES = ("role_id", "role_hash", "alert", "key_id", "signature")
_FIRST = ("entity_id", "agent_id", "role_id", "role_hash")


@dataclass(frozen=True, slots=True)
class Envelope:
    """One write, as it is sent.

    ``prev_rev`` is the revision that it is made on: a number, 0 for an entity that was never written, or the id of a
    branch. ``mem_rev`` is the number of the next one. ``role_id`` and ``role_hash`` are ``None`` for a person,
    ``key_id`` and ``signature`` for an unsigned envelope. ``alert``: the writer wants to be warned if the new
    text has little in common with the old one. ``merges`` are revisions that the write brings together with
    ``prev_rev``: its further parents.
    """

    entity_id: str
    agent_id: str
    op_id: str
    timestamp: str
    prev_rev: int | str
    content: Content
    mem_hash: str
    role_id: str | None = None
    role_hash: str | None = None
    alert: bool | None = None
    key_id: str | None = None
    signature: str | None = None
    merges: tuple[int | str, ...] = ()
    names_parents: bool = True
    """Whether ``parents`` is among its fields, and so signed."""

    @property
    def mem_rev(self) -> int:
        """The number of the revision that it makes, if it makes one."""
        return revision_number(str(self.prev_rev)) + 1

    @property
    def parents(self) -> tuple[int | str, ...]:
        """The revision that it is made on, none for the first; and those that it merges."""
        return (*(() if self.prev_rev == 0 else (self.prev_rev,)), *self.merges)

    @property
    def request(self) -> str:
        """The digest of what is asked: the same for a retry, which may have another time, base and key."""
        asked = [self.entity_id, self.agent_id, type(self.content).__name__, self.mem_hash]
        return bytes_digest(canonical_json(asked))

    def __json__(self) -> dict[str, Any]:
        """The envelope as JSON-ready data, in the order that people read; fields that are not given are left out."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in (*_FIRST, *_ALWAYS, *_SOMETIMES)}
        fields["parents"] = self.parents if self.names_parents else None
        # A content may be null, which is a value.
        return {name: value for name, value in fields.items() if value is not None or name == "content"}

    def canonical(self) -> bytes:
        """The bytes that are signed: canonical JSON of every field but the signature."""
        return canonical_json(jsonable(replace(self, signature=None)))

    def signed(self, key_id: str, key: bytes) -> Envelope:
        """The envelope with the signature of a key."""
        named = replace(self, key_id=key_id, signature=None)
        return replace(named, signature=_signature(named.canonical(), key))

    def is_signed_by(self, key: bytes) -> bool:
        """Whether the signature is that of a key. It takes as long for a wrong one as for a right one."""
        return hmac.compare_digest(_signature(self.canonical(), key), self.signature or "")


def from_fields(fields: Mapping[str, Any]) -> Envelope:
    """The envelope of fields that fit the schema. ``mem_rev`` and ``parents`` follow from ``prev_rev``."""
    derived = ("mem_rev", "parents")
    return Envelope(
        **{name: fields[name] for name in (*_ALWAYS, *_SOMETIMES) if name in fields and name not in derived},
        merges=tuple(fields.get("parents", ())[1:]),
        names_parents="parents" in fields,
    )


def content_hash(content: Content) -> str:
    """The digest of a content as it is sent, ``sha256:…``: of a text's UTF-8, else of its canonical JSON."""
    return bytes_digest(content.encode() if isinstance(content, str) else canonical_json(content))


def _signature(message: bytes, key: bytes) -> str:
    return SIGNATURE + hmac.new(key, message, hashlib.sha256).hexdigest()
