"""How many planted pairs `catmem tidy` lists, how many pairs it lists in all, and how long it takes.

``benchmarks/people`` has the notes of people in flat files, no entry sorted. ``pairs.tsv`` names the pairs that were
planted in them: ``USER.md#2``, a tab, ``MEMORY.md#31``, a tab, ``contradiction``. Somebody else wrote them, before the
ranking. It was developed on the first two; the others were only measured.

``tidy_pairs.tsv``, ``tidy_later.tsv`` and ``tidy_fresh.tsv`` have pairs that share most of their words: duplicates,
contradictions, and pairs that are alike and neither. They are planted among the ``notes`` of one orchestrator.
"""

from __future__ import annotations

import random
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.measure import Result, limited, share, table
from benchmarks.notes import notes
from benchmarks.seed import put
from catmem.plugins.sorting.tidying import ENTRIES_A_PAIR, list_tidy
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PLANTED = ("duplicate", "contradiction")
TABLES = ("tidy_pairs.tsv", "tidy_later.tsv", "tidy_fresh.tsv")
_HERE = Path(__file__).parent
PEOPLE = sorted(each.parent for each in _HERE.glob("people/*/pairs.tsv"))
_LEAST_FOUND, _LEAST_RIGHT = 70, 50
_MOST_SECONDS = 5.0

Pairs: TypeAlias = "dict[frozenset[str], str]"
"""The two texts of each pair, and what they are to each other."""


def planted_rows(name: str) -> list[tuple[str, str, str]]:
    """The pairs of a table: what they are, and the two texts."""
    rows = (line.split("\t") for line in (_HERE / name).read_text(encoding="utf-8").splitlines())
    return [(kind, first, other) for kind, first, other in rows]


def planted_in(person: Path) -> tuple[dict[str, list[str]], Pairs]:
    """The entries of each file of a person, and the pairs that were planted in them."""
    files = {
        name: (person / name).read_text(encoding="utf-8").strip().split("\n§\n") for name in ("USER.md", "MEMORY.md")
    }
    planted: Pairs = {}
    for line in (person / "pairs.tsv").read_text(encoding="utf-8").splitlines():
        *places, kind = line.split("\t")
        at = (place.split("#") for place in places)
        planted[frozenset(files[name][int(number) - 1] for name, number in at)] = kind
    return files, planted


def found_in(files: Mapping[str, Sequence[str]]) -> tuple[set[frozenset[str]], float]:
    """The pairs that are listed of one profile with these files, and the processor time that it takes."""
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder) / "catmem.yaml", "version: 1\n")
        put(Path(folder) / "profiles/boss.yaml", "tier: 1\n")
        for name, entries in files.items():
            put(Path(folder) / "homes/boss" / name, "\n§\n".join(entries) + "\n")
        start = time.process_time()
        found = list_tidy(Workspace.open(folder, search=False)).suggestions
        taken = time.process_time() - start
    return {frozenset(entry.body for entry in each.entries) for each in found}, taken


def _rows(name: str, files: Mapping[str, Sequence[str]], planted: Pairs) -> Iterator[Result]:
    """What is found of the planted pairs, and how many pairs are listed."""
    count = sum(map(len, files.values()))
    found, taken = found_in(files)
    for kind in PLANTED:
        meant = {pair for pair, said in planted.items() if said == kind}
        yield share(f"{name}: {kind}s found", len(found & meant), len(meant))
    meant = {pair for pair, kind in planted.items() if kind in PLANTED}
    value = 100 * len(found & meant) / len(meant)
    yield Result(
        f"{name}: found of both",
        len(found & meant),
        len(meant),
        value,
        _LEAST_FOUND,
        at_least=True,
        unit="%",
        is_count=True,
    )
    right = 100 * len(found & meant) / max(1, len(found))
    yield Result(
        f"{name}: planted, of the listed",
        len(found & meant),
        len(found),
        right,
        _LEAST_RIGHT,
        at_least=True,
        unit="%",
        is_count=True,
    )
    yield share(f"{name}: pairs listed, of entries", len(found), count, 100 / ENTRIES_A_PAIR)
    yield limited(f"{name}: {count:,} entries, processor time", taken, _MOST_SECONDS)


def run(options: Namespace) -> list[Result]:
    """The figures of each person, and of many notes."""
    del options
    results = [row for person in PEOPLE for row in _rows(person.name, *planted_in(person))]
    planted = {frozenset(texts): kind for name in TABLES for kind, *texts in planted_rows(name)}
    entries = [*notes(), *(text for pair in planted for text in sorted(pair))]
    random.Random(20261121).shuffle(entries)  # noqa: S311 - nothing secret is drawn
    return [*results, *_rows("tables", {"USER.md": entries}, planted)]


if __name__ == "__main__":
    print(table(run(Namespace())))
