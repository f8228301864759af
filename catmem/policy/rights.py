"""Who may write what: a person, the root's tier-1 profiles, and every other profile within what it was given.

A person (``actor`` is ``None``) may do anything, and a tier-1 profile may write to every category of every profile's
files. Any other profile acts on its own files only, writes to its ``writable_categories``, and says that a fact still
holds if it ``may_verify``. A profile of any tier acts on entries that its own selectors show it: a category that it may
write and does not see is a drop, where it can add and do nothing else. Whatever is outside is refused in the same words
whether it exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catmem.errors import ForbiddenError, UnknownNameError
from catmem.policy.access import visible, visible_categories
from catmem.policy.profile import ORCHESTRATOR_TIER
from catmem.policy.schema import nearest, shown
from catmem.policy.selector import is_pattern
from catmem.syntax.slug import UNCATEGORIZED
from catmem.text import unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.model.document import Document, Entry
    from catmem.policy.config import Taxonomy
    from catmem.policy.profile import Profile


@dataclass(frozen=True, slots=True)
class Rights:
    """What the one who acts may do to the ``user`` or the ``memory`` files; ``actor`` is ``None`` for a person."""

    actor: Profile | None
    target: str
    taxonomy: Taxonomy

    @property
    def unbounded(self) -> bool:
        """Whether the actor may write anywhere."""
        return self.actor is None or self.actor.tier == ORCHESTRATOR_TIER

    @property
    def may_verify(self) -> bool:
        """Whether the actor may say that a fact still holds. A profile's own ``may_verify`` counts in every tier."""
        return self.actor is None or self.actor.verifies

    def may_write(self, category: str) -> bool:
        """Whether the actor may change what stands in a category (a slug)."""
        return self.actor is None or self.unbounded or self.actor.writable(self.taxonomy).matches(category)

    def in_sight(self, document: Document) -> tuple[Entry, ...]:
        """The entries that the actor may be shown, and may act on if it may write or verify them.

        To a person these are all; to a profile of any tier those that its selectors pick.
        """
        if self.actor is None:
            return document.entries
        return visible(document, self.target, self.actor, self.taxonomy).entries

    def among(self, document: Document, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those of some entries of a document that are ``in_sight``."""
        if self.actor is None:
            return entries
        present = dict.fromkeys(entry.category for entry in entries)
        seen = visible_categories(document, present, self.target, self.actor, self.taxonomy)
        return [entry for entry in entries if entry.category in seen]

    def unmerged(self, name: str, text: str, parse: Callable[[bytes], Document]) -> tuple[str, ...]:
        """What to tell the actor of git's conflict markers in the file ``name``: a profile of those in its sight."""
        found = unmerged_warnings(name, text)
        if not found or self.actor is None:
            return found
        return unmerged_warnings(name, "\n".join(entry.raw for entry in self.in_sight(parse(text.encode()))))

    def may_see(self, category: str) -> bool:
        """Whether the actor may see entries of a category (a slug), if there are any; it may not if this is false."""
        if self.actor is None or category == UNCATEGORIZED:  # whether that is seen depends on the document
            return True
        return self.actor.selectors(self.target, self.taxonomy).position(category) is not None

    def writable_names(self) -> tuple[str, ...]:
        """The categories and, in an open taxonomy, the patterns that a bounded actor may write, in its own order."""
        if self.actor is None:
            return ()
        writable = self.actor.writable(self.taxonomy)
        names = [name for name in writable.patterns if not name.startswith("!")]
        if self.taxonomy.closed:
            declared = (*self.taxonomy.categories, UNCATEGORIZED)
            places = {slug: writable.position(slug) for slug in declared}
            chosen = [(place, slug) for slug, place in places.items() if place is not None]
            return tuple(slug for _, slug in sorted(chosen, key=lambda pair: pair[0]))
        return tuple(dict.fromkeys(name for name in names if is_pattern(name) or writable.matches(name)))

    def only_category(self) -> str | None:
        """The category that a profile's additions go to when it names none: the one that it may write, if it is one."""
        names = self.writable_names()
        return names[0] if len(names) == 1 and not is_pattern(names[0]) else None

    def refuse_other_owner(self, owner: str) -> None:
        """Raise ``UnknownNameError`` if the actor may not act on the files of the profile ``owner``.

        The words are those for a profile that does not exist, so nothing is learned of those that do.
        """
        if self.actor is not None and not self.unbounded and owner != self.actor.name:
            raise UnknownNameError(
                f"there is no profile {shown(owner)}",
                hint=f"{self.actor.name} acts on its own files only: use the name {self.actor.name!r}.",
            )

    def refuse_unwritable(self, category: str, named: str | None = None) -> None:
        """Raise ``ForbiddenError`` if the actor may not write to ``category``, which the caller called ``named``."""
        if self.actor is None or self.may_write(category):
            return
        names = self.writable_names()
        near = nearest(category, names)
        listed = f"It may write to {', '.join(names)}." if names else "It may write to no category."
        raise ForbiddenError(
            f"{self.actor.name} may not write to the category {shown(named or category)}",
            hint=f"Did you mean {near!r}? {listed}" if near else listed,
        )

    def refuse_without_any_category(self) -> None:
        """Raise ``ForbiddenError`` if there is no category at all that the actor may write to."""
        if self.actor is not None and not self.unbounded and not self.writable_names():
            raise ForbiddenError(
                f"{self.actor.name} may not change what is stored", hint="It may write to no category."
            )

    def refuse_unverified(self, tag: str | None = None) -> None:
        """Raise ``ForbiddenError`` if the actor may not verify facts.

        ``tag`` is one that it would set, change or remove, and that says how old a fact is.
        """
        if self.actor is None or self.may_verify:
            return
        said = "say that a fact was verified"
        if tag not in {None, "verified_date"}:
            said = f"change the tag {tag} of a fact, which says how long it holds"
        others = (
            "A person may do that, and a profile that is given may_verify: true (tier 1 is, if it does not say "
            "otherwise)."
        )
        raise ForbiddenError(
            f"{self.actor.name} may not {said}", hint=others if tag is None else f"Leave {tag} out. {others}"
        )
