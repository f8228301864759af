"""Applying fixes: those that do not get in each other's way, round after round, until nothing changes.

A fix touches the entries that its edits touch, and no other: the new text is parsed, and what would change another
entry is left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catmem.linting.diagnostic import Diagnostic
    from catmem.model.document import Document, Entry

ROUNDS = 10
"""After so many rounds with something left to fix, rules are taken to undo each other's fixes."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing came to. ``texts`` has the new text of each file that changes, ``applied`` the findings fixed.

    ``fighting`` are files whose rules undo each other's fixes, with the codes; such a file keeps its text.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    applied: tuple[Diagnostic, ...] = ()
    fighting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def fix_all(
    texts: Callable[[str], str],
    lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]],
    parse: Callable[[str], Document],
    *,
    unsafe: bool = False,
) -> Fixed:
    """Fix until nothing changes.

    ``lint`` gives the diagnostics of memory files when those of the mapping have the texts in it; ``texts`` the text of
    a file as it is.
    """
    seen: dict[str, list[str]] = {}  # every text that a file had
    done: dict[str, list[list[Diagnostic]]] = {}
    fighting: dict[str, tuple[str, ...]] = {}

    def look() -> dict[str, list[Diagnostic]]:
        found = [each for each in lint({path: had[-1] for path, had in seen.items()}) if each.path not in fighting]
        return _by_path(each for each in found if each.fix and each.fix.edits and (each.fix.safe or unsafe))

    def stop(path: str, since: int) -> None:
        """Rules undo each other's fixes of a file, those since a round: it keeps its text."""
        rounds = done.pop(path)[since:]
        fighting[path] = tuple(sorted({diagnostic.code for each in rounds for diagnostic in each}))
        del seen[path]

    for _ in range(ROUNDS):
        moved = False
        for path, found in look().items():
            had = seen.get(path) or [texts(path)]
            new, fixed = fix_once(had[-1], found, parse)
            if new == had[-1]:
                continue
            seen[path] = had
            done.setdefault(path, []).append(fixed)
            if new in had:
                stop(path, had.index(new))
            else:
                had.append(new)
                moved = True
        if not moved:
            break
    else:
        for path in look().keys() & done.keys():
            stop(path, -2)
    return Fixed(
        {path: seen[path][-1] for path in sorted(seen)},
        tuple(diagnostic for path in sorted(done) for fixed in done[path] for diagnostic in fixed),
        dict(sorted(fighting.items())),
    )


def fix_once(
    text: str, diagnostics: Iterable[Diagnostic], parse: Callable[[str], Document]
) -> tuple[str, list[Diagnostic]]:
    """One round on one file: the text after as many of the fixes as go together, and the findings they belong to."""
    before = parse(text)

    def together(some: Iterable[Diagnostic], *, checked: bool) -> tuple[list[Diagnostic], list[TextEdit]]:
        chosen: list[Diagnostic] = []
        edits: list[TextEdit] = []
        for diagnostic in some:
            more = diagnostic.fix.edits if diagnostic.fix is not None else ()
            both = sorted([*edits, *more])
            if _fits(more, edits, len(text)) and (not checked or _others_stay(before, both, parse)):
                chosen.append(diagnostic)
                edits = both
        return chosen, edits

    chosen, edits = together(sorted(diagnostics, key=lambda each: each.sort_key), checked=False)
    if edits and not _others_stay(before, edits, parse):
        # One of them reaches further than it should: each is tried by itself on top of those that were fine.
        chosen, edits = together(chosen, checked=True)
    return (apply_edits(text, edits), chosen) if edits else (text, [])


def _by_path(found: Iterable[Diagnostic]) -> dict[str, list[Diagnostic]]:
    by_path: dict[str, list[Diagnostic]] = {}
    for each in found:
        by_path.setdefault(each.path, []).append(each)
    return by_path


def _fits(edits: Sequence[TextEdit], taken: Sequence[TextEdit], length: int) -> bool:
    """Whether edits lie in the text, in order, and clear of those that are taken: not even touching them."""
    inside = all(0 <= edit.start <= edit.end <= length for edit in edits)
    in_order = all(one.end <= other.start for one, other in pairwise(edits))
    return inside and in_order and not any(_touches(taken, edit.start, edit.end) for edit in edits)


def _others_stay(before: Document, edits: Sequence[TextEdit], parse: Callable[[str], Document]) -> bool:
    """Whether every entry that no edit touches is still there, byte for byte, in a category that was not edited."""
    renames = any(_touches(edits, header.start, header.end) for header in before.scan.headers)
    renames = renames or any("##" in edit.text for edit in edits)

    def counted(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
        return Counter(("" if renames else entry.category, entry.raw) for entry in entries)

    untouched = (entry for entry in before.entries if not _touches(edits, entry.start, entry.end))
    return not counted(untouched) - counted(parse(apply_edits(before.text, edits)).entries)


def _touches(edits: Sequence[TextEdit], start: int, end: int) -> bool:
    """Whether an edit, of some in file order that do not overlap, overlaps a span or stands at one of its ends."""
    index = bisect_left(edits, start, key=lambda edit: edit.end)
    return index < len(edits) and edits[index].start <= end
