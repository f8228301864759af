"""The one way in which documents reach a store: operations, planned on what is really there, committed whole.

::

    operations ── checks of who may ──> commit ── what is there ──> parse ──> plan ──> new bytes ──> revision
                                          └── called again if somebody was faster
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from catmem.digest import bytes_digest
from catmem.errors import DriftError, EditError, NotUtf8Error, RefusedError, TooLargeError
from catmem.service.writing.beforehand import check_beforehand
from catmem.service.writing.budget import Usage, size_of
from catmem.service.writing.expected import checked_expected, hide_digests
from catmem.service.writing.legible import legible
from catmem.service.writing.operation import op_of, refuse_surrogates, request_digest
from catmem.service.writing.planning import Plan, plan_operations
from catmem.service.writing.remarks import on_adoption, on_branch, on_restoration
from catmem.service.writing.seen import Base
from catmem.store.contract import Change, Current, Snapshot, sees, stale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catmem.model.document import Document, Entry
    from catmem.service.writing.operation import Operation
    from catmem.service.writing.terms import Terms
    from catmem.store.contract import OnDrift, OnStale, Revision, Store, Update

PERSON = "person"
"""The agent on the record of what no profile did."""

_MOST_OPERATIONS = 1_000


class How(TypedDict, total=False):
    """How a write is made; each may be left out.

    ``expected`` is what the caller saw last, a revision (``7`` or ``"7"``) or a ``sha256:…`` digest: if that is no
    longer what is there, the write is refused. ``actor`` is the profile that acts, ``None`` a person. ``dry_run``
    writes nothing. ``on_drift`` is what to do when somebody else changed the file (``adopt``, ``refuse``, ``merge``).
    ``on_stale`` is what becomes of a write that was made on an older revision: refused (``refuse``), or kept beside the
    head as a ``branch``. ``op_id`` makes a retry safe: the same operations under the same one are made once.
    """

    expected: str | int | None
    actor: str | None
    dry_run: bool
    on_drift: OnDrift | None
    on_stale: OnStale | None
    op_id: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, or would do.

    ``before`` and ``after`` are whole texts, hidden categories included: they are for people, and ``digest`` is for
    whoever writes next; ``to_dict`` leaves it out for an actor who is ``bounded``. ``entries`` were made or touched,
    as they are in ``after``; a removed one is as it was. After a dry run ``revision`` is that of what is there
    (``None``: not recorded yet), and ``digest`` that of what would be. ``notes`` say what was there already and what
    else there is to know, ``warnings`` what will not be in a prompt, or that git's conflict markers are. ``adopted``
    is the revision as which the store took in first what others had written to the file; the last of the notes says
    so. ``repeated``: this is the first answer to an ``op_id`` again, and what is there now may be newer. ``branch``:
    it was made on an older revision (``before``), and is kept beside the head, or would be; the last of the notes
    says so.
    """

    entity: str
    revision: str | None
    digest: str
    changed: bool
    before: str
    after: str
    entries: tuple[Entry, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    adopted: str | None = None
    bounded: bool = False
    repeated: bool = False
    branch: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": None if self.bounded else self.digest,
            "changed": self.changed,
            "branch": self.branch,
            "entries": [
                {"category": entry.category, "body": entry.body, "tags": entry.tags, "id": entry.id}
                for entry in self.entries
            ],
            "usage": {"size": self.usage.size, "limit": self.usage.limit},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


@dataclass(slots=True)
class Writer:
    """Makes one write.

    ``commit`` brings it through the gate. ``parse`` reads bytes as the root does.
    """

    store: Store
    commit: Callable[[str | None, Update, Change], Snapshot]
    parse: Callable[[bytes], Document]
    terms: Terms
    operations: Sequence[Operation]
    on_drift: OnDrift = "adopt"
    on_stale: OnStale = "refuse"
    _plan: Plan | None = None
    _before: str = ""
    _data: bytes | None = None
    """The bytes of the plan."""

    def write(self, given: str | int | None = None, op_id: str | None = None) -> Written:
        """Commit the operations as one revision; ``given`` is what the caller expects."""
        self._check(op_id)
        expected = checked_expected(given)
        actor = self.terms.rights.actor
        name = None if actor is None else actor.name
        # The store keeps the note with the revision, and reads it after the update, which fills it in.
        note: dict[str, Any] = {"target": self.terms.target, "actor": name}
        change = Change(
            op=op_of(self.operations),
            agent=name or PERSON,
            op_id=op_id,
            request=request_digest(self.operations, name, self.terms.target) if op_id else None,
            note=note,
            on_drift=self.on_drift,
            on_stale=self.on_stale,
        )

        def update(current: Current) -> bytes:
            data = self._updated(current)
            note["actions"] = [] if self._plan is None else list(self._plan.actions)
            return data

        with self._discreetly():
            snapshot = self.commit(expected, update, change)
        if self._plan is None:
            return first_answer(self.store, self.parse, self.terms, snapshot)
        return self._written(self._plan, snapshot)

    def try_out(self, given: str | int | None = None) -> Written:
        """Do the same on what is there now, and write nothing."""
        self._check()
        expected = checked_expected(given)
        now, head = self.store.read(self.terms.entity), self.store.head(self.terms.entity)
        known, branch = head.revision if head else "0", False
        with self._discreetly():
            try:
                base = self._base(now, known, expected)
                current = Current(now.data, now.revision or known, base)
            except RefusedError:
                seen = None if self._is_strict(now, known) else self._branched_from(expected)
                if seen is None:
                    raise
                branch, current = True, Current(seen.data, seen.revision or known, None)
            data = self._updated(current)
        if self._plan is None:
            message = "an update that raised nothing made no plan"
            raise AssertionError(message)
        return self._written(self._plan, Snapshot(data, now.revision, bytes_digest(data), branch=branch))

    def _check(self, op_id: str | None = None) -> None:
        """Refuse what makes no sense whatever is in the file."""
        if not 0 < len(self.operations) <= _MOST_OPERATIONS:
            raise EditError(
                f"a write has 1 to {_MOST_OPERATIONS:,} operations, and this has {len(self.operations):,}",
                code="bad_operation",
                hint="Give one or more, and very many in several batches.",
            )
        refuse_surrogates([] if op_id is None else [op_id])
        check_beforehand(self.operations, self.terms)

    @contextmanager
    def _discreetly(self) -> Iterator[None]:
        """Refusals tell an actor who does not see the whole file nothing that depends on all of it."""
        try:
            yield
        except RefusedError as error:
            if not self.terms.rights.unbounded:
                hide_digests(error)
            raise

    def _base(self, now: Snapshot, known: str, expected: str | None) -> bytes | None:
        """What the caller could know at best, where that is not what is there, as a commit would find it."""
        entity = self.terms.entity
        # An empty file without a history is what a store calls revision 0.
        revision = known if known == "0" and not now.data else now.revision
        from_outside = now.revision is None and known != "0"
        if not self._is_strict(now, known):
            if expected is None:
                return self.store.read(entity, known).data if from_outside else None
            if sees(expected, revision, now.digest):
                return None
            if not expected.startswith("sha256:"):
                seen = self.store.read(entity, expected).data  # which says so if there is no such revision
                if self.on_drift == "merge":
                    return seen
        if revision is None:
            raise DriftError(
                f"{entity} was changed from outside",
                expected=expected or known,
                found=now.digest,
                hint="Nothing was written. Read it again, and repeat the change on what is there now.",
            )
        raise stale(entity, expected or known, revision)

    def _is_strict(self, now: Snapshot, known: str) -> bool:
        """Whether others changed the file, and every write is refused once because of that."""
        return now.revision is None and known != "0" and self.on_drift == "refuse"

    def _branched_from(self, expected: str | None) -> Snapshot | None:
        """What the caller saw, if a stale write is to be kept as a branch from it and it is on record."""
        if self.on_stale != "branch" or expected is None:
            return None
        if not expected.startswith("sha256:"):
            return self.store.read(self.terms.entity, expected)
        log = self.store.log(self.terms.entity)
        found = next((each for each in log if sees(expected, each.revision, each.digest)), None)
        return None if found is None else self.store.read(self.terms.entity, found.revision)

    def _updated(self, current: Current) -> bytes:
        """The new bytes of what is there; exactly the old ones if there is nothing to change."""
        self._plan = None
        document = legible(self.parse, self.terms.entity, current.data)
        base = None if current.base is None else Base(document, self._seen(current.base))
        plan = plan_operations(document, self.operations, self.terms, base)
        self._before, self._plan = document.text, plan
        if plan.document is document:
            return current.data
        self._data = data = plan.document.to_bytes()
        return data

    def _seen(self, data: bytes) -> Document | None:
        try:
            return self.parse(data)
        except (NotUtf8Error, TooLargeError):
            return None  # nothing of it can be compared, so everything counts as changed

    def _written(self, plan: Plan, now: Snapshot) -> Written:
        # Whoever wrote at the very moment of the commit may have been merged in, so the plan need not be all of it.
        after = plan.document.text if now.data is self._data else now.data.decode(errors="replace")
        changed = after != self._before
        branch = now.branch and changed
        return Written(
            entity=self.terms.entity,
            revision=now.revision,
            digest=now.digest,
            changed=changed,
            before=self._before,
            after=after,
            entries=plan.entries,
            usage=Usage(size_of(after), self.terms.limit),
            notes=(*on_restoration(now), *plan.notes, *self._about_file(now, branch=branch)),
            warnings=(*plan.warnings, *self.terms.unmerged(after, self.parse)),
            adopted=now.adopted,
            bounded=not self.terms.rights.unbounded,
            branch=branch,
        )

    def _about_file(self, now: Snapshot, *, branch: bool) -> list[str]:
        """What is to be known of where the write went."""
        notes = [on_adoption(now.adopted)] if now.adopted else []
        return [*notes, on_branch(self.terms.entity, now.revision)] if branch else notes


def first_answer(store: Store, parse: Callable[[bytes], Document], terms: Terms, snapshot: Snapshot) -> Written:
    """The answer to a retry: what the first write with this ``op_id`` did, from its record."""
    entity = terms.entity
    record = next((each for each in store.log(entity) if each.revision == snapshot.revision), None)
    parent = record.parents[0] if record and record.parents else "0"
    after = legible(parse, entity, snapshot.data)
    before = legible(parse, entity, store.read(entity, parent).data)
    beside = (on_branch(entity, snapshot.revision),) if snapshot.branch else ()
    return Written(
        entity=entity,
        revision=snapshot.revision,
        digest=snapshot.digest,
        changed=True,
        before=before.text,
        after=after.text,
        entries=tuple(_recorded(record, before, after)) if record else (),
        usage=Usage(size_of(after.text), terms.limit),
        notes=("this was done before, under the same op_id", *beside),
        warnings=terms.unmerged(after.text, parse),
        bounded=not terms.rights.unbounded,
        repeated=True,
        branch=snapshot.branch,
    )


def _recorded(record: Revision, before: Document, after: Document) -> list[Entry]:
    """The entries that the actions of a record made or touched."""
    found: list[Entry] = []
    for action in record.note.get("actions", ()):
        document = before if action.get("action") == "remove" else after
        found += _first(document, action)
    return found


def _first(document: Document, action: Mapping[str, Any]) -> list[Entry]:
    same = (e for e in document.entries if e.category == action.get("category") and e.id == action.get("id"))
    entry = next(same, None)
    return [] if entry is None else [entry]
