"""The way up: what a specialist learned comes to the profile that it is seeded from, as proposals or by a person.

What is there already, or waits there, is not brought again. A rewording of a seeded entry, or of words that are nearly
the same, is brought as a rewording of that entry, so that no contradicting double comes to stand beside it. Where
another program changed that entry, a person looks at both wordings first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from catmem.clock import read_date
from catmem.config.config import Selectors
from catmem.config.json_schema import suggestion
from catmem.config.profile import ORCHESTRATOR_TIER, Profile
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, DriftError, EditError
from catmem.model.document import Entry, Version
from catmem.model.pairing import nearly_same, pair_entries
from catmem.names import TARGETS, parts_of
from catmem.proposals.proposal import Proposal, ProposalReader
from catmem.seeding.seed_lock import SeedFile, SeedLock
from catmem.seeding.slices import named_of
from catmem.workspace.profile_memory import read_document
from catmem.workspace.reports import list_everywhere
from catmem.workspace.root import Root, collect_errors, load_each
from catmem.writing.matching import VisibleEntries, entries_holding, find_entry
from catmem.writing.policy import check_threats
from catmem.writing.request import How, Operation
from catmem.writing.write import write_operations
from catmem.writing.written import Written


@dataclass(frozen=True, slots=True)
class Promoted:
    """One entry of ``profile`` and what became of it at ``source``: ``written``, or the ``error`` that refused it.

    ``replaced`` is the entry of the source that it rewords, if there is one.
    """

    profile: str
    source: str
    target: str
    entry: Entry
    replaced: Entry | None
    written: Written | None = None
    error: CatmemError | None = None
    __json__ = "profile source target category=entry.category body=entry.body replaces=replaced.body written error"


def promote(
    workspace: Root,
    name: str,
    old_text: str,
    to: str | None = None,
    *,
    category: str | None = None,
    **how: Unpack[How],
) -> Promoted:
    """Bring the entry of the profile ``name`` that holds ``old_text`` to the profile ``to``, as a person."""
    ((profile, source),), _ = promoted_between(workspace, name, to)
    target, entry = _named(workspace, profile, old_text, category)
    learned = Learned(workspace, SeedFile(workspace).read()[1], profile, source, target)
    if entry not in learned.entries:
        category = next(each.category for each in learned.there.entries if each.body == entry.body)
        said = f"{source.name}/{target} says that already, in {category}"
        raise EditError(said, code="not_new", hint="Nothing was written.")
    written = learned.promote_entry(entry, how)
    return Promoted(profile.name, source.name, target, entry, learned.like(entry), written=written)


def promote_learned(
    workspace: Root,
    name: str | None = None,
    *,
    categories: Sequence[str] = (),
    chosen: Callable[[Promoted], bool] = lambda _: True,
    dry_run: bool = False,
) -> tuple[list[Promoted], list[CatmemError]]:
    """Propose to each source what specialists, or the one called ``name``, learned in ``categories``, if ``chosen``.

    By default these are the categories of ``approval.promote`` in catmem.yaml, else all that the profiles of both sides
    name. The specialist is the proposer. What is refused, as a proposal that was rejected before, stands in the result
    with its error; what waits there, or stands as it was seeded, is left out. Behind it stands
    what could not be read. Raises ``EditError`` (``no_source``).
    """
    selected, lock = promoted_categories(workspace, categories), SeedFile(workspace).read()[1]
    waits: dict[str, set[str]] = {}
    found = list[Promoted]()
    between, unreadable = promoted_between(workspace, name)
    for profile, source in between:
        for target in TARGETS:
            with collect_errors(unreadable):
                learned = Learned(workspace, lock, profile, source, target)
                reader = ProposalReader(workspace, learned.above)
                there = waits[learned.above] = waits.get(learned.above) or proposed(reader.open(), "waiting")
                for entry in learned.to_bring(selected, there | (learned.rejected() if dry_run else set())):
                    done = Promoted(profile.name, source.name, target, entry, learned.like(entry))
                    if entry.body in there or not chosen(done):
                        continue
                    try:
                        learned.refuse_conflict(entry)
                        check_threats([entry.body], workspace.config, to_agent=True, allow_secret=False)
                        reason = f"added or reworded in {profile.name}/{target}"
                        how: How = {"reason": reason, "proposes": True, "dry_run": dry_run}
                        found.append(replace(done, written=learned.promote_entry(entry, how, on_behalf=profile.name)))
                        there.add(entry.body)
                    except CatmemError as error:
                        found.append(replace(done, error=error))
    return found, [*{str(each): each for each in unreadable}.values()]


def promoted_between(
    workspace: Root, name: str | None = None, to: str | None = None
) -> tuple[list[tuple[Profile, Profile]], list[CatmemError]]:
    """Each profile that learns, or ``name`` alone, with the one its facts go up to; and what is wrong with others."""
    every, wrong = load_each(workspace)
    if name is not None:
        profile = workspace.profile(name)
        # By default up to what it is seeded from, else to the one profile of tier 1.
        first = [each.name for each in every if each.tier == ORCHESTRATOR_TIER]
        up = to or profile.seed_from or (first[0] if len(first) == 1 and first[0] != name else None)
        if up is None:
            raise EditError(
                f"{name} is seeded from no profile", code="no_source", hint="Name where it goes: --to PROFILE."
            )
        return [(profile, workspace.profile(up))], []
    found = list[tuple[Profile, Profile]]()
    for each in every:
        with collect_errors(wrong):
            found += [(each, workspace.profile(each.seed_from))] if each.seed_from else []
    if not found:
        hint = "Name it in a profile (seed_from: NAME), or promote one entry: catmem promote -p NAME ENTRY --to NAME."
        raise wrong[0] if wrong else EditError("no profile is seeded from another", code="no_source", hint=hint)
    return found, wrong


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


def proposed(some: Iterable[Proposal], state: str) -> set[str]:
    """The words of those proposals that are in a state."""
    changes = (change for each in some if each.state == state for change in each.changes)
    return {change.after.body for change in changes if change.after is not None}


def _named(workspace: Root, profile: Profile, old_text: str, category: str | None) -> tuple[str, Entry]:
    """The one entry that a text means, and its file."""
    documents = {each: read_document(workspace, profile, each) for each in TARGETS}
    slug = None if category is None else workspace.config.taxonomy.category(category)
    held = [each for each in TARGETS if entries_holding(old_text, documents[each].entries, to_agent=False)]
    chosen = held[0] if held else TARGETS[0]
    document = documents[chosen]
    among = [each for each in document.entries if slug in {None, each.category}]
    entity = f"{profile.name}/{chosen}"
    entry, _ = find_entry(VisibleEntries(document, entity, document.entries, to_agent=False), old_text, among)
    return chosen, entry


class Learned:
    """What a file of a specialist has and that of its source has not."""

    def __init__(self, workspace: Root, lock: SeedLock, profile: Profile, source: Profile, target: str) -> None:
        """Both files are read."""
        self._workspace, self._profile, self._source, self._target = workspace, profile, source, target
        self._entity, self.above = f"{profile.name}/{target}", f"{source.name}/{target}"
        own, self.there = (read_document(workspace, each, target) for each in (profile, source))
        known = {each.body for each in self.there.entries}
        self.entries = [each for each in own.entries if each.body not in known]
        self._digest = bytes_digest(self.there.to_bytes())
        given = (each for (to, _), each in lock.records.items() if to == self._entity)
        self._given = {Version.read(each.category, each.text).body for record in given for each in record.entries}
        """The words that any source gave the profile."""
        record = lock.records.get((self._entity, self.above))
        seeded = [Version.read(each.category, each.text) for each in record.entries] if record else []
        held = [Version.read(each.category, each.kept or each.text) for each in record.entries] if record else []
        above = pair_entries(seeded, self.there.entries)
        self._origins = {
            own.entries[place].start: (seeded[index].body, self.there.entries[above[index]] if index in above else None)
            for index, place in pair_entries(held, own.entries).items()
        }
        """By the start of an entry the words with which it was seeded, and what the source has of it."""

    def to_bring(self, selected: Selectors, decided: Collection[str]) -> list[Entry]:
        """The entries that go up, without those whose words are ``decided`` there."""
        among = {each.category for each in self.entries}
        if selected.patterns:
            among = set(filter(selected.matches, among))
        else:
            for each in (self._profile, self._source):
                among = named_of(among, self._target, each, self._workspace.config.taxonomy)
        there = (each for each in self.entries if each.category in among and each.body not in decided)
        # What has the words that a seed gave it, was not learned: its source has other words by now, or took it out.
        return [each for each in there if each.body not in self._given]

    def rejected(self) -> set[str]:
        """The words that the profile proposed there in vain."""
        return proposed(ProposalReader(self._workspace, self.above).past(self._profile.name), "rejected")

    def is_in_conflict(self, entry: Entry) -> bool:
        """Whether both sides changed an entry since the seed."""
        seeded, above = self._origins.get(entry.start, ("", None))
        return above is not None and seeded not in {entry.body, above.body}

    def refuse_conflict(self, entry: Entry) -> None:
        """Raise ``EditError`` (``in_conflict``) for an entry that both sides changed since the seed."""
        if self.is_in_conflict(entry):
            source, name = self._source.name, parts_of(self._entity).owner
            raise EditError(
                f"{source}/{self._target} has other words for it since the seed, too",
                code="in_conflict",
                hint=f"Nothing was written. Say who wins: catmem seed {source} {name} --interactive",
            )

    def promote_entry(self, entry: Entry, how: How, on_behalf: str | None = None) -> Written:
        """Write one of the entries at the source, or propose it; so is what would change words of another program."""
        if not how.get("proposes"):
            try:
                self.refuse_conflict(entry)
                return self._write(entry, how)
            except CatmemError as error:
                if not (isinstance(error, DriftError) or error.code == "in_conflict"):
                    raise
                written = self.promote_entry(entry, {**how, "proposes": True}, on_behalf)
                return replace(written, notes=(*written.notes, error.message))
        return self._write(entry, {**how, "expected": self._digest}, on_behalf)

    def _write(self, entry: Entry, how: How, on_behalf: str | None = None) -> Written:
        name, operations = self._source.name, self._operations(entry, keeps_day=not how.get("proposes"))
        how = {**how, "target": self._target}
        return write_operations(self._workspace, name, operations, on_behalf=on_behalf, **how)

    def _operations(self, entry: Entry, *, keeps_day: bool) -> list[Operation]:
        """The day of its verification goes up with the same words if a person brings them, as a seed takes it down."""
        verified = read_date(entry.tags.get("verified_date")) if keeps_day else None
        tags: dict[str, Any] = {key: each for key, each in entry.tags.items() if verified or key != "verified_date"}
        like = self.like(entry)
        if like is None:
            tags.setdefault("created", None)  # what has none stays without
            return [Operation("add", content=entry.body, category=entry.category, tags=tags)]
        given = {"verified_date": None} if verified else None
        verify = Operation("verify", old_text=entry.body, category=like.category, as_of=verified)
        reworded = Operation("replace", content=entry.body, old_text=like.id, category=like.category, tags=given)
        return [reworded, verify] if verified else [reworded]

    def like(self, entry: Entry) -> Entry | None:
        """The entry of the source that these words are a rewording of."""
        _, above = self._origins.get(entry.start, ("", None))
        beside = (each for each in self.there.entries if each.category == entry.category)
        return above or next((each for each in beside if nearly_same(each.body, entry.body)), None)
