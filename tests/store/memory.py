"""A store that lives as long as its process: for tests, and as the plainest reading of the contract."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

from catmem import clock
from catmem.errors import UnknownRevisionError
from catmem.store.contract import (
    Change,
    Current,
    Fault,
    Revision,
    Snapshot,
    Store,
    Update,
    branch_number,
    is_retry,
    is_view_of,
    next_branch,
    not_empty,
    stale,
    tips,
    unknown_revision,
)
from catmem.store.judgement import KnownRevision, KnownState, judge


class InMemoryStore(Store):
    """Revisions in lists. It has no external changes, so there is no drift."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._revisions: dict[str, list[tuple[Revision, bytes]]] = {}
        self._operations: dict[tuple[str, str], Revision] = {}
        self._sequence = 0

    def head(self, entity: str) -> Revision | None:
        kept = self._head(entity)
        return kept[0] if kept else None

    def _head(self, entity: str) -> tuple[Revision, bytes] | None:
        newest_first = reversed(self._revisions.get(entity, []))
        return next((kept for kept in newest_first if not kept[0].is_branch), None)

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        if revision in (None, "0"):
            kept = self._head(entity) if revision is None else None
            return Snapshot.from_bytes(kept[1], kept[0].revision) if kept else Snapshot.from_bytes(b"", "0")
        recorded, data = self._find(entity, str(revision))
        return Snapshot(data, recorded.revision, recorded.digest)

    def _find(self, entity: str, expected: str) -> tuple[Revision, bytes]:
        """The newest record of a revision or a digest. Raises ``UnknownRevisionError``."""
        for recorded, data in reversed(self._revisions.get(entity, [])):
            if is_view_of(expected, recorded.revision, recorded.digest):
                return recorded, data
        raise unknown_revision(entity, expected)

    def peek(self, entity: str) -> bytes:
        return self.read(entity).data

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Append what ``update`` makes of the newest bytes."""
        with self._lock:
            first = self._operations.get((entity, change.agent, change.op_id)) if change.op_id else None
            if first and is_retry(first, change):
                return replace(self.read(entity, first.revision), branch=first.is_branch)
            for merged in change.merges:
                if self._find(entity, merged)[0].revision != merged:
                    raise unknown_revision(entity, merged)
            now = self.read(entity)
            verdict = judge(expected, change, self._known_state(entity, now))
            if verdict.kind in {"stale", "drift"}:
                raise stale(entity, str(expected), str(now.revision))
            point = verdict.point
            if point is not None and verdict.kind == "branch":
                return self._branch(entity, self.read(entity, point.revision), update, change)
            base = None if point is None else self.read(entity, point.revision).data
            data = update(Current(now.data, str(now.revision), base))
            if data == now.data and not change.is_always_recorded:
                return now
            head = self._head(entity)
            return self._append(entity, str(int(head[0].revision) + 1 if head else 1), str(now.revision), data, change)

    def _known_state(self, entity: str, now: Snapshot) -> KnownState:
        def seen(expected: str) -> KnownRevision | None:
            try:
                recorded, _ = self._find(entity, expected)
            except UnknownRevisionError:
                if expected.startswith("sha256:"):
                    return None
                raise
            return KnownRevision(recorded.revision, recorded.digest, recorded.sequence)

        return KnownState(
            now=KnownRevision(str(now.revision), now.digest, self._sequence),
            before=None,
            adopted=False,
            has_text=bool(now.data),
            seen=seen,
            external_since=lambda point: False,
            own=lambda: None,
        )

    def _branch(self, entity: str, seen: Snapshot, update: Update, change: Change) -> Snapshot:
        """Keep what ``update`` makes of what the caller saw beside the head."""
        parent = str(seen.revision)
        data = update(Current(seen.data, parent, None))
        if data == seen.data and not change.is_always_recorded:
            return seen
        head = self._head(entity)
        number = branch_number(parent, head[0].revision if head else "0")
        name = next_branch(number, {recorded.revision for recorded, _ in self._revisions.get(entity, [])})
        return replace(self._append(entity, name, parent, data, change), branch=True)

    def _append(self, entity: str, name: str, parent: str, data: bytes, change: Change) -> Snapshot:
        self._sequence += 1
        written = Snapshot.from_bytes(data, name)
        self._keep(
            Revision(
                entity=entity,
                revision=name,
                parents=change.parents(parent),
                sequence=self._sequence,
                timestamp=clock.timestamp(clock.now()),
                op=change.op,
                agent=change.agent,
                op_id=change.op_id or uuid4().hex,
                digest=written.digest,
                size=len(data),
                note=change.recorded_note(),
            ),
            data,
        )
        return written

    def _keep(self, recorded: Revision, data: bytes) -> None:
        self._revisions.setdefault(recorded.entity, []).append((recorded, data))
        self._operations.setdefault((recorded.entity, recorded.agent, recorded.op_id), recorded)

    def entities(self) -> Sequence[str]:
        return sorted(self._revisions)

    def log(self, entity: str) -> Iterator[Revision]:
        return iter([recorded for recorded, _ in reversed(self._revisions.get(entity, []))])

    def branches(self, entity: str) -> Sequence[Revision]:
        return tips(self.log(entity))

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        return iter(list(self._revisions.get(entity, [])))

    def import_history(self, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
        with self._lock:
            if self._revisions.get(entity):
                raise not_empty(entity)
            brought = list(history)  # all or nothing, also if the history breaks off
            for recorded, data in brought:
                self._sequence += 1
                self._keep(replace(recorded, entity=entity, sequence=self._sequence), data)
            return len(brought)

    def verify(self, entity: str | None = None) -> list[Fault]:
        del entity
        return []

    def check_writable(self, entities: Iterable[str]) -> None:
        """Nothing: it can always be written."""

    def close(self) -> None:
        """Nothing to let go of."""
