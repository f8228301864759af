"""The files that publications took out of their place, as the journal tells of them: what a write has to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.store.files.journal import Journal
    from catmem.store.files.records import Record, Retired

WATCHED = 64
"""How many of the newest records of a folder writes look at the files of; ``fsck`` looks at all."""

_NEWEST, _BURST, _BURST_RECORDS = 8, 1.0, 32
"""Within so many seconds, and records, of a look at all, a write looks at these newest files, and at few others."""


class Superseded:
    """One of them: ``record`` tells of its ``state``, and of the one before that, ``was``, if it changed since."""

    __slots__ = ("name", "quiet", "record", "sequence", "state", "was")

    def __init__(self, record: Record, sequence: int, state: Retired, was: Retired | None) -> None:
        """The file that the record ``sequence`` took out."""
        self.record = record
        self.sequence = sequence
        self.state = state
        self.was = was
        self.name = retired_name(sequence, state)
        self.quiet = -1
        """When it last changed (ctime, in ns), once it was found to be ``state`` so long after that any change from
        then on shows in its ctime."""


class SupersededFiles:
    """Those of one file of memory, the oldest first, and what is known of each. It lasts as long as an open folder."""

    def __init__(self, file: str) -> None:
        """None is known yet."""
        self.known: dict[int, Superseded] = {}
        self._file = file
        self._link = ""
        self._alone: set[int] = set()
        self._next_moment = 0.0
        self._next_sequence = 0

    def to_look_at(self, journal: Journal, moment: float) -> list[Superseded]:
        """What a write at a ``moment`` (seconds that never go back) looks at: all that may have been written to.

        In a burst of writes that are the newest, and older ones that a program may have had open when they came out;
        all of them again after a second, or after 32 records. None is let go before it was looked at once more.
        """
        last = self._follow(journal)
        files = list(self.known.values())
        if moment < self._next_moment and last < self._next_sequence:
            return [each for each in files[:-_NEWEST] if each.sequence not in self._alone] + files[-_NEWEST:]
        self._next_moment, self._next_sequence = moment + _BURST, last + _BURST_RECORDS
        for each in files:
            if each.record.sequence <= last - WATCHED:
                del self.known[each.sequence]
        self._alone.intersection_update(self.known)
        return files

    def left_alone(self, sequence: int) -> None:
        """The file that this record took out was open for writing in no program once it was out."""
        self._alone.add(sequence)

    def _follow(self, journal: Journal) -> int:
        """Go through what was appended since the last time; the sequence of the last record."""
        last, newer = journal.last, []
        for record in journal.records(newest_first=True):
            if record.link == self._link:
                break
            newer.append(record)
            if record.previous == self._link:
                break  # what was gone through stands right before it: no look into an older segment
            if len(newer) == WATCHED:
                self._forget()
                break
        else:
            self._forget()
        self._link = last.link if last else ""
        self.take(reversed(newer))
        return last.sequence if last else 0

    def _forget(self) -> None:
        self.known.clear()
        self._next_moment = 0.0

    def take(self, records: Iterable[Record]) -> list[Superseded]:
        """Take over what records tell, the oldest first; all that is known then."""
        for record in records:
            if record.file == self._file and record.retired is not None:
                sequence = record.sequence if record.late_of is None else record.late_of
                if record.late_of is not None:
                    self._alone.discard(sequence)
                before = self.known.get(sequence)
                self.known[sequence] = Superseded(record, sequence, record.retired, before.state if before else None)
        return list(self.known.values())


def retired_name(sequence: int, state: Retired) -> str:
    """The name in ``gen/`` of a file that the publication of record ``sequence`` took out."""
    return f"{sequence:012d}-{state.digest.removeprefix('sha256:')}"
