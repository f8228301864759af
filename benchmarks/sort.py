"""How often the best guess of `catmem sort` goes to a right reader, with nothing declared but the names of roles.

``benchmarks/people`` has the flat files of invented people, the roles of their specialists, and who should read each
note (``truth.tsv``: file, number, roles or ``all``, how it begins; notes for ``none`` are left out). The weights were
chosen with p1 to p3, and a part of these notes was seen before some of the words were written. Nothing was made of the
notes of p4 to p8, which judge; but how far ahead a sure guess has to be was set when its figures of all were known. The
roles of p7 and p8 are mostly of kinds that no kit is made for. p9 is German: its notes and the German words have one
author, so it says that they are read, and judges nothing.
A guess is right if a right specialist reads its category and it is no category that all specialists have; for ``all``,
if it is one. Of those that are not right some are in such a category: then a right specialist reads the note all the
same, and others do too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Result
from catmem.names import FILE_NAMES
from catmem.plugins.sorting.operations import plan_sort
from catmem.workspace.init import kits, make_root
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

PEOPLE = Path(__file__).parent / "people"
_SEEN = ("p1", "p2", "p3", "p9")
_RIGHT, _SURE_RIGHT, _SURE = 70, 90, 35
_TAKEN, _TAKEN_RIGHT = 60, 85


class Guessed(NamedTuple):
    """A note that someone should read: whether its guess is right, is sure, and lets a right specialist read it.

    ``taken``: ``--unsure`` takes the guess.
    """

    right: bool
    sure: bool
    read: bool
    taken: bool


def run(options: Namespace) -> list[Result]:  # noqa: ARG001 - as all benchmarks
    """The share of right guesses of each person, and of those that are sure."""
    rows: list[Result] = []
    every: dict[bool, list[Guessed]] = {True: [], False: []}
    for folder in sorted(PEOPLE.iterdir()):
        found = list(guesses(folder))
        rows.append(_share(f"{folder.name}, {len(found)} notes: guess right", [each.right for each in found], None))
        every[folder.name in _SEEN] += found
    for notes, some in (("notes of p1 to p3, and p9", every[True]), ("unseen notes", every[False])):
        sure = [each for each in some if each.sure]
        rows += [
            _share(f"{notes}: guess right", [each.right for each in some], _RIGHT),
            _share(f"{notes}: a right specialist reads it", [each.read for each in some], None),
            _share(f"{notes}: guess sure", [each.sure for each in some], _SURE),
            _share(f"{notes}: sure and right, of the sure", [each.right for each in sure], _SURE_RIGHT),
            _share(f"{notes}: sure, and a right specialist reads it", [each.read for each in sure], None),
            _share(f"{notes}: taken by --unsure", [each.taken for each in some], _TAKEN),
            _share(f"{notes}: taken, and a right specialist reads it", [e.read for e in some if e.taken], _TAKEN_RIGHT),
        ]
    return rows


def guesses(folder: Path) -> Iterator[Guessed]:
    """The guess for each note of a person, in a new root of the person's roles."""
    roles = (folder / "roles.txt").read_text().split()
    rows = [line.split("\t") for line in (folder / "truth.tsv").read_text().splitlines()]
    truth = {(name, int(number)): wanted for name, number, wanted, _ in rows}
    with tempfile.TemporaryDirectory() as place:
        make_root(place, profiles=roles, start=[folder / name for name in FILE_NAMES.values()])
        workspace = Workspace.open(place)
        for target, name in FILE_NAMES.items():
            plan = plan_sort(workspace, "orchestrator", target)
            for line in plan.lines:
                wanted = truth[name, line.number]
                readers = plan.categories[line.choice].readers if line.choice in plan.categories else ()
                shared = line.choice in kits()["shared"]
                right = shared if wanted == "all" else not shared and not {*readers}.isdisjoint(wanted.split(","))
                if wanted != "none":
                    taken = line.choice in plan.categories and (line.sure or line.fair)
                    yield Guessed(right, line.sure, right or (shared and wanted != "all"), taken)


def _share(name: str, some: list[bool], limit: float | None) -> Result:
    return Result(
        name, sum(some), len(some), 100 * sum(some) / len(some), limit, at_least=True, unit="%", is_count=True
    )
