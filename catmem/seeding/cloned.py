"""Entries that a target shares with its source and that no seed put there, as in a profile that was cloned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.edit import remove_entry
from catmem.model.pairing import pair_entries
from catmem.model.splice import read_like
from catmem.model.version import Version
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from catmem.model.document import Document, Entry
    from catmem.seeding.slices import FilePlan, Parts

_NEARLY_ALL = 0.75
"""The least part of a target's own entries that makes it a clone."""

CLONED_HINT = "Most of its entries are clones of the source's that no seed put there: --replace-cloned takes them out. "


def cloned_entries(parts: Parts, ours: Document, asked: Collection[str] | None = None) -> list[Entry]:
    """The entries of a target that stay clones beside what is seeded; none if more than a few are its own.

    What any seed put there is none, also where the target changed it. ``asked`` keeps to some categories of the source.
    """
    seeded = [Version.read(each.category, each.text) for each in (*(parts.base or ()), *parts.beside)]
    copies = set(pair_entries(seeded, ours.entries).values())
    unseeded = [
        entry
        for index, entry in enumerate(ours.entries)
        if index not in copies and (entry.category, entry.id) not in parts.held
    ]
    categories: dict[str, set[str]] = {}
    for entry in parts.offered.document.entries:
        categories.setdefault(entry.body, set()).add(entry.category)
    cloned = [entry for entry in unseeded if entry.body in categories]
    if len(cloned) < _NEARLY_ALL * len(unseeded):
        return []
    arriving = {each.key for each in parts.slice if each.withheld is None}
    own = [entry for entry in cloned if (entry.category, entry.id) not in arriving]
    return [entry for entry in own if asked is None or not categories[entry.body].isdisjoint(asked)]


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
