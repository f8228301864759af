"""The records of the journal as values, and their canonical JSON.

A record says who did what to which file, and how the bytes before became the bytes after: as a splice, or as the whole.
The first line of each segment is a header: where the newest record of each file is, and what the chain goes on from.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from catmem.digest import canonical_json
from catmem.store.changes import ByteChange, Splice, WholeText
from catmem.store.contract import REVISION, is_branch, revision_number

VERSION = 2
MAX_DATA = 64 * 1024 * 1024
"""Bytes of one revision, and no more."""

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""The digest of bytes."""

_HEX = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"(?!\.{1,2}$)[^/\x00]{1,255}")
_BRANCH = re.compile(r"(?!\.{1,2}/)[^/\x00]{1,255}/[0-9]{1,18}[a-z]{1,8}")
_STORE = re.compile(r"[0-9a-f]{32}")


class MalformedError(ValueError):
    """A payload that is no record; its reader makes a ``DamagedError`` of it, which names the file."""


class Retired(NamedTuple):
    """The state of the file that the publication of a record takes out of its place."""

    size: int
    mtime_ns: int
    digest: str


class Tombstone(NamedTuple):
    """What stood in the place of a line that ``erase`` rewrote: the digest of the line, and that of the bytes."""

    line: str
    head: str


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """What the caller says of a record.

    ``file`` is a name such as ``USER.md``, or that of a branch (``branch_name``). ``retired`` is the file that the
    publication takes out of its place; in a record with ``late_of`` it is the new state of the file that the record of
    that sequence took out, which was written to since. ``publishes`` is false for mere history: the bytes were in the
    file already, or never get there. ``brought``: the record was taken over from another store, so nothing that its
    note says is still to be done here.
    """

    file: str
    op: str
    agent: str
    revision: str
    parents: tuple[str, ...]
    op_id: str
    note: Mapping[str, Any] = field(default_factory=dict)
    retired: Retired | None = None
    late_of: int | None = None
    publishes: bool = True
    brought: bool = False

    @property
    def owner(self) -> str:
        """The memory file that it is of: the file itself, also for a branch."""
        return self.file.partition("/")[0]

    @property
    def is_branch(self) -> bool:
        """Whether it stands beside the line of heads."""
        return "/" in self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(RecordDraft):
    """A record as it stands in the journal.

    ``sequence`` counts 1, 2, 3 over all files of the folder. ``head`` is the digest of the file's bytes after, ``size``
    their number. ``boot`` names the time since the machine was started. ``previous`` is the SHA-256 of the line before,
    ``line`` that of this record's own. ``was`` is what stood here before ``erase`` rewrote the record.
    """

    sequence: int
    timestamp: str
    head: str
    size: int
    boot: str
    previous: str
    line: str
    was: Tombstone | None = None

    @property
    def link(self) -> str:
        """The digest that the next line names as its ``previous``: that of the line as it was first written."""
        return self.was.line if self.was else self.line

    @property
    def origin(self) -> str:
        """The digest of the bytes as they were first recorded."""
        return self.was.head if self.was else self.head

    @property
    def number(self) -> int:
        """The number that the revision begins with: 8 for ``8`` and ``8a``, 0 where there is none."""
        return revision_number(self.revision)


class Pointer(NamedTuple):
    """Where the newest record of a file or branch is, and its revision."""

    sequence: int
    revision: str


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """The first line of a segment. ``sequence`` is that of the record after it; it has none of its own.

    ``heads`` point to the newest record of each file before it, and to each branch that no revision came from.
    """

    sequence: int
    store: str
    previous: str
    heads: Mapping[str, Pointer] = field(default_factory=dict)


def branch_name(file: str, revision: str) -> str:
    """The name under which the journal keeps a branch: ``USER.md/8a``, which no file can have."""
    # Beside the file's own records it is a row of its own, of one record. So a branch is no part of what the file's
    # next splice is made from.
    return f"{file}/{revision}"


def recorded_name(file: str, revision: str) -> str:
    """The name under which the journal keeps a revision of a file."""
    return branch_name(file, revision) if is_branch(revision) else file


_ALWAYS: dict[str, type] = {
    **dict.fromkeys(("timestamp", "file", "op", "agent", "revision", "op_id", "head", "boot", "previous"), str),
    "sequence": int,
    "parents": list,
    "note": dict,
    "size": int,
}
_SOMETIMES: dict[str, tuple[type, Any]] = {
    "retired": (list, None),
    "late_of": (int, None),
    "publishes": (bool, True),
    "brought": (bool, False),
    "was": (list, None),
}
"""Fields that are left out where they have this value."""

_PATTERNS = {"revision": REVISION, "head": DIGEST, "previous": _HEX, "store": _STORE, "line": _HEX, "digest": DIGEST}
_LEAST = {"sequence": 1, "late_of": 1, "size": 0, "offset": 0, "removed": 0}


def encode(record: Record, change: ByteChange) -> bytes:
    """The payload of a record. Raises ``TypeError`` or ``ValueError`` for a note that is no JSON."""
    fields: dict[str, Any] = {name: getattr(record, name) for name in _ALWAYS}
    fields |= {
        name: value for name, (_, left_out) in _SOMETIMES.items() if (value := getattr(record, name)) != left_out
    }
    if isinstance(change, WholeText):
        fields["whole"] = b64encode(change.packed).decode("ascii")
    else:
        fields["splice"] = [change.offset, change.removed, b64encode(change.inserted).decode("ascii")]
    return canonical_json(fields)


def encode_header(header: SegmentHeader) -> bytes:
    """The payload of a header."""
    fields = {name: getattr(header, name) for name in SegmentHeader.__slots__}
    return canonical_json({**fields, "version": VERSION})


def decode(payload: bytes, line: str) -> tuple[Record, ByteChange]:
    """The record of a payload, and its change; ``line`` is the digest of its line. Raises ``MalformedError``."""
    fields = _object_of(payload)
    said = {name: _typed(fields.get(name), name, kind) for name, kind in _ALWAYS.items()}
    for name, (kind, left_out) in _SOMETIMES.items():
        said[name] = _typed(fields[name], name, kind) if name in fields else left_out
    if said["size"] > MAX_DATA:
        raise MalformedError(f"size {said['size']:,} is over the limit of {MAX_DATA:,}")
    said["parents"] = tuple(_typed(parent, "parents", str) for parent in said["parents"])
    if said["retired"] is not None:
        said["retired"] = Retired(*_each(said["retired"], size=int, mtime=int, digest=str))
    if said["was"] is not None:
        said["was"] = Tombstone(*_each(said["was"], line=str, digest=str))
    record = Record(**said, line=line)
    is_named = _BRANCH.fullmatch(record.file) if record.is_branch else _FILE.fullmatch(record.file)
    if not is_named or (record.is_branch and (record.publishes or not record.file.endswith(f"/{record.revision}"))):
        raise MalformedError("this is the name of no file, or a branch has the name of another, or goes into the file")
    if ("splice" in fields) == ("whole" in fields):
        raise MalformedError("a record holds either a splice or a whole")
    if "whole" in fields:
        return record, WholeText(_bytes_of(fields["whole"]), record.size)
    offset, removed, inserted = _each(fields["splice"], offset=int, removed=int, inserted=str)
    return record, Splice(offset, removed, _bytes_of(inserted))


def decode_header(payload: bytes) -> SegmentHeader:
    """The header of a payload. Raises ``MalformedError``."""
    fields = _object_of(payload)
    if fields.get("version") != VERSION:
        raise MalformedError(
            f"another catmem wrote this history (form {fields.get('version')!r}; this one reads {VERSION}). The "
            "memory files are whole, and are read. 'catmem fsck --repair' goes on from them, and puts the history "
            "aside with its branches, proposals and old revisions: merge and decide with that catmem first"
        )
    heads = _typed(fields.get("heads"), "heads", dict)
    if not all(_FILE.fullmatch(name) or _BRANCH.fullmatch(name) for name in heads):
        raise MalformedError("heads name what is no file")
    return SegmentHeader(
        sequence=_typed(fields.get("sequence"), "sequence", int),
        store=_typed(fields.get("store"), "store", str),
        previous=_typed(fields.get("previous"), "previous", str),
        heads={name: Pointer(*_each(said, sequence=int, revision=str)) for name, said in heads.items()},
    )


def _object_of(payload: bytes) -> dict[str, Any]:
    """The JSON object that the bytes are."""
    try:
        value = json.loads(payload.decode("utf-8"), parse_constant=_refuse)
        # Half a surrogate pair can be read, but never written again. (A backslash before "ud" in a text looks alike.)
        if b"\\ud" in payload or b"\\uD" in payload:
            canonical_json(value)
    except (ValueError, RecursionError) as error:
        raise MalformedError("not JSON in UTF-8, or nested too deep") from error
    return _typed(value, "a line", dict)  # type: ignore[no-any-return]


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _typed(value: object, name: str, kind: type) -> Any:  # noqa: ANN401 - a value of this kind
    """The value, if it is of this very kind (true is no number), and what its name asks for."""
    pattern, least = _PATTERNS.get(name), _LEAST.get(name)
    if (
        type(value) is not kind
        or (pattern is not None and not pattern.fullmatch(str(value)))
        or (isinstance(value, int) and least is not None and value < least)
    ):
        raise MalformedError(f"{name} is not as it must be")
    return value


def _each(values: object, **kinds: type) -> list[Any]:
    """The values of a list that has one of each kind, by their names."""
    if not isinstance(values, list) or len(values) != len(kinds):
        raise MalformedError(f"not a list of {', '.join(kinds)}")
    return [_typed(value, name, kind) for value, (name, kind) in zip(values, kinds.items(), strict=True)]


def _bytes_of(text: object) -> bytes:
    try:
        return b64decode(_typed(text, "bytes", str), validate=True)
    except ValueError as error:
        raise MalformedError("bytes are not in base64") from error
