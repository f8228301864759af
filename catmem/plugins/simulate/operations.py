"""A race of agents on facts, each an entry such as ``vendor is 3-17.``, and what became of them.

The agents work off a plan in real processes, on shared entities, in a place that is made for it and removed.
"""

import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from catmem.config.config import Config, load_config
from catmem.errors import BusyError, StaleError, StoreError
from catmem.model.document import parse
from catmem.names import parts_of
from catmem.ops.table import Call, Outcome, P, operation
from catmem.store.contract import Change, Revision, Snapshot, Store
from catmem.workspace.copying import store_at
from catmem.workspace.root import Root
from catmem.workspace.stores import backend_of, merge_files, refuse_no_store, shown_store

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier


SUBJECTS = ("vendor", "invoice day", "budget", "contact", "cost centre", "currency", "approver", "office")
"""What several agents write about; each entity has a fact of each from the start."""


class RaceFact(NamedTuple):
    """What an agent writes: to which entity, about what, and a value that no other agent writes."""

    entity: str
    subject: str
    value: str


def first_text() -> bytes:
    return _text({subject: ["start"] for subject in SUBJECTS})


def facts(data: bytes) -> dict[str, list[str]]:
    """The values of each subject, sorted; two where a merge has kept both sides."""
    found: dict[str, list[str]] = {}
    for entry in parse(data).entries:
        subject, _, value = entry.body.removesuffix(".").partition(" is ")
        found[subject] = sorted((*found.get(subject, ()), value))
    return found


def with_fact(data: bytes, subject: str, value: str) -> tuple[bytes, list[str]]:
    """The file with a fact instead of what it said about the subject, and the values that had to go for it."""
    said = facts(data)
    return _text({**said, subject: [value]}), said.get(subject, [])


def _text(said: Mapping[str, Sequence[str]]) -> bytes:
    entries = "\n§\n".join(f"{subject} is {value}." for subject, values in said.items() for value in values)
    return f"## Shared Facts\n{entries}\n".encode()


@dataclass(slots=True)
class RaceHistory:
    """What the logs and the heads of some entities say.

    ``recorded`` are the values that some revision says it wrote; ``removed`` those that some revision says it replaced:
    their writer saw them. ``heads`` has what each entity says.
    """

    recorded: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    heads: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    branches: int = 0

    def read(self, store: Store, entity: str) -> None:
        for revision in store.log(entity):
            self.branches += revision.is_branch
            self.recorded.update(revision.note.get("wrote", ()))
            self.removed.update(revision.note.get("removed", ()))
        said = facts(store.read(entity).data)
        self.heads |= {(entity, subject): values for subject, values in said.items()}

    def lost(self, acknowledged: Collection[RaceFact]) -> list[RaceFact]:
        """Those of some acknowledged facts that are in no head, and that no agent meant to remove."""
        there = self.removed.union(*self.heads.values())
        return [fact for fact in acknowledged if fact.value not in there]

    def kappa(self, agents: Sequence[Collection[RaceFact]]) -> float:
        """How far agents agree in the end, by the facts that were acknowledged to each.

        Each holds true what the memory says, but for its own last word on a subject that was lost: that was
        acknowledged, and nothing in the logs says otherwise.
        """
        last = [{fact[:2]: fact for fact in acknowledged}.values() for acknowledged in agents]
        own = [{fact[:2]: fact.value for fact in self.lost(facts)} for facts in last]
        said = {place: " ".join(values) for place, values in self.heads.items()}
        places = said.keys() | {place for one in own for place in one}
        return fleiss_kappa([[one.get(place, said.get(place, "")) for place in places] for one in own])


def fleiss_kappa(ratings: Sequence[Sequence[str]]) -> float:
    """Agreement of several raters beyond chance (Fleiss 1971): 1 where all agree on everything.

    ``ratings`` has for each rater the category of each subject. 1 for fewer than two raters, or if nothing else was to
    be expected.
    """
    raters, subjects = len(ratings), len(ratings[0]) if ratings else 0
    if raters <= 1 or not subjects:
        return 1.0
    counts = [Counter(subject) for subject in zip(*ratings, strict=True)]
    agreement = sum(n * (n - 1) for count in counts for n in count.values()) / (raters * (raters - 1) * subjects)
    shares = Counter(category for rating in ratings for category in rating)
    by_chance = sum((n / (raters * subjects)) ** 2 for n in shares.values())
    return 1.0 if by_chance == 1 else (agreement - by_chance) / (1 - by_chance)


GuardName: TypeAlias = Literal["none", "refuse", "branch"]
"""``none``: the last writer wins. ``refuse``: compare-and-swap, and again. ``branch``: kept beside, merged later."""

# --- the race ------------------------------------------------------------------------------------------------------

_ADDED = 0.3
"""The share of writes that add a fact of the agent's own; the others change a shared one."""
_THOUGHT = 0.005
"""Mean seconds between reading and writing."""
_START_LIMIT = 60
"""Seconds that the processes have to start."""


class Trial(NamedTuple):
    """A plan, the same for the same seed. ``writes`` are those of all agents."""

    agents: int = 8
    writes: int = 1_000
    entities: int = 4
    seed: int = 0

    @property
    def entity_names(self) -> list[str]:
        return [f"shared-{number}/user" for number in range(1, self.entities + 1)]

    def steps(self, agent: int) -> Iterator[tuple[RaceFact, float]]:
        """What one agent writes, in order, and how long it thinks before; agents count from 1."""
        chance, entities = random.Random(f"{self.seed} agent-{agent}"), self.entity_names  # noqa: S311 - no secret
        for count in range(1, len(range(agent, self.writes + 1, self.agents)) + 1):
            value = f"{agent}-{count}"
            subject = f"note {value}" if chance.random() < _ADDED else chance.choice(SUBJECTS)
            yield RaceFact(chance.choice(entities), subject, value), chance.expovariate(1) * _THOUGHT


class RaceOutcome(NamedTuple):
    """What was measured in one race; docs/cli.md says of each field what it is."""

    acknowledged: int
    silent_overwrites: int
    unrecorded: int
    conflicts: int
    branches: int
    kappa: float
    p50: float
    rate: float


def race(trial: Trial, guard: GuardName, where: str) -> RaceOutcome:
    """Run a race on a new store of the kind ``where``: ``files``, ``sqlite:///…`` or ``postgresql://…``."""
    refuse_no_store(where)
    history = RaceHistory()
    with _place(where, trial) as (root, inside), closing(_opened(root, inside)) as store:
        for entity in trial.entity_names:
            store.commit(entity, "0", lambda _: first_text(), Change(op="seed", agent="simulation"))
        spawn = get_context("spawn")
        with ProcessPoolExecutor(trial.agents, spawn, _join, (spawn.Barrier(trial.agents),)) as pool:
            agents = list(pool.map(partial(_run, trial, guard, root, inside), range(1, trial.agents + 1)))
        for entity in trial.entity_names:
            for branch in [each for each in store.branches(entity) if each.is_branch]:
                _merge(store, branch, load_config(root))
            history.read(store, entity)
    acknowledged = [fact for agent in agents for fact in agent.acknowledged]
    return RaceOutcome(
        acknowledged=len(acknowledged),
        silent_overwrites=len(history.lost(acknowledged)),
        unrecorded=sum(fact.value not in history.recorded for fact in acknowledged),
        conflicts=sum(agent.conflicts for agent in agents),
        branches=history.branches,
        kappa=history.kappa([agent.acknowledged for agent in agents]),
        p50=median_low([each for agent in agents for each in agent.seconds]),
        rate=len(acknowledged) / (max(agent.end for agent in agents) - min(agent.begin for agent in agents)),
    )


def _opened(root: str, where: str) -> Store:
    return store_at(Root.open(root, search=False), where)


def _merge(store: Store, branch: Revision, config: Config) -> None:
    """Merge a branch into its head; of conflicts both sides are kept."""
    head = store.read(branch.entity)
    base, theirs = (store.read(branch.entity, each).data for each in (branch.parents[0], branch.revision))
    merged = merge_files(config, "USER.md", base, head.data, theirs)
    change = Change(op="merge", agent="simulation", merges=(branch.revision,))
    store.commit(branch.entity, head.revision, lambda _: merged.data, change)


class _Done(NamedTuple):
    """What one agent did: the facts that were acknowledged to it, and the seconds of each write and of the whole."""

    acknowledged: list[RaceFact]
    conflicts: int
    seconds: list[float]
    begin: float
    end: float


def _work(store: Store, trial: Trial, guard: GuardName, number: int) -> _Done:
    """Read, think and write, for each step of the plan of an agent."""
    begin, conflicts, seconds, acknowledged = time.monotonic(), 0, list[float](), list[RaceFact]()
    for fact, pause in trial.steps(number):
        start = time.perf_counter()
        seen = store.read(fact.entity)
        read = time.perf_counter()
        time.sleep(pause)
        thought = time.perf_counter() - read
        while not _is_written(store, fact, seen, guard, f"agent-{number}"):
            conflicts += 1
            seen = store.read(fact.entity)
        seconds.append(time.perf_counter() - start - thought)
        acknowledged.append(fact)
    return _Done(acknowledged, conflicts, seconds, begin, time.monotonic())


def _is_written(store: Store, fact: RaceFact, seen: Snapshot, guard: GuardName, agent: str) -> bool:
    """Write the copy that an agent has, with its fact in it, back whole; false where that is refused."""
    data, removed = with_fact(seen.data, fact.subject, fact.value)
    note = {"wrote": [fact.value], "removed": removed}
    on_stale: Literal["branch", "refuse"] = "branch" if guard == "branch" else "refuse"
    change = Change(agent=agent, op_id=f"{fact.entity} {fact.value}", note=note, on_stale=on_stale)
    try:
        store.commit(fact.entity, None if guard == "none" else seen.revision, lambda _: data, change)
    except (StaleError, BusyError):
        return False
    return True


_start: "Barrier"
"""Where a process of a race waits for the others."""


def _join(barrier: "Barrier") -> None:
    global _start  # noqa: PLW0603 - a barrier reaches a process when that begins, and no later
    _start = barrier
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who stops the race ends its processes
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the race's own process, which a kill may bring, and end this one with it.

    A process of a pool waits for more work without end, as it holds the other end of the pipe that it reads from.
    """
    if parent := parent_process():
        parent.join()
        os._exit(1)


def _run(trial: Trial, guard: GuardName, root: str, where: str, number: int) -> _Done:
    with closing(_opened(root, where)) as store:
        try:
            for entity in trial.entity_names:
                store.read(entity)  # opens the connection
        except BaseException:
            _start.abort()
            raise
        _start.wait(_START_LIMIT)
        return _work(store, trial, guard, number)


@contextmanager
def _place(where: str, trial: Trial) -> Iterator[tuple[str, str]]:
    """A new root with the profiles of a trial, and where its store is. All is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="catmem-simulation-") as root:
        (profiles := Path(root, "profiles")).mkdir()
        Path(root, "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
        for entity in trial.entity_names:
            (profiles / f"{parts_of(entity).owner}.yaml").write_text("{}\n", encoding="utf-8")
        config = replace(load_config(root), store=where)
        file = backend_of(config).file(config)
        with closing(_opened(root, where)) as store:
            if (file is not None and file.exists()) or store.entities():
                raise StoreError(
                    f"{shown_store(where)} exists and may hold data, and a simulation never works where that is",
                    code="not_empty",
                    hint="Nothing was done. Name a file that does not exist (SQLite), or a database without entities.",
                )
        with backend_of(config).scratch(config) as inside:
            yield root, inside


class Raced(NamedTuple):
    """A plan, raced without guards and with those of ``on_stale``."""

    trial: Trial
    store: str
    on_stale: str
    unguarded: RaceOutcome
    guarded: RaceOutcome

    def __json__(self) -> dict[str, Any]:
        fields = self._asdict()
        agents, writes, entities, _ = fields.pop("trial")
        return {"agents": agents, "writes": writes, "entities": entities, **fields}


@operation(
    "simulate",
    examples=(
        "catmem simulate --agents 8 --writes 1000",
        "catmem simulate --store sqlite:///race.db --on-stale branch",
    ),
    rooted=False,
)
def simulate(
    call: Call,
    *,
    agents: Annotated[int, P("How many agents write, each a process.", minimum=1, maximum=64)] = 8,
    writes: Annotated[int, P("How many writes they make together.", minimum=1, maximum=1_000_000)] = 1_000,
    store: Annotated[str, P("What `store` in catmem.yaml may be.", metavar="STORE")] = "files",
    entities: Annotated[int, P("How many memory files they share.", minimum=1, maximum=10_000)] = 4,
    on_stale: Annotated[
        Literal["refuse", "branch"],
        P("What becomes of a guarded write on an older view: made again, or kept as a branch and merged in the end."),
    ] = "refuse",
) -> Outcome:
    """Let agents read, think and write facts into memory files that they share, at once, and count what is lost.

    The same plan is raced twice: without guards, where an agent writes back its copy of the whole file, and with
    them. The root of the race is new, and removed afterwards. A SQLite database must not exist, and a PostgreSQL
    database must hold no entities. Exit status 1 if anything was lost with guards, else 0.
    """
    del call
    trial = Trial(agents, writes, entities)
    unguarded, guarded = race(trial, "none", store), race(trial, on_stale, store)
    lost = guarded.silent_overwrites or guarded.unrecorded
    return Outcome(Raced(trial, shown_store(store), on_stale, unguarded, guarded), status=int(bool(lost)))
