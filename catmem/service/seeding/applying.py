"""Carrying out a seed: one guarded write for each file, then the lock."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError, DriftError, StaleError
from catmem.policy.seed import FilePlan, plan_file
from catmem.policy.seedlock import LOCK_NAME, Record
from catmem.service import gate
from catmem.service.first_seen import CLOCKS, body_key
from catmem.service.seeding.lockfile import SeedFile
from catmem.service.seeding.plan import Refusal, SeededFile, SeedResult
from catmem.service.seeding.planning import on_hidden, refuse_too_long, refuse_unmerged, replanned
from catmem.service.writing.view import legible
from catmem.service.writing.written import on_adoption, on_restoration, on_title
from catmem.store.contract import PERSON, Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catmem.model.document import Document
    from catmem.policy.seedlock import SeedLock
    from catmem.service.seeding.plan import SeedPlan
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Current, OnDrift

UNREAD = "\ufffd"
"""What a file is taken to have held that could not be read: it is planned anew if it can be read by now."""
_AT_ONCE = 8
"""Files that are written at the same time."""


def apply_seed(workspace: Workspace, plan: SeedPlan, *, on_drift: OnDrift | None = None) -> SeedResult:
    """Carry out a plan: one guarded write for each file that changes, then the lock.

    A target that changed since the plan was made gets the same slice, merged into what is there now. What goes wrong
    with one file is noted in ``refused``. If another seed came between, or the source changed, the plan is made again
    first. Raises
    ``BusyError``, and ``UnreadableError`` if the lock cannot be written.
    """
    file = SeedFile(workspace.root)
    drift = on_drift or workspace.config.on_drift
    if not is_due(plan):
        return _Applying(workspace, plan, file, drift).run()
    with file.held():
        if file.data() != plan.basis.lock_data or _source_changed(workspace, plan):
            plan = replanned(workspace, plan)
        return _Applying(workspace, plan, file, drift).run()


def apply_shown(workspace: Workspace, plan: SeedPlan, shown: Mapping[str, str]) -> SeedResult:
    """Carry out what somebody looked at, and nothing else.

    ``plan`` says what was asked for; ``shown`` has the ``shown_digest`` of each file that is to be written, by its
    entity. All is planned again while no other seed runs. A file of which a seed would make something else by now is
    left alone, and stands in ``refused`` with a ``StaleError``; one in which nothing is left to do counts as done.
    Raises as ``apply_seed`` and ``plan_seed`` do.
    """
    file = SeedFile(workspace.root)
    with file.held():
        now = replanned(workspace, plan)
        found = {each.target: each for each in now.files}
        chosen = [found[target] for target in shown if target in found]
        files = [each for each in chosen if shown_digest(each) == shown[each.target] or not file_is_due(each, now)]
        kept = {each.target for each in files}
        refused = [each for each in now.refused if each.target in shown]
        known = kept | {each.target for each in refused}
        others = [Refusal(target, _otherwise(target)) for target in shown if target not in known]
        plan = replace(now, files=tuple(files), refused=tuple(refused))
        result = _Applying(workspace, plan, file, workspace.config.on_drift, exact=True).run()
    for each in others:
        gate.note_refusal(workspace, each.target, op="seed", agent=plan.basis.asked.actor or PERSON, error=each.error)
    return replace(result, refused=(*result.refused, *others))


def shown_digest(plan: FilePlan) -> str:
    """What a seed makes of one file, and what counts as seeded from then on: the digest of what is looked at."""
    entries = sorted([*each.key, each.text] for each in plan.entries)
    return content_digest([plan.target, plan.source, plan.before, plan.after, entries])


def _otherwise(target: str) -> StaleError:
    return StaleError(
        f"{target} was not seeded: a seed would write something else by now than what was looked at",
        hint="Look at what would change now, and seed it again.",
    )


class _Applying:
    """One plan being carried out. ``exact``: what it says is written, or nothing."""

    def __init__(
        self, workspace: Workspace, plan: SeedPlan, file: SeedFile, on_drift: OnDrift, *, exact: bool = False
    ) -> None:
        self.workspace = workspace
        self.plan = plan
        self.file = file
        self.on_drift = on_drift
        self.exact = exact
        self.done: list[SeededFile] = []
        self.refused: list[Refusal] = []

    @property
    def _agent(self) -> str:
        return self.plan.basis.asked.actor or PERSON

    def run(self) -> SeedResult:
        """Write file after file, and the lock in any case: what was done is on record also if this is interrupted."""
        notes = list(self.plan.notes)
        # Most of a write is waiting for the disk, which confirms several at once as fast as one.
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                self._note(pool.map(self._seeded, self.plan.files))
                self._note(pool.map(self._refused, self.plan.refused))
            finally:
                pool.shutdown(cancel_futures=True)
                kept = self._write_lock()
        if kept is not None:
            notes.append(f"what was in {LOCK_NAME} is kept as {kept}")
        done, refused = tuple(self.done), tuple(self.refused)
        return SeedResult(self.plan.source, done, refused, tuple(notes), self.plan.unreadable)

    def _note(self, outcomes: Iterable[SeededFile | Refusal]) -> None:
        for each in outcomes:
            if isinstance(each, Refusal):
                self.refused.append(each)
            else:
                self.done.append(each)

    def _refused(self, each: Refusal) -> SeededFile | Refusal:
        """Once more what could not be read: the store keeps a copy of it, or somebody has mended it meanwhile."""
        if not isinstance(each.error, DriftError) or each.target not in self.plan.basis.parts:
            gate.note_refusal(self.workspace, each.target, op="seed", agent=self._agent, error=each.error)
            return each
        return self._seeded(FilePlan(each.target, self.plan.basis.parts[each.target].source, UNREAD, "", ()))

    def _seeded(self, each: FilePlan) -> SeededFile | Refusal:
        try:
            return self._write(each) if each.changes else SeededFile(each, None)
        except CatmemError as error:
            return Refusal(each.target, error)

    def _write(self, planned: FilePlan) -> SeededFile:
        made = [planned]

        def update(current: Current) -> bytes:
            document = legible(self.workspace.parse, planned.target, current.data)
            refuse_unmerged(self.workspace, planned.target, document.text)
            if document.text != planned.before:
                if self.exact:
                    raise _otherwise(planned.target)
                made[0] = self._again(planned, document)
            return made[0].after.encode()

        basis = self.plan.basis
        read = basis.read[planned.source]
        note: dict[str, Any] = {
            "source": planned.source,
            "source_revision": read.revision,
            "source_digest": read.digest,
        }
        known = basis.clocks.get(planned.target)
        keys = [body_key(each.version.body) for each in basis.parts[planned.target].slice] if known else []
        clocks = {key: known[key] for key in keys if known and key in known}
        note |= {CLOCKS: clocks} if clocks else {}
        change = Change(op="seed", agent=self._agent, note=note, on_drift=self.on_drift)
        snapshot = gate.commit(self.workspace, planned.target, None, update, change)
        wrote = snapshot.revision if made[0].changes else None
        notes = (*on_restoration(snapshot), *(() if snapshot.adopted is None else (on_adoption(snapshot.adopted),)))
        return SeededFile(made[0], wrote, (*notes, *self._on_title(made[0]), *self._on_hidden(made[0])))

    def _on_title(self, plan: FilePlan) -> tuple[str, ...]:
        """What to know of a flat file whose leading heading was an entry and is the title now."""
        title = on_title(*(self.workspace.parse(text) for text in (plan.before, plan.after)))
        return () if title is None else (title,)

    def _on_hidden(self, plan: FilePlan) -> tuple[str, ...]:
        """What the file hides from now on, where the plan did not say so: somebody changed the file meanwhile."""
        note = on_hidden(self.workspace, plan)
        return () if note is None or note in self.plan.notes else (note,)

    def _again(self, planned: FilePlan, document: Document) -> FilePlan:
        """The same slice for what is there now."""
        basis = self.plan.basis
        plan = plan_file(basis.parts[planned.target], document, resolve=basis.asked.resolve)
        profile = self.workspace.profile(planned.target.partition("/")[0])
        refuse_too_long(self.workspace, profile, plan, self.plan.as_of)
        return plan

    def _write_lock(self) -> str | None:
        basis = self.plan.basis
        records = [record for each in self.done if (record := self._record(each.plan, basis.lock)) is not None]
        return self.file.write(basis.lock_data, basis.lock.put(records)) if records else None

    def _record(self, plan: FilePlan, lock: SeedLock) -> Record | None:
        """What is on record of a file from now on; ``None`` if that is there already."""
        if not _is_news(plan, lock):
            return None
        read = self.plan.basis.read[plan.source]
        return Record(
            plan.target, plan.source, read.revision, read.digest, min(self.plan.as_of, clock.today()), plan.entries
        )


def _source_changed(workspace: Workspace, plan: SeedPlan) -> bool:
    """Whether a source is no longer what the plan was made of: something may have been taken out of it for good."""
    return any(bytes_digest(workspace.store.peek(entity)) != read.digest for entity, read in plan.basis.read.items())


def is_due(plan: SeedPlan) -> bool:
    """Whether there is anything to write: a file, or what is on record of one."""
    return any(file_is_due(each, plan) for each in plan.files)


def file_is_due(each: FilePlan, plan: SeedPlan) -> bool:
    """The same of one file of a plan."""
    return each.changes or _is_news(each, plan.basis.lock)


def _is_news(plan: FilePlan, lock: SeedLock) -> bool:
    """Whether other entries count as seeded after a plan than the lock has on record."""
    old = lock.records.get((plan.target, plan.source))
    if old is None:
        return bool(plan.entries)
    return old.entries is not plan.entries and Counter(e.key for e in old.entries) != Counter(
        e.key for e in plan.entries
    )
