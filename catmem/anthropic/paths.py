"""The paths of the memory tool: ``/memories``, ``/memories/user``, ``/memories/user/<category>.md``, and no others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import EditError
from catmem.names import TARGETS
from catmem.policy.schema import shown
from catmem.syntax.slug import slugify

if TYPE_CHECKING:
    from catmem.policy.config import Taxonomy

ROOT = "/memories"
_PATH = re.compile(rf"{ROOT}(?:/({'|'.join(TARGETS)})(?:/([^/]+)\.md)?)?/?")


class Place(NamedTuple):
    """What a path names: all (no target), one target's folder (no category), or one category's file."""

    target: str | None = None
    category: str | None = None
    alias: str | None = None
    """The other name of the category that was typed, if one was."""

    @property
    def name(self) -> str:
        """The category's name as it was typed: answers do not tell which category another name is of."""
        return self.alias or self.category or ""

    @property
    def path(self) -> str:
        """The path, as answers write it."""
        parts = [ROOT, *([self.target] if self.target else []), *([f"{self.name}.md"] if self.name else [])]
        return "/".join(parts)


def place_of(path: str, taxonomy: Taxonomy) -> Place:
    """The place that a path names. Raises ``EditError`` (``bad_arguments``); nothing on a disk is looked at."""
    found = _PATH.fullmatch(path)
    if found is None or (found[2] is not None and path.endswith("/")):
        raise EditError(
            f"{shown(path)} is no path of this memory",
            code="bad_arguments",
            hint="There are /memories/user/<category>.md and /memories/memory/<category>.md, and no other folders.",
        )
    target, name = found[1], found[2]
    if name is None:
        return Place(target)
    slug = slugify(name)
    if slug != name:
        raise EditError(
            f"{shown(name)} cannot be the name of a category",
            code="bad_arguments",
            hint=f"Did you mean {ROOT}/{target}/{slug}.md?" if slug else "Use small letters, digits and -.",
        )
    category = taxonomy.category(name)
    return Place(target, category, None if category == name else name)
