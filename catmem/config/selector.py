"""Category selectors: which categories a list such as ``["finance-*", "!finance-payroll"]`` names.

A selector is the slug of a category, a pattern over slugs (``*``, ``?``, ``[...]`` as in ``fnmatch.fnmatchcase``), or
either with ``!`` in front, which takes away. The last one that matches a category decides; what none matches is not
selected.

Two rules keep a pattern from reaching further than its author could see: in a closed taxonomy it selects only declared
categories, and ``__uncategorized__`` is selected by its exact name alone. Taking away has no such limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from catmem.errors import wrong_type
from catmem.names import UNCATEGORIZED, slugify

_WILDCARD = re.compile(r"[*?\[]")
_SET = re.compile(r"\[!?([^\[\]]+)\]")
_PATTERN_RULE = (
    "A pattern is made of small letters, digits, '_', '-', and * ? [ ], without a '-' at its ends or beside another; a "
    "list item is one selector."
)


@dataclass(frozen=True)
class Selectors:
    """A list of selectors. ``declared`` are the slugs of a closed taxonomy; ``None`` stands for an open one."""

    patterns: tuple[str, ...] = ()
    declared: frozenset[str] | None = None

    def deciding(self, category: str) -> int | None:
        """The index of the last selector that matches the category (a slug)."""
        return max(self._applying(category), default=None)

    def matches(self, category: str) -> bool:
        """Whether the category is selected."""
        index = self.deciding(category)
        return index is not None and not self.patterns[index].startswith("!")

    def takes_away(self, category: str) -> bool:
        """Whether a selector with ``!`` decides on the category."""
        index = self.deciding(category)
        return index is not None and self.patterns[index].startswith("!")

    def position(self, category: str) -> int | None:
        """The index of the first selector that names a selected category, for prompts in the order of the profile."""
        if not self.matches(category):
            return None
        return min(index for index in self._applying(category) if not self.patterns[index].startswith("!"))

    @property
    def names(self) -> set[str]:
        """The categories that are selected by name, and by no pattern."""
        return {each for each in self.patterns if not is_pattern(each) and not each.startswith("!")}

    def unmatched(self, categories: Iterable[str]) -> list[str]:
        """The selectors, those with ``!`` too, that match none of ``categories``: most likely slips."""
        found = {index for category in categories for index in self._applying(category)}
        return [pattern for index, pattern in enumerate(self.patterns) if index not in found]

    @cached_property
    def _named(self) -> Mapping[str | None, list[int]]:
        """The indexes of the selectors by the slug that each names; those of patterns under ``None``."""
        found: dict[str | None, list[int]] = {}
        for index, (_, name) in enumerate(map(split, self.patterns)):
            found.setdefault(None if is_pattern(name) else name, []).append(index)
        return found

    def _applying(self, category: str) -> list[int]:
        """The indexes of the selectors that match the category, those of patterns last."""
        exact, patterns = (self._named.get(name, []) for name in (category, None))
        return [*exact, *(index for index in patterns if self._fits(self.patterns[index], category))]

    def _fits(self, pattern: str, category: str) -> bool:
        negative, name = split(pattern)
        if not negative and (
            category == UNCATEGORIZED or (self.declared is not None and category not in self.declared)
        ):
            return False
        return fnmatchcase(category, name)


# A fleet asks for the same few selectors again and again.
@lru_cache(maxsize=4096)
def split(selector: str) -> tuple[bool, str]:
    """``(takes away, slug or pattern)`` of a selector. Raises ``EditError`` (``wrong_type``)."""
    if not isinstance(selector, str):
        raise wrong_type("a selector", selector)
    return (True, selector[1:]) if selector.startswith("!") else (False, selector)


@lru_cache(maxsize=4096)
def is_pattern(name: str) -> bool:
    """Whether a selector (without its ``!``) is a pattern, not a slug."""
    return bool(_WILDCARD.search(name))


def selector_fault(selector: str) -> tuple[str, str] | None:
    """``(message, hint)`` if ``selector`` is neither a slug nor a pattern that slugs may match."""
    # A slip in one that takes away would otherwise show what it was to hide.
    negative, name = split(selector)
    if is_pattern(name):
        message = f"{selector!r} is not a selector: no category's slug fits this pattern"
        return None if _may_fit(name) else (message, _PATTERN_RULE)
    slug = slugify(name)
    if name and slug == name:
        return None
    message = f"{selector!r} is not a selector: a selector is a category's slug or a pattern over slugs"
    return message, f"Write {'!' * negative + slug!r}." if slug else "Write a slug such as 'communication-style'."


def _may_fit(pattern: str) -> bool:
    """Whether a slug may fit the pattern, as far as its letters and dashes tell."""
    # With a letter for each wildcard, and the letters of each set between two, it is a slug itself.
    example = _SET.sub(r"x\1x", pattern).replace("*", "x").replace("?", "x")
    return slugify(example) == example
