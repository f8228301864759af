"""A root at a glance: each profile with what it holds, is due and waits; and what is next for a person.

What was worked out of a profile's files is used again as long as everything that it depends on is the same: the bytes
of the files and their times, the revisions and branches, the profile, the lock of seeds, and the day.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from catmem import clock
from catmem.config.profile import ORCHESTRATOR_TIER, Profile, limit_of
from catmem.config.rights_table import FileCategory, Fleet, fleet_of
from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError
from catmem.merging.branches import branches_of_all
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.prompt.prompt import build_prompt
from catmem.prompt.sizes import Use, flat_size, percent_of
from catmem.proposals.promoting import Learned, promoted_categories, proposed
from catmem.proposals.proposal import ProposalReader, proposals
from catmem.seeding.lockfile import SeedFile, copies_among
from catmem.seeding.plan import SeedRequest, seed_order
from catmem.seeding.planner import plan_seed
from catmem.seeding.seed_lock import SeedLock
from catmem.seeding.slices import State
from catmem.staleness.due import answered_elsewhere, due_facts
from catmem.staleness.review import Round
from catmem.store.contract import EXTERNAL, Revision
from catmem.text import conflict_at, counted, few, size_of
from catmem.workspace.profile_memory import parsed_at
from catmem.workspace.root import Root, load_each
from catmem.workspace.stores import places

T = TypeVar("T")

_ARRIVING: tuple[State, ...] = ("new", "changed_in_source", "changed_in_both", "removed_from_source")


class Measure(NamedTuple):
    """What a profile's files and prompt come to; ``uses``, ``prompt`` and ``flat`` are in characters."""

    entries: int
    seen: int
    due: Mapping[str, int]
    withheld: int
    uses: tuple[Use, ...]
    prompt: int
    flat: int
    facts: tuple[tuple[tuple[str, str], str], ...]
    """The facts that are due: entity and id of each, and its state."""
    ids: Mapping[str, frozenset[str]]
    """The ids of all entries, by entity."""
    unsorted: Mapping[str, int]
    """How many entries without a category each file has."""
    marked: tuple[str, ...]
    """The entities with git's conflict markers."""
    categories: frozenset[FileCategory]
    """Where entries stand."""

    @property
    def fullest(self) -> Use | None:
        """The budget or limit that is used up the most; ``None`` without any."""
        return max(self.uses, key=lambda use: use.used / use.of if use.of else 1, default=None)


class SeedState(NamedTuple):
    """How a profile stands to its ``source``; ``conflicts`` were changed on both sides, ``known``: seeded before.

    ``learned`` are entries that the profile added or reworded, and the source has not.
    """

    source: str
    arriving: int = 0
    conflicts: int = 0
    known: bool = True
    learned: int = 0
    problems: tuple[CatmemError, ...] = ()

    @property
    def in_step(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.arriving or self.conflicts or self.problems)


@dataclass(frozen=True, slots=True)
class ProfileOverview:
    """One profile. ``measure`` is ``None`` where a file cannot be read: half a file is no measure."""

    name: str
    tier: int
    measure: Measure | None
    beside: tuple[str, ...]
    outside: tuple[str, ...]
    seeded: SeedState | None
    problems: tuple[CatmemError, ...]

    @property
    def slice_of(self) -> str | None:
        """The profile whose slice it holds; ``None`` also for one that holds nothing yet."""
        return self.seeded.source if self.seeded and self.measure and self.measure.entries else None


@dataclass(frozen=True, slots=True)
class Overview:
    """All profiles by tier and name. ``waiting`` are the facts that a review would ask about, each with its state."""

    as_of: date
    lines: tuple[ProfileOverview, ...]
    waiting: tuple[tuple[tuple[str, str], str], ...]
    problems: tuple[CatmemError, ...]
    profiles: tuple[Profile, ...] = field(repr=False)

    @property
    def entries(self) -> int:
        """How many entries all files hold."""
        return sum(line.measure.entries for line in self.lines if line.measure)

    @property
    def specialists(self) -> list[ProfileOverview]:
        """The profiles that hold a slice of another's memory, and can be measured; all that can, if none does."""
        measured = [line for line in self.lines if line.measure]
        return [line for line in measured if line.slice_of] or measured

    def flat(self, line: ProfileOverview) -> int:
        """The characters that a profile would load without sections: its source's flat files, or those of its own."""
        names = {line.name, line.slice_of}
        sizes = [each.measure.flat for each in self.lines if each.measure and each.name in names]
        return max(sizes, default=0)

    def saved(self, lines: Sequence[ProfileOverview]) -> tuple[int, int, float]:
        """The characters of these profiles' prompts, those without sections, and the percent saved (below 0: none)."""
        prompts = sum(line.measure.prompt for line in lines if line.measure)
        flat = sum(map(self.flat, lines))
        share = percent_of(prompts, flat)
        return prompts, flat, 0.0 if share is None else round(100 - share, 1)

    @property
    def outside(self) -> tuple[str, ...]:
        """The entities with an external change since the last revision."""
        return tuple(entity for line in self.lines for entity in line.outside)


class _Now(NamedTuple):
    """A profile's files as they are now. ``state`` is a digest of all that a measure depends on."""

    profile: Profile
    paths: Mapping[str, Path]
    texts: Mapping[str, bytes]
    state: str
    beside: tuple[str, ...]
    outside: tuple[str, ...]
    problems: tuple[CatmemError, ...]


class Overviews:
    """Overviews of one root, one after the other. Safe to use from several threads."""

    def __init__(self, workspace: Root) -> None:
        """Nothing is looked at yet."""
        self.workspace = workspace
        self._known: dict[tuple[str, str], tuple[object, Any]] = {}
        """What was worked out of a profile, with what it depends on."""
        self._lock = threading.Lock()

    def read(self, as_of: date | None = None) -> Overview:
        """The root as it is now, on a day, by default today. Raises ``UnreadableError`` for the folder of profiles."""
        day = as_of or clock.today()
        profiles, problems = load_each(self.workspace)
        with self._lock:
            now = {profile.name: _now(self.workspace, profile) for profile in profiles}
            seeds, wrong = self._seeded(now, day)
            lines = [self._line(each, seeds.get(name), day) for name, each in now.items()]
            waiting = self._waiting(lines)
        in_order = tuple(sorted(lines, key=lambda line: (line.tier, line.name)))
        return Overview(day, in_order, waiting, (*problems, *wrong), tuple(profiles))

    def _once(self, kind: str, name: str, stamp: object, make: Callable[[], T]) -> T:
        """What was made before of the same, or else what is made now."""
        if (kind, name) not in self._known or self._known[kind, name][0] != stamp:
            self._known[kind, name] = stamp, make()
        found: T = self._known[kind, name][1]
        return found

    def _waiting(self, lines: Sequence[ProfileOverview]) -> tuple[tuple[tuple[str, str], str], ...]:
        measures = [line.measure for line in lines if line.measure]
        ids = {entity: known for measure in measures for entity, known in measure.ids.items()}
        file = SeedFile(self.workspace.root)
        try:
            lock = self._once("lock", "", bytes_digest(file.data()), lambda: file.read()[1])
        except CatmemError:
            lock = SeedLock({})  # the seeds of every line say so
        copies = copies_among(lock, ids.get)
        facts = [fact for measure in measures for fact in measure.facts]
        due = {key for key, _ in facts}
        return tuple(
            (key, state)
            for key, state in facts
            if key not in copies or not answered_elsewhere(key, copies, ids, lambda *other: other in due)
        )

    def _line(self, now: _Now, seeded: SeedState | None, day: date) -> ProfileOverview:
        profile, measure, problems = now.profile, None, now.problems
        if len(now.texts) == len(TARGETS):
            make = partial(_measured, self.workspace, now, day)
            try:
                measure = self._once("measure", profile.name, (profile, now.state, day), make)
            except CatmemError as error:
                problems = (*problems, error)
        return ProfileOverview(profile.name, profile.tier, measure, now.beside, now.outside, seeded, problems)

    def _seeded(self, now: Mapping[str, _Now], day: date) -> tuple[dict[str, SeedState], list[CatmemError]]:
        profiles = {name: each.profile for name, each in now.items()}
        try:
            order, wrong = seed_order(self.workspace, profiles)
            lock = bytes_digest(SeedFile(self.workspace.root).data())
        except CatmemError as error:
            return {}, [error]
        found: dict[str, SeedState] = {}
        for source, targets in order:
            both = [name for name in targets if source in now and name in now]
            stamps = {
                name: (lock, day, *((profiles[each], now[each].state) for each in (source, name))) for name in both
            }
            known = {name: self._known.get(("seeded", name), (None,))[0] for name in both}
            new = [profiles[name] for name, stamp in stamps.items() if known[name] != stamp]
            planned = _planned_seeds(self.workspace, profiles, source, new, day) if new else {}
            for name, stamp in stamps.items():
                found[name] = self._once("seeded", name, stamp, partial(planned.__getitem__, name))
        return found, list(wrong)


def _now(workspace: Root, profile: Profile) -> _Now:
    try:
        paths = places(workspace.config, profile)
    except CatmemError as error:
        return _Now(profile, {}, {}, "", (), (), (error,))
    texts: dict[str, bytes] = {}
    problems: list[CatmemError] = []
    state: list[object] = []
    beside: list[str] = []
    outside: list[str] = []
    for target in TARGETS:
        entity = f"{profile.name}/{target}"
        try:
            texts[target] = data = workspace.bytes_of(profile, target, paths[target])
            digest = bytes_digest(data)
            state += [digest, _time_of(paths[target])]
            # A history that cannot be read hides nothing of the file itself.
            tips = workspace.store.branches(entity)
        except CatmemError as error:
            problems.append(error)
            continue
        state.append([tip.revision for tip in tips])
        beside += [entity] if any(tip.is_branch for tip in tips) else []
        outside += [entity for tip in tips if not tip.is_branch and _is_outside(tip, digest)]
    return _Now(profile, paths, texts, content_digest(state), tuple(beside), tuple(outside), tuple(problems))


def _planned_seeds(
    workspace: Root, profiles: Mapping[str, Profile], source: str, targets: Sequence[Profile], day: date
) -> dict[str, SeedState]:
    names = [each.name for each in targets]
    try:
        plan = plan_seed(workspace, SeedRequest(source, names, as_of=day), profiles)
    except CatmemError as error:
        return dict.fromkeys(names, SeedState(source, problems=(error,)))
    found: dict[str, SeedState] = {}
    for target in targets:
        files = [each for each in plan.files if each.target.partition("/")[0] == target.name]
        problems = [each.error for each in plan.refused if each.name.partition("/")[0] == target.name]
        found[target.name] = SeedState(
            source,
            arriving=sum(each.count(*_ARRIVING) for each in files),
            conflicts=sum(len(each.conflicts) for each in files),
            known=any(each.is_known for each in files),
            learned=0 if problems else _learned(workspace, target, profiles[source]),
            problems=tuple(problems),
        )
    return found


def _learned(workspace: Root, profile: Profile, source: Profile) -> int:
    """How many entries a profile added or reworded that its source has not, and that nothing else decides on."""
    selected, lock = promoted_categories(workspace), SeedFile(workspace.root).read()[1]
    count = 0
    for target in TARGETS:
        learned = Learned(workspace, lock, profile, source, target)
        waiting = proposed(ProposalReader(workspace, learned.above).open(), "waiting")
        found = learned.to_bring(selected, waiting | learned.rejected())
        count += sum(not learned.is_in_conflict(each) for each in found)
    return count


def _measured(workspace: Root, now: _Now, day: date) -> Measure:
    profile, config = now.profile, workspace.config
    documents = {target: parsed_at(workspace, data, now.paths[target]) for target, data in now.texts.items()}
    entities = {f"{profile.name}/{target}": document for target, document in documents.items()}
    prompt = build_prompt(documents, profile, as_of=day, config=config)
    manifest = prompt.manifest
    facts = [
        fact for entity, document in entities.items() for fact in due_facts(workspace, profile, entity, document, day)
    ]
    sizes = {**manifest.sizes, "total": len(prompt.text)}
    uses = [Use(f"prompt, {name}", sizes.get(name, 0), budget) for name, budget in sorted(manifest.budget.items())]
    for target, document in documents.items():
        limit = limit_of(profile, target, config)
        uses += [Use(f"file, {target}", size_of(document.text), limit)] if limit is not None else []
    return Measure(
        entries=sum(len(document.entries) for document in documents.values()),
        seen=len(manifest.rows),
        due=Counter(fact.state for fact in facts),
        withheld=sum(row.status == "blocked" for row in manifest.rows),
        uses=tuple(uses),
        prompt=len(prompt.text),
        flat=flat_size(documents.values()).characters,
        facts=tuple((fact.key, fact.state) for fact in facts),
        ids={entity: frozenset(entry.id for entry in document.entries) for entity, document in entities.items()},
        unsorted={entity: len(each.by_category.get(UNCATEGORIZED, ())) for entity, each in entities.items()},
        marked=tuple(entity for entity, each in entities.items() if conflict_at(each.text) is not None),
        categories=frozenset(
            FileCategory(category, target) for target, each in documents.items() for category in each.by_category
        ),
    )


def _is_outside(head: Revision, digest: str) -> bool:
    """Whether another program changed a file since, and neither a write nor a person has taken that up."""
    return head.digest != digest or (head.agent == EXTERNAL and bool(head.parents))


def _time_of(path: Path) -> int:
    """When a file was changed last, which dates entries that nothing else does; 0 where there is no file."""
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns  # noqa: PTH116 - a path without a look at its target
    except OSError:
        return 0


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
    """What is next, by default today. A page gives its ``overviews``, and asks about all of a round of reviews."""
    overview = (overviews or Overviews(workspace)).read(as_of)
    passed = Counter() if overviews else Round.read(workspace.root).passed.copy()
    beside = [entity for line in overview.lines for entity in line.beside]
    branches = branches_of_all(workspace, beside)
    waiting = [proposals(workspace, entity, as_of=as_of) for entity in beside]
    wrong = [*overview.problems, *(error for line in overview.lines for error in line.problems)]
    learned = sum(line.seeded.learned for line in overview.lines if line.seeded)
    rough = [each.entity for each in branches.branches if each.state not in {"merges", "nothing new"}]
    smooth, settle = len(branches.branches) - len(rough), f"catmem merge {''.join(rough[:1])} --interactive"
    there = Counter(each for line in overview.lines if line.measure for each in line.measure.categories)
    unread = _unread(fleet_of(overview.profiles, workspace.config.taxonomy, there))
    empty = [each for each in overview.outside if not workspace.store.peek(each).strip()]
    emptied = f" ({few(empty)} has become empty)" if empty else ""
    states = Counter(each.state for found in waiting for each in found.proposals)
    stale = f" ({states['stale']:,} stale)" if states["stale"] else ""
    decide = states["waiting"] + states["stale"]
    due = _still_asked(overview.waiting, passed)
    states_due = ", ".join(f"{number:,} {state}" for state, number in sorted(due.items()))
    said = (
        *_of_files(overview),
        ("unread", len(unread), "category|categories", f"that no specialist reads ({few(unread)})", "catmem access"),
        *_of_seeds(overview),
        ("branch_conflicts", len(rough), "branch|branches", "with conflicts", settle),
        ("branches", smooth, "branch|branches", "to merge", "catmem merge --all"),
        ("proposals", decide, "proposal", f"for you to decide{stale}", "catmem proposals --interactive"),
        ("learned", learned, "entry|entries", "that specialists added or reworded", "catmem promote --all"),
        ("outside", len(overview.outside), "file", f"changed by another program{emptied}", "catmem status --adopt"),
        ("due", due.total(), "fact", f"due for review ({states_due})", "catmem review"),
    )
    steps = (
        NextStep(kind, count, f"{counted(count, *thing.split('|'))} {words}", command)
        for kind, count, thing, words, command in said
        if count
    )
    wrong += [*branches.unreadable, *(error for found in waiting for error in found.unreadable)]
    return NextSteps(overview, tuple(steps), tuple({str(error): error for error in wrong}.values()))


def _still_asked(waiting: Sequence[tuple[tuple[str, str], str]], passed: Counter[tuple[str, str]]) -> Counter[str]:
    """The states of the facts that a review still asks about: an answered one of several alike is counted once."""
    found: Counter[str] = Counter()
    for key, state in waiting:
        if passed[key] > 0:
            passed[key] -= 1
        else:
            found[state] += 1
    return found


def _of_files(overview: Overview) -> Iterator[_StatusText]:
    """What is wrong in files, and has to be right before anything else is."""
    measures = [line.measure for line in overview.lines if line.measure]
    marked = sum(len(each.marked) for each in measures)
    unsorted = {name: number for each in measures for name, number in each.unsorted.items() if number}
    yield ("marked", marked, "file", "with git's conflict markers", "catmem lint --select CM113")
    withheld = sum(each.withheld for each in measures)
    yield ("withheld", withheld, "entry|entries", "with a secret or hostile text", "catmem lint --select CM6")
    first, _, target = next(iter(unsorted), "").partition("/")
    command = f"catmem sort -p {first}" + (f" -t {target}" if len(unsorted) == 1 else "")
    where = f" ({few(list(unsorted))})" if len(unsorted) > 1 else ""
    yield ("unsorted", sum(unsorted.values()), "entry|entries", f"without a category{where}", command)


def _unread(fleet: Fleet) -> list[str]:
    """The categories with entries that no specialist reads, although there are some, and that no profile names."""
    if all(each.tier == ORCHESTRATOR_TIER for each in fleet.profiles):
        return []
    named = {
        target: {name for each in fleet.profiles for name in each.selectors(target, fleet.taxonomy).names}
        for target in TARGETS
    }
    return [
        each.category
        for each in fleet.orphans()
        if each.entries
        and each.category != UNCATEGORIZED
        and not any(each.category in names for target, names in named.items() if each.target in {None, target})
    ]


def _of_seeds(overview: Overview) -> Iterator[_StatusText]:
    seeds = [line.seeded for line in overview.lines if line.seeded and not line.seeded.in_step]
    problems = [each.problems[0] for each in seeds if each.problems]
    clashing = sum(bool(each.conflicts) and not each.problems for each in seeds)
    behind = len(seeds) - len(problems) - clashing
    why = f"that cannot be seeded ({problems[0].message})" if problems else ""
    yield ("refused", len(problems), "profile", why, "catmem seed --all --dry-run")
    settle = "catmem seed --all --interactive"
    yield ("seed_conflicts", clashing, "profile", "in conflict with its source", settle)
    whose = "its source" if behind == 1 else "their sources"
    yield ("seeds", behind, "profile", f"behind {whose}", "catmem seed --all")
