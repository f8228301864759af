"""The log of an entity: its revisions, each as a splice of another or as the whole, chained by digests.

A revision is at most ``DEPTH`` splices away from a whole one, so reading any costs the same however long the log is.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select

from catmem.digest import bytes_digest, canonical_json
from catmem.errors import DamagedError
from catmem.jsonable import jsonable
from catmem.plugins.sql.database import Database
from catmem.plugins.sql.link import Link, Statement
from catmem.plugins.sql.meta import Meta
from catmem.plugins.sql.tables import AS_THEY_ARE, BRANCHES, LOG, META, refuse_changed
from catmem.store.changes import Splice, WholeText, change, whole
from catmem.store.contract import Revision, Snapshot, unknown_revision

DEPTH = 31
"""Splices between a revision and the whole that it is rebuilt from."""

PAGE = 256
FIRST_PAGE = 8
"""Records of the first page, the newest first: most who look at a log want the last few. The next ones are larger."""

_FIELDS = tuple(name for name in Revision.__slots__ if name != "entity")
_COLUMNS = tuple(LOG.c[name] for name in _FIELDS)
_STEP = (LOG.c.base, LOG.c.depth, LOG.c.offset, LOG.c.removed, LOG.c.data, LOG.c.chain)
_OF = LOG.c.entity == bindparam("entity")

_BY_REVISION = Statement(select(*_COLUMNS).where(_OF, LOG.c.revision == bindparam("revision")))
_BY_OPERATION = Statement(
    select(*_COLUMNS).where(_OF, LOG.c.agent == bindparam("agent"), LOG.c.op_id == bindparam("op_id"))
)
_BY_DIGEST = Statement(
    select(*_COLUMNS).where(_OF, LOG.c.digest == bindparam("digest")).order_by(LOG.c.sequence.desc()).limit(1)
)
_LATEST = Statement(
    select(*_COLUMNS)
    .where(_OF, LOG.c.sequence < bindparam("before"))
    .order_by(LOG.c.sequence.desc())
    .limit(bindparam("most"))
)
_EARLIEST = Statement(
    select(*_COLUMNS, *_STEP).where(_OF, LOG.c.sequence > bindparam("after")).order_by(LOG.c.sequence).limit(PAGE)
)
_LINK = Statement(
    select(*_COLUMNS, *_STEP)
    .where(_OF, LOG.c.sequence >= bindparam("first"), LOG.c.sequence <= bindparam("last"))
    .order_by(LOG.c.sequence)
)
_TIPS = Statement(
    select(*_COLUMNS)
    .join(BRANCHES, (BRANCHES.c.entity == LOG.c.entity) & (BRANCHES.c.sequence == LOG.c.sequence))
    .where(_OF)
    .order_by(LOG.c.sequence.desc())
)
_BY_AGENT = Statement(
    select(*_COLUMNS)
    .where(_OF, LOG.c.agent == bindparam("agent"), LOG.c.sequence > bindparam("after"))
    .order_by(LOG.c.sequence.desc())
    .limit(1)
)
_DEPTH_OF = Statement(select(LOG.c.depth).where(_OF, LOG.c.sequence == bindparam("sequence")))
_CHAIN_OF = Statement(select(LOG.c.chain).where(_OF, LOG.c.sequence == bindparam("sequence")))
_STARTING_WITH = Statement(select(LOG.c.revision).where(_OF, LOG.c.revision.like(bindparam("beginning"))))
_HEAD_OF = META.outerjoin(LOG, (LOG.c.entity == META.c.entity) & (LOG.c.sequence == META.c.head))
_HEAD = Statement(
    *(
        select(*_COLUMNS, *AS_THEY_ARE[kind]).select_from(_HEAD_OF).where(META.c.entity == bindparam("entity"))
        for kind in ("sqlite", "postgresql")
    )
)
_APPEND = Statement(insert(LOG))
_NEW_TIP = Statement(insert(BRANCHES))
_NO_TIPS = Statement(delete(BRANCHES).where(BRANCHES.c.entity == bindparam("entity")))
_NO_TIP = Statement(
    delete(BRANCHES).where(BRANCHES.c.entity == bindparam("entity"), BRANCHES.c.revision == bindparam("revision"))
)


def _chain_of_splices() -> Statement:
    made = select(LOG.c.entity, LOG.c.base, LOG.c.depth, LOG.c.offset, LOG.c.removed, LOG.c.size, LOG.c.data)
    first = made.where(_OF, LOG.c.sequence == bindparam("sequence")).cte("steps", recursive=True)
    more = made.join(first, (LOG.c.entity == first.c.entity) & (LOG.c.sequence == first.c.base))
    steps = first.union_all(more)
    return Statement(
        select(steps.c.base, steps.c.offset, steps.c.removed, steps.c.size, steps.c.data).order_by(steps.c.depth)
    )


_STEPS = _chain_of_splices()


class LogStep(NamedTuple):
    """A revision with how its bytes are made, and the digest that chains it to the one before."""

    revision: Revision
    base: int | None
    depth: int
    change: Splice | WholeText
    chain: str


class Base(NamedTuple):
    """A revision whose bytes are at hand, so that another can be a splice of it."""

    sequence: int
    depth: int
    data: bytes


class LogHistory:
    """The log of one entity, read through one connection."""

    def __init__(self, link: Link, entity: str) -> None:
        """``link`` may be one in a transaction."""
        self.link = link
        self.entity = entity

    def named(self, revision: str) -> Revision | None:
        """The record of a revision."""
        return self._one(_BY_REVISION, revision=revision)

    def operation(self, agent: str, op_id: str) -> Revision | None:
        """The record of an agent's operation."""
        return self._one(_BY_OPERATION, agent=agent, op_id=op_id)

    def with_digest(self, digest: str) -> Revision | None:
        """The newest record of some bytes."""
        return self._one(_BY_DIGEST, digest=digest)

    def by_agent_since(self, agent: str, sequence: int) -> Revision | None:
        """The newest record of an agent after ``sequence``."""
        return self._one(_BY_AGENT, agent=agent, after=sequence)

    def _one(self, statement: Statement, **values: Any) -> Revision | None:  # noqa: ANN401 - what columns hold
        found = self.link.first(statement, entity=self.entity, **values)
        return None if found is None else revision_of(self.entity, found)

    def tips(self) -> list[Revision]:
        """The branches that nothing follows, the newest first."""
        return [revision_of(self.entity, each) for each in self.link.rows(_TIPS, entity=self.entity)]

    def set_tips(self, branches: Sequence[Revision]) -> None:
        """Say which branches nothing follows."""
        self.link.run(_NO_TIPS, entity=self.entity)
        for each in branches:
            self.link.run(_NEW_TIP, entity=self.entity, revision=each.revision, sequence=each.sequence)

    def head(self) -> Revision | None:
        """The record of the head, in tables that are as they were known: all in one statement."""
        found = self.link.first(_HEAD, entity=self.entity)
        if found is None or tuple(found[len(_COLUMNS) :]) != self.link.tables:
            refuse_changed(self.link)
        return None if found is None or found[0] is None else revision_of(self.entity, found)

    def names_of_branches(self, number: int) -> set[str]:
        """The ids that begin with a number, such as ``8`` and ``8a``."""
        found = self.link.rows(_STARTING_WITH, entity=self.entity, beginning=f"{number}%")
        return {str(each[0]) for each in found}

    def data(self, revision: Revision) -> bytes:
        """The bytes of a revision. Raises ``DamagedError`` if they are not those that were recorded."""
        data = rebuilt(self.link, self.entity, revision.sequence)
        if bytes_digest(data) != revision.digest:
            raise damaged(f"revision {revision.revision} of {self.entity} is not what was recorded")
        return data

    def depth(self, sequence: int) -> int:
        """How many splices a revision is away from the whole that it is made from."""
        found = self.link.first(_DEPTH_OF, entity=self.entity, sequence=sequence)
        return DEPTH if found is None else int(found[0])

    def chain(self, sequence: int) -> str | None:
        """The link of a record; ``None`` if there is none."""
        found = self.link.first(_CHAIN_OF, entity=self.entity, sequence=sequence)
        return None if found is None else str(found[0])

    def check(self, sequence: int, start: str) -> None:
        """Raise ``DamagedError`` unless a record is as it was written, and follows from the one before.

        ``start`` is with what the chain of the entity begins.
        """
        found = self.link.rows(_LINK, entity=self.entity, first=sequence - 1, last=sequence)
        steps = [step_of(self.entity, each) for each in found]
        before = steps[0].chain if len(steps) > 1 else start
        if not steps or chained(before, steps[-1]) != steps[-1].chain:
            raise damaged(f"record {sequence} of {self.entity} is not what was recorded")

    def snapshot(self, revision: str) -> Snapshot:
        """A revision as it was. Raises ``UnknownRevisionError``."""
        if revision == "0":
            return Snapshot.of(b"", "0")
        found = self.named(revision)
        if found is None:
            raise unknown_revision(self.entity, revision)
        return Snapshot(self.data(found), found.revision, found.digest)

    def append(self, recorded: Revision, data: bytes, base: Base | None, chain: str) -> LogStep:
        """Add a revision; ``base`` is one whose bytes are at hand, ``chain`` that of the last record."""
        step = next_step(recorded, data, base, chain)
        self.link.run(_APPEND, **columns_of(step))
        self.keep_tips(recorded)
        return step

    def keep_tips(self, recorded: Revision) -> None:
        """Keep in mind which branches are open behind a revision."""
        for parent in recorded.parents:
            if not parent.isdecimal():
                self.link.run(_NO_TIP, entity=self.entity, revision=parent)
        if recorded.is_branch:
            self.link.run(_NEW_TIP, entity=self.entity, revision=recorded.revision, sequence=recorded.sequence)


def next_step(recorded: Revision, data: bytes, base: Base | None, chain: str) -> LogStep:
    """A revision as a step of the log; see ``LogHistory.append``."""
    made = whole(data) if base is None or base.depth >= DEPTH else change(base.data, data)
    if base is None or isinstance(made, WholeText):
        step = LogStep(recorded, None, 0, made, "")
    else:
        step = LogStep(recorded, base.sequence, base.depth + 1, made, "")
    return step._replace(chain=chained(chain, step))


def rebuilt(link: Link, entity: str, sequence: int) -> bytes:
    """The bytes of a revision, from the whole that it goes back to. Raises ``DamagedError``."""
    data: bytes | None = None
    for base, offset, removed, size, stored in link.rows(_STEPS, entity=entity, sequence=sequence):
        try:
            if base is None:
                data = WholeText(stored, size).unpack()
            elif data is not None:
                data = Splice(offset, removed, stored).apply(data)
        except (ValueError, TypeError) as error:
            raise damaged(f"record {sequence} of {entity} cannot be rebuilt: {error}") from error
    if data is None:
        raise damaged(f"record {sequence} of {entity} cannot be rebuilt: the whole that it goes back to is missing")
    return data


def page_before(link: Link, entity: str, sequence: int, most: int) -> list[Revision]:
    """Records that are older than ``sequence``, the newest first, ``most`` at most."""
    return [revision_of(entity, each) for each in link.rows(_LATEST, entity=entity, before=sequence, most=most)]


def page_after(link: Link, entity: str, sequence: int) -> list[LogStep]:
    """Records that are newer than ``sequence``, the oldest first."""
    return [step_of(entity, each) for each in link.rows(_EARLIEST, entity=entity, after=sequence)]


def steps(database: Database, entity: str) -> Iterator[LogStep]:
    """All records, the oldest first. Each page of them is a look of its own."""
    after = -1
    while True:
        with database.looking() as link:
            page = page_after(link, entity, after)
        if not page:
            return
        yield from page
        after = page[-1].revision.sequence


class Rebuilding:
    """Makes the bytes of revisions that come in order, the oldest first. Holds those of the last two and no more."""

    def __init__(self, database: Database, entity: str) -> None:
        """The bytes of what is not at hand are read from ``database``."""
        self._database = database
        self._entity = entity
        self._held: dict[int, bytes] = {}

    def data(self, step: LogStep) -> bytes:
        """The bytes of a revision. Raises ``DamagedError``."""
        change = step.change
        try:
            data = change.unpack() if isinstance(change, WholeText) else change.apply(self.base(step) or b"")
        except ValueError as error:
            raise damaged(f"revision {step.revision.revision} of {self._entity} cannot be rebuilt: {error}") from error
        if bytes_digest(data) != step.revision.digest:
            raise damaged(f"revision {step.revision.revision} of {self._entity} is not what was recorded")
        self._held[step.revision.sequence] = data
        while len(self._held) > 2:  # noqa: PLR2004 - a head, and a branch beside it
            del self._held[next(iter(self._held))]
        return data

    def base(self, step: LogStep) -> bytes | None:
        """The bytes that a revision is recorded as a splice of; ``None`` for a whole one."""
        if step.base is None:
            return None
        held = self._held.get(step.base)
        if held is not None:
            return held
        with self._database.looking() as link:
            return rebuilt(link, self._entity, step.base)


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
    """A whole row of the log."""
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
    """A record as the columns of the log."""
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
    """The error for a log that is not what was written."""
    return DamagedError(message, hint="Restore the database from a backup; 'catmem fsck' says what else is damaged.")


_MOST = 16
"""Heads that are at hand: those that came last."""


class Heads:
    """The heads of a store. Safe in threads."""

    def __init__(self) -> None:
        """None is at hand."""
        self._known: dict[str, bytes] = {}
        self._checked: dict[str, str] = {}
        self._lock = threading.Lock()

    def is_checked(self, entity: str, chain: str) -> bool:
        """Whether the log of an entity ends with the record that was written, or looked at, here last."""
        return self._checked.get(entity) == chain

    def check(self, entity: str, chain: str) -> None:
        """Say that the log of an entity ends with a record that is as it was written."""
        self._checked[entity] = chain

    def known(self, digest: str) -> bytes | None:
        """The bytes with this digest, if they are at hand."""
        return self._known.get(digest)

    def keep(self, digest: str, data: bytes) -> None:
        """Have some bytes at hand."""
        with self._lock:
            self._known[digest] = data
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]

    def clear(self) -> None:
        """Have nothing at hand any more."""
        with self._lock:
            self._known.clear()

    def data(self, link: Link, entity: str, meta: Meta) -> bytes:
        """The bytes of an entity's head. Raises ``DamagedError``."""
        if not meta.head:
            return b""
        data = self.known(meta.digest)
        if data is None:
            data = rebuilt(link, entity, meta.head)
            if bytes_digest(data) != meta.digest:
                raise damaged(f"the head of {entity} is not what was recorded")
            self.keep(meta.digest, data)
        return data
