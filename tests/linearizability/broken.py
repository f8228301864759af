"""Stores that break the contract, each in one way. The checker must catch every one."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from catmem.store.contract import (
    Change,
    Current,
    Revision,
    Snapshot,
    Update,
    is_view_of,
    next_branch,
    revision_number,
    stale,
)
from tests.store.memory import InMemoryStore

OFTEN = 7
"""The counting ones do wrong every so many times."""


class Counting(InMemoryStore):
    """Counts its calls, so that a fault comes at known places."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def wrong_now(self) -> bool:
        with self._lock:
            self.calls += 1
            return self.calls % OFTEN == 0


class LostUpdate(InMemoryStore):
    """Looks, then writes, with no lock between: two writers that meet there both replace what both saw."""

    def __init__(self) -> None:
        super().__init__()
        self.between = threading.Barrier(2)

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        now = self.read(entity)
        if expected is not None and not is_view_of(expected, now.revision, now.digest):
            raise stale(entity, expected, str(now.revision))
        data = update(Current(now.data, str(now.revision), None))
        try:
            self.between.wait(0.002)
        except threading.BrokenBarrierError:
            self.between.reset()
        with self._lock:
            head = self.head(entity)
            return self._append(entity, str(int(head.revision) + 1 if head else 1), str(now.revision), data, change)


class StaleRead(Counting):
    """Now and then reads what was there five writes ago, as a cache does that nobody told."""

    def __init__(self) -> None:
        super().__init__()
        self.writing = False

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        now = super().read(entity, revision)
        if revision is not None or self.writing or int(str(now.revision)) <= 5 or not self.wrong_now():
            return now
        return super().read(entity, str(int(str(now.revision)) - 5))

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        with self._lock:
            self.writing = True
            try:
                return super().commit(entity, expected, update, change)
            finally:
                self.writing = False


class DoubleApply(InMemoryStore):
    """Does not know a retry when it sees one."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        return super().commit(entity, expected, update, replace(change, op_id=None))


class Dropped(Counting):
    """Now and then acknowledges a write that it does not make."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        if not self.wrong_now():
            return super().commit(entity, expected, update, change)
        with self._lock:
            now = self.read(entity)
            data = update(Current(now.data, str(now.revision), None))
            return Snapshot.from_bytes(data, str(int(str(now.revision)) + 1))


class Unchecked(Counting):
    """Now and then swaps without looking at what was expected."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        return super().commit(entity, None if self.wrong_now() else expected, update, change)


class Refuses(Counting):
    """Now and then refuses a write whose view is right."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        with self._lock:
            now = self.read(entity)
            if expected is not None and is_view_of(expected, now.revision, now.digest) and self.wrong_now():
                raise stale(entity, expected, str(now.revision))
            return super().commit(entity, expected, update, change)


class Delayed(InMemoryStore):
    """Acknowledges first and writes when the next write comes: until then nobody sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = False

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        with self._lock:
            self.hidden = False
            answer = super().commit(entity, expected, update, change)
            self.hidden = True
            return answer

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        with self._lock:
            now = super().read(entity, revision)
            if revision is None and self.hidden and now.revision != "0":
                return super().read(entity, str(int(str(now.revision)) - 1))
            return now


BROKEN = {
    LostUpdate: "swap",
    StaleRead: "order",
    DoubleApply: "twice",
    Dropped: "lost",
    Unchecked: "swap",
    Refuses: "refused",
    Delayed: "order",
}
"""Each broken store, and the code of a violation that it must be caught by."""


# --- in branch mode ---


class LostBranch(Counting):
    """Now and then acknowledges a branch that it does not keep."""

    def _branch(self, entity: str, seen: Snapshot, update: Update, change: Change) -> Snapshot:
        if not self.wrong_now():
            return super()._branch(entity, seen, update, change)
        before = len(self._revisions[entity])
        answer = super()._branch(entity, seen, update, change)
        del self._revisions[entity][before:]
        return answer


class Overwrites(Counting):
    """Now and then takes a late write for one on the head."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        return super().commit(entity, None if self.wrong_now() else expected, update, change)


class SameName(InMemoryStore):
    """Chooses the name of a branch before it takes the lock to write it, so two branches get one name."""

    def __init__(self) -> None:
        super().__init__()
        self.between = threading.Barrier(2)

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        now = self.read(entity)
        if expected in (None, now.revision):
            return super().commit(entity, expected, update, change)
        name = next_branch(revision_number(str(expected)) + 1, {recorded.revision for recorded in self.log(entity)})
        try:
            self.between.wait(0.002)
        except threading.BrokenBarrierError:
            self.between.reset()
        with self._lock:
            seen = self.read(entity, expected)
            data = update(Current(seen.data, str(seen.revision), None))
            return replace(self._append(entity, name, str(seen.revision), data, change), branch=True)


class OnTheHead(Counting):
    """Now and then makes a branch of what is there, not of what its writer saw."""

    def _branch(self, entity: str, seen: Snapshot, update: Update, change: Change) -> Snapshot:
        head = replace(self.read(entity), revision=seen.revision)
        return super()._branch(entity, head if self.wrong_now() else seen, update, change)


class Shy(Counting):
    """Now and then puts a write beside the head that was not late."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        with self._lock:
            now = self.read(entity)
            known = change.op_id and (entity, change.agent, change.op_id) in self._operations
            if not known and expected == now.revision and expected != "0" and self.wrong_now():
                return self._branch(entity, now, update, change)
            return super().commit(entity, expected, update, change)


class ForgetsMerges(InMemoryStore):
    """Does not record what a merge brought together, so that its branch seems to wait for ever."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        return super().commit(entity, expected, update, replace(change, merges=()))


class HidesBranches(InMemoryStore):
    """Keeps branches and does not tell of the oldest."""

    def branches(self, entity: str) -> Sequence[Revision]:
        return list(super().branches(entity))[:5]


BROKEN_BRANCHES = {
    LostBranch: "lost",
    Overwrites: "swap",
    SameName: "twice",
    OnTheHead: "swap",
    Shy: "branched",
    ForgetsMerges: "parents",
    HidesBranches: "tips",
}
"""Each broken store, and the code of what it must be caught by."""
