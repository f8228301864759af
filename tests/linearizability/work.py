"""Workers that read and swap one entity as fast as they can, and note each call with the clock."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from catmem.errors import BusyError, StaleError, UnknownRevisionError
from catmem.store.contract import Change, Current, Snapshot, Store
from tests.linearizability.checker import UNKNOWN, Operation
from tests.race.running import end_input, running, told_by
from tests.store.stores import named

ENTITY = "trinity/user"
SWITCH = 1e-5
"""Seconds after which Python gives the next thread its turn, so that threads cut into each other often."""


class Worker:
    """One worker: ``run`` gives its history. A worker writes values that nobody else writes."""

    def __init__(self, store: Store, name: str, seed: int, *, pause: float = 0.0) -> None:
        """``pause``: seconds that it rests at most after every other operation, so that others get the lock."""
        self.store = store
        self.name = name
        self.pause = pause
        self.random = random.Random(f"{seed} {name}")
        self.history: list[Operation] = []
        self.view: tuple[str, str | None] = ("0", None)
        self.acknowledged: Change | None = None
        self.number = 0

    def run(self, operations: int) -> list[Operation]:
        ways = {self.read: 30, self.swap: 50, self.write: 10, self.repeat: 10}
        for way in self.random.choices(list(ways), weights=list(ways.values()), k=operations):
            way()
            time.sleep(self.random.random() * self.pause if self.random.random() < 0.5 else 0)
        return self.history

    def read(self) -> None:
        invoked = time.monotonic_ns()
        snapshot = self.store.read(ENTITY)
        self._note("read", invoked, snapshot)

    def swap(self) -> None:
        """Write on what was seen last, named by its revision or by its digest."""
        revision, digest = self.view
        self._commit(revision, digest if digest and self.random.random() < 0.3 else revision)

    def write(self) -> None:
        self._commit(None, None)

    def repeat(self) -> None:
        """Send the last acknowledged write again, as after an answer that was lost; before there is one, read."""
        change = self.acknowledged
        if change is None:
            self.read()
            return
        invoked = time.monotonic_ns()
        snapshot = self.store.commit(ENTITY, None, lambda _: str(change.op_id).encode(), change)
        self._note("retry", invoked, snapshot)

    def _commit(self, revision: str | None, expected: str | None) -> None:
        self.number += 1
        value = f"{self.name}-{self.number}\n"
        change = Change(agent=self.name, op_id=value, request=value)
        seen: list[Current] = []

        def update(current: Current) -> bytes:
            seen.append(current)
            time.sleep(0)  # another thread's turn: a store that holds no lock here is caught
            return value.encode()

        before = None if revision is None else int(revision)
        invoked = time.monotonic_ns()
        try:
            snapshot = self.store.commit(ENTITY, expected, update, change)
        except StaleError as error:
            returned = time.monotonic_ns()
            found = int(str(error.found))
            self.history.append(Operation(self.name, "refused", invoked, returned, found, expected=before))
            self.view = (str(found), None)
        except UnknownRevisionError:  # this store does not know what it acknowledged: the replay shows what is lost
            self.view = ("0", None)
        except BusyError:
            return  # nothing was written, and nothing was told: no part of the history
        else:
            given = (int(seen[-1].revision), seen[-1].data.decode())
            self._note("write", invoked, snapshot, expected=before, seen=given)
            self.acknowledged = change

    def _note(self, kind: Any, invoked: int, snapshot: Snapshot, **more: Any) -> None:
        returned = time.monotonic_ns()
        revision = UNKNOWN if snapshot.revision is None else int(snapshot.revision)
        self.history.append(Operation(self.name, kind, invoked, returned, revision, snapshot.data.decode(), **more))
        if kind != "retry" and revision != UNKNOWN:
            self.view = (str(revision), snapshot.digest)


def folders(parent: Path, most: int = 4) -> Iterator[Path]:
    """A few folders of their own, for a race that is run again if it was none."""
    for number in range(most):
        folder = parent / str(number)
        folder.mkdir()
        yield folder


def replayed(store: Store) -> list[str]:
    return [data.decode() for _, data in store.replay(ENTITY)]


def in_threads(store: Store, operations: int, *, workers: int = 4, seed: int = 0) -> list[Operation]:
    return of_threads([Worker(store, f"thread-{number}", seed) for number in range(workers)], operations)


def of_threads(team: Sequence[Any], operations: int) -> list[Any]:
    """What the workers' ``run`` gives, each in a thread of its own."""
    start = threading.Barrier(len(team))

    def work(worker: Any) -> list[Any]:
        start.wait()
        return list(worker.run(operations // len(team)))

    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        with ThreadPoolExecutor(len(team)) as pool:
            histories = list(pool.map(work, team))
    finally:
        sys.setswitchinterval(before)
    return [each for history in histories for each in history]


def in_processes(kind: str, folder: Path, operations: int, *, workers: int = 3, seed: int = 0) -> list[Operation]:
    """The history of some processes, each with a store of ``kind`` on ``folder``."""
    return [_operation(fields) for fields in of_processes("swap", kind, folder, operations, workers=workers, seed=seed)]


def of_processes(
    work: str, kind: str, folder: Path, operations: int, *, workers: int = 3, seed: int = 0
) -> list[list[Any]]:
    """What the workers' ``run`` gives, each in a process of its own; ``work`` is a name in ``worker.WORK``."""
    named(kind).make(folder).close()  # a server that it needs is started here, and lives on when the workers do not
    each = ("tests.linearizability.worker", work, kind, folder)
    programs = [(*each, f"process-{number}", -(-operations // workers), seed) for number in range(workers)]
    with running(programs) as started:
        for process in started:
            end_input(process)
        return [json.loads(line) for process in started for line in told_by(process).splitlines()]


def _operation(fields: Sequence[Any]) -> Operation:
    operation = Operation(*fields)
    return operation._replace(seen=None if operation.seen is None else (operation.seen[0], operation.seen[1]))
