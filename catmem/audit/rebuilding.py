"""What the log of revisions tells: it is rebuilt and held against the store, and overwrites in the wild are counted.

No record says what an external writer had seen, so the texts decide: in all entries that the revision changed, the
external text is as it was before that revision. That is what a program does that read the file before, and put its own
text in place after. An external change that goes on from the revision, or rewords what it says, is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.store.contract import EXTERNAL, Fault, Revision, Store, tips
from catmem.workspace.history import entity_of
from catmem.workspace.root import Root, entities_of_each

_OF_THE_LOG = frozenset({
    "journal_damaged", "lost_records", "log_damaged",
    "log_end", "branches_differ", "database_damaged", "damaged",
})  # fmt: skip
"""The faults that make what was rebuilt less than what was written."""


@dataclass(frozen=True, slots=True)
class RebuiltHead:
    """The head of an entity, rebuilt: with the tips of its branches, and whether a change since is in no revision."""

    entity: str
    revision: str
    digest: str
    branches: tuple[str, ...]
    unrecorded: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that the log and the store do not agree on."""

    entity: str
    what: str
    rebuilt: str
    found: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What was rebuilt, and what is not as the store has it."""

    revisions: int
    heads: tuple[RebuiltHead, ...]
    mismatches: tuple[Mismatch, ...]
    faults: tuple[Fault, ...] = ()
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def damaged(self) -> bool:
        """Whether what was rebuilt is not what was once written, as far as that is known."""
        return bool(self.mismatches) or any(fault.damage for fault in self.faults)


def replay(workspace: Root, entity: str | None = None) -> Replay:
    """Rebuild every revision from the log of revisions, and compare with the store; look over the log, and its chain.

    Of each head the revision, the digest and the bytes are compared, and the branches.
    """
    every = entities_of_each(workspace) if entity is None else None
    names = [entity_of(workspace, entity or "")] if every is None else [*every.paths, *workspace.config.entities]
    rebuilt = [_Rebuilt(workspace.store, name) for name in names]
    looked_over = workspace.store.verify(None if entity is None else names[0])
    return Replay(
        sum(len(each.digests) for each in rebuilt),
        tuple(each.head for each in rebuilt if each.head is not None),
        tuple(mismatch for each in rebuilt for mismatch in each.mismatches),
        tuple(fault for fault in looked_over if fault.code in _OF_THE_LOG),
        () if every is None else every.unreadable,
    )


class _Rebuilt:
    """The revisions of an entity, rebuilt, and where the store says otherwise."""

    head: RebuiltHead | None = None

    def __init__(self, store: Store, entity: str) -> None:
        self.entity, self.store = entity, store
        self.digests: dict[str, str] = {}
        self.mismatches: list[Mismatch] = []
        log: list[Revision] = []
        head: tuple[Revision, bytes] | None = None
        for revision, data in store.replay(entity):
            digest = self.digests[revision.revision] = bytes_digest(data)
            self._compare(f"the digest of revision {revision.revision}", digest, revision.digest)
            log.append(revision)
            head = head if revision.is_branch else (revision, data)
        recorded = store.head(entity)
        said = "none" if recorded is None else recorded.revision
        self._compare("the head", "none" if head is None else head[0].revision, said)
        if head is None:
            return
        revision, data = head
        digest = self.digests[revision.revision]
        if recorded is not None:
            self._compare("the digest of the head", digest, recorded.digest)
        is_unrecorded = self._compare_file(revision.revision, data)
        branches = tuple(each.revision for each in tips(reversed(log)) if each.is_branch)
        self._compare_branches(branches)
        self.head = RebuiltHead(entity, revision.revision, digest, branches, is_unrecorded)

    def _compare_file(self, revision: str, data: bytes) -> bool:
        """Compare the head with what stands there now; whether it has an external change since."""
        try:
            now = self.store.read(self.entity)
        except CatmemError as error:
            self._compare("what stands there now", f"{len(data)} bytes", f"nothing that can be read: {error.message}")
            return False
        if now.revision is None:
            return True
        self._compare("the revision that stands there now", revision, now.revision)
        self._compare("the bytes that stand there now", bytes_digest(data), bytes_digest(now.data))
        return False

    def _compare_branches(self, rebuilt: Sequence[str]) -> None:
        """Compare the revisions that nothing follows, but for the head, with those of the store."""
        recorded = {each.revision: each for each in self.store.branches(self.entity) if each.is_branch}
        self._compare("the branches", ", ".join(sorted(rebuilt)) or "none", ", ".join(sorted(recorded)) or "none")
        for name in set(rebuilt) & recorded.keys():
            kept = bytes_digest(self.store.read(self.entity, name).data)
            self._compare(f"the digest of branch {name}", self.digests[name], recorded[name].digest)
            self._compare(f"the bytes of branch {name}", self.digests[name], kept)

    def _compare(self, what: str, rebuilt: str, found: str) -> None:
        if rebuilt != found:
            self.mismatches.append(Mismatch(self.entity, what, rebuilt, found))


def lost_overwrites(workspace: Root, entity: str, after: int | None) -> tuple[int, int]:
    """How many revisions external changes took back since the sequence ``after``, if any; and the newest sequence."""
    newest, lost = 0, 0
    recorded: dict[str, Revision] = {}
    since: list[Revision] = []
    for revision in workspace.store.log(entity):
        newest = max(newest, revision.sequence)
        if after is None:
            break
        recorded[revision.revision] = revision
        if revision.sequence > after and revision.agent == EXTERNAL and revision.parents:
            since.append(revision)
        elif revision.sequence <= after and not any(each.parents[0] not in recorded for each in since):
            break
    for revision in since:
        before = recorded.get(revision.parents[0])
        if before is not None and before.agent != EXTERNAL:
            lost += _took_back(workspace, revision, before)
    return lost, newest


def _took_back(workspace: Root, external: Revision, before: Revision) -> bool:
    try:
        was, wrote, found = (
            _entries(workspace, external.entity, name)
            for name in (before.parents[0] if before.parents else "0", before.revision, external.revision)
        )
    except CatmemError:
        return False  # one of the three is no text, or no longer kept
    changed = was ^ wrote
    return bool(changed) and changed & found == changed & was


def _entries(workspace: Root, entity: str, revision: str) -> frozenset[tuple[str, str]]:
    data = workspace.store.read(entity, revision).data
    return frozenset((entry.category, entry.raw) for entry in workspace.parse(data).entries)
