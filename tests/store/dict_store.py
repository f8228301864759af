"""A fourth kind of store, for tests alone: a dict in one JSON file. It is what a new store needs, and no more."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DamagedError, StoreError
from catmem.files import replace_file, take_lock
from catmem.jsonable import jsonable
from catmem.registry import Registry
from catmem.store.contract import (
    Anchor,
    Change,
    Erased,
    Erasure,
    Fault,
    FolderReport,
    Kept,
    LastingStore,
    Revision,
    Snapshot,
    Update,
)
from catmem.workspace.stores import Backend, Opening
from tests.store.memory import InMemoryStore

PATIENCE = 10.0
"""Seconds that a write waits for the lock."""


class _Memory(InMemoryStore):
    """What the file holds, taken into memory and given back."""

    def load(self, said: Mapping[str, list[dict[str, object]]]) -> None:
        for past in said.values():
            for each in past:
                data = _bytes(each.pop("data"))
                recorded = Revision(**each | {"parents": tuple(each["parents"])})  # type: ignore[arg-type]
                self._keep(recorded, data)
                self._sequence = max(self._sequence, recorded.sequence)

    def dump(self) -> dict[str, list[dict[str, object]]]:
        return {
            entity: [{**jsonable(each), "data": _text(data)} for each, data in self.replay(entity)]
            for entity in self.entities()
        }

    def redact(self, entity: str, erasure: Erasure) -> int:
        old = self._revisions[entity]
        noted = [(replace(each, note=erasure.redact_note(each.note, data)), data) for each, data in old]
        new = [(each, erasure.redact(data)) for each, data in noted]
        self._revisions[entity] = [(replace(each, digest=bytes_digest(now), size=len(now)), now) for each, now in new]
        return sum(before != after for (_, before), (_, after) in zip(old, new, strict=True))


def _text(data: bytes) -> str:
    """Bytes as text for JSON: a file of the store says plainly what it holds."""
    return data.decode("latin-1")


def _bytes(text: object) -> bytes:
    return str(text).encode("latin-1")


class DictStore(LastingStore):
    """Every call reads the file; a write holds the lock beside it, and puts a new file in its place."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _now(self) -> _Memory:
        memory = _Memory()
        try:
            memory.load(json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError("the store cannot be read", path=self._path, hint="Restore the file.") from error
        return memory

    @contextmanager
    def _changing(self) -> Iterator[_Memory]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                take_lock(descriptor, PATIENCE)
            except BlockingIOError as error:
                hint = "Nothing was written. Try again."
                raise BusyError("another program writes to this store", path=self._path, hint=hint) from error
            memory = self._now()
            before = memory.dump()
            yield memory
            after = memory.dump()
            if after != before:
                replace_file(self._path, json.dumps(after).encode(), lasting=True)
        finally:
            os.close(descriptor)

    # --- the contract -------------------------------------------------------------------------------------------

    def head(self, entity: str) -> Revision | None:
        return self._now().head(entity)

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        return self._now().read(entity, revision)

    def peek(self, entity: str) -> bytes:
        return self._now().peek(entity)

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        with self._changing() as memory:
            return memory.commit(entity, expected, update, change)

    def entities(self) -> Sequence[str]:
        return self._now().entities()

    def log(self, entity: str) -> Iterator[Revision]:
        return self._now().log(entity)

    def branches(self, entity: str) -> Sequence[Revision]:
        return self._now().branches(entity)

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        return self._now().replay(entity)

    def import_history(self, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
        brought = list(history)
        if any(bytes_digest(data) != each.digest for each, data in brought):
            raise DamagedError("a revision has other bytes than it was recorded with", hint="Nothing was copied.")
        with self._changing() as memory:
            return memory.import_history(entity, brought)

    def check_writable(self, entities: Iterable[str]) -> None:
        del entities  # all lie in one file
        if not os.access(self._path.parent, os.W_OK):
            raise StoreError("it takes no writes", code="not_writable", path=self._path)

    def verify(self, entity: str | None = None) -> list[Fault]:
        try:
            memory = self._now()
        except DamagedError as error:
            return [Fault(error.code, error.message, error.path, error.hint or "")]
        return [
            Fault("damaged", f"revision {each.revision} has other bytes than it was recorded with", name, "Restore it.")
            for name in (memory.entities() if entity is None else [entity])
            for each, data in memory.replay(name)
            if bytes_digest(data) != each.digest
        ]

    def close(self) -> None:
        pass

    # --- what lasts ---------------------------------------------------------------------------------------------

    def examine(self) -> Sequence[FolderReport]:
        memory = self._now()
        count = sum(1 for entity in memory.entities() for _ in memory.log(entity))
        return [FolderReport(str(self._path), "JSON", (), self._path.exists(), count, None)]

    def history_place(self, entity: str) -> Path:
        del entity
        return self._path

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        memory = self._now()
        for entity in memory.entities():
            newest = next(memory.log(entity))
            yield Path(entity), {"store": entity, "sequence": newest.sequence, "line": newest.digest}

    def holds(self, anchor: Anchor) -> bool:
        log = self.log(anchor["store"])
        return any((each.sequence, each.digest) == (anchor["sequence"], anchor["line"]) for each in log)

    def mend(self) -> list[str]:
        return []

    def backup(self, entity: str) -> Path:
        data = self.peek(entity)
        for copy in self.kept(entity):
            if copy.data == data:
                return copy.path
        number = 1 + max((int(path.suffixes[-2][1:]) for path in self._backups()), default=0)
        path = self._path.with_name(f"{self._path.name}.{number}.bak")
        replace_file(path, json.dumps({"entity": entity, "data": _text(data)}).encode(), lasting=True)
        return path

    def _backups(self) -> list[Path]:
        return sorted(self._path.parent.glob(f"{self._path.name}.*.bak"))

    def kept(self, entity: str) -> Iterator[Kept]:
        for path in self._backups():
            said = json.loads(path.read_bytes())
            if said["entity"] == entity:
                yield Kept(path, _bytes(said["data"]), "backup", own=True)

    def erase(self, entity: str, erasure: Erasure) -> Erased:
        with self._changing() as memory:
            count = memory.redact(entity, erasure)
            holding = [each for each in self.kept(entity) if erasure.holds(each)]
            for each in holding:
                kept = {"entity": entity, "data": _text(erasure.redact(each.data))}
                replace_file(each.path, json.dumps(kept).encode(), lasting=True)
        return Erased(count, tuple(each.path for each in holding), (), ())


def _opened(opening: Opening) -> DictStore:
    """The store at the path that catmem.yaml says after ``dict:``, from the root."""
    return DictStore(opening.config.root / opening.config.store.removeprefix("dict:"))


DICT = Backend(_opened)


def register(registry: Registry) -> None:
    """Add this kind of store."""
    registry.needs(1)
    registry.add_store("dict", f"{__name__}:DICT")
