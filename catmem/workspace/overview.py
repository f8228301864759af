"""A root at a glance: each profile with what it holds, is due and waits; and what is next for a person.

What was worked out of a profile's files is used again as long as everything that it depends on is the same: the bytes
of the files, the revisions and branches, the profile, the lock of seeds, and the day.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from shlex import quote
from typing import Any, NamedTuple, TypeAlias, TypeVar

from catmem import clock
from catmem.config.access import all_problems, meant_category
from catmem.config.profile import ORCHESTRATOR_TIER, Profile
from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.merging.branches import branches_of_all
from catmem.model.slips import heading_slips
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED, parts_of
from catmem.prompt.sizes import Sizes, Use, WholeSizes, measure
from catmem.proposals.promoting import Learned, promoted_categories, proposed
from catmem.proposals.proposal import ProposalReader, proposals
from catmem.seeding.plan import SeedRequest, seed_order
from catmem.seeding.planner import plan_seed
from catmem.seeding.seed_lock import SeedFile, SeedLock, copies_among
from catmem.seeding.slices import SeedRowState
from catmem.staleness.review import Copies, asked_about, due_facts
from catmem.store.contract import EXTERNAL, Revision
from catmem.text import conflict_at, counted, few, plural
from catmem.workspace.profile_memory import LostEntries, lost_entries
from catmem.workspace.reports import Fleet, ProfileFiles, files_of, fleet_of
from catmem.workspace.root import Root, collect_errors, load_each
from catmem.workspace.seen_entry import rules_in
from catmem.workspace.upkeep import path_from, unowned_homes

T = TypeVar("T")

_ARRIVING: tuple[SeedRowState, ...] = ("new", "changed_in_source", "changed_in_both", "removed_from_source")


class FileFacts(NamedTuple):
    """What one file holds: entries by category, ids of all, facts that are due (id, state), git's markers, bad tags."""

    held: Mapping[str, int]
    ids: frozenset[str]
    due: tuple[tuple[str, str], ...]
    is_marked: bool
    bad_tags: int
    headings: int  # which look like a section header and are text of an entry


class SeedState(NamedTuple):
    """How a profile stands to its ``source``; ``conflicts`` were changed on both sides, ``known``: seeded before.

    ``learned`` are entries that the profile added or reworded, and the source has not. ``others`` are other sources
    that have no more of what they gave it.
    """

    source: str
    arriving: int = 0
    conflicts: int = 0
    known: bool = True
    learned: int = 0
    others: tuple[str, ...] = ()
    problems: tuple[CatmemError, ...] = ()

    @property
    def in_step(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.arriving or self.conflicts or self.problems)


@dataclass(frozen=True, slots=True)
class ProfileOverview:
    """One profile. ``files`` are those that can be read, by entity; ``sizes`` is ``None`` if that is not both.

    ``beside`` are the entities with branches or proposals, ``outside`` those with an external change since the last
    revision, ``lost`` what such changes took out. ``folder`` is where the files are: two profiles may share one.
    """

    profile: Profile
    folder: str
    beside: tuple[str, ...]
    outside: tuple[str, ...]
    lost: tuple[LostEntries, ...]
    problems: tuple[CatmemError, ...]
    files: Mapping[str, FileFacts] = field(default_factory=dict)
    sizes: Sizes | None = None
    seeded: SeedState | None = None

    @property
    def name(self) -> str:
        """The name of the profile."""
        return self.profile.name

    @property
    def slice_of(self) -> str | None:
        """The profile whose slice it holds; ``None`` also for one that holds nothing yet."""
        return self.seeded.source if self.seeded and self.sizes and self.sizes.entries else None

    @property
    def due(self) -> Counter[str]:
        """The states of its facts that are due."""
        return Counter(state for facts in self.files.values() for _, state in facts.due)

    @property
    def fullest(self) -> Use | None:
        """The budget or limit that is used up the most; ``None`` without any."""
        if self.sizes is None:
            return None
        budgets = [use._replace(name=f"prompt, {use.name}") for use in self.sizes.budgets]
        limits = [use._replace(name=f"file, {use.name}") for use in self.sizes.limits]
        return max([*budgets, *limits], key=lambda use: use.used / use.of if use.of else 1, default=None)


@dataclass(frozen=True, slots=True)
class Overview:
    """All profiles by tier and name. ``copies`` are the entries that stand as they were seeded.

    ``declared`` are the declared entities with an external change since the last revision.
    """

    as_of: date
    lines: tuple[ProfileOverview, ...]
    copies: Copies
    problems: tuple[CatmemError, ...]
    declared: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, FileFacts]:
        """All files that can be read, by entity."""
        return {entity: facts for line in self.lines for entity, facts in line.files.items()}

    @property
    def unsorted(self) -> dict[str, int]:
        """How many entries without a category each file has that has any."""
        files = self.files.items()
        return {entity: facts.held[UNCATEGORIZED] for entity, facts in files if facts.held.get(UNCATEGORIZED)}

    @property
    def outside(self) -> dict[str, str]:
        """The readable entities with an external change that no person looked at, and the revision before a loss."""
        read, lost = self.files, {each.entity: each.before for line in self.lines for each in line.lost}
        changed = {entity: "" for line in self.lines for entity in line.outside} | lost
        return {each: changed[each] for each in changed if each in read} | dict.fromkeys(self.declared, "")

    @property
    def waiting(self) -> Counter[str]:
        """The states of the facts that a review asks about."""
        files: dict[tuple[str, str], tuple[str, FileFacts]] = {}
        for line in self.lines:
            for entity, facts in line.files.items():
                files.setdefault((line.folder, parts_of(entity).target), (entity, facts))
        due = [((entity, fact), state) for entity, facts in files.values() for fact, state in facts.due]
        ids = {entity: facts.ids for entity, facts in self.files.items()}
        return Counter(asked_about(due, ids, self.copies))


class _Now(NamedTuple):
    """A profile's files as they are now, with what their histories say of them; all else depends on ``stamp``."""

    files: ProfileFiles
    line: ProfileOverview
    stamp: list[object]


class Overviews:
    """Overviews of one root, one after the other. Safe to use from several threads."""

    def __init__(self, workspace: Root) -> None:
        """Nothing is looked at yet."""
        self.workspace = workspace
        self._known: dict[tuple[str, str], tuple[object, Any]] = {}
        """What was worked out, by what it is and of which profile, with what it depends on."""
        self._lock = threading.Lock()

    def read(self, as_of: date | None = None) -> Overview:
        """The root as it is now, on a day, by default today. Raises ``UnreadableError`` for the folder of profiles."""
        day = clock.day(as_of)
        profiles, problems = load_each(self.workspace)
        with self._lock:
            now = {profile.name: _now(self.workspace, profile) for profile in profiles}
            lock, seeds, wrong = self._seeds(now, day)
            lines = [self._line(each, seeds.get(name), day) for name, each in now.items()]
        ids = {entity: facts.ids for line in lines for entity, facts in line.files.items()}
        in_order = tuple(sorted(lines, key=lambda line: (line.profile.tier, line.name)))
        declared, store = list[str](), self.workspace.store
        for entity in self.workspace.config.entities:
            with collect_errors(wrong):
                declared += [entity] if _is_outside(store.head(entity), store.read(entity).digest) else []
        copies = copies_among(lock.records.values(), ids.get)
        return Overview(day, in_order, copies, (*problems, *wrong), tuple(declared))

    def _once(self, kind: str, name: str, stamp: object, make: Callable[[], T]) -> T:
        """What was made before of the same, or else what is made now."""
        if (kind, name) not in self._known or self._known[kind, name][0] != stamp:
            self._known[kind, name] = stamp, make()
        found: T = self._known[kind, name][1]
        return found

    def _line(self, now: _Now, seeded: SeedState | None, day: date) -> ProfileOverview:
        look = partial(_looked_at, self.workspace, now.files, day)
        files, sizes, wrong = self._once("files", now.line.name, (now.stamp, day), look)
        return replace(now.line, files=files, sizes=sizes, seeded=seeded, problems=(*wrong, *now.line.problems))

    def _seeds(self, now: Mapping[str, _Now], day: date) -> tuple[SeedLock, dict[str, SeedState], list[CatmemError]]:
        """The lock of seeds, how each profile stands to its source, and what could not be looked at."""
        profiles, file = {name: each.files.profile for name, each in now.items()}, SeedFile(self.workspace)
        try:
            sources, wrong = seed_order(self.workspace, profiles)
            digest = bytes_digest(file.data())
            lock = self._once("lock", "", digest, lambda: file.read()[1])
        except CatmemError as error:
            return SeedLock({}), {}, [error]
        found: dict[str, SeedState] = {}
        gave = {(parts_of(giver).owner, parts_of(target).owner) for target, giver in lock.records}
        for source, targets in sources.items():
            if source not in now:
                continue
            stamps = {
                name: (digest, day, [now[each].stamp for each in now if each in {source, name} or (each, name) in gave])
                for name in targets
                if name in now
            }
            # What is new is planned together, so that the source is read once.
            new = [name for name, stamp in stamps.items() if self._known.get(("seed", name), (None,))[0] != stamp]
            planned = _planned_seeds(self.workspace, profiles, lock, SeedRequest(source, new, as_of=day)) if new else {}
            self._known |= {("seed", name): (stamps[name], state) for name, state in planned.items()}
            found |= {name: self._known["seed", name][1] for name in stamps}
        return lock, found, list(wrong)


def _now(workspace: Root, profile: Profile) -> _Now:
    files = files_of(workspace, profile)
    stamp: list[object] = [profile, *map(str, files.problems)]
    beside, outside, lost, problems = list[str](), list[str](), list[LostEntries](), list[CatmemError]()
    for target, data in files.texts.items():
        entity, digest = f"{profile.name}/{target}", bytes_digest(data)
        tips: Sequence[Revision] = ()
        with collect_errors(problems):  # a history that cannot be read hides nothing of the file itself
            tips = workspace.store.branches(entity)
            found = lost_entries(workspace, entity, data) if tips else None
            lost += [found] if found else []
        stamp += [target, digest, [tip.revision for tip in tips]]
        beside += [entity] if any(tip.is_branch for tip in tips) else []
        outside += [entity for tip in tips if not tip.is_branch and _is_outside(tip, digest)]
    folder = next((os.path.realpath(path.parent) for path in files.paths.values()), "")
    line = ProfileOverview(profile, folder, tuple(beside), tuple(outside), tuple(lost), tuple(problems))
    return _Now(files, line, stamp)


def _is_outside(head: Revision | None, digest: str) -> bool:
    """Whether another program changed an entity since, and neither a write nor a person has taken that up."""
    return head is not None and (head.digest != digest or (head.agent == EXTERNAL and bool(head.parents)))


def _looked_at(
    workspace: Root, files: ProfileFiles, day: date
) -> tuple[dict[str, FileFacts], Sizes | None, list[CatmemError]]:
    """What the files of a profile hold, what they and its prompt come to, and what cannot be read of them."""
    profile = files.profile
    documents, wrong = files.documents(workspace)
    held: dict[str, FileFacts] = {}
    for target, document in documents.items():
        entity = f"{profile.name}/{target}"
        try:
            due = due_facts(workspace, profile, entity, document, day)
        except CatmemError as error:
            wrong.append(error)
            continue
        held[entity] = FileFacts(
            {category: len(entries) for category, entries in document.by_category.items()},
            frozenset(entry.id for entry in document.entries),
            tuple((fact.entry.id, fact.state) for fact in due),
            conflict_at(document.text) is not None,
            sum(problem.rule == "bad-tag" for problem in all_problems(document, workspace.config)),
            len([*heading_slips(document, workspace.config.taxonomy.named)]),
        )
    is_whole = len(held) == len(TARGETS)
    sizes = measure(WholeSizes(profile, documents, workspace.config, day), profile) if is_whole else None
    return held, sizes, wrong


def _planned_seeds(
    workspace: Root, profiles: Mapping[str, Profile], lock: SeedLock, asked: SeedRequest
) -> dict[str, SeedState]:
    source, names = asked.source, list(asked.targets or ())
    try:
        plan = plan_seed(workspace, asked)
    except CatmemError as error:
        return dict.fromkeys(names, SeedState(source, problems=(error,)))
    found: dict[str, SeedState] = {}
    for name in names:
        files = [each for each in plan.files if parts_of(each.target).owner == name]
        problems = [each.error for each in plan.refused if parts_of(each.name).owner == name]
        learned = 0
        with suppress(CatmemError):  # of a file that cannot be read, which the plan names
            learned = _learned(workspace, lock, profiles[name], profiles[source])
        found[name] = SeedState(
            source,
            arriving=sum(each.count(*_ARRIVING) for each in files),
            conflicts=sum(len(each.conflicts) for each in files),
            known=any(each.is_known for each in files),
            learned=learned,
            others=tuple(source for entity, source in plan.others if parts_of(entity).owner == name),
            problems=tuple(problems),
        )
    return found


def _learned(workspace: Root, lock: SeedLock, profile: Profile, source: Profile) -> int:
    """How many entries a profile added or reworded that its source has not, and that nothing else decides on."""
    count = 0
    for target in TARGETS:
        learned = Learned(workspace, lock, profile, source, target)
        waiting = proposed(ProposalReader(workspace, learned.above).open(), "waiting")
        found = learned.to_bring(promoted_categories(workspace), waiting | learned.rejected())
        # What the scan finds something in no promotion takes.
        count += sum(not (learned.is_in_conflict(each) or rules_in([each.body])) for each in found)
    return count


# --- what is next --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do: how many there are of a ``kind``, ``what`` in words, and the ``command`` that deals with it."""

    kind: str
    count: int
    what: str
    command: str


_StatusText: TypeAlias = tuple[str, int, str, str, str]
"""A kind, how many, what they are called (one, or one and several), what of them, and the command."""


@dataclass(frozen=True, slots=True)
class NextSteps:
    """What is next, each kind once, and the overview that says so. ``unreadable`` is what could not be looked at."""

    overview: Overview
    steps: tuple[NextStep, ...]
    unreadable: tuple[CatmemError, ...]
    __json__ = "as_of=overview.as_of next=steps"


def next_steps(workspace: Root, as_of: date | None = None, overviews: Overviews | None = None) -> NextSteps:
    """What is next, by default today. A page gives its ``overviews``."""
    overview = (overviews or Overviews(workspace)).read(as_of)
    wrong = [*overview.problems, *(error for line in overview.lines for error in line.problems)]
    said = (
        *_of_files(workspace, overview),
        *_of_homes(workspace, overview, wrong),
        *_of_external(workspace, overview),
        *_of_categories(workspace, overview),
        *_of_seeds(overview),
        *_of_branches(workspace, overview, wrong),
        *_of_changes(overview),
    )
    steps = (
        NextStep(kind, count, f"{counted(count, *thing.split('|'))} {words}", command)
        for kind, count, thing, words, command in said
        if count
    )
    return NextSteps(overview, tuple(steps), tuple({str(error): error for error in wrong}.values()))


def _of_files(workspace: Root, overview: Overview) -> Iterator[_StatusText]:
    """What is wrong in files, and has to be right before anything else is."""
    config, words = workspace.config, "of the root (catmem.yaml) that {}, so that every default holds"
    emptied, missing = (bool(overview.lines) and each for each in (config.is_empty, config.path is None))
    yield ("emptied", int(emptied), "configuration", words.format("says nothing"), "catmem lint --select CM401")
    yield ("unconfigured", int(missing), "configuration", words.format("is missing"), "catmem init")
    marked = sum(facts.is_marked for facts in overview.files.values())
    yield ("marked", marked, "file", "with git's conflict markers", "catmem lint --select CM113")
    out = {line.name: line.sizes.left_out for line in overview.lines if line.sizes}
    withheld = sum(each.get("blocked", 0) for each in out.values())
    yield ("withheld", withheld, "entry|entries", "with a secret or hostile text", "catmem lint --select CM6")
    cut = {name: each["over_budget"] for name, each in out.items() if each.get("over_budget")}
    over = [
        f"{FILE_NAMES[use.name]} of {line.name}: {use.used:,} of {use.of:,} characters"
        for line in overview.lines
        for use in (line.sizes.limits if line.sizes else ())
        if use.used > use.of
    ]
    yield ("full", len(over), "file", f"over its limit ({few(over)})", "catmem lint --select CM501")
    look = f"catmem prompt {next(iter(cut), '')} --explain"
    yield ("cut", sum(cut.values()), "entry|entries", f"without room in a prompt ({few(list(cut))})", look)
    bad_tags = sum(facts.bad_tags for facts in overview.files.values())
    yield ("tags", bad_tags, "tag", "whose value does not count", "catmem lint --select CM303")
    unsorted = overview.unsorted
    first, target = parts_of(next(iter(unsorted), ""))
    command = f"catmem sort -p {first}" + (f" -t {target}" if len(unsorted) == 1 else "")
    where = f" ({few(list(unsorted))})" if len(unsorted) > 1 else ""
    yield ("unsorted", sum(unsorted.values()), "entry|entries", f"without a category{where}", command)


def _of_homes(workspace: Root, overview: Overview, wrong: list[CatmemError]) -> Iterator[_StatusText]:
    """Folders of profiles that are gone or have another name; a profile that is not right may have any."""
    homes = {} if overview.problems else unowned_homes(workspace.config, [line.profile for line in overview.lines])
    if homes and not workspace.config.profiles_dir.is_dir():
        with collect_errors(wrong):  # it says that the folder of profiles is not there, as every command does
            workspace.profile(next(iter(homes)))
        return
    names = few([path_from(workspace.root, home) for home in homes.values()])
    words = f"that {plural(len(homes), 'belongs', 'belong')} to no profile ({names})"
    yield ("unowned", len(homes), "folder", words, f"catmem init --profile {quote(next(iter(homes), ''))}")


def _of_external(workspace: Root, overview: Overview) -> Iterator[_StatusText]:
    """What other programs did, which a seed would hand on, and what only looks like that: a write that was stopped."""
    heads = {each: workspace.store.head(each) for each in overview.outside}
    now = {each: workspace.store.read(each).revision for each in heads}
    # Of a write that is on its way what is there is the revision before it.
    outside = [each for each, head in heads.items() if now[each] in {None, head and head.revision}]
    stopped = len(heads) - len(outside)
    yield ("unfinished", stopped, "write", "that is not in its file yet", "catmem fsck --repair")
    lost = [each for line in overview.lines for each in line.lost if each.entity in outside]
    words = f"that another program took out ({few([each.entity for each in lost])})"
    look = next((f"catmem diff {each.entity} {each.before}" for each in lost), "")
    yield ("lost", sum(len(each.bodies) for each in lost), "entry|entries", words, look)
    yield ("outside", len(outside) - len(lost), "file", "changed by another program", "catmem status --adopt")


def _of_categories(workspace: Root, overview: Overview) -> Iterator[_StatusText]:
    """What no specialist reads, and what the profile does not read in whose file it is."""
    held = Counter[tuple[str, str]]()
    for entity, facts in overview.files.items():
        held.update({(category, parts_of(entity).target): count for category, count in facts.held.items()})
    fleet = fleet_of([line.profile for line in overview.lines], workspace.config.taxonomy, held)
    unread = [] if overview.problems else _unread(fleet)  # a profile that is not right may read them
    slips = fleet.slips()
    unread = [each for each in unread if each not in slips]
    meant = few([f"{each}: did you mean {near}?" for each, near in slips.items()])
    where = "catmem lint --select CM103,CM114"
    yield ("mistyped", len(slips), "category|categories", f"that no profile names ({meant})", where)
    taxonomy = fleet.taxonomy
    known = {*taxonomy.declared(), *(category for category, _ in held)}
    unmatched = [
        name.removeprefix("!")
        for profile in fleet.profiles
        for each in (*(profile.selectors(target, taxonomy) for target in TARGETS), profile.writable(taxonomy))
        for name in each.unmatched(known)
    ]
    near = {each: meant_category(each, known) for each in unmatched}
    said = [f"{each}: did you mean {name}?" for each, name in near.items() if name is not None]
    words = f"of profiles that {plural(len(said), 'matches', 'match')} nothing ({few(said)})"
    yield ("selectors", len(said), "selector", words, "catmem lint --select CM409")
    slipped = [entity for entity, facts in overview.files.items() if facts.headings]
    count = sum(overview.files[each].headings for each in slipped)
    yield ("headings", count, "heading", f"in the text of an entry ({few(slipped)})", "catmem lint --select CM104")
    yield ("unread", len(unread), "category|categories", f"that no specialist reads ({few(unread)})", "catmem access")
    hidden = Counter[str]()
    for line in overview.lines:
        for entity, facts in line.files.items():
            for category in facts.held.keys() - {UNCATEGORIZED, *unread}:
                cell = fleet.cells[category][line.name]
                # Its profile says that it may not read there.
                is_drop = cell.write and line.profile.tier != ORCHESTRATOR_TIER
                if not (is_drop or cell.reads(parts_of(entity).target)):
                    hidden[f"{line.name} {category}"] += facts.held[category]
    words = f"that the file's own profile does not read ({few(list(hidden))})"
    yield ("hidden", hidden.total(), "entry|entries", words, f"catmem access --why {next(iter(hidden), '')}")


def _unread(fleet: Fleet) -> list[str]:
    """The categories with entries that no specialist reads, although there are some, and that no profile names."""
    if all(each.tier == ORCHESTRATOR_TIER for each in fleet.profiles):
        return []
    named = {
        target: {name for each in fleet.profiles for name in each.selectors(target, fleet.taxonomy).names}
        for target in TARGETS
    }
    orphans = (each for each in fleet.orphans() if each.entries and each.category != UNCATEGORIZED)
    unread = (
        each.category
        for each in orphans
        if not any(each.category in names for target, names in named.items() if each.target in {None, target})
    )
    return [*dict.fromkeys(unread)]


def _of_seeds(overview: Overview) -> Iterator[_StatusText]:
    seeds = [line.seeded for line in overview.lines if line.seeded and not line.seeded.in_step]
    problems = [(each.source, each.problems[0]) for each in seeds if each.problems]
    clashing = sum(bool(each.conflicts) and not each.problems for each in seeds)
    behind = len(seeds) - len(problems) - clashing
    why, look = "", "catmem seed --all --dry-run"
    for source, error in problems[:1]:
        why = f"that cannot be seeded ({error.message})"
        look = {"not_utf8": "catmem fsck", "source_empty": _sort_of(overview, source)}.get(error.code) or look
    yield ("refused", len(problems), "profile", why, look)
    yield ("seed_conflicts", clashing, "profile", "in conflict with its source", "catmem seed --all --interactive")
    yield ("seeds", behind, "profile", f"behind {plural(behind, 'its source', 'their sources')}", "catmem seed --all")
    others = [(each, line.name) for line in overview.lines if line.seeded for each in line.seeded.others[:1]]
    again = "catmem seed {} {}".format(*others[0]) if others else ""
    yield ("other_seeds", len(others), "profile", "with old entries of another source", again)


def _sort_of(overview: Overview, source: str) -> str:
    """The command that sorts a source; an empty one if all its entries have a category."""
    return next((f"catmem sort -p {source}" for each in overview.unsorted if parts_of(each).owner == source), "")


def first_memory(workspace: Root, name: str) -> tuple[str, ...]:
    """What brings a profile without an entry those of its source, in a line; nothing if there is none to bring."""
    overview = Overviews(workspace).read()
    lines = [each for each in overview.lines if not (each.lost or any(facts.ids for facts in each.files.values()))]
    if (seeded := next((each.seeded for each in lines if each.name == name), None)) is None:
        return ()
    sort = "" if seeded.arriving else _sort_of(overview, seeded.source)
    way = f"'{sort}', and then 'catmem seed --all'" if sort else "'catmem seed --all'"
    return (f"{name} has no memory yet: {way} brings it",) if sort or seeded.arriving else ()


def _of_branches(workspace: Root, overview: Overview, wrong: list[CatmemError]) -> Iterator[_StatusText]:
    """Branches and proposals; what cannot be looked at is added to ``wrong``."""
    beside = [entity for line in overview.lines for entity in line.beside]
    branches, unreadable = branches_of_all(workspace, beside)
    waiting = [proposals(workspace, entity) for entity in beside]
    wrong += [*unreadable, *(error for _, errors in waiting for error in errors)]
    rough = [each.entity for each in branches if each.state not in {"merges", "nothing new"}]
    smooth, settle = len(branches) - len(rough), f"catmem merge {''.join(rough[:1])} --interactive"
    yield ("branch_conflicts", len(rough), "branch|branches", "with conflicts", settle)
    yield ("branches", smooth, "branch|branches", "to merge", "catmem merge --all")
    states = Counter(each.state for found, _ in waiting for each in found)
    stale = f" ({states['stale']:,} stale)" if states["stale"] else ""
    decide = states["waiting"] + states["stale"]
    yield ("proposals", decide, "proposal", f"for you to decide{stale}", "catmem proposals --interactive")


def _of_changes(overview: Overview) -> Iterator[_StatusText]:
    """What specialists learned, and what became old."""
    learned = sum(line.seeded.learned for line in overview.lines if line.seeded)
    yield ("learned", learned, "entry|entries", "that specialists added or reworded", "catmem promote --all")
    due = overview.waiting
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(due.items()))
    yield ("due", due.total(), "fact", f"due for review ({states})", "catmem review")
