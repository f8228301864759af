"""Reading the audit log, from its oldest line on, and going on from there as others add to it."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.store.audit import NAME, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.store.audit import AuditLog

_PIECE = 1 << 20
_LONGEST = 1 << 16
"""Bytes of a line; what is longer was not written by catmem."""
_KNOWN_BY = 512
"""Bytes before a place by which it is found again. No two lines are alike: each begins with its time."""


class Damage(NamedTuple):
    """A line that cannot be read, by the name of its file and its number there, which counts from 1."""

    file: str
    line: int

    def to_dict(self) -> dict[str, Any]:
        """The place as JSON-ready data."""
        return self._asdict()


class AuditReader:
    """Reads a log; each ``poll`` gives what came since the one before. Close it in the end."""

    def __init__(self, log: AuditLog) -> None:
        """Nothing is opened yet."""
        self._log = log
        self._descriptor = -1
        self._left = b""
        """The beginning of a line that somebody may still be writing."""
        self._number = 0
        self._last = b""
        """The last bytes of whole lines: if they stand there no more, somebody emptied the file in its place."""

    def poll(self) -> Iterator[Line | Damage]:
        """The lines that were not given yet, the oldest first. Raises ``OSError``.

        A file that has become an older one is read to its end first, so that no line is left out or given twice. One
        that somebody emptied in its place, as ``logrotate`` does with ``copytruncate``, is read from its start.
        """
        files = self._log.open_files()
        places = [number for number, (_, descriptor) in enumerate(files) if self._is_open_one(descriptor)]
        name = files[places[0]][0] if places else "an older file"
        newer = files[places[0] + 1 :] if places else files
        for each in files:
            if each not in newer:
                os.close(each[1])
        waiting = [descriptor for _, descriptor in newer]
        try:
            if self._descriptor >= 0:
                yield from self._rest(name, ended=bool(newer))
            for number, (newer_name, _) in enumerate(newer, 1):
                self.close()
                self._descriptor = waiting.pop(0)
                yield from self._rest(newer_name, ended=number < len(newer))
        finally:
            for descriptor in waiting:
                os.close(descriptor)

    def skip(self) -> None:
        """Have the next ``poll`` begin behind the lines that there are now. Raises ``OSError``."""
        for _, descriptor in self._log.open_files():
            self.close()
            self._descriptor = descriptor
        if self._descriptor >= 0:
            deque(self._rest(NAME, ended=False), maxlen=0)

    def _is_open_one(self, descriptor: int) -> bool:
        return self._descriptor >= 0 and os.path.sameopenfile(self._descriptor, descriptor)

    def _rest(self, name: str, *, ended: bool) -> Iterator[Line | Damage]:
        """What the open file has further on. ``ended``: nobody writes to it any more."""
        self._go_back()
        while piece := os.read(self._descriptor, _PIECE):
            data = self._left + piece
            *whole, self._left = data.split(b"\n")
            if len(self._left) > _LONGEST:
                whole.append(self._left[:_LONGEST])
                self._left = b""
            self._last = (self._last + data[: len(data) - len(self._left)])[-_KNOWN_BY:]
            for data in whole:
                yield self._line(name, data)
        if ended and self._left:
            yield self._line(name, self._left)
            self._left = b""

    def _go_back(self) -> None:
        """Stand after the last whole line, since half a one may be taken back; at the start of an emptied file."""
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR) - len(self._left)
        if _bytes_before(self._descriptor, end) != self._last:
            end, self._number, self._last = 0, 0, b""
        os.lseek(self._descriptor, end, os.SEEK_SET)
        self._left = b""

    def _line(self, name: str, data: bytes) -> Line | Damage:
        self._number += 1
        return Line.from_json(data) or Damage(name, self._number)

    def close(self) -> None:
        """Let go of the file; a further ``poll`` begins anew."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._left, self._number, self._last = -1, b"", 0, b""


def _bytes_before(descriptor: int, offset: int) -> bytes:
    """The bytes of an open file before ``offset``, as far as a place is known by them."""
    begin = max(0, offset - _KNOWN_BY)
    return os.pread(descriptor, offset - begin, begin)
