"""Workers in branch mode, and whether each write that they were told of is kept: in the head, or beside it.

In branch mode no write is refused for being late. So the promise is stronger than that of compare-and-swap: every
acknowledged write is a revision, the heads are one line in which each was made on the one before, and each branch hangs on
what its writer saw.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from catmem.errors import BusyError, UnknownRevisionError
from catmem.store.contract import Change, Current, Revision, Store, is_branch
from tests.linearizability.checker import Operation, in_order
from tests.linearizability.work import ENTITY, Worker, of_processes, of_threads


class Answer(NamedTuple):
    """One call and its answer: ``kind`` is ``read``, ``write`` or ``retry``.

    ``revision`` and ``value`` are what was read or written; ``expected`` what a write was made on, ``None`` for one without
    a view; ``seen`` the revision and the value that its update was given; ``merges`` what it brought together with the head.
    """

    worker: str
    kind: str
    invoked: int
    returned: int
    revision: str
    value: str
    branch: bool = False
    expected: str | None = None
    seen: tuple[str, str] | None = None
    merges: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} of revision {self.revision} by {self.worker} ({self.invoked}..{self.returned})"


class Found(NamedTuple):
    """What no correct store does: a word for it, and what happened."""

    code: str
    text: str


class Brancher(Worker):
    """A worker in branch mode: whoever is late goes beside the head, and goes on there, or merges what stands there."""

    def __init__(self, store: Store, name: str, seed: int, *, pause: float = 0.0) -> None:
        super().__init__(store, name, seed, pause=pause)
        self.answers: list[Answer] = []
        self.seen = "0"
        self.last: Change | None = None

    def run(self, operations: int) -> list[Answer]:
        ways = {self.look: 25, self.put: 50, self.merge: 15, self.again: 10}
        for way in self.random.choices(list(ways), weights=list(ways.values()), k=operations):
            try:
                way()
            except UnknownRevisionError:  # this store does not know what it acknowledged: the replay shows what is lost
                self.seen, self.last = "0", None
            time.sleep(self.random.random() * self.pause if self.random.random() < 0.5 else 0)
        return self.answers

    def look(self) -> None:
        invoked = time.monotonic_ns()
        read = self.store.read(ENTITY)
        self._told("read", invoked, str(read.revision), read.data)
        self.seen = str(read.revision)

    def put(self) -> None:
        """Write on what was seen last, which may be a branch of one's own."""
        self._write(self.seen, ())

    def merge(self) -> None:
        beside = [tip.revision for tip in self.store.branches(ENTITY) if tip.is_branch]
        if beside:
            self._write(None, (self.random.choice(beside),))

    def again(self) -> None:
        if self.last is None:
            return
        invoked = time.monotonic_ns()
        answer = self.store.commit(ENTITY, None, lambda _: b"never", self.last)
        self._told("retry", invoked, str(answer.revision), answer.data, branch=answer.branch)

    def _write(self, expected: str | None, merges: tuple[str, ...]) -> None:
        self.number += 1
        value = f"{self.name}-{self.number}\n"
        change = Change(agent=self.name, op_id=value, request=value, on_stale="branch", merges=merges)
        given: list[Current] = []

        def update(current: Current) -> bytes:
            given.append(current)
            time.sleep(0)  # another thread's turn
            return value.encode()

        invoked = time.monotonic_ns()
        try:
            answer = self.store.commit(ENTITY, expected, update, change)
        except BusyError:
            return  # nothing was written, and nothing was told
        seen = (given[-1].revision, given[-1].data.decode()) if given else None
        where = {"branch": answer.branch, "expected": expected, "seen": seen, "merges": merges}
        self._told("write", invoked, str(answer.revision), answer.data, **where)
        self.last, self.seen = change, str(answer.revision)

    def _told(self, kind: str, invoked: int, revision: str, data: bytes, **more: object) -> None:
        returned = time.monotonic_ns()
        self.answers.append(Answer(self.name, kind, invoked, returned, revision, data.decode(), **more))  # type: ignore[arg-type]


def check_branches(
    answers: Sequence[Answer], replay: Sequence[tuple[Revision, bytes]], tips: Sequence[Revision]
) -> list[Found]:
    """What is wrong: ``replay`` and ``tips`` (``Store.branches``) are what the store tells when all is over."""
    kept = {revision.revision: (revision, data.decode()) for revision, data in replay}
    return [
        *_kept(answers, replay, kept),
        *_graph(replay, kept, tips),
        *_made_on(answers, kept),
        *_branched(answers),
        *(Found("order", violation.text) for violation in in_order(_on_the_line(answers))),
    ]


def _kept(
    answers: Sequence[Answer], replay: Sequence[tuple[Revision, bytes]], kept: Mapping[str, tuple[Revision, str]]
) -> Iterable[Found]:
    """Each acknowledged write is there under its name, each name and each value once, and nothing else is there."""
    for each in answers:
        there = kept[each.revision][1] if each.revision in kept else None
        if there != each.value and (each.revision, each.value) != ("0", ""):
            code = "lost" if each.kind == "write" else each.kind
            yield Found(code, f"{each}: the replay has {there!r}, not {each.value!r}")
    acknowledged = {each.value for each in answers if each.kind == "write"}
    for what, times in Counter([revision.revision for revision, _ in replay]).items():
        if times > 1:
            yield Found("twice", f"revision {what} is {times} times in the replay")
    for value, times in Counter([data.decode() for _, data in replay]).items():
        if times > 1:
            yield Found("twice", f"{value!r} is {times} times in the replay")
        if value not in acknowledged:
            yield Found("foreign", f"{value!r} is in the replay, and nobody was told that it was written")


def _graph(
    replay: Sequence[tuple[Revision, bytes]], kept: Mapping[str, tuple[Revision, str]], tips: Sequence[Revision]
) -> Iterable[Found]:
    """The heads are one line; every parent is there, earlier; and what nothing follows is said to be a tip."""
    heads = [revision for revision, _ in replay if not revision.is_branch]
    for number, head in enumerate(heads, 1):
        if head.revision != str(number):
            yield Found("line", f"head {number} is called {head.revision}")
        if number > 1 and head.parents[:1] != (str(number - 1),):
            yield Found("line", f"the head {head.revision} has the parents {head.parents}")
    earlier: set[str] = set()
    for revision, _ in replay:
        for parent in revision.parents:
            if parent not in earlier:
                yield Found("parents", f"{revision.revision} has the parent {parent}, which is not before it")
        earlier.add(revision.revision)
    parents = {parent for revision, _ in kept.values() for parent in revision.parents}
    ends = {name for name in kept if name not in parents}
    if heads:
        ends.add(heads[-1].revision)
    if {tip.revision for tip in tips} != ends or (heads and tips[0].revision != heads[-1].revision):
        yield Found("tips", f"the tips are {[tip.revision for tip in tips]}, and should be {sorted(ends)}")


def _made_on(answers: Sequence[Answer], kept: Mapping[str, tuple[Revision, str]]) -> Iterable[Found]:
    """A write was made on what its parent is, and that is what its caller expected."""
    values = {"0": "", **{name: value for name, (_, value) in kept.items()}}
    for each in answers:
        if each.kind != "write" or each.revision not in kept:
            continue
        parents = kept[each.revision][0].parents
        on = "0" if each.revision == "1" else next(iter(parents), "0")
        if each.expected not in (None, on):
            yield Found("swap", f"{each}, on {on}, expected revision {each.expected}")
        if each.seen is not None and each.seen != (on, values.get(on)):
            yield Found("swap", f"{each} was made on {each.seen}, not on {(on, values.get(on))}")
        if not set(each.merges) <= set(parents):
            yield Found("parents", f"{each} merged {each.merges}, and has the parents {parents}")
        if each.branch != is_branch(each.revision):
            yield Found("branched", f"{each}: said to be {'a' if each.branch else 'no'} branch")


def _branched(answers: Sequence[Answer]) -> Iterable[Found]:
    """Nobody was put beside the head who was not late: by the time of the answer, what it expected had a successor."""
    began: dict[int, int] = {}
    latest = 0
    writes = {int(each.revision): each for each in answers if each.kind == "write" and not is_branch(each.revision)}
    for number in sorted(writes):
        latest = max(latest, writes[number].invoked)
        began[number] = latest
    for each in answers:
        if each.kind == "write" and each.branch and each.expected is not None and each.expected.isdecimal():
            successor = began.get(int(each.expected) + 1)
            if successor is None or successor > each.returned:
                yield Found("branched", f"{each}, though revision {each.expected} was the head")


def _on_the_line(answers: Sequence[Answer]) -> list[Operation]:
    """Reads and writes of heads, as the other checker takes them."""
    return [
        Operation(
            each.worker, "write" if each.kind == "write" else "read", each.invoked, each.returned, int(each.revision)
        )
        for each in answers
        if each.kind != "retry" and each.revision.isdecimal()
    ]


def branching_in_threads(store: Store, operations: int, *, workers: int = 4, seed: int = 0) -> list[Answer]:
    return of_threads([Brancher(store, f"thread-{number}", seed) for number in range(workers)], operations)


def branching_in_processes(kind: str, folder: Path, operations: int, *, seed: int = 0) -> list[Answer]:
    """The answers of some processes, each with a store of ``kind`` on ``folder``."""
    told = [Answer(*fields) for fields in of_processes("branch", kind, folder, operations, seed=seed)]
    # JSON has no tuples.
    return [each._replace(seen=each.seen and (each.seen[0], each.seen[1]), merges=tuple(each.merges)) for each in told]
