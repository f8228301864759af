"""Category selectors: which categories a list such as ``["finance-*", "!finance-payroll"]`` names.

A selector is the slug of a category, a pattern over slugs (``*``, ``?``, ``[...]`` as in ``fnmatch.fnmatchcase``), or
either with ``!`` in front, which takes away. The last one that matches a category decides; what none matches is not
selected.

Two rules keep a pattern from reaching further than its author could see: in a closed taxonomy it selects only declared
categories, and ``__uncategorized__`` is selected by its exact name alone. Taking away has no such limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from catmem.syntax.slug import UNCATEGORIZED, slugify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_WILDCARD = re.compile(r"[*?\[]")
_WILD_PARTS = re.compile(r"\[!?[^\[\]]+\]|[*?]")


@dataclass(frozen=True, slots=True)
class Selectors:
    """A list of selectors. ``declared`` are the slugs of a closed taxonomy; ``None`` stands for an open one."""

    patterns: tuple[str, ...] = ()
    declared: frozenset[str] | None = None

    def matches(self, category: str) -> bool:
        """Whether the category (a slug) is selected."""
        for pattern in reversed(self.patterns):
            if self._applies(pattern, category):
                return not pattern.startswith("!")
        return False

    def takes_away(self, category: str) -> bool:
        """Whether a selector with ``!`` is the last that matches the category."""
        last = next((pattern for pattern in reversed(self.patterns) if self._applies(pattern, category)), "")
        return last.startswith("!")

    def position(self, category: str) -> int | None:
        """The index of the first selector that names a selected category, for prompts in the order of the profile."""
        if not self.matches(category):
            return None
        return next(
            index
            for index, pattern in enumerate(self.patterns)
            if not pattern.startswith("!") and self._applies(pattern, category)
        )

    def unmatched(self, categories: Iterable[str]) -> list[str]:
        """The selectors, those with ``!`` too, that match none of ``categories``: most likely slips."""
        known = list(categories)
        return [pattern for pattern in self.patterns if not any(self._applies(pattern, category) for category in known)]

    def _applies(self, pattern: str, category: str) -> bool:
        negative, name = split(pattern)
        if not is_pattern(name):
            return category == name
        if not negative and (
            category == UNCATEGORIZED or (self.declared is not None and category not in self.declared)
        ):
            return False
        return fnmatchcase(category, name)


def split(selector: str) -> tuple[bool, str]:
    """``(takes away, slug or pattern)`` of a selector."""
    return (True, selector[1:]) if selector.startswith("!") else (False, selector)


def is_pattern(name: str) -> bool:
    """Whether a selector (without its ``!``) is a pattern, not a slug."""
    return bool(_WILDCARD.search(name))


def resolve_aliases(patterns: Collection[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    """The selectors with every exact name that is an alias replaced by its category."""
    return tuple(f"{'!' * negative}{aliases.get(name, name)}" for negative, name in map(split, patterns))


def selector_fault(selector: str) -> tuple[str, str] | None:
    """``(message, hint)`` if ``selector`` is neither a slug nor a pattern over slugs: it could never match anything."""
    negative, name = split(selector)
    if is_pattern(name):
        rest = _WILD_PARTS.sub("", name)
        wrong = next((character for character in rest if slugify(f"a{character}a") != f"a{character}a"), None)
        if wrong is None:
            return None
        message = f"{selector!r} is not a selector: no category has {wrong!r} in it"
        return (
            message,
            "A pattern is made of small letters, digits, '_', '-', and * ? [ ]; a list item is one selector.",
        )
    slug = slugify(name)
    if name and slug == name:
        return None
    message = f"{selector!r} is not a selector: a selector is a category's slug or a pattern over slugs"
    return message, f"Write {'!' * negative + slug!r}." if slug else "Write a slug such as 'communication-style'."
