"""The way up: what a specialist learned comes to the profile that it is seeded from, as proposals or by a person.

What is there already is not brought again. A rewording of a seeded entry, or of words that are nearly the same, is
brought as a rewording of that entry, so that no contradicting double comes to stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from catmem.clock import read_date
from catmem.config.profile import ORCHESTRATOR_TIER
from catmem.config.selector import Selectors
from catmem.errors import CatmemError, EditError
from catmem.model.pairing import nearly_same, pair_entries
from catmem.model.version import Version
from catmem.names import TARGETS, known_target
from catmem.seeding.lockfile import SeedFile
from catmem.workspace.profile_memory import read_document
from catmem.writing.matching import entries_holding, find_entry
from catmem.writing.operation import Operation
from catmem.writing.terms import check_threats
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root
    from catmem.writing.written import Written

_NOT_CARRIED = ("created", "verified_date")
"""Tags that stay behind: the day goes as the day of the write, and no verification counts for the new place."""


@dataclass(frozen=True, slots=True)
class Promoted:
    """One entry of ``profile`` and what became of it at ``source``: ``written``, or the ``error`` that refused it."""

    profile: str
    source: str
    target: str
    entry: Entry
    written: Written | None = None
    error: CatmemError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry and its fate as JSON-ready data."""
        return {
            "profile": self.profile,
            "source": self.source,
            "target": self.target,
            "category": self.entry.category,
            "body": self.entry.body,
            "written": None if self.written is None else self.written.to_dict(),
            "error": None if self.error is None else self.error.to_dict(),
        }


def promote(  # noqa: PLR0913 - which entry, where to, and how
    workspace: Root,
    name: str,
    old_text: str,
    *,
    to: str | None = None,
    target: str | None = None,
    category: str | None = None,
    reason: str | None = None,
    proposes: bool = False,
    dry_run: bool = False,
) -> Promoted:
    """Bring the entry of the profile ``name`` that holds ``old_text`` to the profile ``to``, as a person.

    By default that is the profile that it is seeded from. With ``proposes`` it waits there. Raises ``NoMatchError``,
    ``AmbiguousError``, ``EditError`` (``no_source``; ``not_new`` for words that are there), and what a write raises.
    """
    profile = workspace.profile(name)
    source = workspace.profile(to or source_of(workspace, profile))
    target, entry = _named(workspace, profile, old_text, target, category)
    learned = _Learned(workspace, profile, source, target)
    if entry not in learned.entries:
        raise EditError(
            f"{source.name}/{target} says that already, in {entry.category}",
            code="not_new",
            hint="Nothing was written.",
        )
    written = learned.bring(entry, reason, proposes=proposes, dry_run=dry_run)
    return Promoted(profile.name, source.name, target, entry, written)


def promote_learned(
    workspace: Root, name: str | None = None, *, categories: Sequence[str] = (), dry_run: bool = False
) -> list[Promoted]:
    """Propose to each source what specialists, or the one called ``name``, learned in ``categories``.

    By default these are the categories of ``approval.promote`` in catmem.yaml. The specialist is the proposer. What is
    refused, as a proposal that was rejected before, stands in the result with its error.
    """
    policy, taxonomy = workspace.config.approval, workspace.config.taxonomy
    selected = Selectors(taxonomy.resolved(categories or (policy.promote if policy else ())), taxonomy.closed_slugs)
    names = workspace.profiles() if name is None else (workspace.profile(name).name,)
    found: list[Promoted] = []
    for profile in map(workspace.profile, names):
        if profile.seed_from is None:
            continue
        source = workspace.profile(profile.seed_from)
        for target in TARGETS:
            learned = _Learned(workspace, profile, source, target)
            for entry in learned.entries:
                if not selected.matches(entry.category):
                    continue
                done = Promoted(profile.name, source.name, target, entry)
                try:
                    written = learned.bring(entry, None, proposes=True, dry_run=dry_run, on_behalf=profile.name)
                    found.append(replace(done, written=written))
                except CatmemError as error:
                    found.append(replace(done, error=error))
    return found


def source_of(workspace: Root, profile: Profile) -> str:
    """Where a profile's facts go up to: what it is seeded from, else the one profile of tier 1.

    Raises ``EditError`` (``no_source``).
    """
    first = [each for each, other in workspace.profiles().items() if other.tier == ORCHESTRATOR_TIER]
    up = profile.seed_from or (first[0] if len(first) == 1 and first[0] != profile.name else None)
    if up is None:
        raise EditError(
            f"{profile.name} is seeded from no profile", code="no_source", hint="Name where it goes: --to PROFILE."
        )
    return up


def _named(
    workspace: Root, profile: Profile, old_text: str, target: str | None, category: str | None
) -> tuple[str, Entry]:
    """The one entry that a text means, and its file."""
    targets = TARGETS if target is None else (known_target(target),)
    documents = {each: read_document(workspace, profile, each) for each in targets}
    slug = None if category is None else workspace.config.taxonomy.category(category)
    held = [each for each in targets if entries_holding(old_text, documents[each].entries)]
    chosen = held[0] if held else targets[0]
    document = documents[chosen]
    among = [each for each in document.entries if slug in {None, each.category}]
    entity = f"{profile.name}/{chosen}"
    return chosen, find_entry(document, old_text, among, document.entries, entity=entity, to_agent=False).entry


class _Learned:
    """What a file of a specialist has and that of its source has not."""

    def __init__(self, workspace: Root, profile: Profile, source: Profile, target: str) -> None:
        self._workspace, self._source, self._target = workspace, source, target
        own, self._there = (read_document(workspace, each, target) for each in (profile, source))
        known = {(each.category, each.body) for each in self._there.entries}
        self.entries = [each for each in own.entries if (each.category, each.body) not in known]
        self._origins = self._seeded_as(own, f"{profile.name}/{target}", f"{source.name}/{target}")

    def _seeded_as(self, own: Document, target: str, source: str) -> dict[int, Version]:
        """By the start of an entry the words with which it was seeded, as ``catmem.seed.lock`` has them."""
        record = SeedFile(self._workspace.root).read()[1].records.get((target, source))
        given = [Version.read(each.category, each.text) for each in record.entries] if record else []
        pairs = pair_entries(given, own.entries)
        return {own.entries[place].start: given[index] for index, place in pairs.items()}

    def bring(
        self, entry: Entry, reason: str | None, *, proposes: bool, dry_run: bool, on_behalf: str | None = None
    ) -> Written:
        """Write one of the entries at the source, or propose it."""
        if on_behalf is not None:
            check_threats([entry.body], self._workspace.config, to_agent=True, allow_secret=False)
        return write_operations(
            self._workspace,
            self._source.name,
            [self._operation(entry)],
            target=self._target,
            reason=reason,
            proposes=proposes,
            dry_run=dry_run,
            on_behalf=on_behalf,
        )

    def _operation(self, entry: Entry) -> Operation:
        tags: dict[str, Any] = {key: value for key, value in entry.tags.items() if key not in _NOT_CARRIED}
        like = self._like(entry)
        if like is None:
            day: date | None = read_date(entry.tags.get("created"))
            return Operation("add", content=entry.body, category=entry.category, tags=tags or None, as_of=day)
        return Operation("replace", content=entry.body, old_text=like.id, category=like.category)

    def _like(self, entry: Entry) -> Entry | None:
        """The entry of the source that these words are a rewording of."""
        beside = [each for each in self._there.entries if each.category == entry.category]
        origin = self._origins.get(entry.start)
        if origin is not None:
            seeded = next((each for each in beside if each.body == origin.body), None)
            if seeded is not None:
                return seeded
        return _first(each for each in beside if nearly_same(each.body, entry.body))


def _first(entries: Iterable[Entry]) -> Entry | None:
    return next(iter(entries), None)
