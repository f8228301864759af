"""The records of the journal as values, and their canonical JSON.

A record says who did what to which file, and how the bytes before became the bytes after: as a splice, or as the whole.
The first line of each segment is a checkpoint: all that the segment needs to know of those before it.
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
from catmem.store.contract import is_branch, revision_number


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
        raise ValueError("not a JSON object")  # noqa: TRY004 - to a reader of a file, any fault of it is one kind
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


def integer(value: object, name: str, least: int | None = None) -> int:
    """A whole number from ``least`` on; true and false are none."""
    if type(value) is not int:
        raise ValueError(f"{name} is no whole number")
    if least is not None and value < least:
        raise ValueError(f"{name} is below {least}")
    return value


def listed(value: object, name: str, length: int | None = None) -> list[Any]:
    """A list of ``length``."""
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")  # noqa: TRY004
    if length is not None and len(value) != length:
        raise ValueError(f"{name} is not a list of {length}")
    return value


def bytes_of(value: object, name: str) -> bytes:
    """The bytes of a text in base64."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text in base64")  # noqa: TRY004
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError(f"{name} is not in base64") from error


VERSION = 1
CHECKPOINT = "checkpoint"
MAX_DATA = 64 * 1024 * 1024
"""Bytes of one revision, and no more."""

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""The digest of bytes."""

_HEX = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"(?!\.{1,2}$)[^/\x00]{1,255}")
_BRANCH = re.compile(r"(?!\.{1,2}/)[^/\x00]{1,255}/[0-9]{1,18}[a-z]{1,8}")
_REVISION = re.compile(r"[0-9]{1,18}[a-z]{0,8}")
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

    ``sequence`` counts 1, 2, 3 over all files of the folder. ``base`` is the digest of the file's bytes before
    (``None`` for its first record), ``head`` that of its bytes after, ``size`` their number. ``boot`` names the time
    since the machine was started. ``previous`` is the SHA-256 of the line before, ``line`` that of this record's own.
    ``was`` is what stood here before ``erase`` rewrote the record.
    """

    sequence: int
    timestamp: str
    base: str | None
    head: str
    size: int
    boot: str
    previous: str
    line: str
    version: int = VERSION
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


class Head(NamedTuple):
    """The newest record of a file when a checkpoint was made, and its bytes.

    ``highest`` is the highest number of a revision of the file so far.
    """

    record: Record
    highest: int
    whole: WholeText


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The first line of a segment. ``sequence`` is that of the record after it; it has none of its own."""

    sequence: int
    timestamp: str
    boot: str
    store: str
    previous: str
    heads: tuple[Head, ...] = ()
    was: str | None = None
    line: str = ""

    @property
    def link(self) -> str:
        """The digest that the next line names as its ``previous``."""
        return self.was or self.line


def is_revision(revision: str) -> bool:
    """Whether a text can be the id of a revision in a journal."""
    return _REVISION.fullmatch(revision) is not None


def branch_name(file: str, revision: str) -> str:
    """The name under which the journal keeps a branch: ``USER.md/8a``, which no file can have."""
    # Beside the file's own records it is a row of its own, of one record. So a branch is no part of what the file's
    # next splice is made from, and the checkpoints carry it as they carry a file.
    return f"{file}/{revision}"


def recorded_name(file: str, revision: str) -> str:
    """The name under which the journal keeps a revision of a file."""
    return branch_name(file, revision) if is_branch(revision) else file


def encode(record: Record, change: ByteChange) -> bytes:
    """The payload of a record. Raises ``TypeError`` or ``ValueError`` for a note that is no JSON."""
    fields = _record_fields(record)
    if isinstance(change, WholeText):
        fields["whole"] = b64encode(change.packed).decode("ascii")
    else:
        fields["splice"] = [change.offset, change.removed, b64encode(change.inserted).decode("ascii")]
    return canonical_json(fields)


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The payload of a checkpoint."""
    fields: dict[str, Any] = {
        **{name: getattr(checkpoint, name) for name in ("sequence", "timestamp", "boot", "store", "previous")},
        "version": VERSION,
        "op": CHECKPOINT,
        "heads": [
            {
                "record": _record_fields(head.record),
                "line": head.record.line,
                "highest": head.highest,
                "whole": b64encode(head.whole.packed).decode("ascii"),
            }
            for head in checkpoint.heads
        ],
    }
    if checkpoint.was:
        fields["was"] = checkpoint.was
    return canonical_json(fields)


def decode(payload: bytes, line: str) -> tuple[Record, ByteChange]:
    """The record of a payload, and its change; ``line`` is the digest of its line. Raises ``MalformedError``."""
    try:
        fields = _versioned(payload)
        record = _record(fields, line)
        return record, _change(fields, record)
    except ValueError as error:
        raise MalformedError(str(error)) from error


def decode_checkpoint(payload: bytes, line: str) -> Checkpoint:
    """The checkpoint of a payload. Raises ``MalformedError``."""
    try:
        return _checkpoint(_versioned(payload), line)
    except ValueError as error:
        raise MalformedError(str(error)) from error


_ALWAYS = (
    "version", "sequence", "timestamp", "file", "op", "agent", "revision", "parents", "op_id", "base", "head", "size",
    "boot", "previous",
)  # fmt: skip
_TEXTS = ("op", "agent", "op_id", "timestamp", "boot")


def _record_fields(record: Record) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(record, name) for name in _ALWAYS}
    fields["note"] = dict(record.note)
    if record.retired:
        fields["retired"] = list(record.retired)
    if record.late_of is not None:
        fields["late_of"] = record.late_of
    if not record.publishes:
        fields["publishes"] = False
    if record.brought:
        fields["brought"] = True
    if record.was:
        fields["was"] = list(record.was)
    return fields


def _versioned(payload: bytes) -> dict[str, Any]:
    fields = object_of(payload)
    version = integer(fields.get("version"), "version")
    if version != VERSION:
        raise ValueError(f"version {version}; this catmem reads version {VERSION}")
    return fields


def _checkpoint(fields: Mapping[str, Any], line: str) -> Checkpoint:
    if fields.get("op") != CHECKPOINT or "file" in fields:
        raise ValueError("this is no checkpoint")
    was = fields.get("was")
    return Checkpoint(
        sequence=integer(fields.get("sequence"), "sequence", 1),
        timestamp=text_in(fields, "timestamp"),
        boot=text_in(fields, "boot"),
        store=matching(fields.get("store"), "store", _STORE),
        previous=matching(fields.get("previous"), "previous", _HEX),
        heads=tuple(_head(head) for head in listed(fields.get("heads"), "heads")),
        was=None if was is None else matching(was, "was", _HEX),
        line=line,
    )


def _record(fields: Mapping[str, Any], line: str) -> Record:
    note = fields.get("note")
    parents = listed(fields.get("parents"), "parents")
    if not isinstance(note, dict) or not all(isinstance(parent, str) for parent in parents):
        raise ValueError("note is no object, or parents are not all texts")
    base, retired, late_of = fields.get("base"), fields.get("retired"), fields.get("late_of")
    size = integer(fields.get("size"), "size", 0)
    if size > MAX_DATA:
        raise ValueError(f"size {size:,} is over the limit of {MAX_DATA:,}")
    revision = matching(fields.get("revision"), "revision", _REVISION)
    texts: dict[str, Any] = {name: text_in(fields, name) for name in _TEXTS}
    return Record(
        **texts,
        file=_file(fields, revision),
        revision=revision,
        parents=tuple(parents),
        note=note,
        retired=None if retired is None else _retired(retired),
        late_of=None if late_of is None else integer(late_of, "late_of", 1),
        publishes=flag_in(fields, "publishes", default=True),
        brought=flag_in(fields, "brought", default=False),
        sequence=integer(fields.get("sequence"), "sequence", 1),
        base=None if base is None else matching(base, "base", DIGEST),
        head=matching(fields.get("head"), "head", DIGEST),
        size=size,
        previous=matching(fields.get("previous"), "previous", _HEX),
        line=line,
        was=_tombstone(fields.get("was")),
    )


def _file(fields: Mapping[str, Any], revision: str) -> str:
    """The name that a record goes by: that of a file, or of the branch that its revision is."""
    name = text_in(fields, "file")
    if "/" not in name:
        return matching(name, "file", _FILE)
    matching(name, "file", _BRANCH)
    if not name.endswith(f"/{revision}") or flag_in(fields, "publishes", default=True):
        raise ValueError("a branch has the name of another, or goes into the file")
    return name


def _change(fields: Mapping[str, Any], record: Record) -> ByteChange:
    if ("splice" in fields) == ("whole" in fields):
        raise ValueError("a record holds either a splice or a whole")
    if "whole" in fields:
        return WholeText(bytes_of(fields["whole"], "whole"), record.size)
    offset, removed, inserted = listed(fields["splice"], "splice", 3)
    return Splice(integer(offset, "splice", 0), integer(removed, "splice", 0), bytes_of(inserted, "splice"))


def _head(fields: object) -> Head:
    if not isinstance(fields, dict) or not isinstance(fields.get("record"), dict):
        raise ValueError("a head is not an object with a record")  # noqa: TRY004 - a fault like any other
    record = _record(fields["record"], matching(fields.get("line"), "line", _HEX))
    whole = WholeText(bytes_of(fields.get("whole"), "whole"), record.size)
    return Head(record, integer(fields.get("highest"), "highest", 0), whole)


def _retired(value: object) -> Retired:
    size, mtime, digest = listed(value, "retired", 3)
    return Retired(integer(size, "retired", 0), integer(mtime, "retired"), matching(digest, "retired", DIGEST))


def _tombstone(value: object) -> Tombstone | None:
    if value is None:
        return None
    line, head = listed(value, "was", 2)
    return Tombstone(matching(line, "was", _HEX), matching(head, "was", DIGEST))
