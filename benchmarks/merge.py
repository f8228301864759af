"""The three-way merge of two large documents, beside merges that know only lines.

A base of 10,000 entries, and two sides with 500 edits each: entries reworded, added, removed, retagged and moved, on
each side in places of its own. ``git merge-file`` and a merge over ``difflib`` get the same three texts; both know
lines only, so they neither merge two tags of one line nor find what was moved.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

import catmem
from benchmarks.measure import Result, compared, limited, medians, seconds

if TYPE_CHECKING:
    from argparse import Namespace

_ENTRIES = 10_000
_SECTIONS = 20
_EDITS = 500
_KINDS = 5
_ROUNDS = 5
_LIMIT = 1.0

_Place = tuple[int, int]
"""A section and a place in it."""


def run(options: Namespace) -> list[Result]:
    """Our merge, texts in and text out, and those of lines."""
    base = _base()
    places = random.Random(20261121).sample(sorted(_places(base)), 2 * _EDITS)  # noqa: S311 - which entries change
    ours, theirs = _text(_edited(base, places[:_EDITS], "ours")), _text(_edited(base, places[_EDITS:], "theirs"))
    text = _text(base)
    merged = catmem.merge(text, ours, theirs)
    if merged.conflicts or not _has_all(merged.text, ours, theirs):
        message = "the merge is not what the two sides say"
        raise AssertionError(message)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for path, side in zip(paths, (ours, text, theirs), strict=True):
            path.write_text(side, encoding="utf-8")
        taken = medians({"ours": lambda: catmem.merge(text, ours, theirs)}, options.times or _ROUNDS)["ours"]
        lines = seconds(lambda: _line_merge(text, ours, theirs))
        git = _git(paths)
    name = f"merge of {_ENTRIES:,} entries, {_EDITS} edits a side"
    return [
        limited(name, taken, _LIMIT),
        compared("  beside git merge-file, in C, on lines", taken, git),
        compared("  beside a merge of lines over difflib", taken, lines),
    ]


def _base() -> list[list[str]]:
    words = random.Random(1)  # noqa: S311 - texts of entries
    vocabulary = [f"word{number}" for number in range(2_000)]
    per_section = _ENTRIES // _SECTIONS
    return [
        [
            f"[created: 2026-{1 + entry % 12:02}-{1 + entry % 28:02}] Fact {section}-{entry}: "
            + " ".join(words.sample(vocabulary, 12))
            for entry in range(per_section)
        ]
        for section in range(_SECTIONS)
    ]


def _places(base: list[list[str]]) -> set[_Place]:
    # Every third, so that no two edits touch each other, which lines could not merge.
    return {(section, place) for section, entries in enumerate(base) for place in range(0, len(entries), 3)}


def _edited(base: list[list[str]], places: list[_Place], side: str) -> list[list[str]]:
    """The entries after an edit at each place: of five kinds in turn."""
    changed = [[[entry] for entry in entries] for entries in base]
    for number, (section, place) in enumerate(places):
        entry = base[section][place]
        changed[section][place] = [
            [f"{entry} and {side}"],
            [entry, f"[created: 2026-11-21] New on {side}: {number}"],
            [],
            [entry.replace("]", ", verified_date: 2026-11-20]", 1)],
            [],
        ][number % _KINDS]
        if number % _KINDS == _KINDS - 1:  # moved to the end of the next section
            changed[(section + 1) % _SECTIONS].append([entry])
    return [[entry for entries in section for entry in entries] for section in changed]


def _text(sections: list[list[str]]) -> str:
    joined = (f"## Topic {number}\n" + "\n§\n".join(entries) for number, entries in enumerate(sections))
    return "\n\n".join(joined) + "\n"


def _has_all(merged: str, *sides: str) -> bool:
    """Whether every addition and rewording of the sides is in the merged text."""
    there = set(merged.split("\n"))
    return all(
        line in there for side in sides for line in side.split("\n") if line.endswith((" and ours", " and theirs"))
    )


def _git(paths: list[Path]) -> float:
    """The processor time of ``git merge-file``, its start included."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Its status is the number of conflicts: entries that both moved to one place are some, for lines.
    subprocess.run(["git", "merge-file", "-p", *map(str, paths)], capture_output=True, check=False)  # noqa: S607 - git
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _line_merge(base: str, ours: str, theirs: str) -> str:
    """The shortest merge of lines that there is: changes that touch different lines of the base, both made."""
    old, one, other = (text.split("\n") for text in (base, ours, theirs))
    edits = [
        (start, end, new[into:until])
        for new in (one, other)
        for kind, start, end, into, until in SequenceMatcher(None, old, new).get_opcodes()
        if kind != "equal"
    ]
    lines: list[str] = []
    place = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        lines += [*old[place:start], *new]
        place = max(place, end)
    return "\n".join([*lines, *old[place:]])
