"""Which rows there are, what a row is given, and what it gives back."""

import importlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.torture.proofs import PROOFS, Proof

TESTS = Path(__file__).parent.parent

PROGRESS = "progress"
"""The file in which a running row says how much is done, for the table if it has to be stopped."""

OFTEN = 0.2
"""Seconds between two notes of it."""

CAREFUL = 0.6
"""The share of the time that is left that a round is planned for: the machine may be slower by then."""


class Skip(Exception):  # noqa: N818 - not an error: the row says why it cannot run here
    """This row cannot run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row did: how many, what went wrong (empty: nothing), what else to say.

    ``whole`` replaces the proof's figure, for a row that only now knows how many there are.
    """

    done: int
    failed: str = ""
    note: str = ""
    whole: int | None = None


class Task:
    """What a row is given. ``asked`` is the figure to reach, ``share`` which part of the whole, ``folder`` an empty folder."""

    def __init__(self, whole: int | None, seconds: float, folder: Path, *, share: float = 1.0) -> None:
        """``seconds`` from now on it must be done."""
        self.whole = whole
        self.asked = None if whole is None else part_of(whole, share)
        self.share = share
        self.folder = folder
        self.done = 0
        self._told = time.monotonic()
        self._ends = self._told + seconds

    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def part(self, every: Sequence[Any]) -> Sequence[Any]:
        """The part of all there are that is asked for, evenly spread; from now on their number is what is asked."""
        self.whole = len(every)
        self.asked = part_of(len(every), self.share)
        return [every[number * len(every) // self.asked] for number in range(self.asked)]

    def add(self, done: int) -> None:
        self.done += done
        if time.monotonic() - self._told >= OFTEN:
            self._told = time.monotonic()
            (self.folder.parent / PROGRESS).write_text(str(self.done), encoding="ascii")

    def steps(self) -> Iterator[int]:
        """0, 1, 2 … until ``asked`` are done or the time is up; a step counts as done when the next is asked for."""
        while (self.asked is None or self.done < self.asked) and self.left():
            yield self.done
            self.add(1)

    def rounds(self, most: int, least: int = 1) -> Iterator[int]:
        """Sizes of rounds, until ``asked`` are done or the time is up; the row adds what each has done.

        The first is ``least``; none is longer than the time that is left allows, at the pace of those before.
        """
        began, room = time.monotonic(), float(least)
        while self.asked is not None and self.done < self.asked and room >= least:
            yield max(least, min(int(room * CAREFUL), most, self.asked - self.done))
            room = self.left() * self.done / (time.monotonic() - began)

    def outcome(self, *, failed: str = "", note: str = "") -> Outcome:
        return Outcome(self.done, failed, note, self.whole)


def part_of(whole: int, share: float) -> int:
    return max(1, math.ceil(whole * share))


Work: TypeAlias = "Callable[[Task], Outcome]"


@dataclass(frozen=True, slots=True)
class Row:
    """A registered row. ``name`` is the proof's, with ``[of]`` behind it where the proof has several rows."""

    name: str
    proof: Proof
    work: Work
    seconds: float
    cores: int
    on_disk: bool


ROWS: dict[str, Row] = {}


def row(
    proof: str | Proof, *, seconds: float, cores: int = 1, of: str = "", on_disk: bool = False
) -> Callable[[Work], Work]:
    """Register a function as a row; see the package's docstring. Raises ``KeyError`` for a proof that nobody knows."""
    known = proof if isinstance(proof, Proof) else PROOFS[proof]
    name = f"{known.name}[{of}]" if of else known.name

    def register(work: Work) -> Work:
        if name in ROWS:
            raise ValueError(f"two rows are called {name}")
        ROWS[name] = Row(name, known, work, seconds, cores, on_disk)
        return work

    return register


def load() -> dict[str, Row]:
    """All rows, in the order of the proofs, from the files ``tests/*/rows.py``."""
    for path in sorted(TESTS.glob("*/rows.py")):
        importlib.import_module(f"tests.{path.parent.name}.rows")
    order = list(PROOFS)
    return dict(sorted(ROWS.items(), key=lambda named: (_place(order, named[1].proof.name), named[0])))


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def chosen(rows: dict[str, Row], names: list[str]) -> list[Row]:
    """What to run, by names of rows or of proofs; all if there are none. Raises ``KeyError`` for a name of neither."""
    proofs = {row.proof.name for row in rows.values()}
    for name in names:
        if name not in rows and name not in proofs:
            raise KeyError(name)
    return [row for name, row in rows.items() if not names or {name, row.proof.name} & set(names)]
