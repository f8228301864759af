"""How often the best guess of `catmem sort` goes to a right reader, with nothing declared but the names of roles.

``benchmarks/people`` has the flat files of invented people, the roles of their specialists, and who should read each
note (``truth.tsv``: file, number, roles or ``all``, how it begins; notes for ``none`` are left out). The words of the
kits were not made of these notes, but the weights were chosen with them, and a part of the notes was seen before some
of the words were written: of other notes fewer may be right. A guess is right if a right specialist reads its category
and it is no category that all specialists have; for ``all``, if it is one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Result
from catmem.names import FILE_NAMES
from catmem.workspace.init import make_root
from catmem.workspace.kits import kits
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

PEOPLE = Path(__file__).parent / "people"
_RIGHT, _SURE_RIGHT, _SURE = 70, 90, 30


class Guessed(NamedTuple):
    """A note that someone should read: whether its guess is right, and whether it is marked as sure."""

    right: bool
    sure: bool


def run(options: Namespace) -> list[Result]:  # noqa: ARG001 - as all benchmarks
    """The share of right guesses of each person, and of those that are sure."""
    rows, every = [], []
    for folder in sorted(PEOPLE.iterdir()):
        found = list(guesses(folder))
        rows.append(_share(f"{folder.name}, {len(found)} notes: guess right", [each.right for each in found], None))
        every += found
    return [
        *rows,
        _share("all notes: guess right", [each.right for each in every], _RIGHT),
        _share("sure guesses: right", [each.right for each in every if each.sure], _SURE_RIGHT),
        _share("all notes: guess sure", [each.sure for each in every], _SURE),
    ]


def guesses(folder: Path) -> Iterator[Guessed]:
    """The guess for each note of a person, in a new root of the person's roles."""
    roles = (folder / "roles.txt").read_text().split()
    rows = [line.split("\t") for line in (folder / "truth.tsv").read_text().splitlines()]
    truth = {(name, int(number)): wanted for name, number, wanted, _ in rows}
    with tempfile.TemporaryDirectory() as place:
        make_root(place, profiles=roles, start=[folder / name for name in FILE_NAMES.values()])
        workspace = Workspace.open(place)
        for target, name in FILE_NAMES.items():
            plan = workspace.plan_sort("orchestrator", target)
            for line in plan.lines:
                wanted = truth[name, line.number]
                readers = plan.categories[line.choice].readers if line.choice in plan.categories else ()
                shared = line.choice in kits()["shared"]
                right = shared if wanted == "all" else not shared and not {*readers}.isdisjoint(wanted.split(","))
                if wanted != "none":
                    yield Guessed(right, line.sure)


def _share(name: str, some: list[bool], limit: float | None) -> Result:
    return Result(
        name, sum(some), len(some), 100 * sum(some) / len(some), limit, at_least=True, unit="%", is_count=True
    )
