"""Measuring fairly, and saying the result: medians of interleaved runs, ratios, one table.

Runs are interleaved (a, b, a, b, ...) so that a machine that slows down half way slows both sides alike, and the
median is what a run usually takes, whatever else the machine did in between.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SAME_EACH_TIME = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
"""What the environment of a child says, so that neither chance nor the locale matters."""

_MILLI = 1000


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table; ``ours`` and ``theirs`` are in seconds, or numbers of something (``is_count``).

    ``value`` is a ratio, or a number of seconds where nothing is compared (``unit`` is "ms"). ``limit`` bounds it, from
    below with ``at_least``; without one, the figure is there to be known.
    """

    name: str
    ours: float
    theirs: float | None
    value: float
    limit: float | None
    at_least: bool = False
    unit: str = "x"
    is_count: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value is on the right side of its limit."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self) -> list[str]:
        """The line of the table, as text."""
        factor = _MILLI if self.unit == "ms" else 1
        wanted = "-"
        if self.limit is not None:
            wanted = f"{'>=' if self.at_least else '<='} {self.limit * factor:g} {self.unit}"
        said = "{:,.0f}".format if self.is_count else _milliseconds
        return [
            self.name,
            said(self.ours),
            "-" if self.theirs is None else said(self.theirs),
            f"{self.value * factor:.3g} {self.unit}",
            wanted,
            "" if self.limit is None else "ok" if self.holds else "MISSED",
        ]


def faster(name: str, ours: float, theirs: float, at_least: float) -> Result:
    """We are at least ``at_least`` times as fast as they are."""
    return Result(name, ours, theirs, theirs / ours, at_least, at_least=True)


def compared(name: str, ours: float, theirs: float) -> Result:
    """How many times as fast as they we are, with no limit."""
    return Result(name, ours, theirs, theirs / ours, None)


def slower(name: str, ours: float, theirs: float, at_most: float) -> Result:
    """We take at most ``at_most`` times as long as they do."""
    return Result(name, ours, theirs, ours / theirs, at_most)


def added(name: str, ours: float, theirs: float, at_most: float) -> Result:
    """We take at most ``at_most`` seconds more than they do."""
    return Result(name, ours, theirs, ours - theirs, at_most, unit="ms")


def limited(name: str, ours: float, at_most: float) -> Result:
    """We take at most ``at_most`` seconds."""
    return Result(name, ours, None, ours, at_most, unit="ms")


def share(name: str, ours: float, theirs: float, at_most: float | None = None) -> Result:
    """Ours is at most so many percent of theirs; both are numbers of something."""
    return Result(name, ours, theirs, 100 * ours / theirs, at_most, unit="%", is_count=True)


def medians(runs: Mapping[str, Callable[[], Any]], times: int) -> dict[str, float]:
    """The median of seconds that each function takes, over ``times`` rounds in which each runs once."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            taken[name].append(seconds(run))
    return {name: statistics.median(values) for name, values in taken.items()}


def seconds(run: Callable[[], Any]) -> float:
    """The processor time of one call, which what else runs on the machine changes least.

    What the call returns is freed after the clock has stopped.
    """
    gc.collect()
    start = time.process_time()
    result = run()
    stop = time.process_time()
    del result
    return stop - start


def table(results: list[Result]) -> str:
    """The results as an aligned table."""
    rows = [["", "ours", "theirs", "value", "wanted", ""], *(result.cells() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: list[str], widths: list[int]) -> str:
    name, *values, verdict = row
    cells = [name.ljust(widths[0]), *(value.rjust(width) for value, width in zip(values, widths[1:-1], strict=True))]
    return "  ".join([*cells, verdict]).rstrip()


def _milliseconds(duration: float) -> str:
    return f"{duration * _MILLI:,.2f} ms"
