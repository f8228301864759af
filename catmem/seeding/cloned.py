"""Entries that a target shares with its source and that no seed put there, as in a profile that was cloned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.edit import remove_entry
from catmem.model.splice import read_like
from catmem.model.version import Version
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Document, Entry
    from catmem.seeding.slices import FilePlan, Parts

_NEARLY_ALL = 0.75
"""The least part of a target's own entries that makes it a clone."""

CLONED_HINT = "Most of its entries are clones of the source's that no seed put there: --replace-cloned takes them out. "


def cloned_entries(parts: Parts, ours: Document) -> list[Entry]:
    """The entries of a target that stay clones beside what is seeded; none if more than a few are its own."""
    seeded = {each.key for each in parts.base or ()}
    unseeded = [entry for entry in ours.entries if (entry.category, Version.of(entry).id) not in seeded]
    bodies = {entry.body for entry in parts.offered.document.entries}
    cloned = [entry for entry in unseeded if entry.body in bodies]
    if len(cloned) < _NEARLY_ALL * len(unseeded):
        return []
    arriving = {each.key for each in parts.slice if each.withheld is None}
    return [entry for entry in cloned if (entry.category, Version.of(entry).id) not in arriving]


def without_cloned(parts: Parts, ours: Document, cloned: Sequence[Entry]) -> Document:
    """The target's document without these entries."""
    if cloned and len(cloned) == len(ours.entries) and ours.title in {None, parts.offered.document.title}:
        return read_like("", ours)  # headers alone would be left
    for entry in reversed(cloned):
        ours = remove_entry(ours, entry).document
    return read_like(ours.text.lstrip("\n"), ours) if cloned else ours


def on_cloned(plan: FilePlan, *, replaced: bool) -> str:
    """What to know of clones that stay beside what is seeded, or that it takes the place of."""
    entries = counted(plan.cloned, "entry")
    if replaced:
        return f"{plan.target}: takes out {entries} that {plan.source} has too and that no seed put there"
    return f"{plan.target}: keeps {entries} that {plan.source} has too and that no seed put there; see --replace-cloned"
