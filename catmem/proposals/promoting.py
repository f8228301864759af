"""The way up: what a specialist learned comes to the profile that it is seeded from, as proposals or by a person.

What is there already, or waits there, is not brought again. A rewording of a seeded entry, or of words that are nearly
the same, is brought as a rewording of that entry, so that no contradicting double comes to stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from catmem.clock import read_date
from catmem.config.json_schema import suggestion
from catmem.config.profile import ORCHESTRATOR_TIER
from catmem.config.selector import Selectors
from catmem.errors import CatmemError, EditError
from catmem.model.pairing import nearly_same, pair_entries
from catmem.model.version import Version
from catmem.names import TARGETS, known_target
from catmem.proposals.proposal import ProposalReader
from catmem.seeding.lockfile import SeedFile
from catmem.workspace.everywhere import list_everywhere
from catmem.workspace.profile_memory import read_document
from catmem.writing.matching import entries_holding, find_entry
from catmem.writing.operation import Operation
from catmem.writing.terms import check_threats
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root
    from catmem.writing.written import Written


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
        category = next(each.category for each in learned.there.entries if each.body == entry.body)
        raise EditError(
            f"{source.name}/{target} says that already, in {category}",
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
    refused, as a proposal that was rejected before, stands in the result with its error; what waits there is left out.
    """
    selected = promoted_categories(workspace, categories)
    waits: dict[str, set[str]] = {}
    names = workspace.profiles() if name is None else (workspace.profile(name).name,)
    found: list[Promoted] = []
    for profile in map(workspace.profile, names):
        if profile.seed_from is None:
            continue
        source = workspace.profile(profile.seed_from)
        for target in TARGETS:
            learned = _Learned(workspace, profile, source, target)
            entity = f"{source.name}/{target}"
            there = waits[entity] = waits.get(entity, set()) or _waiting(workspace, entity)
            for entry in learned.entries:
                if entry.body in there or not selected.matches(entry.category):
                    continue
                done = Promoted(profile.name, source.name, target, entry)
                try:
                    reason = f"learned by {profile.name}"
                    written = learned.bring(entry, reason, proposes=True, dry_run=dry_run, on_behalf=profile.name)
                    found.append(replace(done, written=written))
                    there.add(entry.body)
                except CatmemError as error:
                    found.append(replace(done, error=error))
    return found


def promoted_categories(workspace: Root, categories: Sequence[str] = ()) -> Selectors:
    """Which categories go up: ``categories``, else those of ``approval.promote``."""
    policy, taxonomy = workspace.config.approval, workspace.config.taxonomy
    if policy is not None and not categories:
        return policy.promote
    return Selectors(taxonomy.resolved(categories), taxonomy.closed_slugs)


def unmatched_selectors(workspace: Root, categories: Sequence[str] = ()) -> dict[str, str]:
    """Those of ``promoted_categories`` that fit no declared category and none of any file, each with a hint."""
    known = {*(each.entry.category for each in list_everywhere(workspace)[0]), *workspace.config.taxonomy.categories}
    unmatched = promoted_categories(workspace, categories).unmatched(known)
    return {each: suggestion(each, known, "categories") for each in unmatched}


def _waiting(workspace: Root, entity: str) -> set[str]:
    """The words that wait to come into a file, from any proposer."""
    waiting = (each for each in ProposalReader(workspace, entity).open() if each.state == "waiting")
    return {change.after.body for each in waiting for change in each.changes if change.after is not None}


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
        own, self.there = (read_document(workspace, each, target) for each in (profile, source))
        known = {each.body for each in self.there.entries}
        self.entries = [each for each in own.entries if each.body not in known]
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
            self._operations(entry, keeps_day=not proposes),
            target=self._target,
            reason=reason,
            proposes=proposes,
            dry_run=dry_run,
            on_behalf=on_behalf,
        )

    def _operations(self, entry: Entry, *, keeps_day: bool) -> list[Operation]:
        """The day of its verification goes up with the same words if a person brings them, as a seed takes it down."""
        verified = read_date(entry.tags.get("verified_date")) if keeps_day else None
        left = "created" if verified else "created verified_date"
        tags: dict[str, Any] = {key: value for key, value in entry.tags.items() if key not in left.split()}
        like = self._like(entry)
        if like is None:
            day: date | None = read_date(entry.tags.get("created"))
            return [Operation("add", content=entry.body, category=entry.category, tags=tags or None, as_of=day)]
        given = {"verified_date": None} if verified else None
        verify = Operation("verify", old_text=entry.body, category=like.category, as_of=verified)
        reworded = Operation("replace", content=entry.body, old_text=like.id, category=like.category, tags=given)
        return [reworded, verify] if verified else [reworded]

    def _like(self, entry: Entry) -> Entry | None:
        """The entry of the source that these words are a rewording of."""
        origin = self._origins.get(entry.start)
        seeded = [each for each in self.there.entries if origin is not None and each.body == origin.body]
        beside = [each for each in self.there.entries if each.category == entry.category]
        return next(iter(seeded + [each for each in beside if nearly_same(each.body, entry.body)]), None)
