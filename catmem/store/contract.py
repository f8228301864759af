"""What every store promises, the values that go in and out of it, and what the log of revisions tells.

An *entity* is one document, named by a text such as ``trinity/user``. Its *revisions* are numbered from 1 without gaps;
the id of a revision is a text, since a branch has ids such as ``8a``. A store knows bytes and records, no Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, runtime_checkable

from catmem.digest import bytes_digest
from catmem.errors import DamagedError, OperationCollisionError, StaleError, StoreError, UnknownRevisionError

OnDrift: TypeAlias = Literal["adopt", "refuse", "merge"]
"""What to do about an external change: adopt it and go on if the caller's view allows it (the default), refuse once
whatever the caller knew, or let the caller's update work on what is there now."""

OnStale: TypeAlias = Literal["refuse", "branch"]
"""What becomes of a write whose caller saw an older revision: refused, or kept beside the head as a branch."""

PERSON = "person"
"""The agent on the record of what a person did; it has no profile."""

PERSON_NAME = "person"
"""In the note of a revision: the name of the person who made it, if it was known."""

PROPOSAL = "proposal"
"""In the note of a branch that waits for a person: what is known of the proposal."""

DECISION = "decision"
"""In the note of a revision: the proposal that it ended, the verdict, and the reason."""

EXTERNAL = "external"
"""The agent of revisions that catmem did not write."""

UNREAD = "unread"
"""In the note of a revision: what external writers changed and no writer with a view has seen; ids of the caller's."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The bytes of an entity at one moment.

    ``revision`` is ``None`` for bytes that the store has not recorded yet: an external change. An entity
    that was never written has the revision ``"0"`` and no bytes. ``adopted`` is the revision as which a commit took in
    first what others had written; ``None`` where there was nothing to take in, and for what is only read. ``branch``: a
    commit kept it beside the head, as a branch. ``restored`` is the revision as which a commit put back first what a
    stop of the machine had taken out of a file.
    """

    data: bytes
    revision: str | None
    digest: str
    adopted: str | None = None
    branch: bool = False
    restored: str | None = None

    @classmethod
    def from_bytes(cls, data: bytes, revision: str | None) -> Snapshot:
        """A snapshot with the digest of its bytes."""
        return cls(data, revision, bytes_digest(data))


@dataclass(frozen=True, slots=True)
class Revision:
    """What the store recorded of one revision. ``digest`` is that of the whole bytes, ``size`` their number.

    ``timestamp`` is UTC, ``2026-11-21T12:00:00.000000Z``: what the clock said, which may go backwards; ``sequence``, a
    number of the store, never does. ``parents`` are the revisions that it came from, none for the first; a merge has
    two or more, of which the first was the head.
    """

    entity: str
    revision: str
    parents: tuple[str, ...]
    sequence: int
    timestamp: str
    op: str
    agent: str
    op_id: str
    digest: str
    size: int
    note: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_branch(self) -> bool:
        """Whether it stands beside the line of heads, such as ``8a``."""
        return is_branch(self.revision)

    @property
    def is_proposal(self) -> bool:
        """Whether it is a branch that waits for a person (docs/approvals.md)."""
        return PROPOSAL in self.note and self.is_branch

    @property
    def who(self) -> str:
        """Who made it, for people: the agent, or the name of the person."""
        return who(self.agent, self.person)

    @property
    def person(self) -> str | None:
        """The name of the person who made it, where the record has it."""
        name = self.note.get(PERSON_NAME)
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Change:
    """What a caller says of its write, for the record.

    ``op_id`` makes a retry safe: a second commit of the ``agent`` with the same one gives the answer of the first, and
    writes nothing, if ``request`` (a digest of what is asked) is the same too. The same ``op_id`` of another agent is
    another one. ``note`` is JSON-ready data that is kept with the revision; it is read after the update, which may fill
    it in. ``merges`` are revisions that the write brings together with the head: they become its parents too. Such a
    write is recorded even if it changes no byte, and so is one whose ``note`` has to be kept (``keeps_note``).
    ``person`` is the name of the person, where the agent is one. ``waits``: it becomes a branch of what the caller saw,
    even if that is the head.
    """

    op: str = "put"
    agent: str = PERSON
    op_id: str | None = None
    request: str | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    on_drift: OnDrift = "adopt"
    on_stale: OnStale = "refuse"
    merges: tuple[str, ...] = ()
    keeps_note: bool = False
    person: str | None = None
    waits: bool = False

    @property
    def is_always_recorded(self) -> bool:
        """Whether it is recorded even if it changes no byte."""
        return self.keeps_note or bool(self.merges)

    def recorded_note(self) -> dict[str, Any]:
        """The note as it is recorded, with the request and the person."""
        said = {"request": self.request, PERSON_NAME: self.person}
        return dict(self.note) | {name: value for name, value in said.items() if value}

    def parents(self, seen: str) -> tuple[str, ...]:
        """The parents of a revision that is made from the revision ``seen``."""
        return (*(() if seen == "0" else (seen,)), *self.merges)


class Current(NamedTuple):
    """What an update works on: the entity as it really is, under the lock.

    ``base`` is the newest text that the caller can have seen, where an external change came since; else ``None``. An
    update that touches what differs between ``base`` and ``data`` raises ``DriftError``. ``unread`` gives what the
    newest revision that catmem wrote itself has under ``UNREAD`` in its note.
    """

    data: bytes
    revision: str
    base: bytes | None
    unread: Callable[[], Sequence[str]] = tuple


Update: TypeAlias = Callable[[Current], bytes]
"""Makes the new bytes from those that are there. May be called more than once for one commit; must not write."""


class Merged(NamedTuple):
    """What a merge gives: the bytes, and the number of conflicts, of which both sides are kept."""

    data: bytes
    conflicts: int


MergeFunction: TypeAlias = Callable[[str, bytes, bytes, bytes], Merged]
"""Three-way merge ``(file, base, ours, theirs)`` of whole entities, with the name of the file.

Raises ``CatmemError`` if they cannot be merged.
"""


class Fault(NamedTuple):
    """Something in a store that is not as it should be: a code, what it is, where, and what to do.

    ``damage`` is something lost or at odds; the rest (a change from outside, a leftover) is for information.
    ``repairable`` says that ``catmem fsck --repair`` mends it.
    """

    code: str
    message: str
    path: str | None
    hint: str
    repairable: bool = False
    damage: bool = True


class Rows(NamedTuple):
    """The rows of all entities that others may edit, with their columns, as JSON-ready data.

    ``generations`` count the changes of the rows of each entity: what catmem recorded last, and what is there now.
    """

    rows: Sequence[Mapping[str, Any]]
    generations: Mapping[str, tuple[int, int]]


class Store(Protocol):
    """Entities with their revisions. Every method may raise ``StoreError``; what is acknowledged stays.

    A store is a subclass. What has a body here holds for a store that others cannot edit.
    """

    has_catalog: ClassVar[bool] = True
    """Whether the store itself knows all its entities. If not, it knows those that it was given, or wrote."""

    def head(self, entity: str) -> Revision | None:
        """The newest recorded revision; ``None`` for an entity that was never written."""

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        """The entity as it is now, or as it was at ``revision``. Raises ``UnknownRevisionError``."""

    def peek(self, entity: str) -> bytes:
        """The bytes of the entity as they are now, and nothing else: no record is read."""

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Write what ``update`` makes of the entity as a new revision, and return it.

        ``expected`` is what the caller saw last, a revision or a digest, ``None`` for a caller without a view. If the
        entity is no longer that, nothing is written, and ``StaleError`` (a write of catmem came between) or
        ``DriftError`` (an external change) is raised; for a revision that is in no record ``UnknownRevisionError``. A
        digest that no record has is taken for an older text. An update that changes nothing makes no revision.

        Where ``change.on_stale`` is ``branch``, what would be refused becomes a branch: the update works on what the
        caller saw, and what it makes is recorded as ``8a`` for one who saw ``7`` (``branch_number``), with that as its
        parent. The head stays. A digest that no record has cannot be branched from, and neither can ``on_drift:
        refuse`` be got round.
        """

    def entities(self) -> Sequence[str]:
        """The entities that have a revision, sorted, as far as the store knows of them."""

    def log(self, entity: str) -> Iterator[Revision]:
        """The recorded revisions, branches too, the newest first; a revision stands before its parents."""

    def branches(self, entity: str) -> Sequence[Revision]:
        """The revisions that no other has as a parent; the head is the first."""

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        """Every revision with its bytes, the oldest first, from the record alone."""

    def import_history(self, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
        """Take over a whole history, as ``replay`` of another store gives it; returns the number of revisions.

        Everything stays as it was said there but the sequences, which are the store's own. Raises ``StoreError``
        (``not_empty``) if the entity was ever written here.
        """

    def verify(self, entity: str | None = None) -> list[Fault]:
        """Look at everything that is kept, and say what is not right; with ``entity`` what concerns that one."""

    def check_writable(self, entities: Iterable[str]) -> None:
        """Raise ``StoreError`` if nothing can be written to any of the entities now. No entity is changed."""

    def place(self, entity: str) -> str:
        """Where an entity is, for a person: a path, or a name such as ``sqlite:trinity/user``."""
        return entity

    def has_had(self, entity: str, digest: str) -> bool:
        """Whether a revision of an entity has the bytes with this digest."""
        return any(recorded.digest == digest for recorded in self.log(entity))

    def rows(self) -> Mapping[str, int]:
        """How many rows each entity has that others may edit, unknown entities included."""
        return {}

    def all_rows(self) -> Rows | None:
        """All rows as they are now, those that are no entries too; ``None`` where entities are no rows."""
        return None

    def generations(self) -> Mapping[str, tuple[int, int]]:
        """Of each entity how often its rows were changed, by the last record and by now; none where there are none."""
        return {}

    def bad_rows(self, entity: str) -> Sequence[tuple[int, str]]:
        """The rows of an entity that are no entries, and so are not shown: the id of each, and what is wrong."""
        del entity
        return ()

    def close(self) -> None:
        """Let go of what is open; the store can be opened again."""


def who(agent: str, person: str | None) -> str:
    """An agent as people are shown it: ``neo``, ``person``, or ``Anna (person)`` where the name is known."""
    return f"{person} ({agent})" if person and agent == PERSON else agent


def writer_of(change: Change | Revision) -> str:
    """The profile that makes a change, ``person``, or ``external``; an envelope may be signed with another name."""
    return str(change.note.get("actor", change.agent) or PERSON)


def is_view_of(expected: str, revision: str | None, digest: str) -> bool:
    """Whether ``expected``, a revision or a digest, names the text with this revision and digest."""
    return expected == (digest if expected.startswith("sha256:") else revision)


def stale(entity: str, expected: str, found: str) -> StaleError:
    """The refusal of a write whose caller saw an older revision than there is, or a branch."""
    seen, hint = f"revision {expected}", "Read it again, and repeat the change on what is there now."
    if expected.startswith("sha256:"):
        seen = f"the bytes {expected[:19]}…"
    elif is_branch(expected):
        hint = f"To go on from the branch {expected} give --on-stale branch (or set on_stale: branch in catmem.yaml); "
        hint += "else read it again, and repeat the change on what is there now."
    return StaleError(
        f"{entity} is at revision {found}; this write was made on {seen}",
        expected=expected,
        found=found,
        hint=f"Nothing was written. {hint}",
    )


def is_retry(first: Revision, change: Change) -> bool:
    """Whether ``change`` is the retry of ``first``, which has its ``op_id``. Raises ``OperationCollisionError``."""
    if first.note.get("request") == change.request:
        return True
    made = "a proposal" if first.is_proposal else f"revision {first.revision}"
    raise OperationCollisionError(
        f"another write with this op_id and other content came first, as {made}",
        expected=change.request,
        found=None if first.is_proposal else first.revision,
        hint="Nothing was written. It may come from another tab or session. Read what is there now, and send what you "
        "still want with a new op_id.",
    )


def made_before(store: Store, entity: str, change: Change) -> Revision | None:
    """The revision that this very operation made, if it was made. Raises ``OperationCollisionError``."""
    made, log = (change.agent, change.op_id), store.log(entity) if change.op_id else ()
    first = next((each for each in log if (each.agent, each.op_id) == made), None)
    return first if first is not None and is_retry(first, change) else None


_NUMBER = re.compile(r"[0-9]{1,18}")

REVISION = re.compile(r"[0-9]{1,18}[a-z]{0,8}")
"""The id of a revision."""


def unknown_revision(entity: str, revision: str) -> UnknownRevisionError:
    """The error for a revision that is not there."""
    return UnknownRevisionError(
        f"{entity} has no revision {revision}",
        hint=f"catmem log {entity} lists the revisions that are kept.",
    )


def not_empty(entity: str, what: str = "a history already") -> StoreError:
    """The error for a history that is to go where there is something already."""
    return StoreError(
        f"{entity}: the target has {what}",
        code="not_empty",
        hint="Nothing was copied: a copy is never merged. Copy to another place, such as sqlite:///.catmem/new.db, and "
        "name it in catmem.yaml; add there what only the old target has ('catmem list'). Or move the old target away "
        "first: a SQLite file with its -wal and -shm, or the files with their .catmem.",
    )


def refuse_unsound(entity: str, revision: Revision, data: bytes) -> None:
    """Raise ``DamagedError`` for a revision of another store that is to be taken over, and is not what it says."""
    try:
        datetime.fromisoformat(revision.timestamp)
        is_sound = REVISION.fullmatch(revision.revision) is not None and bytes_digest(data) == revision.digest
    except ValueError:
        is_sound = False
    if not is_sound:
        raise DamagedError(
            f"revision {revision.revision!r} of {entity} does not have the bytes, the time or the name of its record",
            hint="Nothing was copied. Look over the store that it comes from with catmem fsck.",
        )


def revision_number(revision: str) -> int:
    """The number that a revision begins with: 8 for ``8`` and ``8a``, 0 where there is none."""
    match = _NUMBER.match(revision)
    return int(match[0]) if match else 0


def is_branch(revision: str) -> bool:
    """Whether this is the id of a branch, such as ``8a``."""
    return not revision.isdecimal()


def branch_number(seen: str, head: str) -> int:
    """The number of a branch from the revision ``seen``: 8 from ``7`` or ``7a``.

    It is at most one more than that of the head. So however far branches grow on branches, each is recorded after the
    head before its number was, and a store need not look further back for the ids of that number.
    """
    return min(revision_number(seen), revision_number(head)) + 1


def next_branch(number: int, taken: Container[str]) -> str:
    """The first id of a number that is free for a branch: ``8a``, or ``8b`` if that is taken."""
    endings = (letters for length in count(1) for letters in product(ascii_lowercase, repeat=length))
    names = (f"{number}{''.join(letters)}" for letters in endings)
    return next(name for name in names if name not in taken)


# The log gives the newest revision first, so that each stands before its parents. So one walk from the newest on is
# enough below, and it ends as soon as nothing can change the answer any more.
_ONE, _OTHER, _OLDER = 1, 2, 4
_BOTH = _ONE | _OTHER


def tips(log: Iterable[Revision]) -> list[Revision]:
    """The revisions that no other has as a parent: the head first, then the branches, the newest first."""
    parents: set[str] = set()
    found: list[Revision] = []
    for revision in log:
        if revision.revision not in parents:
            found.append(revision)
        parents.update(revision.parents)
    return sorted(found, key=lambda each: each.is_branch)


def merge_bases(log: Iterable[Revision], one: str, other: str) -> list[str]:
    """The best common ancestors of two revisions, the newest first: those that are no ancestor of another such."""
    # A revision counts as an ancestor of itself. None: the two have nothing in common. There are several where two
    # lines were merged crosswise. Reads the log as far as the oldest of them, and then no further than until it is
    # sure.
    marks: dict[str, int] = {one: _ONE}
    marks[other] = marks.get(other, 0) | _OTHER
    ahead = len(marks)
    found: list[str] = []
    for revision in log:
        if not ahead:
            break
        mark = marks.pop(revision.revision, 0)
        ahead -= _is_open(mark)
        if mark == _BOTH:
            found.append(revision.revision)
            mark |= _OLDER  # what leads to it is the base of nothing better
        for parent in revision.parents if mark else ():
            before = marks.get(parent, 0)
            marks[parent] = before | mark
            ahead += _is_open(marks[parent]) - _is_open(before)
    return found


def _is_open(mark: int) -> bool:
    return mark != 0 and not mark & _OLDER


SIDECAR = ".catmem"
"""The folder beside memory files, and in a root, for what is kept besides them."""

KeptKind: TypeAlias = Literal["backup", "left", "journal", "stray"]
"""A ``backup`` of the file; what is ``left`` of it elsewhere: taken out of its place, by a process that was stopped, or
as a copy of rows; a part of a ``journal`` that is in use no more; a ``stray`` file that the store did not make."""


class Kept(NamedTuple):
    """One text that lies at ``path``, which may hold several.

    ``own`` says whether it is of the entity that was asked for, or of another in its folder; ``None`` where that is not
    known. ``whole`` is false where the file cannot be read to its end, so that it is unknown what else is in it.
    """

    path: Path
    data: bytes
    kind: KeptKind
    own: bool | None
    whole: bool = True


Redact: TypeAlias = Callable[[bytes], bytes]
"""Gives the bytes without what is to be forgotten; the same bytes if it is not in them."""

RedactNote: TypeAlias = Callable[[Mapping[str, Any], bytes], Mapping[str, Any]]
"""Gives the note of a revision without what is to be forgotten, by the note and the bytes of the revision."""


class Erasure(NamedTuple):
    """What is to be erased from revisions and backups, and which texts hold it: others that do are removed.

    ``redact_note`` gives the note of a revision as it is to be.
    """

    redact: Redact
    holds: Callable[[Kept], bool]
    redact_note: RedactNote


class Left(NamedTuple):
    """A file that holds what is to be forgotten, or may, and why it was left."""

    path: Path
    why: str


class Erased(NamedTuple):
    """How many revisions of the history were rewritten, and which files beside it; which were removed, or left."""

    revisions: int
    rewritten: tuple[Path, ...]
    removed: tuple[Path, ...]
    left: tuple[Left, ...]


class Anchor(TypedDict):
    """The end of a history, small enough to be kept elsewhere: only that reveals a rollback of the whole tail."""

    store: str
    sequence: int
    line: str


class Feature(NamedTuple):
    """One thing that the store makes use of: whether it is there, and what that means for a write."""

    name: str
    there: bool
    means: str


class FolderReport(NamedTuple):
    """What a folder of memory files, or a database, gives a store.

    ``file_system`` may be the database's name and version. ``records`` counts those of the history, ``note`` says why
    it cannot be used.
    """

    path: str
    file_system: str
    features: tuple[Feature, ...]
    store: bool
    records: int | None
    note: str | None


@runtime_checkable
class LastingStore(Store, Protocol):
    """A store that outlives its process."""

    def examine(self) -> Sequence[FolderReport]:
        """What the store makes use of, wherever it keeps entities."""

    def history_place(self, entity: str) -> Path:
        """Where the history of an entity is, for a person."""

    def mend(self) -> list[str]:
        """Mend what is safe to mend; says what was done."""

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        """The ends of all histories, each with the folder or name that it stands for."""

    def holds(self, anchor: Anchor) -> bool:
        """Whether the store still holds the record that an anchor names."""

    def backup(self, entity: str) -> Path:
        """Keep a copy of the entity as it is now, and say where."""

    def kept(self, entity: str) -> Iterator[Kept]:
        """Every text that is kept of an entity besides its head and its history."""

    def erase(self, entity: str, erasure: Erasure) -> Erased:
        """Erase from all that is kept of an entity, once the entity itself no longer has it."""
