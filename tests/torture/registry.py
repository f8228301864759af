"""Which rows there are, what a row is given, and what it gives back."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tests.torture.proofs import PROOFS, Proof

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TESTS = Path(__file__).parent.parent


class Skip(Exception):  # noqa: N818 - not an error: the row says why it cannot run here
    """This row cannot run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row did: how many, what went wrong (empty: nothing), what else to say.

    ``asked`` replaces the proof's figure, for a row that only now knows how many there are.
    """

    done: int
    failed: str = ""
    note: str = ""
    asked: int | None = None


class Task:
    """What a row is given. ``asked`` is the figure to reach, ``folder`` an empty folder, ``quick`` the short form."""

    def __init__(self, asked: int | None, seconds: float, folder: Path, *, quick: bool = False) -> None:
        """``seconds`` from now on it must be done."""
        self.asked = asked
        self.folder = folder
        self.quick = quick
        self.done = 0
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds until the row must end; never below zero."""
        return max(0.0, self._ends - time.monotonic())

    def steps(self) -> Iterator[int]:
        """0, 1, 2 … until ``asked`` are done or the time is up; a step counts as done when the next is asked for."""
        while (self.asked is None or self.done < self.asked) and self.left():
            yield self.done
            self.done += 1

    def outcome(self, *, failed: str = "", note: str = "") -> Outcome:
        """The outcome of what ``steps`` counted."""
        return Outcome(self.done, failed, note)


Work: TypeAlias = "Callable[[Task], Outcome]"


@dataclass(frozen=True, slots=True)
class Row:
    """A registered row. ``name`` is the proof's, with ``[of]`` behind it where the proof has several rows."""

    name: str
    proof: Proof
    work: Work
    seconds: float
    cores: int


ROWS: dict[str, Row] = {}


def row(proof: str | Proof, *, seconds: float, cores: int = 1, of: str = "") -> Callable[[Work], Work]:
    """Register a function as a row; see the package's docstring. Raises ``KeyError`` for a proof that nobody knows."""
    known = proof if isinstance(proof, Proof) else PROOFS[proof]
    name = f"{known.name}[{of}]" if of else known.name

    def register(work: Work) -> Work:
        if name in ROWS:
            raise ValueError(f"two rows are called {name}")
        ROWS[name] = Row(name, known, work, seconds, cores)
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


def chosen(rows: dict[str, Row], names: list[str]) -> tuple[list[Row], list[Proof]]:
    """What to run, by names of rows or of proofs, all if there are none; and the proofs that have no row yet.

    Raises ``KeyError`` for a name of neither.
    """
    written = {row.proof.name for row in rows.values()}
    for name in names:
        if name not in rows and name not in PROOFS and name not in written:
            raise KeyError(name)
    asked = set(names) or set(rows) | set(PROOFS)
    run = [row for name, row in rows.items() if asked & {name, row.proof.name}]
    return run, [proof for name, proof in PROOFS.items() if name in asked and name not in written]
