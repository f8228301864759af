"""Applying fixes: those that do not get in each other's way, round after round, until nothing changes.

A fix touches the entries that its edits touch, and no other: the new text is parsed, and what would change another
entry is left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catmem.linting.diagnostic import Diagnostic, Fix
    from catmem.model.document import Document

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
    parse: Callable[[str, str], Document | None],
    *,
    unsafe: bool = False,
) -> Fixed:
    """Fix until nothing changes.

    ``lint`` gives the diagnostics when the files of the mapping have the texts in it; ``texts`` the text of a file as
    it is; ``parse`` the document of path and text, ``None`` for a file that is no memory file.
    """
    seen: dict[str, list[str]] = {}  # every text that a file had
    done: dict[str, list[list[Diagnostic]]] = {}
    fighting: dict[str, tuple[str, ...]] = {}

    def look() -> dict[str, list[Diagnostic]]:
        found = _by_path(lint({path: had[-1] for path, had in seen.items()}), unsafe=unsafe)
        return {path: each for path, each in found.items() if path not in fighting}

    def stop(path: str, since: int) -> None:
        """Rules undo each other's fixes of a file, those since a round: it keeps its text."""
        rounds = done.pop(path)[since:]
        fighting[path] = tuple(sorted({diagnostic.code for each in rounds for diagnostic in each}))
        del seen[path]

    for _ in range(ROUNDS):
        moved = False
        for path, found in look().items():
            had = seen.get(path) or [texts(path)]
            new, fixed = fix_once(had[-1], found, partial(parse, path))
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
    text: str, diagnostics: Iterable[Diagnostic], parse: Callable[[str], Document | None]
) -> tuple[str, list[Diagnostic]]:
    """One round on one file: the text after as many of the fixes as go together, and the findings they belong to."""
    chosen: list[Diagnostic] = []
    edits: list[TextEdit] = []
    for diagnostic in sorted(diagnostics, key=lambda each: each.sort_key):
        fix = diagnostic.fix
        if fix is not None and _fits(fix, edits, len(text)):
            chosen.append(diagnostic)
            edits = sorted([*edits, *fix.edits])
    if not edits:
        return text, []
    before = parse(text)
    if before is None or _others_stay(before, edits, parse):
        return apply_edits(text, edits), chosen
    # One of them reaches further than it should: each is tried by itself on top of those that were fine.
    kept: list[Diagnostic] = []
    edits = []
    for diagnostic in chosen:
        fix = diagnostic.fix
        together = sorted([*edits, *fix.edits]) if fix is not None else edits
        if _others_stay(before, together, parse):
            kept.append(diagnostic)
            edits = together
    return apply_edits(text, edits), kept


def _by_path(found: Iterable[Diagnostic], *, unsafe: bool) -> dict[str, list[Diagnostic]]:
    by_path: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        fix = diagnostic.fix
        if fix is not None and fix.edits and (fix.safe or unsafe):
            by_path.setdefault(diagnostic.path, []).append(diagnostic)
    return by_path


def _fits(fix: Fix, taken: Sequence[TextEdit], length: int) -> bool:
    """Whether the edits of a fix lie in the text and clear of those that are taken: not even touching them."""
    inside = all(0 <= edit.start <= edit.end <= length for edit in fix.edits)
    in_order = all(one.end <= other.start for one, other in zip(fix.edits, fix.edits[1:], strict=False))
    if not inside or not in_order:
        return False
    for edit in fix.edits:
        index = bisect_left(taken, edit)
        near = taken[max(index - 1, 0) : index + 1]
        if any(edit.start <= other.end and other.start <= edit.end for other in near):
            return False
    return True


def _others_stay(before: Document, edits: Sequence[TextEdit], parse: Callable[[str], Document | None]) -> bool:
    """Whether every entry that no edit touches is still there, byte for byte, in a category that was not edited."""
    after = parse(apply_edits(before.text, edits))
    if after is None:
        return False
    headers = before.scan.headers
    renames = any(_touches(edits, header.start, header.end) for header in headers)
    renames = renames or any("##" in edit.text for edit in edits)

    def counted(document: Document, *, untouched: bool) -> Counter[tuple[str, str]]:
        return Counter(
            ("" if renames else entry.category, entry.raw)
            for entry in document.entries
            if not untouched or not _touches(edits, entry.start, entry.end)
        )

    return not counted(before, untouched=True) - counted(after, untouched=False)


def _touches(edits: Sequence[TextEdit], start: int, end: int) -> bool:
    """Whether an edit, of some in file order that do not overlap, overlaps a span or stands at one of its ends."""
    index = bisect_left(edits, start, key=lambda edit: edit.end)
    return index < len(edits) and edits[index].start <= end
