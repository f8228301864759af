"""One race: real processes on the same entities, what each was told, and what the log says became of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from catmem.service.simulating.agent import Told
from catmem.service.simulating.facts import first_text
from catmem.service.simulating.judging import fleiss_kappa, history_of, silent_overwrites, unrecorded, views
from catmem.service.simulating.places import open_stores, throw_away
from catmem.service.stores import merge_files
from catmem.store.contract import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.policy.config import Config
    from catmem.service.simulating.plan import Guard, Trial
    from catmem.store.contract import Current, Revision, Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured in one race.

    ``silent_overwrites``: acknowledged facts that nobody meant to remove, and that are gone. ``unrecorded``:
    acknowledged facts of which the log knows nothing. ``merge_conflicts`` are subjects of which a merge has kept both
    sides. ``rebuilt``: the log alone gives every head, byte for byte. ``seconds`` is the time of the race without the
    merges after it; ``p50`` and ``p99`` are seconds that a write spent in the store, ``cpu`` is the processor time of a
    write in the agents' processes, a mean in seconds.
    """

    guard: str
    acknowledged: int
    silent_overwrites: int
    unrecorded: int
    conflicts: int
    busy: int
    branches: int
    merges: int
    merge_conflicts: int
    rebuilt: bool
    kappa: float
    p50: float
    p99: float
    cpu: float
    seconds: float

    @property
    def rate(self) -> float:
        """Acknowledged writes a second."""
        return self.acknowledged / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        return {**asdict(self), "rate": self.rate}


def race(trial: Trial, guard: Guard, places: Sequence[str]) -> Outcome:
    """Run one race in a throw-away place. Raises ``StoreError``, and ``RuntimeError`` if a process failed."""
    with throw_away(places, trial.entity_names()) as (root, made), open_stores(root, made) as stores:
        for entity in trial.entity_names():
            stores.of(entity).commit(entity, "0", lambda _: first_text(), Change(op="seed", agent="simulation"))
        told, seconds = _raced(trial, guard, root, made)
        config = _config(root)
        conflicts = sum(_merge_all(stores.of(entity), entity, config) for entity in trial.entity_names())
        histories = {entity: history_of(stores.of(entity), entity) for entity in trial.entity_names()}
    spent = [each for agent in told for each in agent.seconds]
    return Outcome(
        guard=guard,
        acknowledged=sum(len(each.acknowledged) for each in told),
        silent_overwrites=silent_overwrites(told, histories),
        unrecorded=unrecorded(told, histories),
        conflicts=sum(each.conflicts for each in told),
        busy=sum(each.busy for each in told),
        branches=sum(each.branches for each in histories.values()),
        merges=sum(each.merges for each in histories.values()),
        merge_conflicts=conflicts,
        rebuilt=all(each.rebuilt for each in histories.values()),
        kappa=fleiss_kappa(views(told, histories)),
        p50=_percentile(spent, 0.5),
        p99=_percentile(spent, 0.99),
        cpu=sum(each.cpu for each in told) / trial.writes,
        seconds=seconds,
    )


def _config(root: str) -> Config:
    from catmem.policy.config import load_config

    return load_config(root)


def _raced(trial: Trial, guard: Guard, root: str, places: Sequence[str]) -> tuple[list[Told], float]:
    """What all agents were told, and how long it took from the start of the first to the end of the last."""
    job = {"trial": trial.to_dict(), "guard": guard, "root": root, "stores": places}
    with ExitStack() as stack:
        started = [_started(stack, {**job, "process": process}) for process in range(trial.processes)]
        for process in started:
            if _pipe(process.stdout).readline() != "ready\n":
                raise RuntimeError(process.communicate()[1])
        begin = time.perf_counter()
        for process in started:
            _pipe(process.stdin).close()
            process.stdin = None
        said = [process.communicate() for process in started]
        seconds = time.perf_counter() - begin
    for process, (_, errors) in zip(started, said, strict=True):
        if process.returncode:
            raise RuntimeError(errors)
    return [Told(**json.loads(line)) for output, _ in said for line in output.splitlines()], seconds


def _started(stack: ExitStack, job: Mapping[str, Any]) -> subprocess.Popen[str]:
    """A worker that was told its job; it waits for the end of its input."""
    command = [sys.executable, "-P", "-m", "catmem.service.simulating.worker"]
    pipe = subprocess.PIPE
    process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))  # noqa: S603
    stack.callback(process.kill)
    _pipe(process.stdin).write(json.dumps(job) + "\n")
    _pipe(process.stdin).flush()
    return process


def _pipe(end: Any) -> Any:  # noqa: ANN401 - a pipe that Popen was asked for
    if end is None:
        raise RuntimeError("the process has no pipes")
    return end


def _merge_all(store: Store, entity: str, config: Config) -> int:
    """Merge every branch of an entity into its head; returns how many conflicts there were, of which both are kept."""
    return sum(_merge(store, entity, each, config) for each in store.branches(entity) if each.is_branch)


def _merge(store: Store, entity: str, branch: Revision, config: Config) -> int:
    base = store.read(entity, branch.parents[0]).data if branch.parents else b""
    theirs = store.read(entity, branch.revision).data
    conflicts = 0

    def update(current: Current) -> bytes:
        nonlocal conflicts
        merged = merge_files(config, base, current.data, theirs)
        conflicts = merged.conflicts
        return merged.data

    change = Change(op="merge", agent="simulation", merges=(branch.revision,))
    store.commit(entity, store.read(entity).revision, update, change)
    return conflicts


def _percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all are at most (nearest rank); 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
