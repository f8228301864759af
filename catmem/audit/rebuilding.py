"""What the log of revisions tells: it is rebuilt and held against the store, and overwrites in the wild are counted.

No record says what an external writer had seen, so the texts decide: in all entries that the revision changed, the
external text is as it was before that revision. That is what a program does that read the file before, and put its own
text in place after. An external change that goes on from the revision, or rewords what it says, is none.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ConfigError
from catmem.files import os_errors
from catmem.names import FILE_NAMES, parts_of
from catmem.store.contract import EXTERNAL, Fault, Revision, tips
from catmem.workspace.history import entity_of
from catmem.workspace.root import Root, entities_of_each
from catmem.workspace.stores import CONTENT_FILES

_OF_THE_LOG = frozenset({
    "journal_damaged", "lost_records", "records_lost", "log_damaged",
    "log_end", "branches_differ", "database_damaged", "damaged",
})  # fmt: skip
"""The faults that make what was rebuilt less than what was written."""

_IN_THE_WAY = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR}


@dataclass(frozen=True, slots=True)
class Replayed:
    """One revision that was rebuilt and written out."""

    entity: str
    revision: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class RebuiltHead(Replayed):
    """The head of an entity, rebuilt and written out."""

    branches: tuple[str, ...] = ()
    unrecorded: bool = False


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

    revisions: tuple[Replayed, ...]
    heads: tuple[RebuiltHead, ...]
    mismatches: tuple[Mismatch, ...]
    faults: tuple[Fault, ...] = ()
    unreadable: tuple[CatmemError, ...] = ()
    __json__ = "replayed=revisions heads mismatches faults unreadable"

    @property
    def damaged(self) -> bool:
        """Whether what was rebuilt is not what was once written, as far as that is known."""
        return bool(self.mismatches) or any(fault.damage for fault in self.faults)


def replay(workspace: Root, to: Path, entity: str | None = None) -> Replay:
    """Rebuild every revision from the log of revisions, and write it as ``TO/<profile>/<FILE>/<revision>.md``."""
    # The heads are written as `TO/<profile>/<FILE>.md` too (of a declared entity `TO/<entity>/content.json`). Each is
    # compared with what the store says of it: revision, digest and bytes, branches too; and the log is looked over, its
    # chain included. `to` must be new or empty.
    every = entities_of_each(workspace) if entity is None else None
    names = [entity_of(workspace, entity or "")] if every is None else [*every.paths, *workspace.config.entities]
    with os_errors(
        "cannot be written",
        path=to,
        hint="Nothing of the root was touched. Name a new folder that you may write to, on a disk with room.",
        code=lambda error: "not_a_file" if error.errno in _IN_THE_WAY else "not_writable",
        named=True,
    ):
        to.mkdir(parents=True, exist_ok=True)
        if any(to.iterdir()):
            raise ConfigError(
                "the folder is not empty", code="not_empty", path=to, hint="Name a new folder, or an empty one."
            )
        rebuilt = [_Rebuilt(workspace, name, to) for name in names]
    looked_over = workspace.store.verify(None if entity is None else names[0])
    return Replay(
        tuple(revision for each in rebuilt for revision in each.revisions),
        tuple(each.head for each in rebuilt if each.head is not None),
        tuple(mismatch for each in rebuilt for mismatch in each.mismatches),
        tuple(fault for fault in looked_over if fault.code in _OF_THE_LOG),
        () if every is None else every.unreadable,
    )


class _Rebuilt:
    """The revisions of an entity, written out, and where the store says otherwise."""

    head: RebuiltHead | None = None

    def __init__(self, workspace: Root, entity: str, to: Path) -> None:
        owner, target = parts_of(entity)
        declared = workspace.config.entities.get(entity)
        file = FILE_NAMES[target] if declared is None else CONTENT_FILES[declared.content]
        path = to / owner.replace(":", "%3A") / file
        self.entity, self.store = entity, workspace.store
        self.revisions: list[Replayed] = []
        self.mismatches: list[Mismatch] = []
        log: list[Revision] = []
        head: tuple[Revision, bytes] | None = None
        for revision, data in self.store.replay(entity):
            place = path.with_suffix("") / f"{revision.revision}{path.suffix}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            self.revisions.append(Replayed(entity, revision.revision, place, bytes_digest(data)))
            self._compare(f"the digest of revision {revision.revision}", self.revisions[-1].digest, revision.digest)
            log.append(revision)
            head = head if revision.is_branch else (revision, data)
        recorded = self.store.head(entity)
        said = "none" if recorded is None else recorded.revision
        self._compare("the head", "none" if head is None else head[0].revision, said)
        if head is None:
            return
        revision, data = head
        path.write_bytes(data)
        digest = bytes_digest(data)
        if recorded is not None:
            self._compare("the digest of the head", digest, recorded.digest)
        is_unrecorded = self._compare_file(revision.revision, data)
        branches = tuple(each.revision for each in tips(reversed(log)) if each.is_branch)
        self._compare_branches(branches)
        self.head = RebuiltHead(entity, revision.revision, path, digest, branches, is_unrecorded)

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
        digests = {each.revision: each.digest for each in self.revisions}
        for name in set(rebuilt) & recorded.keys():
            kept = bytes_digest(self.store.read(self.entity, name).data)
            self._compare(f"the digest of branch {name}", digests[name], recorded[name].digest)
            self._compare(f"the bytes of branch {name}", digests[name], kept)

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
