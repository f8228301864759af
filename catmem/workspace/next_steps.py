"""What is next for a person in a root: one list, in the order in which it is best done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.config.profile import ORCHESTRATOR_TIER
from catmem.digest import record_dict
from catmem.errors import CatmemError
from catmem.merging.branches import branches_of_all
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.proposals.promoting import promotable
from catmem.proposals.proposal import proposals
from catmem.staleness.review import Round
from catmem.text import counted, few
from catmem.workspace.fleet import read_access
from catmem.workspace.overview import Overviews

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from catmem.config.rights_table import Fleet
    from catmem.workspace.overview import Overview
    from catmem.workspace.root import Root


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do: how many there are of a ``kind``, ``what`` in words, and the ``command`` that deals with it."""

    kind: str
    count: int
    what: str
    command: str


_Said: TypeAlias = tuple[str, int, str, str, str]
"""A kind, how many, what they are called (one, or one and several), what of them, and the command."""


@dataclass(frozen=True, slots=True)
class NextSteps:
    """What is next, each kind once, and the overview that says so. ``unreadable`` is what could not be looked at."""

    overview: Overview
    steps: tuple[NextStep, ...]
    unreadable: tuple[CatmemError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The list as JSON-ready data."""
        return {"as_of": self.overview.as_of.isoformat(), "next": list(map(record_dict, self.steps))}


def next_steps(workspace: Root, as_of: date | None = None, overviews: Overviews | None = None) -> NextSteps:
    """What is next, by default today. Writes nothing.

    Merges, seeds and the way up are planned for it: with ``overviews`` only where something changed since they were.
    Raises ``UnreadableError`` for the folder of profiles, and ``ConfigError`` where no root is.
    """
    overview = (overviews or Overviews(workspace)).read(as_of)
    if overviews is None:
        return _planned(workspace, overview, as_of, Round.read(workspace.root).passed)
    stamp = overview.stamp, workspace.store.marks(workspace.config.entities)
    if overviews.steps is None or overviews.steps[0] != stamp or overviews.steps[1].unreadable:
        overviews.steps = stamp, _planned(workspace, overview, as_of, {})  # a page asks about all of a round
    return overviews.steps[1]


def _planned(
    workspace: Root, overview: Overview, as_of: date | None, passed: Mapping[tuple[str, str], int]
) -> NextSteps:
    beside = [entity for line in overview.lines for entity in line.beside]
    branches, access = branches_of_all(workspace, beside), read_access(workspace)
    waiting = [proposals(workspace, entity, as_of=as_of) for entity in beside]
    wrong = [*overview.problems, *(error for line in overview.lines for error in line.problems)]
    learned = 0
    try:
        learned = sum(each.error is None and not each.in_conflict for each in promotable(workspace))
    except CatmemError as error:
        wrong.append(error)
    rough = [each.entity for each in branches.branches if each.state not in {"merges", "nothing new"}]
    smooth, settle = len(branches.branches) - len(rough), f"catmem merge {''.join(rough[:1])} --interactive"
    unread = _unread(access.fleet)
    empty = [each for each in overview.outside if not workspace.store.peek(each).strip()]
    emptied = f" ({few(empty)} has become empty)" if empty else ""
    states = Counter(each.state for found in waiting for each in found.proposals)
    stale = f" ({states['stale']:,} stale)" if states["stale"] else ""
    decide = states["waiting"] + states["stale"]
    # A fact without a date is asked about by `catmem review` alone: after an import that is all of them.
    dated = Counter(state for key, state in overview.waiting if state != "unverified" and not passed.get(key))
    due = ", ".join(f"{number:,} {state}" for state, number in sorted(dated.items()))
    said = (
        *_of_files(overview),
        ("unread", len(unread), "category|categories", f"that no specialist reads ({few(unread)})", "catmem access"),
        *_of_seeds(overview),
        ("branch_conflicts", len(rough), "branch|branches", "with conflicts", settle),
        ("branches", smooth, "branch|branches", "to merge", "catmem merge --all"),
        ("proposals", decide, "proposal", f"for you to decide{stale}", "catmem proposals --interactive"),
        ("expired", states["expired"], "proposal", "whose day is over", "catmem proposals --expire"),
        ("learned", learned, "entry|entries", "that specialists added or reworded", "catmem promote --all"),
        ("outside", len(overview.outside), "file", f"changed by another program{emptied}", "catmem status --adopt"),
        ("due", sum(dated.values()), "fact", f"due for review ({due})", "catmem review"),
    )
    steps = (
        NextStep(kind, count, f"{counted(count, *thing.split('|'))} {words}", command)
        for kind, count, thing, words, command in said
        if count
    )
    wrong += [*branches.unreadable, *(error for found in waiting for error in found.unreadable)]
    return NextSteps(overview, tuple(steps), tuple({str(error): error for error in wrong}.values()))


def _of_files(overview: Overview) -> Iterator[_Said]:
    """What is wrong in files, and has to be right before anything else is."""
    measures = [line.measure for line in overview.lines if line.measure]
    marked = sum(len(each.marked) for each in measures)
    unsorted = {name: number for each in measures for name, number in each.unsorted.items() if number}
    first, _, target = next(iter(unsorted), "").partition("/")
    yield ("marked", marked, "file", "with git's conflict markers", "catmem lint --select CM113")
    withheld = sum(each.withheld for each in measures)
    yield ("withheld", withheld, "entry|entries", "with a secret or hostile text", "catmem lint --select CM6")
    command = f"catmem sort -p {first} -t {target}"
    yield ("unsorted", sum(unsorted.values()), "entry|entries", "without a category", command)


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


def _of_seeds(overview: Overview) -> Iterator[_Said]:
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
