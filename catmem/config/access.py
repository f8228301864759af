"""What a profile may see of a document, and who may write what: the one place where that is decided.

``build_prompt`` and every call of the ``Workspace`` read documents through ``visible``. What it leaves out is only
counted. A search, which must not take a large document apart, asks for the categories alone.

A person (``actor`` is ``None``) may do anything, and a tier-1 profile may write to every category of every profile's
files. Any other profile acts on its own files only, writes to its ``writable_categories``, and says that a fact still
holds if it ``may_verify``. A profile of any tier acts on entries that its own selectors show it: a category that it may
write and does not see is a drop, where it can add and do nothing else. Whatever is outside is refused in the same words
whether it exists or not.

An entity that catmem.yaml declares has no categories: it is read whole, or not at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from catmem.config.config import Config, DeclaredEntity, Selectors, Taxonomy, is_pattern, split
from catmem.config.json_schema import nearest, shown, tag_faults
from catmem.config.profile import ORCHESTRATOR_TIER, SELECTOR_KEYS, Profile
from catmem.errors import ForbiddenError, UnknownNameError
from catmem.model.document import Document, Entry, Problem, Section
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.text import unmerged_warnings


class View(NamedTuple):
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

    def warnings(self, profile: str, owner: str = "NAME") -> tuple[str, ...]:
        """What to know of a file of ``owner``: git's conflict markers, and that ``profile`` sees nothing of it."""
        found = unmerged_warnings(f"the {self.target} file", self.document.text)
        if not self.hidden_uncategorized or self.document.scan.headers:
            return found
        said = f"the {self.target} file has no sections, so {profile} sees none of it"
        return (*found, f"{said}: catmem sort -p {owner} puts entries into categories")

    def problems(self, found: Sequence[Problem]) -> tuple[Problem, ...]:
        """Those of the document's problems that lie within visible entries."""
        starts = [entry.start for entry in self.entries]
        visible_ones: list[Problem] = []
        for problem in found:
            index = bisect_right(starts, problem.start) - 1
            if index >= 0 and problem.end <= self.entries[index].end:
                visible_ones.append(problem)
        return tuple(visible_ones)

    def form(self, found: Sequence[Problem] | None = None) -> dict[str, Any]:
        """The JSON form of what is visible; ``found`` are the document's problems, by default those of its text."""
        # The document's title belongs to no category, so it is not in it.
        grouped: dict[str, list[Entry]] = {category: [] for category in self.categories}
        for entry in self.entries:
            grouped[entry.category].append(entry)
        return self.document.form(None, grouped, self.problems(self.document.problems if found is None else found))


def visible_categories(
    present: Iterable[str], target: str, profile: Profile, taxonomy: Taxonomy | None = None
) -> dict[str, int]:
    """Those of the categories ``present`` that the profile may see, each with its place in its order."""
    # A category is visible if the profile's selectors for the target pick it. What has no category is visible if the
    # profile `sees_uncategorized`; never if a selector takes it away.
    selectors = profile.selectors(target, taxonomy)
    # A document may have been parsed without the root's aliases, and a section must not pass for another under one.
    order: dict[str, int] = {}
    for category in present:
        position = selectors.position(taxonomy.of_slug(category) if taxonomy else category)
        if position is not None:
            order[category] = position
        elif category == UNCATEGORIZED and profile.sees_uncategorized and not selectors.takes_away(category):
            order[category] = len(selectors.patterns)
    return order


def targets_read(category: str, owner: Profile, taxonomy: Taxonomy) -> list[str]:
    """The files in which a profile reads a category."""
    return [each for each in TARGETS if category in visible_categories((category,), each, owner, taxonomy)]


def visible(document: Document, target: str, profile: Profile, taxonomy: Taxonomy | None = None) -> View:
    """The part of ``document`` (the profile's ``user`` or ``memory`` file) that ``profile`` may see."""
    present = dict.fromkeys([entry.category for entry in document.entries])
    order = visible_categories(present, target, profile, taxonomy)
    # Categories that one glob picks stand in alphabetical order: moving a section in the file changes no prompt.
    categories = tuple(sorted(order, key=lambda category: (category == UNCATEGORIZED, order[category], category)))
    entries = document.entries
    if len(order) < len(present):
        entries = tuple(entry for entry in entries if entry.category in order)
    loose = 0
    if UNCATEGORIZED in present and UNCATEGORIZED not in order:
        loose = sum(entry.category == UNCATEGORIZED for entry in document.entries)
    return View(target, document, categories, entries, len(document.entries) - len(entries), loose)


def all_problems(document: Document, config: Config) -> tuple[Problem, ...]:
    """Everything that looks wrong in a document of this root, in file order: its own problems and those of policy."""
    # `bad-tag`: a tag's value does not fit its schema, so it counts as not given. `unknown-category`: a section that a
    # closed taxonomy does not declare, which no pattern of a profile selects.
    bad_tags = (
        Problem("bad-tag", entry.start, entry.end, f"{tag} {message}, so it does not count")
        for entry in document.entries
        for tag, message in tag_faults(entry.tags, config.tag_schemas)
    )
    found = [*document.problems, *bad_tags, *_unknown_categories(document, config)]
    return tuple(sorted(found, key=lambda problem: (problem.start, problem.rule)))


def _unknown_categories(document: Document, config: Config) -> Iterator[Problem]:
    if not config.taxonomy.closed:
        return
    for section, near in undeclared_sections(document, config.taxonomy):
        hint = f"; did you mean {near}?" if near else ""
        message = f"the category {section.category} is not declared in catmem.yaml, so no pattern selects it{hint}"
        yield Problem("unknown-category", section.start, section.header_end, message)


def undeclared_sections(document: Document, taxonomy: Taxonomy) -> Iterator[tuple[Section, str | None]]:
    """The sections whose category is not declared, each with the declared name that is like it, if there is one."""
    declared = taxonomy.declared()
    for section in document.sections:
        if section.category not in declared:
            yield section, nearest(section.category, declared)


def known_categories(profiles: Iterable[Profile], taxonomy: Taxonomy) -> set[str]:
    """The categories (slugs, no aliases) that are declared or that a profile names, and that of what has none."""
    known = {*taxonomy.categories, UNCATEGORIZED}
    for profile in profiles:
        for key in SELECTOR_KEYS:
            known.update(
                name for _, name in map(split, taxonomy.resolved(getattr(profile, key))) if not is_pattern(name)
            )
    return known


def is_slip(category: str, near: str) -> bool:
    """Whether the words in which two names differ are alike: ``talks`` and ``talk``, not ``rules-hr`` and ``rules``."""
    ours, theirs = category.split("-"), near.split("-")
    own, other = [word for word in ours if word not in theirs], [word for word in theirs if word not in ours]
    if len(own) != len(other):
        return "".join(ours) == "".join(theirs)
    return nearest("-".join(own), ["-".join(other)], 0.7) is not None


def meant_category(category: str, known: Collection[str]) -> str | None:
    """The known category of which one that is not known is most likely a slip."""
    near = None if category in known else nearest(category, known)
    return near if near is not None and is_slip(category, near) else None


@dataclass(frozen=True)
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

    @cached_property
    def _writable(self) -> Selectors:
        return Selectors() if self.actor is None else self.actor.writable(self.taxonomy)

    def may_write(self, category: str) -> bool:
        """Whether the actor may change what stands in a category (a slug)."""
        return self.unbounded or self._writable.matches(category)

    def visible_entries(self, document: Document) -> tuple[Entry, ...]:
        """The entries that the actor may be shown, and may act on if it may write or verify them."""
        # To a person these are all; to a profile of any tier those that its selectors pick.
        if self.actor is None:
            return document.entries
        return visible(document, self.target, self.actor, self.taxonomy).entries

    def filter_visible(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those of ``entries`` that the actor may be shown; see ``visible_entries``."""
        if self.actor is None:
            return entries
        present = dict.fromkeys(entry.category for entry in entries)
        seen = visible_categories(present, self.target, self.actor, self.taxonomy)
        return [entry for entry in entries if entry.category in seen]

    def unmerged(self, name: str, text: str, parse: Callable[[bytes], Document]) -> tuple[str, ...]:
        """What to tell the actor of git's conflict markers in the file ``name``: a profile of those in its sight."""
        found = unmerged_warnings(name, text)
        if not found or self.actor is None:
            return found
        return unmerged_warnings(name, "\n".join(entry.raw for entry in self.visible_entries(parse(text.encode()))))

    def may_see(self, category: str) -> bool:
        """Whether the actor may see entries of a category (a slug), if there are any; it may not if this is false."""
        if self.actor is None or category == UNCATEGORIZED:  # whether that is seen depends on the document
            return True
        return self.actor.selectors(self.target, self.taxonomy).position(category) is not None

    def writable_names(self) -> tuple[str, ...]:
        """The categories and, in an open taxonomy, the patterns that a bounded actor may write, in its own order."""
        if self.actor is None:
            return ()
        writable = self._writable
        names = [name for name in writable.patterns if not name.startswith("!")]
        if self.taxonomy.closed:
            declared = (*self.taxonomy.categories, UNCATEGORIZED)
            places = {slug: writable.position(slug) for slug in declared}
            chosen = [(place, slug) for slug, place in places.items() if place is not None]
            return tuple(slug for _, slug in sorted(chosen, key=lambda pair: pair[0]))
        return tuple(dict.fromkeys(name for name in names if is_pattern(name) or writable.matches(name)))

    @property
    def may_change_any(self) -> bool:
        """Whether there can be entries that the actor may change: it writes to a category and sees it."""
        if self.unbounded:
            return True
        names = self.writable_names()
        return any(is_pattern(name) or self.may_see(name) for name in names)

    def only_category(self) -> str | None:
        """The category that a profile's additions go to when it names none: the one that it may write, if it is one."""
        names = self.writable_names()
        return names[0] if len(names) == 1 and not is_pattern(names[0]) else None

    def refuse_other_owner(self, owner: str) -> None:
        """Raise ``UnknownNameError`` if the actor may not act on the files of the profile ``owner``."""
        # The words are those for a profile that does not exist, so nothing is learned of those that do.
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
        """Raise ``ForbiddenError`` if the actor may not verify facts."""
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


def reads_entity(declared: DeclaredEntity, actor: Profile | None) -> bool:
    """Whether the one who acts may know of a declared entity, and read it; ``None`` is a person."""
    return writes_entity(declared, actor) or (actor is not None and actor.name in declared.readers)


def writes_entity(declared: DeclaredEntity, actor: Profile | None) -> bool:
    """Whether the one who acts may write a declared entity."""
    return actor is None or actor.tier == ORCHESTRATOR_TIER or actor.name in declared.writers
