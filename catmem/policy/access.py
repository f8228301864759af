"""What a profile may see of a document: the one place where that is decided.

``build_prompt`` and every call of the ``Workspace`` read documents through ``visible``. What it leaves out is only
counted. A search, which must not take a large document apart, asks for the categories alone.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catmem.model.document import Document, Entry, Problem
    from catmem.policy.config import Taxonomy
    from catmem.policy.profile import Profile


@dataclass(frozen=True, slots=True)
class View:
    """One document as a profile sees it."""

    target: str
    document: Document
    categories: tuple[str, ...]
    """The visible categories that have entries, in the profile's order; ``__uncategorized__`` is the last."""
    entries: tuple[Entry, ...]
    """The visible entries, in file order."""
    hidden: int
    """How many entries the profile may not see."""

    hidden_uncategorized: int
    """How many of those have no category."""

    def problems(self, found: Sequence[Problem]) -> tuple[Problem, ...]:
        """Those of the document's problems that lie within visible entries."""
        starts = [entry.start for entry in self.entries]
        visible_ones: list[Problem] = []
        for problem in found:
            index = bisect_right(starts, problem.start) - 1
            if index >= 0 and problem.end <= self.entries[index].end:
                visible_ones.append(problem)
        return tuple(visible_ones)

    def to_dict(self, found: Sequence[Problem] | None = None) -> dict[str, Any]:
        """The JSON form of what is visible; ``found`` are the document's problems, by default those of its text.

        The document's title belongs to no category, so it is not in it.
        """
        grouped: dict[str, list[Entry]] = {category: [] for category in self.categories}
        for entry in self.entries:
            grouped[entry.category].append(entry)
        return self.document.form(None, grouped, self.problems(self.document.problems if found is None else found))


def visible_categories(
    document: Document, present: Iterable[str], target: str, profile: Profile, taxonomy: Taxonomy | None = None
) -> dict[str, int]:
    """Those of the categories ``present`` in a document that the profile may see, each with its place in its order.

    A category is visible if the profile's selectors for the target pick it. What has no category is visible if the
    profile says so (``include_uncategorized``), and by default in a file without section headers only; never if a
    selector takes it away.
    """
    selectors = profile.selectors(target, taxonomy)
    uncategorized = profile.include_uncategorized
    if uncategorized is None:
        uncategorized = not document.scan.headers
    # A document may have been parsed without the root's aliases, and a section must not pass for another under one.
    aliases = taxonomy.aliases if taxonomy else {}
    order: dict[str, int] = {}
    for category in present:
        position = selectors.position(aliases.get(category, category))
        if position is not None:
            order[category] = position
        elif category == UNCATEGORIZED and uncategorized and not selectors.takes_away(category):
            order[category] = len(selectors.patterns)
    return order


def visible(document: Document, target: str, profile: Profile, taxonomy: Taxonomy | None = None) -> View:
    """The part of ``document`` (the profile's ``user`` or ``memory`` file) that ``profile`` may see.

    Its entries are those of the ``visible_categories``.
    """
    present = dict.fromkeys([entry.category for entry in document.entries])
    order = visible_categories(document, present, target, profile, taxonomy)
    # Categories that one glob picks stand in alphabetical order: moving a section in the file changes no prompt.
    categories = tuple(sorted(order, key=lambda category: (category == UNCATEGORIZED, order[category], category)))
    entries = document.entries
    if len(order) < len(present):
        entries = tuple(entry for entry in entries if entry.category in order)
    loose = 0
    if UNCATEGORIZED in present and UNCATEGORIZED not in order:
        loose = sum(entry.category == UNCATEGORIZED for entry in document.entries)
    return View(target, document, categories, entries, len(document.entries) - len(entries), loose)


def hidden_by_sections(
    before: Document, after: Document, target: str, profile: Profile, taxonomy: Taxonomy | None = None
) -> int:
    """How many entries without a category a profile saw in a flat document, and does not see in it with sections."""
    if before.scan.headers or not after.scan.headers:
        return 0
    was, now = (visible_categories(each, (UNCATEGORIZED,), target, profile, taxonomy) for each in (before, after))
    return sum(entry.category == UNCATEGORIZED for entry in after.entries) if was and not now else 0
