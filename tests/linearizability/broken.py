"""Stores that break the contract, each in one way. The checker must catch every one."""

import threading
from dataclasses import replace

from catmem.store.contract import Change, Current, Snapshot, Update, sees, stale
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
        if expected is not None and not sees(expected, now.revision, now.digest):
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
            if expected is not None and sees(expected, now.revision, now.digest) and self.wrong_now():
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
