"""Merging two versions of ``catmem.seed.lock`` that come from one base.

A record that only one side changed is taken from that side. Of one that both changed, only the entries count that both
hold: a seed that knows less adds what is missing and takes nothing away, and one that knows too much may remove a fact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.policy.seedlock import SeedLock

if TYPE_CHECKING:
    from catmem.policy.seedlock import Record


def merge_locks(base: SeedLock, ours: SeedLock, theirs: SeedLock) -> SeedLock:
    """The lock that both sides stand behind; which of them is called ours makes no difference."""
    keys = {**ours.records, **theirs.records}
    merged = (_merged(base.records.get(key), ours.records.get(key), theirs.records.get(key)) for key in keys)
    return SeedLock().put(record for record in merged if record is not None)


def _merged(base: Record | None, ours: Record | None, theirs: Record | None) -> Record | None:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return None  # one side dropped what the other changed
    # The newer one names the revision; of two of one day the digest decides, so that both directions agree.
    newer, older = sorted((ours, theirs), key=lambda record: (record.date, record.digest), reverse=True)
    known = {entry.key for entry in older.entries}
    return replace(newer, entries=tuple(entry for entry in newer.entries if entry.key in known))
