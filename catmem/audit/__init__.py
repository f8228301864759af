"""The audit log, asked, and counted for metrics; and the log of revisions, rebuilt and held against the store."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from catmem.clock import timestamp
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import agents_of, named_entities, profile_names, refuse_no_root
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, StoreError, catalogue
from catmem.files import os_errors
from catmem.names import FILE_NAMES, parts_of
from catmem.store.audit_log import NAME, STATUSES, AuditLine, AuditLog, AuditReader, Damage
from catmem.store.contract import EXTERNAL, PERSON, Fault, Revision, Store, tips
from catmem.workspace.root import Root, audit_log, entities_of_each


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; ``entity`` may be a profile, ``since`` is counted in."""

    entity: str | None = None
    agent: str | None = None
    status: str | None = None
    since: datetime | None = None

    def keeps(self, line: AuditLine) -> bool:
        """Whether a line is wanted."""
        return (
            (self.entity is None or line.entity_id == self.entity or line.entity_id.startswith(f"{self.entity}/"))
            and self.agent in {None, line.agent, line.person or line.agent}
            and self.status in {None, line.status}
            # All times are written in one form, so that their texts are in order.
            and (self.since is None or line.ts >= timestamp(self.since))
        )


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, the oldest first. ``damaged`` are lines that could not be read, and so were passed over."""

    lines: tuple[AuditLine, ...]
    damaged: tuple[Damage, ...]


def read_audit(workspace: Root, wanted: Filter = EVERYTHING, limit: int | None = None) -> Audit:
    """The wanted lines, of which the newest ``limit``. Raises ``StoreError``, and ``ConfigError`` where no root is."""
    lines: deque[AuditLine] = deque(maxlen=limit)
    damaged: list[Damage] = []
    refuse_no_root(workspace.config)
    log = audit_log(workspace)
    with closing(AuditReader(log)) as reader, _readable(log, ": see catmem log"):
        for each in reader.poll():
            if isinstance(each, Damage):
                damaged.append(each)
            elif wanted.keeps(each):
                lines.append(each)
    return Audit(tuple(lines), tuple(damaged))


def unknown_names(workspace: Root, wanted: Filter) -> list[str]:
    """What to say of names in a filter that the root does not have now; they may be names of the past, so no error."""
    config = workspace.config
    owner, target = parts_of(wanted.entity or "")
    profiles = profile_names(config.profiles_dir)
    is_there = owner in {*profiles, *config.entities}
    asked = (
        ("profile", None if is_there else owner, profiles),
        ("target", target, FILE_NAMES),
        ("agent", wanted.agent, [*agents_of(config), PERSON, EXTERNAL]),
    )
    return [
        f"There is no {what} {shown(name)} here now. {suggestion(name, known, f'{what}s')}"
        for what, name, known in asked
        if name and name not in known
    ]


def _readable(log: AuditLog, more: str = "") -> AbstractContextManager[None]:
    return os_errors(
        "the audit log cannot be read",
        path=log.folder / NAME,
        hint=f"Check the rights of .catmem and of the file. The revisions do not depend on it{more}.",
        code="io",
        kind=StoreError,
    )


# --- counting ------------------------------------------------------------------------------------------------------

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds, in seconds, of the groups in which latencies are counted."""

CONFLICTS = frozenset({"stale_prev", "drift", "hash_collision", "semantic_collision", "merge_conflict", "busy"})
"""Codes of refusals that are about another writer."""

_CODES = frozenset(code for listed in catalogue().values() for code in listed["codes"])

OTHER = "other"
"""The name of all that are not counted each for itself."""
_PREVENTED = frozenset({"conflict", "branch", "merged"})
_LONGEST_SECONDS = 1e6
"""What is longer, or no number (a line of a log may say anything), tells of no operation."""


class LogCounts:
    """What the audit log tells from the first look on: counts never go down. For one thread at a time; close it."""

    def __init__(self, workspace: Root) -> None:
        """Nothing is read yet."""
        self.workspace = workspace
        self._log = audit_log(workspace)
        self._reader = AuditReader(self._log)
        self._begun = False
        self.writes: Counter[tuple[str, str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.branches: Counter[str] = Counter()
        # Writes on an older text than the head that took nothing from it: refused, kept as a branch, or merged.
        self.prevented: Counter[str] = Counter()
        self.groups = [0] * (len(BOUNDS) + 1)
        """How many operations took ``BOUNDS[n]`` seconds at most; the last group has no bound."""
        self.seconds = 0.0
        self.damaged = 0

    def catch_up(self) -> None:
        """Count what was added to the log since the last time; the first time nothing is counted."""
        config = self.workspace.config
        entities, agents = {*named_entities(config)}, {PERSON, *agents_of(config)}
        with _readable(self._log):
            if not self._begun:
                self._reader.skip()
                self._begun = True
            for each in self._reader.poll():
                if isinstance(each, Damage):
                    self.damaged += 1
                else:
                    self._count(each, entities, agents)

    def _count(self, line: AuditLine, entities: Collection[str], agents: Collection[str]) -> None:
        """Count one operation, under the names that are known here, and ``OTHER`` for those that a caller made up."""
        entity = line.entity_id if line.entity_id in entities else OTHER
        agent = line.agent if line.agent in agents else OTHER
        self.writes[entity, agent, line.status if line.status in STATUSES else OTHER] += 1
        if line.reason is not None:
            self.refused[entity, line.reason if line.reason in _CODES else OTHER] += 1
        if line.op != "merge" and line.status in _PREVENTED:
            self.prevented[entity] += 1
        if line.status == "branch":
            self.branches[entity] += 1
        if line.seconds is not None and 0 <= line.seconds <= _LONGEST_SECONDS:
            self.groups[bisect_left(BOUNDS, line.seconds)] += 1
            self.seconds += line.seconds

    def close(self) -> None:
        """Let go of the log."""
        self._reader.close()
        self._begun = False


# --- the log of revisions, rebuilt ---------------------------------------------------------------------------------

_OF_THE_LOG = frozenset({
    "journal_damaged", "lost_records", "log_damaged",
    "log_end", "branches_differ", "database_damaged", "damaged",
})  # fmt: skip
"""The faults that make what was rebuilt less than what was written."""


class RebuiltHead(NamedTuple):
    """The head of an entity, rebuilt: with the tips of its branches, and whether a change since is in no revision."""

    entity: str
    revision: str
    digest: str
    branches: tuple[str, ...]
    unrecorded: bool


class Mismatch(NamedTuple):
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
    """Rebuild every revision from the log of revisions, and compare heads and branches; look over the log itself."""
    from catmem.workspace.history import entity_of

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
        found = {each.revision: each for each in store.branches(entity) if each.is_branch}
        self._compare("the branches", ", ".join(sorted(branches)) or "none", ", ".join(sorted(found)) or "none")
        for name in set(branches) & found.keys():
            self._compare(f"the digest of branch {name}", self.digests[name], found[name].digest)
            kept = bytes_digest(store.read(entity, name).data)
            self._compare(f"the bytes of branch {name}", self.digests[name], kept)
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

    def _compare(self, what: str, rebuilt: str, found: str) -> None:
        if rebuilt != found:
            self.mismatches.append(Mismatch(self.entity, what, rebuilt, found))


def lost_overwrites(workspace: Root, entity: str, after: int | None) -> tuple[int, int]:
    """How many revisions external changes took back since the sequence ``after``, if any; and the newest sequence."""
    # No record says what an external writer had seen, so the texts decide: in all entries that the revision changed,
    # the external text is as it was before it. A program read the file before, and put its own text in place after.
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
