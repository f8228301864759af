"""The envelope of a write: who writes what, on which revision, signed; and reading and checking one that was sent.

Values only: nothing here reads a file, a key or a clock, and nothing is looked up. What an envelope must look like
stands in ``schemas/envelope.schema.json``; what is wrong by that, or by itself, is wrong on every root. Beside it
stands what its content asks for: operations.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NoReturn

from catmem.config.json_schema import shown, validate
from catmem.config.yamlfile import KeyPath, key_text
from catmem.digest import bytes_digest, canonical_json
from catmem.errors import EditError, EnvelopeError
from catmem.jsonable import jsonable
from catmem.names import is_declared
from catmem.store.contract import PERSON, revision_number
from catmem.writing.request import Operation

SIGNATURE = "hmac-sha256:"

_FIELDS = (
    "entity_id", "agent_id", "role_id", "role_hash", "op_id", "timestamp", "mem_rev", "prev_rev", "parents", "mem_hash",
    "content", "key_id", "signature",
)  # fmt: skip
"""In the order that people read."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One write, as it is sent.

    ``prev_rev`` is the revision that it is made on: a number, 0 for an entity that was never written, or the id of a
    branch. ``mem_rev`` is the number of the next one. ``role_id`` and ``role_hash`` are ``None`` for a person,
    ``key_id`` and ``signature`` for an unsigned envelope. ``merges`` are revisions that the write brings together with
    ``prev_rev``: its further parents.
    """

    entity_id: str
    agent_id: str
    op_id: str
    timestamp: str
    prev_rev: int | str
    content: Any
    """A list of operations, or a whole text; any JSON value in an entity that catmem.yaml declares."""
    mem_hash: str
    role_id: str | None = None
    role_hash: str | None = None
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
        """The envelope as JSON-ready data; fields that are not given are left out."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
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
    return Envelope(
        **{name: fields[name] for name in _FIELDS if name in fields and name not in {"mem_rev", "parents"}},
        merges=tuple(fields.get("parents", ())[1:]),
        names_parents="parents" in fields,
    )


def content_hash(content: Any) -> str:  # noqa: ANN401 - any JSON value
    """The digest of a content as it is sent, ``sha256:…``: of a text's UTF-8, else of its canonical JSON."""
    return bytes_digest(content.encode() if isinstance(content, str) else canonical_json(content))


def _signature(message: bytes, key: bytes) -> str:
    return SIGNATURE + hmac.new(key, message, hashlib.sha256).hexdigest()


MOST_BYTES = 40 << 20
"""Of an envelope as JSON: a file of the largest size still fits, escapes included."""

_DEEPEST = 64
_HALF = re.compile("[\ud800-\udfff]")
_HINT = "Nothing was written. docs/envelopes.md lists the fields; catmem envelope makes an envelope that fits."
_ONE_VALUE = "Give one JSON value in UTF-8."


def read_envelope(given: Mapping[str, Any] | str | bytes) -> Envelope:
    """The envelope that a JSON text or its fields are. Raises ``EnvelopeError`` (``schema``, ``bad_hash``)."""
    return envelope_of(fields_of(given))


def envelope_of(fields: Mapping[str, Any]) -> Envelope:
    """The envelope of fields that ``fields_of`` gave. Raises ``EnvelopeError`` (``schema``, ``bad_hash``)."""
    faults = validate(fields, "envelope")
    if faults:
        # What a content may be hangs on the entity; what is wrong with prev_rev is wrong with parents, which repeat it.
        ranks: dict[KeyPath, int] = {("entity_id",): 0, ("parents",): 2}
        fault, more = min(faults, key=lambda each: ranks.get(each.key[:1], 1)), len(faults) - 1
        rest = f" (and {more} more fault{'' if more == 1 else 's'})" if more else ""
        required = (each.name for each in dataclasses.fields(Envelope) if each.default is dataclasses.MISSING)
        key = fault.key or tuple(name for name in required if name not in fields)[:1]
        raise _fault(key, fault.message + rest, fault.hint)
    _check_role(fields)
    _check_numbers(fields)
    moment(fields["timestamp"])
    envelope = from_fields(fields)
    if content_hash(envelope.content) != envelope.mem_hash:
        raise EnvelopeError(
            "mem_hash is not the digest of the content",
            code="bad_hash",
            key="mem_hash",
            hint="Nothing was written. Give the SHA-256 of the content as it is sent: of the UTF-8 of a text, else of "
            "its canonical JSON.",
        )
    return envelope


def fields_of(given: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """The JSON object that something is. Raises ``EnvelopeError`` (``schema``), with line and column of a slip."""
    return fields_in(json_of(_text(given)))


def fields_in(value: Any, size: int = 0) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """The same of a value that ``json_of`` gave, if the caller has read it already; ``size`` is that of its text."""
    _refuse_large(size)
    if not isinstance(value, dict):
        raise EnvelopeError(f"an envelope is a JSON object, and this is {shown(value)}", hint=_HINT)
    _refuse_deep(value)
    return value


def json_of(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value that a JSON text is. Raises ``EnvelopeError`` (``schema``), also for a key that is given twice."""
    if not text.strip():
        raise EnvelopeError("it is empty", hint=_ONE_VALUE)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise EnvelopeError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno, hint=_ONE_VALUE) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, and what is nested without end
        raise EnvelopeError("not JSON that can be read: too deep, or a number too long", hint=_HINT) from error


def moment(timestamp: str) -> datetime:
    """The moment that a time in RFC 3339 names. Raises ``EnvelopeError`` (``schema``) for one that there is not."""
    try:
        return datetime.fromisoformat(timestamp)
    except ValueError:
        hint = "Write it in UTC: 2026-11-21T12:00:00Z."
        raise _fault(("timestamp",), f"{shown(timestamp)} is no time", hint) from None


def _text(given: Mapping[str, Any] | str | bytes) -> str:
    if isinstance(given, str | bytes):
        _refuse_large(len(given))
        try:
            text = given.decode() if isinstance(given, bytes) else given
        except UnicodeDecodeError as error:
            raise EnvelopeError(f"not UTF-8: byte {error.start}", hint="Give one envelope as JSON in UTF-8.") from None
    else:
        try:
            text = canonical_json(given).decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise EnvelopeError("it holds what JSON cannot say", hint=_HINT) from error
    _refuse_half(text)
    return text


def _refuse_large(size: int) -> None:
    if size > MOST_BYTES:
        raise EnvelopeError(f"an envelope has at most {MOST_BYTES >> 20} MiB", hint="Send operations instead.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which each key stands once: of two, a signature could mean the one and a reader see the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise EnvelopeError(f"the key {shown(twice)} is given twice", hint="Give it once.")
    return found


def _refuse(text: str) -> NoReturn:
    raise EnvelopeError(f"{text} is no JSON", hint=_HINT)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise EnvelopeError(f"{shown(text)} is too large a number", hint=_HINT)
    return value


def _refuse_deep(fields: dict[str, Any]) -> None:
    """Refuse what no envelope needs: deep nesting, half a character, numbers with a fraction but in a free content."""
    entity = fields.get("entity_id")
    is_free = isinstance(entity, str) and is_declared(entity)
    waiting: list[tuple[KeyPath, Any]] = [((), fields)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            _refuse_half("".join(value))
            inside = list(value.items())
        else:
            inside = list(enumerate(value)) if isinstance(value, list) else []
        if inside and len(key) >= _DEEPEST:
            message = f"it is nested deeper than {_DEEPEST} levels"
            raise EnvelopeError(message, hint="Nothing was written. Make it flatter.")
        if isinstance(value, float) and not (is_free and key[0] == "content"):
            # JSON Schema takes 8.0 for a whole number, and it would be signed as another text than 8.
            raise _fault(key, f"{shown(value)} is no whole number", "Write it without a point.")
        if isinstance(value, str):
            _refuse_half(value)
        waiting += [((*key, name), part) for name, part in inside]


def _refuse_half(text: str) -> None:
    if not text.isascii() and _HALF.search(text):
        raise EnvelopeError("it holds a lone surrogate, half of a character", hint="Give the text as UTF-8.")


def _check_role(fields: Mapping[str, Any]) -> None:
    if (fields["agent_id"] == PERSON) == ("role_id" in fields):
        raise _fault(
            ("role_id",),
            "a person has no role, and any other agent has role_id and role_hash",
            "'catmem role-hash NAME' prints the digest of the role NAME.",
        )


def _check_numbers(fields: Mapping[str, Any]) -> None:
    prev = fields["prev_rev"]
    number = revision_number(str(prev)) + 1
    if fields["mem_rev"] != number:
        raise _fault(
            ("mem_rev",), f"mem_rev is {fields['mem_rev']}, and what follows {prev} is {number}", "Give that number."
        )
    first = [] if prev == 0 else [prev]
    parents = fields.get("parents", first)
    if parents[:1] != first or len(set(parents)) < len(parents):
        raise _fault(
            ("parents",),
            "parents do not begin with prev_rev, or name a revision twice",
            f"Give {json.dumps(first)}" + (", and behind it the revisions that the write merges." if first else "."),
        )


def _fault(key: KeyPath, message: str, hint: str | None) -> EnvelopeError:
    return EnvelopeError(message, key=key_text(key), hint=hint or _HINT)


def operations_of(content: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations in a content that fits the schema. Raises ``EnvelopeError`` (``schema``) for parts missing."""
    found: list[Operation] = []
    for index, given in enumerate(content):
        fields = dict(given)
        if fields["action"] == "move" and "to_category" not in fields:
            fields["to_category"] = fields.pop("category", None)
        if "as_of" in fields:
            fields["as_of"] = date.fromisoformat(fields["as_of"])
        operation = Operation(**fields)
        try:
            operation.check()
        except EditError as error:
            key = key_text(("content", index))
            raise EnvelopeError(error.message, key=key, hint=error.hint) from error
        found.append(operation)
    return tuple(found)
