"""The audit log of a root: ``.catmem/audit.jsonl``, one line for each operation, and older files of it beside.

A process that adds a line holds the lock of the file for as long as that takes, so no line is torn, however many write.
A file that has grown large becomes ``audit.1.jsonl``, the one before it ``audit.2.jsonl``, and so on; the oldest goes.
Nothing is waited for on a disk: the journal is the durable truth, and the log tells of it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import stat
from collections import deque
from collections.abc import Container, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from catmem.files import take_lock
from catmem.store.contract import who

NAME = "audit.jsonl"
MOST_BYTES = 8 << 20
"""What a file of the log has when the next one is begun."""
MOST_FILES = 8

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Nothing is followed if it is a link, or waited for if it is a pipe.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OLDER = re.compile(r"audit\.([1-9][0-9]{0,3})\.jsonl")
_LOCK_SECONDS = 2.0


class AuditLog:
    """The log in the sidecar ``folder`` (``.catmem``) of a root. For several threads and processes at once."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
        """Nothing is opened or made yet. ``most_files`` counts the one that is written to."""
        self.folder = folder
        self._most_bytes = most_bytes
        self._most_files = most_files

    def append(self, line: AuditLine) -> None:
        """Add a line; makes the folder (0700) and the file (0600) where they are missing."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(self.folder, _FOLDER)
        try:
            with _held(folder, os.O_RDWR | os.O_APPEND | os.O_CREAT, fcntl.LOCK_EX) as descriptor:
                size = _write(descriptor, line.to_json())
                if size >= self._most_bytes:
                    self._rotate(folder)
        finally:
            os.close(folder)

    def first_written(self, entities: Container[str]) -> str | None:
        """Which of some entities was written first; ``None`` if none was, or the log cannot be read."""
        with suppress(OSError), closing(AuditReader(self)) as reader:
            written = (line for line in reader.poll() if isinstance(line, AuditLine) and line.status == "ok")
            return next((line.entity_id for line in written if line.entity_id in entities), None)
        return None

    def saying(self, words: str) -> list[Path]:
        """The files of the log in which the name of a writer says words."""
        said = re.escape(json.dumps(" ".join(words.split()))[1:-1])
        noted = re.compile(rf'"(?:agent|person)":"(?!(?:person|external)")(?:[^"\\]|\\.)*{said}'.encode())
        return sorted(path for path in self.folder.glob("audit*.jsonl") if noted.search(path.read_bytes()))

    def _rotate(self, folder: int) -> None:
        numbers = [number for number, _ in _older(folder) if number < self._most_files - 1]
        for number in numbers:  # the oldest first
            os.rename(_name(number), _name(number + 1), src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(NAME, _name(1), src_dir_fd=folder, dst_dir_fd=folder)

    @contextmanager
    def opened(self) -> Iterator[list[tuple[str, int]]]:
        """Names and descriptors of all files there are, the oldest first, as they are at one moment."""
        with ExitStack() as stack:
            try:
                folder = os.open(self.folder, _FOLDER)
            except FileNotFoundError:
                yield []
                return
            stack.callback(os.close, folder)
            newest: list[tuple[str, int]] = []
            with ExitStack() as held:
                # Without one the process that is to begin the next file has not done so yet.
                with suppress(FileNotFoundError):
                    descriptor = os.dup(held.enter_context(_held(folder, os.O_RDONLY, fcntl.LOCK_SH)))
                    stack.callback(os.close, descriptor)
                    newest = [(NAME, descriptor)]
                older: list[tuple[str, int]] = []
                for _, name in _older(folder):
                    older.append((name, os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)))
                    stack.callback(os.close, older[-1][1])
                    _refuse_other_kinds(os.fstat(older[-1][1]), name)
            yield [*older, *newest]


def _older(folder: int) -> list[tuple[int, str]]:
    found = [(int(match[1]), name) for name in os.listdir(folder) if (match := _OLDER.fullmatch(name))]
    return sorted(found, reverse=True)


def _name(number: int) -> str:
    return f"audit.{number}.jsonl"


def _write(descriptor: int, data: bytes) -> int:
    """Write a line at the end of an open and locked file; the size that it has then. All of the line, or nothing."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        data = b"\n" + data  # a process was killed in the middle of a line
    written = os.write(descriptor, data)
    if written < len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return size + written


@contextmanager
def _held(folder: int, flags: int, how: int) -> Iterator[int]:
    """The newest file of the log, open and locked. Raises ``OSError``, also if another process keeps its lock."""
    while True:
        descriptor = os.open(NAME, flags | _FILE, 0o600, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            _refuse_other_kinds(status, NAME)
            take_lock(descriptor, _LOCK_SECONDS, how)
            try:
                # It may have become an older one in the meantime: then the newest is another.
                if _is(NAME, folder, status):
                    yield descriptor
                    return
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # by name: a forked child would keep it
        finally:
            os.close(descriptor)


def _is(name: str, folder: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), status)
    except FileNotFoundError:
        return False


def _refuse_other_kinds(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", name)
    # A second name of it may stand anywhere, and there nothing is to be written.
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has several hard links", name)


LONGEST_NAME = 200
"""Characters that a line keeps of a name: a refused caller may have given any text as one."""

_OPTIONAL = ("person",)
_REVISIONS = ("prev_rev", "mem_rev")
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("ts", "entity_id", "op", "agent", "status"), str),
    **dict.fromkeys((*_REVISIONS, "reason", *_OPTIONAL), str | None),
    "head_rev": int | None,
    "seconds": int | float | None,
}
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")

Status: TypeAlias = Literal["ok", "unchanged", "retry", "branch", "waiting", "merged", "conflict", "refused"]
STATUSES = get_args(Status)


class AuditLine(NamedTuple):
    """One operation.

    ``ts`` is when it ended, UTC. ``prev_rev`` is the revision (or digest) that it was made on, ``mem_rev`` the revision
    that answers it, of a conflict that at the head, ``None`` for another refusal. In the log both are numbers, but for
    branches and digests. ``head_rev`` is the number of the head then, ``None`` if unknown.
    ``status`` is one of ``STATUSES``; ``reason`` the code of the refusal. ``seconds`` is how long it took, ``person``
    the name of the person where ``agent`` is one.
    """

    ts: str
    entity_id: str
    op: str
    agent: str
    prev_rev: str | None
    mem_rev: str | None
    status: str
    reason: str | None
    head_rev: int | None
    seconds: float | None = None
    person: str | None = None

    @property
    def who(self) -> str:
        """Who asked for it, for people: the agent, or the name of the person."""
        return who(self.agent, self.person)

    @property
    def is_refused(self) -> bool:
        """Whether it was not made."""
        return self.status in {"conflict", "refused"}

    def __json__(self) -> dict[str, Any]:
        """The line as JSON-ready data, its keys in one order; ``person`` only where there is one."""
        said = {name: value for name, value in self._asdict().items() if value is not None or name not in _OPTIONAL}
        numbers = {name: int(said[name]) for name in _REVISIONS if _NUMBER.fullmatch(said[name] or "")}
        return said | numbers

    def to_json(self) -> bytes:
        """The line as it stands in the log, with its newline; ASCII, whatever the names are."""
        return json.dumps(self.__json__(), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> AuditLine | None:
        """What a line of the log says; ``None`` if it is damaged. Keys that another version writes are passed over."""
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(said, dict):
            return None
        fields: dict[str, Any] = {field: said.get(field) for field in cls._fields}
        fields |= {key: str(fields[key]) for key in _REVISIONS if type(fields[key]) is int}
        is_good = all(isinstance(each, _KINDS[key]) and not isinstance(each, bool) for key, each in fields.items())
        return cls(**fields) if is_good else None


def bounded(name: object) -> str:
    """A name as a line keeps it: as it was given, cut where it is longer than any name can be."""
    text = name if isinstance(name, str) else repr(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


_PIECE = 1 << 20
_LONGEST = 1 << 16
"""Bytes of a line; what is longer was not written by catmem."""


class Damage(NamedTuple):
    """A line that cannot be read, by the name of its file and its number there, which counts from 1."""

    file: str
    line: int


class AuditReader:
    """Reads a log; each ``poll`` gives what came since the one before. Close it in the end."""

    def __init__(self, log: AuditLog) -> None:
        """Nothing is opened yet."""
        self._log = log
        self._descriptor = -1
        self._place = 0
        """Where the next line begins in the open file; half a line may be taken back."""
        self._number = 0

    def poll(self) -> Iterator[AuditLine | Damage]:
        """The lines that were not given yet, the oldest first. Raises ``OSError``."""
        # A file that has become an older one is read to its end first, so that no line is left out or given twice.
        with self._log.opened() as files:
            own = self._descriptor
            place = next(
                (number for number, (_, each) in enumerate(files) if own >= 0 and os.path.sameopenfile(own, each)), -1
            )
            newer = files[place + 1 :]
            if own >= 0:
                yield from self._rest(files[place][0] if place >= 0 else "an older file", ended=bool(newer))
            for number, (name, descriptor) in enumerate(newer, 1):
                self._go_on_with(descriptor)
                yield from self._rest(name, ended=number < len(newer))

    def skip(self) -> None:
        """Have the next ``poll`` begin behind the lines that there are now. Raises ``OSError``."""
        with self._log.opened() as files:
            for _, descriptor in files[-1:]:
                self._go_on_with(descriptor)
                deque(self._rest(NAME, ended=False), maxlen=0)

    def _go_on_with(self, descriptor: int) -> None:
        self.close()
        self._descriptor = os.dup(descriptor)

    def _rest(self, name: str, *, ended: bool) -> Iterator[AuditLine | Damage]:
        """What the open file has further on. ``ended``: no process writes to it any more."""
        while data := os.pread(self._descriptor, _PIECE, self._place):
            whole, newline, _ = data.rpartition(b"\n")
            if not newline:
                if not ended and len(data) <= _LONGEST:
                    return
                whole = data
            self._place += len(whole) + len(newline)
            for line in whole.split(b"\n"):
                yield self._line(name, line)

    def _line(self, name: str, data: bytes) -> AuditLine | Damage:
        self._number += 1
        return AuditLine.from_json(data) or Damage(name, self._number)

    def close(self) -> None:
        """Let go of the file; a further ``poll`` begins anew."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._place, self._number = -1, 0, 0
