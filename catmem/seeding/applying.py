"""Carrying out a seed: one guarded write for each file, then the lock; and how the memory tool tells of it.

The lock is written last: where a seed was stopped before that, the next finds what was done.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from catmem import clock
from catmem.config.profile import one_reading
from catmem.digest import bytes_digest
from catmem.errors import DriftError, wrong_type
from catmem.names import is_entity
from catmem.seeding.lockfile import SeedFile
from catmem.seeding.plan import SeedPlan
from catmem.seeding.planner import plan_seed, plan_within, refuse_unmerged
from catmem.seeding.seed_lock import LOCK_NAME, SeedLock, SeedRecord
from catmem.seeding.slices import FilePlan
from catmem.staleness.lineage import CLOCKS, body_key
from catmem.store.contract import PERSON, Change, Current, OnDrift
from catmem.text import counted
from catmem.workspace.change_plan import RefusedChange, apply
from catmem.workspace.root import Root, log_attempt
from catmem.writing import gate
from catmem.writing.matching import parse_for_write
from catmem.writing.written import notes_on, on_title

UNREAD = "\ufffd"
"""What a file is taken to have held that could not be read: it is planned anew if it can be read by now."""
_AT_ONCE = 8
"""Files that are written at the same time."""


def apply_seed(workspace: Root, plan: SeedPlan, *, on_drift: OnDrift | None = None) -> SeedPlan:
    """Carry out a plan, on what is there by now: one guarded write for each file that changes, then the lock."""
    if not isinstance(plan, SeedPlan):
        raise wrong_type("the plan", plan, "a SeedPlan (plan_seed makes one)")
    file = SeedFile(workspace)
    drift = on_drift or workspace.config.on_drift
    if not (_unread(plan) or any(file_is_due(each, plan) for each in plan.files)):
        with one_reading():
            return _Applying(workspace, plan, file, drift).run()
    with one_reading(), file.held():
        now = {entity: bytes_digest(workspace.store.peek(entity)) for entity in plan.read}
        # Something may have been taken out of a source for good, or a target may read less by now.
        is_old = file.data() != plan.lock_data or any(now[entity] != read.digest for entity, read in plan.read.items())
        if is_old or any(workspace.profile(name) != each for name, each in plan.profiles.items()):
            plan = plan_seed(workspace, plan.asked)
        return _Applying(workspace, plan, file, drift).run()


def file_is_due(each: FilePlan, plan: SeedPlan) -> bool:
    """Whether there is anything to write of one file of a plan: the file, or what is on record of it."""
    return each.changes or _is_news(each, plan.lock)


def _unread(plan: SeedPlan) -> list[RefusedChange]:
    """What could not be read, and is tried once more: the store keeps a copy of it, or it has been mended."""
    return [each for each in plan.refused if isinstance(each.error, DriftError) and each.name in plan.parts]


def _is_news(plan: FilePlan, lock: SeedLock) -> bool:
    """Whether other entries count as seeded after a plan than the lock has on record."""
    record = lock.records.get((plan.target, plan.source))
    old = () if record is None else record.entries
    return old is not plan.entries and Counter(each.key for each in old) != Counter(each.key for each in plan.entries)


class _Applying:
    """One plan being carried out."""

    def __init__(self, workspace: Root, plan: SeedPlan, file: SeedFile, on_drift: OnDrift) -> None:
        self.workspace = workspace
        self.plan = plan
        self.file = file
        self.on_drift = on_drift
        self.done = [each for each in plan.files if not each.changes]
        """What the lock is to say: the files that stay as they are, and each that was written."""

    def run(self) -> SeedPlan:
        """Write file after file, and the lock in any case: what was done is on record also if this is interrupted."""
        plan, again = self.plan, _unread(self.plan)
        lost = (FilePlan(each.name, plan.parts[each.name].source, UNREAD, "", ()) for each in again)
        left = tuple(each for each in plan.refused if each not in again)
        agent = plan.asked.actor or PERSON
        for each in left:
            if is_entity(each.name):
                attempt = gate.Attempt(self.workspace, each.name, "seed", agent)
                log_attempt(self.workspace, attempt.line(0.0, each.error))
        try:
            made = apply(replace(plan, files=(*plan.files, *lost), refused=left), self._write, at_once=_AT_ONCE)
        finally:
            kept = self._write_lock()
        notes = () if kept is None else (f"what was in {LOCK_NAME} is kept as {kept}",)
        return replace(made, notes=(*made.notes, *notes))

    def _write(self, planned: FilePlan) -> FilePlan:
        """Write one file; where another text is there by now, what the seed makes of that."""
        made, plan = planned, self.plan

        def update(current: Current) -> bytes:
            nonlocal made
            document = parse_for_write(self.workspace.parse, planned.target, current.data)
            refuse_unmerged(self.workspace, planned.target, document.text)
            made = planned
            if document.text != planned.before:
                profile = self.workspace.profile(planned.target.partition("/")[0])
                made = plan_within(self.workspace, plan.asked, profile, plan.parts[planned.target], document)
            return made.after.encode()

        agent = plan.asked.actor or PERSON
        change = Change(op="seed", agent=agent, note=self._history_note(planned), on_drift=self.on_drift)
        snapshot = gate.commit(self.workspace, planned.target, None, update, change)
        title = on_title(self.workspace.parse(made.before), self.workspace.parse(made.after))
        notes = (*notes_on(snapshot), *(() if title is None else (title,)))
        made = replace(made, revision=snapshot.revision if made.changes else None, notes=notes)
        self.done.append(made)
        return made

    def _history_note(self, planned: FilePlan) -> dict[str, Any]:
        """From where it is seeded, and how old its entries without a date are."""
        read, known = self.plan.read[planned.source], self.plan.clocks.get(planned.target, {})
        note = {"source": planned.source, "source_revision": read.revision, "source_digest": read.digest}
        keys = [body_key(each.version.body) for each in self.plan.parts[planned.target].slice] if known else []
        clocks = {key: known[key] for key in keys if key in known}
        return {**note, CLOCKS: clocks} if clocks else note

    def _write_lock(self) -> str | None:
        lock, day = self.plan.lock, min(self.plan.asked.day, clock.today())
        news = [(each, self.plan.read[each.source]) for each in self.done if _is_news(each, lock)]
        records = [
            SeedRecord(plan.target, plan.source, read.revision, read.digest, day, plan.entries) for plan, read in news
        ]
        return self.file.write(self.plan.lock_data, lock.put(records)) if records else None


# --- for the memory tool -------------------------------------------------------------------------------------------

_MOST_ROWS = 50


def seed_answer(done: SeedPlan) -> dict[str, Any]:
    """What a profile that seeded others from its own files sees of it: numbers, and no texts."""
    refused = [each for each in done.refused if is_entity(each.name)]
    # What needs a look comes first, then what changed.
    files = sorted(done.files, key=lambda each: 0 if each.conflicts else 1 if each.revision is not None else 2)
    rows = [*({"entity": each.name, "refused": each.error.code} for each in refused), *map(_row, files)]
    answer: dict[str, Any] = {"success": not done.refused, "action": "seed", "source": done.asked.source}
    answer |= {"files": rows[:_MOST_ROWS]}
    answer |= {"files_left_out": len(rows) - _MOST_ROWS} if len(rows) > _MOST_ROWS else {}
    if done.lock.notes:
        answer["note"] = f"{LOCK_NAME} is not whole: entries were added and none was taken away. Tell a person."
    answer |= {"warnings": list(done.warnings)} if done.warnings else {}
    if done.refused:
        wrong = counted(len(done.refused) - len(refused), "profile")
        answer |= {
            "error": f"{len(refused)} of {counted(len(rows), 'file')} and {wrong} were not seeded",
            "reason": done.errors[0].code,
            "remediation": "The others were seeded. Do not try again now: a person has to look at these.",
        }
    written = sum(each.revision is not None for each in done.files)
    said = f"{written} written, {len(done.files) - written} unchanged, {len(refused)} refused."
    if conflicts := sum(len(each.conflicts) for each in done.files):
        said += f" {conflicts} in conflict: the targets' entries stay, and a person settles it."
    return {**answer, "message": said}


def _row(plan: FilePlan) -> dict[str, Any]:
    settled = 0 if plan.conflicts else plan.count("conflict")
    return {
        "entity": plan.target,
        "added": plan.count("new"),
        "changed": plan.count("changed_in_source", "changed_in_both") + settled,
        "removed": plan.count("removed_from_source"),
        "conflicts": len(plan.conflicts),
        "left_out": len(plan.withheld),
        "revision": plan.revision,
    }
