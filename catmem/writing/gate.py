"""The gate: the one place where a write of a root reaches its store.

A writer makes an ``Attempt``, which ends as a revision or as a refusal, and in either case as one line of the
audit log.

::

    with Attempt(workspace, entity, "add", agent, prev=expected) as trying:
        ...                                  what is raised refuses it
        trying.commit(expected, update, change)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

from catmem import clock
from catmem.errors import ApprovalError, CatmemError, EditError, ProposalError
from catmem.store.audit_log import AuditLine, bounded
from catmem.store.contract import (
    EXTERNAL,
    PERSON,
    Change,
    Current,
    Snapshot,
    Store,
    Update,
    is_branch,
    revision_number,
    writer_of,
)
from catmem.store.judgement import dry_run_commit
from catmem.threats import SECRETS
from catmem.workspace.root import Root, log_attempt, person_name
from catmem.workspace.seen_entry import findings_in
from catmem.writing.drift_guard import refuse_signs
from catmem.writing.policy import check_threats, has_to_wait

DECIDES = "decision "
"""How the ``op_id`` of a decision on a proposal begins: no other write may block it."""

_MET_NEWER = frozenset({"stale_prev", "drift", "merge_conflict"})
"""Codes of refusals of what was made on another text than the one that is there."""
_NUMBER = re.compile(r"[0-9]{1,18}")
_PREV = re.compile(r"[0-9]{1,18}[a-z]{0,8}|sha256:[0-9a-f]{64}")


@dataclass
class Attempt:
    """One write that a caller wants to make, from the first check to its end: what is raised inside is its refusal.

    ``op`` is what was asked for, as the audit log says it; the record may have a wider word (``Change.op``). ``prev``
    is the revision or digest that it is made on, if one was said. A ``dry_run`` passes the same checks; it writes
    nothing and makes no line. ``store`` takes the place of the root's: that of one file, for a caller that was given
    its path.
    """

    workspace: Root
    entity: str
    op: str
    agent: str
    prev: str | int | None = None
    dry_run: bool = False
    store: Store | None = None
    change: Change = field(default_factory=Change)
    current: Current | None = None
    """What was there when the new text was made of it, under the lock."""
    data: bytes = b""
    """The new text; the very object that is there if there is nothing to change."""
    snapshot: Snapshot | None = None
    """What the store answered."""
    _begun: float = 0.0

    def __enter__(self) -> Self:
        """Begin to count its seconds."""
        self._begun = time.perf_counter()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Put it down in the audit log."""
        if not self.dry_run:
            log_attempt(self.workspace, self.line(time.perf_counter() - self._begun, error))

    def commit(self, expected: str | None, update: Update, change: Change, *, approved: bool = False) -> Snapshot:
        """Commit to the store; see ``Store.commit``. What is ``approved`` need not wait (``ApprovalError``)."""
        self.agent = change.agent
        is_free = approved or change.waits
        self._check_names(change, is_free=is_free)
        if change.agent == PERSON:
            change = replace(change, person=self.person)
        self.change = change
        if expected is not None:
            self.prev = expected

        def watched(current: Current) -> bytes:
            if writer_of(change) not in {PERSON, EXTERNAL}:
                refuse_signs(self.workspace, self.entity, current.data, self._store)
            self.current = current
            self.data = update(current)
            if not is_free:
                self._hold_back(change, current)
            return self.data

        commit = partial(dry_run_commit, self._store) if self.dry_run else self._store.commit
        self.snapshot = commit(self.entity, expected, watched, change)
        return self.snapshot

    @cached_property
    def person(self) -> str | None:
        """The name of the person who acts, where it is one."""
        return person_name()

    def _check_names(self, change: Change, *, is_free: bool) -> None:
        """Raise ``EditError`` for a name that holds what no text may hold: it is kept as long as the revision."""
        if not is_free and (change.op_id or "").startswith(DECIDES):
            raise EditError(
                f"an op_id that begins with {DECIDES.strip()!r} is that of a proposal",
                code="bad_operation",
                hint="Nothing was written. Choose another op_id.",
            )
        role = change.note.get("envelope", {}).get("role_id")
        for key, said in (("op_id", change.op_id), ("role_id", role)):
            try:
                if said is not None:
                    to_agent = change.agent != PERSON
                    check_threats([said], self.workspace.config, to_agent=to_agent, allow_secret=False)
            except EditError as error:
                error.key = key
                raise

    def _hold_back(self, change: Change, current: Current) -> None:
        """Refuse a write that has to wait (``ApprovalError``), and one on what waits itself (``ProposalError``)."""
        self.refuse_proposal(current.revision)
        if has_to_wait(self.workspace, self.entity, change, current.data, self.data):
            raise ApprovalError(
                f"this change of {self.entity} by {change.agent} needs the approval of a person",
                hint="Nothing was written. A person may make it; as a write of entries it can wait as a proposal.",
            )

    def refuse_proposal(self, revision: str) -> None:
        """Raise ``ProposalError`` (``on_proposal``) if the revision is the branch of a proposal."""
        if self.is_proposal(revision):
            raise on_proposal(self.entity, revision)

    def is_proposal(self, revision: str) -> bool:
        """Whether a revision of the entity waits, or waited, for a person; no digest is looked up."""
        log = self._store.log(self.entity) if is_branch(revision) and ":" not in revision else ()
        return any(each.is_proposal for each in log if each.revision == revision)

    # --- the line of the audit log ---------------------------------------------------------------------------------

    def line(self, seconds: float, error: BaseException | None) -> AuditLine:
        """The attempt as a line of the audit log."""
        status, reason = self._outcome(error)
        prev, head = None if self.prev is None else str(self.prev), self._head()
        if prev is None and self.current is not None and self.snapshot is not None:
            prev = self.current.revision
        met = str(head) if status == "conflict" and head is not None else None
        # Who is refused may have given anything as a name.
        named = bounded if error is None else _named
        return AuditLine(
            ts=clock.timestamp(clock.now()),
            entity_id=named(self.entity),
            op=self.op,
            agent=named(self.agent),
            prev_rev=prev if prev is None or _PREV.fullmatch(prev) else "?",
            mem_rev=met if self.snapshot is None else self.snapshot.revision,
            status=status,
            reason=reason,
            head_rev=head,
            seconds=round(seconds, 6),
            person=self.person if self.agent == PERSON else None,
        )

    def _outcome(self, error: BaseException | None) -> tuple[str, str | None]:
        """Status and reason. What was committed is not refused, whatever went wrong after."""
        if self.snapshot is None and error is not None:
            reason = error.code if isinstance(error, CatmemError) else type(error).__name__
            return "conflict" if reason in _MET_NEWER else "refused", reason
        if self.snapshot is None or self._is_unchanged:
            return "unchanged", None
        if self.current is None:
            return "retry", None
        if self.snapshot.branch:
            return "waiting" if self.change.waits else "branch", None
        joins = self.change.merges or (self.current.base is not None and self.prev is not None)
        return "merged" if joins else "ok", None

    @property
    def _is_unchanged(self) -> bool:
        now = self.current
        return now is not None and self.data == now.data and not self.change.is_always_recorded

    def _head(self) -> int | None:
        """The number of the head, as far as it is known: not of an entity that there is not."""
        made = self.snapshot if self.current is not None and not self._is_unchanged else None
        if made is not None and made.revision is not None and not made.branch:
            return revision_number(made.revision)
        try:
            head = self._store.head(self.entity)
        except CatmemError:
            return None  # it was refused for that very reason, or for another one that comes first
        return 0 if head is None else revision_number(head.revision)

    @property
    def _store(self) -> Store:
        return self.workspace.store if self.store is None else self.store


def on_proposal(entity: str, revision: str) -> ProposalError:
    """The refusal of what is made on the branch of a proposal, or would bring it in or drop it."""
    return ProposalError(
        f"revision {revision} of {entity} is a proposal, which only a decision brings in or drops",
        code="on_proposal",
        hint="Nothing was written. Approve it (catmem proposals), or make the change on what is in the file.",
    )


@contextmanager
def checks(workspace: Root, entity: str, *, op: str, agent: str, recorded: bool = True) -> Iterator[Attempt]:
    """Checks that come before any attempt: what is raised inside is put down as a refused one."""
    looked = Attempt(workspace, entity, op, agent)
    try:
        yield looked
    except CatmemError as error:
        if recorded:
            log_attempt(workspace, looked.line(0.0, error))
        raise


def commit(workspace: Root, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
    """An attempt that is nothing but a commit; see ``Store.commit``."""
    with Attempt(workspace, entity, change.op, change.agent, expected) as trying:
        return trying.commit(expected, update, change)


def _named(name: object) -> str:
    """A name as a line keeps it; ``?`` for words, which are no name, and for one that a secret begins in."""
    is_none = " " in str(name) or any(each.rule in SECRETS for each in findings_in([str(name)[:4_000]]))
    return "?" if is_none else bounded(name)
