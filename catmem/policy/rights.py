"""Who may write what: a person, the root's tier-1 profiles, and every other profile within what it was given.

A person (``actor`` is ``None``) and a tier-1 profile may do anything, in every profile's files. Any other profile acts
on its own files only. It acts on entries that its selectors show it, writes to its ``writable_categories``, and says
that a fact still holds if it ``may_verify``. A category that it may write and does not see is a drop: it can add there
and do nothing else. Whatever is outside is refused in the same words whether it exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catmem.errors import ForbiddenError, UnknownNameError
from catmem.policy.access import visible
from catmem.policy.profile import ORCHESTRATOR_TIER
from catmem.policy.schema import nearest, shown
from catmem.policy.selector import is_pattern
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
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
        """Whether the actor may do anything."""
        return self.actor is None or self.actor.tier == ORCHESTRATOR_TIER

    @property
    def may_verify(self) -> bool:
        """Whether the actor may say that a fact still holds. A profile's own ``may_verify`` counts in every tier."""
        return self.actor is None or self.actor.verifies

    def may_write(self, category: str) -> bool:
        """Whether the actor may change what stands in a category (a slug)."""
        return self.actor is None or self.unbounded or self.actor.writable(self.taxonomy).matches(category)

    def in_reach(self, document: Document) -> tuple[Entry, ...]:
        """The entries that the actor may act on, if it may write or verify them: those that it sees; or all."""
        if self.actor is None or self.unbounded:
            return document.entries
        return self.in_sight(document)

    def in_sight(self, document: Document) -> tuple[Entry, ...]:
        """The entries that an answer to the actor may name. A profile of any tier is shown what its selectors pick."""
        if self.actor is None:
            return document.entries
        return visible(document, self.target, self.actor, self.taxonomy).entries

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

    def refuse_unverified(self) -> None:
        """Raise ``ForbiddenError`` if the actor may not verify facts."""
        if self.actor is not None and not self.may_verify:
            raise ForbiddenError(
                f"{self.actor.name} may not say that a fact was verified",
                hint="Leave verified_date out. A person may verify, and a profile that is given may_verify: true "
                "(tier 1 is, if it does not say otherwise).",
            )
