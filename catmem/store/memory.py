"""A store that lives as long as its process: for tests, for dry runs, and as the plainest reading of the contract."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from catmem.errors import UnknownRevisionError
from catmem.store.contract import Change, Current, Revision, Snapshot, repeated, sees, stale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.store.contract import Fault, Update


class MemoryStore:
    """Revisions in lists. Nobody can change it from outside, so there is no drift."""

    def __init__(self) -> None:
        """An empty store."""
        self._lock = threading.RLock()
        self._revisions: dict[str, list[tuple[Revision, bytes]]] = {}
        self._operations: dict[tuple[str, str], Revision] = {}
        self._sequence = 0

    def head(self, entity: str) -> Revision | None:
        """The newest revision, ``None`` if there is none."""
        kept = self._revisions.get(entity)
        return kept[-1][0] if kept else None

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        """The newest bytes, or those of ``revision``."""
        if revision in (None, "0"):
            kept = self._revisions.get(entity) if revision is None else None
            return Snapshot.of(kept[-1][1], kept[-1][0].revision) if kept else Snapshot.of(b"", "0")
        for recorded, data in self._revisions.get(entity, ()):
            if recorded.revision == revision:
                return Snapshot(data, revision, recorded.digest)
        raise unknown_revision(entity, str(revision))

    def peek(self, entity: str) -> bytes:
        """The newest bytes."""
        return self.read(entity).data

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Append what ``update`` makes of the newest bytes."""
        with self._lock:
            first = self._operations.get((entity, change.op_id)) if change.op_id else None
            if first and repeated(first, change):
                return self.read(entity, first.revision)
            now = self.read(entity)
            found = str(now.revision)
            base: bytes | None = None
            if expected is not None and not sees(expected, now.revision, now.digest):
                if change.on_drift != "merge":
                    raise stale(entity, expected, found)
                base = self._seen(entity, expected)
            data = update(Current(now.data, found, base))
            return now if data == now.data else self._append(entity, now, data, change)

    def _seen(self, entity: str, expected: str) -> bytes:
        """The bytes that a caller saw who says ``expected``."""
        if expected == "0":
            return b""
        for recorded, data in reversed(self._revisions.get(entity, [])):
            if sees(expected, recorded.revision, recorded.digest):
                return data
        raise unknown_revision(entity, expected)

    def _append(self, entity: str, now: Snapshot, data: bytes, change: Change) -> Snapshot:
        self._sequence += 1
        kept = self._revisions.setdefault(entity, [])
        written = Snapshot.of(data, str(len(kept) + 1))
        note = dict(change.note) | ({"request": change.request} if change.request else {})
        recorded = Revision(
            entity=entity,
            revision=str(written.revision),
            parents=() if now.revision in (None, "0") else (now.revision,),
            sequence=self._sequence,
            timestamp=timestamp(datetime.now(UTC)),
            op=change.op,
            agent=change.agent,
            op_id=change.op_id or uuid4().hex,
            digest=written.digest,
            size=len(data),
            note=note,
        )
        kept.append((recorded, data))
        self._operations[entity, recorded.op_id] = recorded
        return written

    def log(self, entity: str) -> Iterator[Revision]:
        """The revisions, the newest first."""
        return iter([recorded for recorded, _ in reversed(self._revisions.get(entity, []))])

    def branches(self, entity: str) -> Sequence[Revision]:
        """The head alone: there are no branches here."""
        newest = self.head(entity)
        return [newest] if newest else []

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        """Every revision with its bytes."""
        return iter(list(self._revisions.get(entity, [])))

    def verify(self) -> list[Fault]:
        """Nothing: there is nothing on a disk to be damaged."""
        return []

    def close(self) -> None:
        """Nothing to let go of."""


def timestamp(moment: datetime) -> str:
    """A moment as records say it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def unknown_revision(entity: str, revision: str) -> UnknownRevisionError:
    """The error for a revision that is not there."""
    return UnknownRevisionError(
        f"{entity} has no revision {revision}",
        hint=f"catmem log {entity} lists the revisions that are kept.",
    )
