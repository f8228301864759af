"""What `catmem tidy` finds in a fleet of about 2,000 facts, how much of it is wrong, and how long it takes.

The facts are the notes of ``benchmarks/notes`` and those of two people in ``tests/sorting``, all at the orchestrator;
three specialists hold some of them too. Planted among them are pairs written by hand (``tidy_pairs.tsv``): rewordings,
contradictions, and pairs that are alike and neither. So are entries of several facts, and entries of several sentences
on one thing (``tidy_splits.tsv``), expired facts, and facts of all specialists.

The rules were tuned on every first pair or entry of two; the others were held back. All of them were written before the
rules, and by the same hand. ``tidy_later.tsv`` was written after them, to be harder. Two rules were changed for what it
showed: fewer removals, and short texts in other languages. What was wrong was looked at in both halves.
``tidy_fresh.tsv`` has facts of small companies in English and German. It was written before the rules of times, amounts
and German names, which were tuned on every first pair of it.
All that was not planted counts as wrong.
"""

from __future__ import annotations

import random
import tempfile
import time
from argparse import Namespace
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Result, limited, share, table
from benchmarks.notes import notes
from benchmarks.seed import put
from catmem.config.config import load_config
from catmem.tidying.root_tidy import list_tidy
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from catmem.tidying.suggestions import Suggestion

DAY = date(2026, 11, 21)
SPECIALISTS = ("neo", "morpheus", "trinity")
KINDS = ("duplicate", "contradiction", "split", "expired", "lift")
_GROUPS = ("tuned on", "held back", "written later", "of companies, tuned on", "of companies, held back")
_SHARED = 150
_EXPIRED = 20
_HERE = Path(__file__).parent
_SORTED = _HERE.parent / "tests" / "sorting"
_LIFTED = (
    "The fiscal year begins in July.",
    "Incidents are reported to the duty desk at once.",
    "Holidays are entered in the shared planner.",
    "The house style spells numbers out up to twelve.",
    "Visitors sign the book at reception.",
    "Purchases above the threshold need two signatures.",
    "The staff canteen opens at eleven.",
    "Personal data stays within the union.",
    "Rooms are booked through the intranet.",
    "Contractors have no access to the archive.",
)
_MOST_WRONG = 5
_LEAST_FOUND = 90
_MOST_SECONDS = 5.0


class Planted(NamedTuple):
    """What was planted: what it is to be found as (``None``: nothing), its texts, and when the rules saw it."""

    kind: str | None
    texts: frozenset[str]
    group: str


class Made(NamedTuple):
    """An entry that is written to a file."""

    category: str
    text: str


def planted_pairs() -> list[Planted]:
    """The pairs, by kind in the order of the file."""
    later = [(kind, first, other) for kind, first, other in _rows("tidy_later.tsv")]
    first = _numbered((kind, first, other) for kind, first, other in _rows("tidy_pairs.tsv"))
    companies = _numbered((kind, one, other) for kind, one, other in _rows("tidy_fresh.tsv"))
    fresh = [each._replace(group=_GROUPS[3 + _GROUPS.index(each.group)]) for each in companies]
    return [*first, *(each._replace(group=_GROUPS[2]) for each in _numbered(later)), *fresh]


def planted_splits() -> list[tuple[str, Planted]]:
    """The entries of several sentences, each with its category."""
    rows = [(kind, category, text.replace("\\n", "\n")) for kind, category, text in _rows("tidy_splits.tsv")]
    planted = _numbered((kind, text) for kind, _, text in rows)
    return [(category, each) for (_, category, _), each in zip(rows, planted, strict=True)]


def _rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (_HERE / name).read_text(encoding="utf-8").splitlines()]


def _numbered(rows: Iterable[tuple[str, ...]]) -> list[Planted]:
    count: defaultdict[str, int] = defaultdict(int)
    found = []
    for kind, *texts in rows:
        found.append(Planted(kind if kind in KINDS else None, frozenset(texts), _GROUPS[count[kind] % 2]))
        count[kind] += 1
    return found


def make(root: Path) -> tuple[list[Planted], int]:
    """The root on disk; what was planted in it, and how many facts it has."""
    lot = random.Random(20261121)  # noqa: S311 - nothing secret is drawn
    own, names = _notes_of_people()
    planted: list[Planted] = []
    own += [Made("notes", text) for text in notes()]
    shared = [lot.sample(own, _SHARED) for _ in SPECIALISTS]
    for pair in planted_pairs():
        planted.append(pair)
        own += [Made("notes", _dated(text, lot)) for text in sorted(pair.texts)]
    for category, each in planted_splits():
        planted.append(each)
        own += [Made(category, text) for text in each.texts]
    for number in range(_EXPIRED):
        text = f"Lift {number} of the old tower is out of service."
        planted.append(Planted("expired", frozenset([text]), _GROUPS[number % 2]))
        own.append(Made("notes", f"[expires: {DAY - timedelta(days=1 + lot.randrange(200))}] {text}"))
    for number, text in enumerate(_LIFTED):
        planted.append(Planted("lift", frozenset([text]), _GROUPS[number % 2]))
    lot.shuffle(own)
    listed = "".join(f"    {slug}: {{title: {title}}}\n" for slug, title in names.items())
    put(root / "catmem.yaml", f"version: 1\ntaxonomy:\n  categories:\n{listed}")
    put(root / "profiles/orchestrator.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(root / "homes/orchestrator/USER.md", _file(own))
    for name, some in zip(SPECIALISTS, shared, strict=True):
        put(root / f"profiles/{name}.yaml", "tier: 2\nuser_memory_categories: ['*']\n")
        put(root / f"homes/{name}/USER.md", _file([*some, *(Made("notes", text) for text in _LIFTED)]))
    return planted, len(own) + sum(len(some) + len(_LIFTED) for some in shared)


def _notes_of_people() -> tuple[list[Made], dict[str, str]]:
    """The notes of two people by category, and the titles of these."""
    names = {"notes": "Notes"}
    made = []
    for person in ("nora", "sam"):
        taxonomy = load_config(_SORTED / person).taxonomy
        documents = [taxonomy.parse((_SORTED / person / f"{name}.md").read_text()) for name in ("known", "notes")]
        entries = [Made(entry.category, entry.body) for document in documents for entry in document.entries]
        names |= {slug: each.title for slug, each in taxonomy.categories.items()}
        made += entries
    return made, names


def _dated(text: str, lot: random.Random) -> str:
    """Every second text of a pair has tags."""
    verified = DAY - timedelta(days=lot.randrange(80))
    return lot.choice((text, text, f"[verified_date: {verified}] {text}", f"[created: {verified}] {text}"))


def _file(entries: Sequence[Made]) -> str:
    sections: defaultdict[str, list[str]] = defaultdict(list)
    for category, text in entries:
        sections[category].append(text)
    return "\n\n".join(f"## {category}\n" + "\n§\n".join(texts) for category, texts in sections.items()) + "\n"


def texts_of(suggestion: Suggestion) -> frozenset[str]:
    """What a suggestion concerns."""
    return frozenset(entry.body for entry in suggestion.entries)


def rows_of(planted: Sequence[Planted], at: set[tuple[str, frozenset[str]]]) -> Iterator[Result]:
    """How much of what was planted is found. Of facts in one line of text, no word says where one ends."""
    for kind in KINDS:
        for group in _GROUPS:
            half = [each for each in planted if each.kind == kind and each.group == group]
            for in_lines in (True, False) if kind == "split" else (None,):
                meant = [each for each in half if in_lines in {None, any("\n" in text for text in each.texts)}]
                hits = sum((kind, each.texts) in at for each in meant)
                where = {None: "", True: " (paragraphs, list items)", False: " (sentences: not looked for)"}[in_lines]
                said = f"{kind}{where}: found of those {group}"
                least = None if in_lines is False or group not in _GROUPS[:2] else _LEAST_FOUND
                if meant:
                    value = 100 * hits / len(meant)
                    yield Result(said, hits, len(meant), value, least, at_least=True, unit="%", is_count=True)


def run(options: Namespace) -> list[Result]:
    """The figures of one fleet."""
    del options
    with tempfile.TemporaryDirectory() as folder:
        planted, count = make(Path(folder))
        start = time.process_time()
        found = list_tidy(Workspace.open(folder, search=False), as_of=DAY).suggestions
        taken = time.process_time() - start
    rows = [limited(f"{count:,} facts, processor time", taken, _MOST_SECONDS)]
    at: set[tuple[str, frozenset[str]]] = {(each.kind, texts_of(each)) for each in found}
    rows += rows_of(planted, at)
    right = {(each.kind, each.texts) for each in planted}
    wrong = [each for each in found if (each.kind, texts_of(each)) not in right]
    rows.append(share("suggestions that are wrong", len(wrong), len(found), _MOST_WRONG))
    alike = {each.texts for each in planted if each.kind is None}
    rows.append(
        share("  of these, pairs and entries that are alike", sum(texts_of(x) in alike for x in wrong), len(alike))
    )
    return rows


if __name__ == "__main__":
    print(table(run(Namespace())))
