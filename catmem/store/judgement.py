"""Who may go on: what becomes of a write, by what its caller saw, what is there now, and who wrote in between.

Every store asks the same question at the same moment, under its lock and before the caller's update is made; here is
the one answer. See ``Store.commit``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from catmem.digest import bytes_digest
from catmem.errors import DriftError, RefusedError
from catmem.store.contract import (
    EXTERNAL,
    UNREAD,
    Change,
    Current,
    Revision,
    Snapshot,
    Store,
    Update,
    is_view_of,
    made_before,
    stale,
)

if TYPE_CHECKING:
    from catmem.store.files.records import Record


class KnownRevision(NamedTuple):
    """A revision in the record: its id, the digest of its bytes, and its place in the order of records."""

    revision: str
    digest: str
    sequence: int


NOTHING = KnownRevision("0", bytes_digest(b""), 0)
"""What a caller saw who looked before there was anything."""


@dataclass(frozen=True, slots=True)
class KnownState:
    """What a store knows of an entity when a caller wants to write it.

    ``before`` is the head before this commit found an external writer's text, ``adopted`` says whether it recorded one,
    and ``has_text`` whether anything is there now. ``seen`` finds what a caller saw who says a revision or a digest:
    ``None`` for a digest that no record has. ``external_since`` says whether an external writer wrote after a point.
    ``own`` finds the revision before all external changes that the head ends with; ``None`` where it ends with none.
    """

    now: KnownRevision
    before: KnownRevision | None
    adopted: bool
    has_text: bool
    seen: Callable[[str], KnownRevision | None]
    external_since: Callable[[KnownRevision], bool]
    own: Callable[[], KnownRevision | None]


class Verdict(NamedTuple):
    """What becomes of a write.

    ``go_on`` works on what is there; with a ``point`` that is what the caller could know at best, and the update
    refuses what touches the difference. ``branch`` works on the ``point``, beside the head. ``stale`` and ``drift``
    are refusals: catmem wrote in between, or an external writer did.
    """

    kind: Literal["go_on", "branch", "stale", "drift"]
    point: KnownRevision | None = None


def judge(expected: str | None, change: Change, state: KnownState) -> Verdict:  # noqa: PLR0911 - one answer each
    """The verdict on a write that was made on ``expected``: a revision, a digest, ``None`` for no view at all.

    A revision has to be in the record; that of a revision no caller can have seen is refused before.
    """
    if change.waits and expected is not None:
        seen = NOTHING if expected == "0" else state.seen(expected)
        return Verdict("stale") if seen is None else Verdict("branch", seen)
    # A missing or emptied file is no new text.
    changed = state.before is not None and state.has_text
    if changed and change.on_drift == "refuse":
        return Verdict("drift")
    if expected is None:
        # No refusal shows a caller without a view what was found, so what was adopted before is as new to it.
        return Verdict("go_on", state.own() if state.has_text else None)
    if is_view_of(expected, state.now.revision, state.now.digest):
        return Verdict("go_on")
    seen = NOTHING if expected == "0" else state.seen(expected)
    if seen is None:
        # When that text was there is unknown, so only what this commit found itself counts.
        return Verdict("drift" if state.adopted else "stale")
    # A caller that says 0 says that no text was ever written, and that does not come back.
    before = None if seen is NOTHING else state.before
    if before is not None and _is_as_good(seen, before, state.now, changed=changed):
        return Verdict("go_on")
    if change.on_drift == "merge":
        return Verdict("go_on", seen)
    drifted = state.external_since(seen)
    if change.on_stale == "branch" and not (drifted and change.on_drift == "refuse"):
        return Verdict("branch", seen)
    return Verdict("drift" if drifted else "stale")


def _is_as_good(seen: KnownRevision, before: KnownRevision, now: KnownRevision, *, changed: bool) -> bool:
    """Whether what the caller saw is as good as what is there, though an external writer touched it since.

    It is the newest of catmem's own and was only taken away, or the external writer put back what the caller saw.
    """
    return (not changed and seen.revision == before.revision) or seen.digest == now.digest


REMEDY = (
    "Nothing was written. Read it again, and bring over what is missing. Then repeat the change, with what "
    "was found as expected."
)
"""What to do after an external change."""


def drifted(entity: str, path: str, expected: str | None, before: KnownRevision | None, found: str) -> DriftError:
    """The refusal of a write because of an external change; ``before`` is the head before it."""
    return DriftError(
        f"another program changed {entity}; what is there now is revision {found}",
        expected=expected or (before.revision if before else "0"),
        found=found,
        path=path,
        hint=REMEDY,
    )


def complete(refusal: RefusedError, path: str, own: Revision | Record | None, found: str) -> bool:
    """Say in a refusal where the entity is. Whether it is because of an external change: then also of that."""
    refusal.path = refusal.path or path
    if refusal.code not in {"drift", "not_utf8"} and refusal.hint != REMEDY:
        return False  # an update that is not possible
    refusal.found = refusal.found or found
    if own is not None and own.revision != found:
        refusal.expected = refusal.expected or own.revision
    if refusal.hint == REMEDY:
        refusal.hint = f"{REMEDY[:-1]} ({refusal.found})."
    return True


def name_copy(refusal: RefusedError, copy: str | None) -> None:
    """Say in a refusal where the copy of what an external writer wrote is, if there is one."""
    if copy is None:
        return
    refusal.drift_backup = copy
    refusal.message += f"; a copy of what was found is kept as {PurePath(copy).name}"
    refusal.args = (refusal.message,)


R = TypeVar("R", "Revision", "Record")


def last_own(head: R | None, find: Callable[[str], R | None]) -> R | None:
    """The newest record of catmem's own, else the first of all; ``None`` for one that is kept no more."""
    while head is not None and head.agent == EXTERNAL and head.parents:
        head = find(head.parents[0])
    return head


def unread(own: Revision | Record | None) -> Sequence[str]:
    """What an update said in the note of a revision that no writer with a view has seen."""
    return () if own is None else tuple(own.note.get(UNREAD, ()))


def dry_run_commit(store: Store, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
    """What ``Store.commit`` would answer, with the revision of what is there now, or refuse; nothing is recorded."""
    if (first := made_before(store, entity, change)) is not None:
        return replace(store.read(entity, first.revision), branch=first.is_branch)
    named = () if expected is None or expected.startswith("sha256:") else (expected,)
    for revision in (*named, *change.merges):
        store.read(entity, revision)  # which says so if there is no such revision
    now, head = store.read(entity), store.head(entity)
    known = "0" if head is None else head.revision
    # An empty file without a history is what a store calls revision 0.
    is_new = now.revision is None and (head is not None or bool(now.data))

    def seen(named: str) -> KnownRevision | None:
        found = (each for each in store.log(entity) if is_view_of(named, each.revision, each.digest))
        return next(map(point_of, found), None)

    def external_since(point: KnownRevision) -> bool:
        return is_new or any(each.agent == EXTERNAL and each.sequence > point.sequence for each in store.log(entity))

    own = last_own(head, {each.revision: each for each in store.log(entity)}.get)
    state = KnownState(
        now=KnownRevision("" if is_new else known, now.digest, 0),
        before=point_of(head) if is_new and head is not None else None,
        adopted=is_new,
        has_text=bool(now.data),
        seen=seen,
        external_since=external_since,
        own=lambda: None if own is None or own.revision == now.revision else point_of(own),
    )
    verdict = judge(expected, change, state)
    if verdict.kind == "drift":
        raise DriftError(f"another program changed {entity}", expected=expected or known, found=now.digest, hint=REMEDY)
    if verdict.kind == "stale":
        raise stale(entity, expected or known, known)
    point = verdict.point
    base = b"" if point is NOTHING else None if point is None else store.read(entity, point.revision).data
    if verdict.kind == "branch" and point is not None and base is not None:
        data = update(Current(base, point.revision, None))
        return replace(Snapshot.from_bytes(data, now.revision), branch=data != base or change.is_always_recorded)
    return Snapshot.from_bytes(
        update(Current(now.data, now.revision or known, base, lambda: unread(own))), now.revision
    )


def point_of(revision: Revision) -> KnownRevision:
    """What a record says of a revision, for ``judge``."""
    return KnownRevision(revision.revision, revision.digest, revision.sequence)
