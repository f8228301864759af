"""What is remembered of bodies that a file no longer has, in few bytes: most of a long history is that.

A server runs for months and a counter may be written each second, so what is held must not grow with the history. Each
body is a row of ``_ROW`` bytes, and there are two tables of ``MOST`` rows at most: when one is full it takes the place
of the older one. So what went away lately is known the longest.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 50_000
"""Rows of a table: at least so many bodies that are gone are known, and at most twice as many."""

_KEY = 12
_BASES: tuple[Literal["first_seen", "file_time"], ...] = ("first_seen", "file_time")
_PLACE = slice(_KEY + 1, _KEY + 5)
_TIME = slice(_KEY + 5, None)
_LENGTH = len("2026-11-21T12:00:00.000000Z")
_ROW = _KEY + 5 + _LENGTH


class Moment(NamedTuple):
    """What dates an entry: a moment, UTC as records say it, and whether it is when it was seen or the file's time."""

    basis: Literal["first_seen", "file_time"]
    time: str


class Known(NamedTuple):
    """What is known of one body: what dates it, and the categories in which it ever stood."""

    moment: Moment
    categories: frozenset[str]


class _Table(NamedTuple):
    """Rows by key, one behind the other: key, basis, number of the place, time."""

    rows: bytes = b""
    places: tuple[frozenset[str], ...] = ()

    def __len__(self) -> int:
        return len(self.rows) // _ROW

    def find(self, key: bytes) -> Known | None:
        at = bisect_left(range(len(self)), key, key=lambda at: self.rows[at * _ROW : at * _ROW + _KEY])
        row = self.rows[at * _ROW : (at + 1) * _ROW]
        return self._known(row) if row[:_KEY] == key else None

    def all(self) -> Iterator[tuple[str, Known]]:
        for start in range(0, len(self.rows), _ROW):
            row = self.rows[start : start + _ROW]
            yield row[:_KEY].hex(), self._known(row)

    def _known(self, row: bytes) -> Known:
        return Known(
            Moment(_BASES[row[_KEY]], row[_TIME].decode("ascii")), self.places[int.from_bytes(row[_PLACE], "big")]
        )


class Gone:
    """The bodies that a file no longer has, by ``body_key``."""

    def __init__(self) -> None:
        """None yet."""
        self._newer, self._older = _Table(), _Table()

    def __len__(self) -> int:
        """How many rows there are. A body that went twice may have two."""
        return len(self._newer) + len(self._older)

    @property
    def size(self) -> int:
        """Bytes of the rows."""
        return len(self._newer.rows) + len(self._older.rows)

    def find(self, key: str) -> Known | None:
        """What is known of a body; ``None`` for one that is not among them."""
        try:
            raw = bytes.fromhex(key)
        except ValueError:
            return None
        return self._newer.find(raw) or self._older.find(raw)

    def all(self) -> Iterator[tuple[str, Known]]:
        """All of them, those that went first before the others; what is told later of the same body counts."""
        yield from self._older.all()
        yield from self._newer.all()

    def add(self, gone: Mapping[str, Known]) -> list[str]:
        """Take in more bodies; returns the keys of those that do not fit into a row, which nothing of catmem makes."""
        places = {place: number for number, place in enumerate(self._newer.places)}
        rows = {
            self._newer.rows[start : start + _KEY]: self._newer.rows[start : start + _ROW]
            for start in range(0, len(self._newer.rows), _ROW)
        }
        left: list[str] = []
        for key, known in gone.items():
            row = _row(key, known.moment, places.setdefault(known.categories, len(places)))
            if row is None:
                left.append(key)
                continue
            rows[row[:_KEY]] = row
            if len(rows) == MOST:
                self._older = _Table(b"".join(sorted(rows.values())), tuple(places))
                rows, places = {}, {}
        self._newer = _Table(b"".join(sorted(rows.values())), tuple(places))
        return left


def _row(key: str, moment: Moment, place: int) -> bytes | None:
    """The row of a body; ``None`` for a key or a time that is none of catmem's."""
    try:
        raw, time = bytes.fromhex(key), moment.time.encode("ascii")
    except ValueError:
        return None
    if len(raw) != _KEY or raw.hex() != key or len(time) != _LENGTH:
        return None
    return raw + bytes([_BASES.index(moment.basis)]) + place.to_bytes(4, "big") + time
