"""The history of an entity: its revisions, each as a splice of another or as the whole, chained by digests.

A revision is at most ``DEPTH`` splices away from a whole one, so reading any costs the same however long the log is.
``memory_meta`` says of each entity where its log ends, and how often its rows changed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from catmem.digest import bytes_digest, canonical_json
from catmem.errors import DamagedError, StoreError
from catmem.jsonable import jsonable
from catmem.plugins.sql.connections import GIVE_WAY, Link, Statement
from catmem.plugins.sql.tables import AS_THEY_ARE, refuse_changed
from catmem.store.changes import ByteChange, Splice, WholeText, change, whole
from catmem.store.contract import Revision, Snapshot, unknown_revision


class Meta(NamedTuple):
    """``head`` is the sequence of the head, ``sequence`` that of the last record, ``depth`` the head's in splices."""

    generation: int
    recorded: int
    revision: int
    sequence: int
    head: int
    depth: int
    digest: str
    chain: str
    branches: str
    """The branches that nothing follows, as a JSON list of their ids, the oldest first."""

    @property
    def is_drifted(self) -> bool:
        """Whether the rows have an external change since catmem last recorded them."""
        return self.generation != self.recorded

    def followed_by(self, step: LogStep) -> Meta:
        made = step.revision
        branches = [each for each in json.loads(self.branches) if each not in made.parents]
        after = self._replace(
            sequence=made.sequence,
            chain=step.chain,
            branches=json.dumps([*branches, made.revision] if made.is_branch else branches),
        )
        if made.is_branch:
            return after
        return after._replace(
            recorded=self.generation,
            revision=int(made.revision),
            head=made.sequence,
            depth=step.depth,
            digest=made.digest,
        )


NEVER = Meta(0, 0, 0, 0, 0, 0, "", "", "[]")
"""An entity that was never written."""

_META = ", ".join(Meta._fields)
_ALL = f"SELECT entity, {_META} FROM memory_meta ORDER BY entity"
_READ = {
    kind: f"SELECT {_META}, {tables} FROM memory_meta WHERE entity = :name" for kind, tables in AS_THEY_ARE.items()
}
_LOOK = Statement(_READ["sqlite"], _READ["postgresql"])
_LOCK = Statement(
    f"SELECT *, (SELECT coalesce(sum(sequence), 0) FROM memory_meta) FROM ({_READ['sqlite']})",
    # Once the entity is held, no other lock is waited for any longer: see GIVE_WAY.
    f"WITH locked AS ({_READ['postgresql']} FOR UPDATE) "
    f"SELECT locked.*, set_config('lock_timeout', '{GIVE_WAY}', true) FROM locked",
)
_ADD = Statement("INSERT INTO memory_meta (entity) VALUES (:name) ON CONFLICT DO NOTHING")
_RECORD = (
    "UPDATE memory_meta SET recorded = generation, updated_at = :now, revision = :new_revision, "
    "sequence = :new_sequence, head = :new_head, depth = :new_depth, digest = :new_digest, chain = :new_chain, "
    "branches = :new_branches "
    "WHERE entity = :name AND sequence = :before"
)
SEEN = Statement("UPDATE memory_meta SET recorded = generation WHERE entity = :name")
"""Says that the rows are what the head says, though they were touched."""
CHANGED = Statement("UPDATE memory_meta SET generation = generation + 1 WHERE entity = :name")
"""Says that the rows have an external change, though nothing counted it."""


DEPTH = 31
"""Splices between a revision and the whole that it is rebuilt from."""

PAGE = 256
FIRST_PAGE = 8
"""Records of the first page, the newest first: most who look at a log want the last few. The next ones are larger."""

_FIELDS = tuple(name for name in Revision.__slots__ if name != "entity")
_STEP = ("base", "depth", "offset", "removed", "data", "chain")
_COLUMNS = ", ".join(f"mem_log.{name}" for name in _FIELDS)
_STEPS = f'{_COLUMNS}, base, depth, "offset", removed, data, chain'
_FROM = "FROM mem_log WHERE entity = :entity"
_INTO = f"""INSERT INTO mem_log (entity, {", ".join(f'"{name}"' for name in (*_FIELDS, *_STEP))})
    VALUES (:entity, {", ".join(f":{name}" for name in (*_FIELDS, *_STEP))})"""
APPEND = Statement(_INTO)
_MOVED_ON = Statement(_RECORD)
_APPEND_AND_MOVE_ON = Statement(_RECORD, f"WITH appended AS ({_INTO}) {_RECORD}")

_BY_REVISION = Statement(f"SELECT {_COLUMNS} {_FROM} AND revision = :revision")
_BY_OPERATION = Statement(f"SELECT {_COLUMNS} {_FROM} AND agent = :agent AND op_id = :op_id")
_BY_DIGEST = Statement(f"SELECT {_COLUMNS} {_FROM} AND digest = :digest ORDER BY sequence DESC LIMIT 1")
_BY_AGENT = Statement(
    f"SELECT {_COLUMNS} {_FROM} AND agent = :agent AND sequence > :after ORDER BY sequence DESC LIMIT 1"
)
_LATEST = Statement(f"SELECT {_COLUMNS} {_FROM} AND sequence < :before ORDER BY sequence DESC LIMIT :most")
_EARLIEST = Statement(f"SELECT {_STEPS} {_FROM} AND sequence > :after ORDER BY sequence LIMIT {PAGE}")
_LINK = Statement(f"SELECT {_STEPS} {_FROM} AND sequence BETWEEN :first AND :last ORDER BY sequence")
_CHAIN_OF = Statement(f"SELECT chain {_FROM} AND sequence = :sequence")
_STARTING_WITH = Statement(f"SELECT revision {_FROM} AND revision LIKE :beginning")
_TIPS = Statement(
    *(
        f"SELECT {_COLUMNS} {_FROM} AND revision IN ({named}) ORDER BY sequence DESC"
        for named in (
            "SELECT value FROM memory_meta, json_each(branches) WHERE memory_meta.entity = :entity",
            "SELECT json_array_elements_text(branches::json) FROM memory_meta WHERE memory_meta.entity = :entity",
        )
    )
)
_HEAD = Statement(
    *(
        f"SELECT {_COLUMNS}, {tables} FROM memory_meta LEFT JOIN mem_log "
        "ON mem_log.entity = memory_meta.entity AND mem_log.sequence = head WHERE memory_meta.entity = :entity"
        for tables in (AS_THEY_ARE["sqlite"], AS_THEY_ARE["postgresql"])
    )
)
_REBUILT = Statement(
    f"""WITH RECURSIVE steps AS (
        SELECT base, depth, "offset", removed, size, data {_FROM} AND sequence = :sequence
        UNION ALL SELECT mem_log.base, mem_log.depth, mem_log."offset", mem_log.removed, mem_log.size, mem_log.data
        FROM mem_log JOIN steps ON mem_log.sequence = steps.base WHERE mem_log.entity = :entity)
    SELECT base, "offset", removed, size, data FROM steps ORDER BY depth"""
)


# --- where a log ends ---


def look(link: Link, entity: str) -> Meta:
    return _meta(link, link.first(_LOOK, name=entity))


def look_at_all(link: Link) -> dict[str, Meta]:
    return {str(entity): Meta(*rest) for entity, *rest in link.text(_ALL)}


def generations(link: Link) -> dict[str, tuple[int, int]]:
    """How often the rows of each entity were changed: by the last record of catmem, and by now."""
    return {entity: (there.recorded, there.generation) for entity, there in look_at_all(link).items()}


def lock(link: Link, entity: str, start: str) -> Meta:
    """What is known of an entity, which no other writer reaches until the end; its first record follows ``start``."""
    found = link.first(_LOCK, name=entity)
    if found is None:
        link.run(_ADD, name=entity)
        found = link.first(_LOCK, name=entity)
    there = _meta(link, found)
    if link.file is not None and found is not None:
        link.revisions = int(found[-1])
        link.file.refuse_behind(link.revisions)
    return there if there.chain else there._replace(chain=start)


def _meta(link: Link, found: Sequence[Any] | None) -> Meta:
    """What was found of an entity, in tables that are as they were known."""
    if found is None:
        refuse_changed(link)
        return NEVER
    count = len(Meta._fields)
    if link.tables is not None and tuple(found[count : count + 2]) != link.tables:
        refuse_changed(link)
    return Meta(*found[:count])


def record(link: Link, before: Meta, after: Meta, last: Revision, log: Mapping[str, Any] | None = None) -> None:
    """Set where the log ends, with ``last`` (``log`` are its columns, if it is not there yet)."""
    values = {"name": last.entity, "before": before.sequence, "now": last.timestamp}
    values |= {f"new_{name}": value for name, value in after._asdict().items()}
    if log is None:
        changed = link.run(_MOVED_ON, **values)
    elif link.kind == "postgresql":
        changed = link.run(_APPEND_AND_MOVE_ON, **values, **log)  # both in one statement: a server is asked once
    else:
        link.run(APPEND, **log)
        changed = link.run(_MOVED_ON, **values)
    if link.file is not None:
        link.revisions = (link.revisions or 0) + after.sequence - before.sequence
    if changed != 1:
        raise StoreError(f"the record of {last.entity} changed under a lock", hint="Nothing was written. Try again.")


# --- the log ---


class LogStep(NamedTuple):
    """A revision with how its bytes are made, and the digest that chains it to the one before."""

    revision: Revision
    base: int | None
    depth: int
    change: ByteChange
    chain: str


class LogHistory:
    """The log of one entity, read through one connection."""

    def __init__(self, link: Link, entity: str) -> None:
        self.link = link
        self.entity = entity

    def named(self, revision: str) -> Revision | None:
        return self._one(_BY_REVISION, revision=revision)

    def operation(self, agent: str, op_id: str) -> Revision | None:
        return self._one(_BY_OPERATION, agent=agent, op_id=op_id)

    def with_digest(self, digest: str) -> Revision | None:
        return self._one(_BY_DIGEST, digest=digest)

    def by_agent_since(self, agent: str, sequence: int) -> Revision | None:
        """The newest record of an agent after ``sequence``."""
        return self._one(_BY_AGENT, agent=agent, after=sequence)

    def _one(self, statement: Statement, **values: Any) -> Revision | None:  # noqa: ANN401 - what columns hold
        found = self.link.first(statement, entity=self.entity, **values)
        return None if found is None else revision_of(self.entity, found)

    def tips(self) -> list[Revision]:
        return [revision_of(self.entity, each) for each in self.link.rows(_TIPS, entity=self.entity)]

    def head(self) -> Revision | None:
        """The record of the head, in tables that are as they were known: all in one statement."""
        found = self.link.first(_HEAD, entity=self.entity)
        if found is None or tuple(found[len(_FIELDS) :]) != self.link.tables:
            refuse_changed(self.link)
        return None if found is None or found[0] is None else revision_of(self.entity, found)

    def names_of_branches(self, number: int) -> set[str]:
        """The ids that begin with a number, such as ``8`` and ``8a``."""
        found = self.link.rows(_STARTING_WITH, entity=self.entity, beginning=f"{number}%")
        return {str(each[0]) for each in found}

    def chain(self, sequence: int) -> str | None:
        """The link of a record; ``None`` if there is none."""
        found = self.link.first(_CHAIN_OF, entity=self.entity, sequence=sequence)
        return None if found is None else str(found[0])

    def check(self, sequence: int, start: str) -> None:
        """Raise ``DamagedError`` unless a record is as it was written, and follows from the one before."""
        found = self.link.rows(_LINK, entity=self.entity, first=sequence - 1, last=sequence)
        steps = [step_of(self.entity, each) for each in found]
        before = steps[0].chain if len(steps) > 1 else start
        if not steps or chained(before, steps[-1]) != steps[-1].chain:
            raise damaged(f"record {sequence} of {self.entity} is not what was recorded")

    def snapshot(self, revision: str) -> Snapshot:
        if revision == "0":
            return Snapshot.from_bytes(b"", "0")
        found = self.named(revision)
        if found is None:
            raise unknown_revision(self.entity, revision)
        data = rebuilt(self.link, self.entity, found.sequence, found.digest)
        return Snapshot(data, found.revision, found.digest)


def next_step(recorded: Revision, data: bytes, before: Meta, head: bytes) -> LogStep:
    """A revision as a step of the log, behind what is there ``before``: unless it is a branch, a splice of the head."""
    is_whole = recorded.is_branch or not before.head or before.depth >= DEPTH
    made = whole(data) if is_whole else change(head, data)
    base, depth = (before.head, before.depth + 1) if isinstance(made, Splice) else (None, 0)
    step = LogStep(recorded, base, depth, made, "")
    return step._replace(chain=chained(before.chain, step))


def rebuilt(link: Link, entity: str, sequence: int, digest: str) -> bytes:
    """The bytes of a record, from the whole that it goes back to. Raises ``DamagedError`` for others than it had."""
    data: bytes | None = None
    for base, offset, removed, size, stored in link.rows(_REBUILT, entity=entity, sequence=sequence):
        try:
            if base is None:
                data = WholeText(stored, size).apply()
            elif data is not None:
                data = Splice(offset, removed, stored).apply(data)
        except (ValueError, TypeError) as error:
            raise damaged(f"record {sequence} of {entity} cannot be rebuilt: {error}") from error
    if data is None:
        raise damaged(f"record {sequence} of {entity} cannot be rebuilt: the whole that it goes back to is missing")
    if bytes_digest(data) != digest:
        raise damaged(f"record {sequence} of {entity} is not what was recorded")
    return data


def page_before(link: Link, entity: str, sequence: int, most: int) -> list[Revision]:
    """Records that are older than ``sequence``, the newest first, ``most`` at most."""
    return [revision_of(entity, each) for each in link.rows(_LATEST, entity=entity, before=sequence, most=most)]


def page_after(link: Link, entity: str, sequence: int) -> list[LogStep]:
    """Records that are newer than ``sequence``, the oldest first."""
    return [step_of(entity, each) for each in link.rows(_EARLIEST, entity=entity, after=sequence)]


def contents(entity: str, log: Iterable[LogStep]) -> Iterator[tuple[LogStep, bytes, bytes]]:
    """Records in order, each with the bytes of the head before it, and its own. Raises ``DamagedError``."""
    head, place = b"", None
    for step in log:
        made = step.change
        try:
            if isinstance(made, Splice) and step.base != place:
                raise ValueError("what it changes is not the head before it")  # noqa: TRY301 - any fault of it is one kind
            data = made.apply(head)
        except ValueError as error:
            raise damaged(f"revision {step.revision.revision} of {entity} cannot be rebuilt: {error}") from error
        if bytes_digest(data) != step.revision.digest:
            raise damaged(f"revision {step.revision.revision} of {entity} is not what was recorded")
        yield step, head, data
        if not step.revision.is_branch:
            head, place = data, step.revision.sequence


def revision_of(entity: str, row: Sequence[Any]) -> Revision:
    """A row of the log as the contract shows it. Raises ``DamagedError``."""
    fields = dict(zip(_FIELDS, row, strict=False))
    try:
        parents, note = json.loads(fields["parents"]), json.loads(fields["note"])
        if not isinstance(parents, list) or not isinstance(note, dict):
            raise ValueError("not as it must be")  # noqa: TRY004, TRY301 - any fault of it is one kind
    except (ValueError, TypeError) as error:
        raise damaged(f"record {fields['sequence']} of {entity} cannot be read: {error}") from error
    return Revision(**fields | {"entity": entity, "parents": tuple(parents), "note": note})


def step_of(entity: str, row: Sequence[Any]) -> LogStep:
    recorded = revision_of(entity, row)
    base, depth, offset, removed, data, chain = row[len(_FIELDS) :]
    if not isinstance(data, bytes):
        raise damaged(f"record {recorded.sequence} of {entity} holds no bytes")
    made = WholeText(data, recorded.size) if base is None else Splice(offset, removed, data)
    return LogStep(recorded, base, depth, made, chain)


def chain_start(store: str, entity: str) -> str:
    """With what the chain of an entity begins, so that none can be taken for another's."""
    return bytes_digest(f"{store}\n{entity}".encode())


def chained(before: str, step: LogStep) -> str:
    """The digest that stands for a record and all before it."""
    made = step.change
    how = [len(made.packed)] if isinstance(made, WholeText) else [made.offset, made.removed]
    said = [before, jsonable(step.revision), step.base, step.depth, how]
    link = hashlib.sha256(canonical_json(said))
    link.update(made.packed if isinstance(made, WholeText) else made.inserted)
    return link.hexdigest()


def columns_of(step: LogStep) -> dict[str, Any]:
    recorded: dict[str, Any] = jsonable(step.revision)
    made = step.change
    splice = made if isinstance(made, Splice) else None
    return recorded | {
        "parents": canonical_json(recorded["parents"]).decode(),
        "note": canonical_json(recorded["note"]).decode(),
        "base": step.base,
        "depth": step.depth,
        "offset": splice.offset if splice else None,
        "removed": splice.removed if splice else None,
        "data": made.inserted if isinstance(made, Splice) else made.packed,
        "chain": step.chain,
    }


def damaged(message: str) -> DamagedError:
    return DamagedError(message, hint="Restore the database from a backup; 'catmem fsck' says what else is damaged.")


_MOST = 16
"""Heads that are at hand: those that came last."""


class Heads:
    """The heads of a store. Safe in threads."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}
        """The bytes by their digest."""
        self.checked: dict[str, str] = {}
        """The chain of the record with which the log of each entity ended, when it was written or looked at here."""
        self._lock = threading.Lock()

    def keep(self, digest: str, data: bytes) -> None:
        with self._lock:
            self.known[digest] = data
            if len(self.known) > _MOST:
                del self.known[next(iter(self.known))]

    def clear(self) -> None:
        with self._lock:
            self.known.clear()

    def data(self, link: Link, entity: str, meta: Meta) -> bytes:
        """The bytes of an entity's head. Raises ``DamagedError``."""
        if not meta.head:
            return b""
        data = self.known.get(meta.digest)
        if data is None:
            data = rebuilt(link, entity, meta.head, meta.digest)
            self.keep(meta.digest, data)
        return data
