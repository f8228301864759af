"""Rules on the store of a root: what ``catmem fsck`` finds, copies that are left over, and branches.

The service gives each thing a ``kind``: the store's own code for a fault (``journal_tail``), ``backup`` for a copy
beside a file, ``branch`` for a revision beside the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catmem.linting.linted import Context, StoreFault

_BACKUP = "backup"
_BRANCH = "branch"
_OUTSIDE = "changed_outside"
_OPEN = "open_sidecar"
_UNREAD = frozenset({"unread_file", "unknown_entity"})
_UNFINISHED = frozenset({
    "unfinished", "leftover", "late_write", "journal_leftover", "journal_stranger", "half_brought"
})  # fmt: skip
_NO_DAMAGE = _UNFINISHED | _UNREAD | {_BACKUP, _BRANCH, _OUTSIDE, _OPEN, "records_lost"}


@rule("CM901", "store-damage", severity="error", scope="store")
def store_damage(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find damage in the history of a memory file."""
    yield from _of(faults, lambda kind: kind not in _NO_DAMAGE)


@rule("CM902", "left-over-backup", severity="hint", scope="store")
def left_over_backup(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find backups beside memory files."""
    yield from _of(faults, lambda kind: kind == _BACKUP)


@rule("CM903", "unmerged-branch", scope="store")
def unmerged_branch(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find branches that were not merged."""
    yield from _of(faults, lambda kind: kind == _BRANCH)


@rule("CM904", "changed-outside", severity="hint", scope="store")
def changed_outside(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find memory files that were changed since the journal last saw them."""
    yield from _of(faults, lambda kind: kind == _OUTSIDE)


@rule("CM905", "unfinished-write", scope="store")
def unfinished_write(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find writes that were stopped half-way, and what they left behind."""
    yield from _of(faults, _UNFINISHED.__contains__)


@rule("CM906", "open-sidecar", scope="store")
def open_sidecar(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find sidecar folders that others on the machine may look into."""
    yield from _of(faults, lambda kind: kind == _OPEN)


@rule("CM907", "unread-memory", scope="store")
def unread_memory(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find what no profile reads in a root whose store is a database: its old files, and rows of no profile."""
    yield from _of(faults, _UNREAD.__contains__)


def _of(faults: Sequence[StoreFault], wanted: Callable[[str], bool]) -> Iterator[Finding]:
    for fault in faults:
        if wanted(fault.kind):
            yield Finding(0, 0, fault.message, fault.hint, path=fault.path)
