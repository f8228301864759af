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
    """Find damage in the history of a memory file.

    ## Why
    The journal holds every revision and who wrote it. With a damaged one some of them cannot be shown or restored, and
    a change on purpose looks like an accident.

    ## Example
    Bad: a record in `.catmem/journal` does not have the digest that the next one names.

    Good: `catmem fsck` finds nothing.

    ## Fix
    Copy the folder first. `catmem fsck` says more; `catmem fsck --repair` keeps the damaged journal aside and begins a
    new one. The memory files themselves are not touched.
    """
    yield from _of(faults, lambda kind: kind not in _NO_DAMAGE)


@rule("CM902", "left-over-backup", severity="hint", scope="store")
def left_over_backup(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find backups beside memory files.

    ## Why
    catmem keeps such a copy when a write would lose what another writer changed. The writer that was
    refused may never have looked at it, and a copy may hold what was meant to be removed.

    ## Example
    Bad: `homes/neo/MEMORY.md.bak.20261121T120000Z` stands beside `MEMORY.md`.

    Good: nothing but the memory files stands there.

    ## Fix
    Compare it with the file, take over what is missing, and remove it. `catmem purge` removes a text from backups too.
    """
    yield from _of(faults, lambda kind: kind == _BACKUP)


@rule("CM903", "unmerged-branch", scope="store")
def unmerged_branch(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find branches that were not merged.

    ## Why
    In branch mode the second of two agents who write at once keeps its text beside the head. No prompt shows it there:
    what it says is as good as lost until a merge brings the two together, and the longer that takes, the further they
    are apart.

    ## Example
    Bad: `trinity/user` is at revision 8, and what the planner wrote as 8a is in no later revision.

    Good: revision 9 has 8 and 8a as its parents.

    ## Fix
    `catmem branches` lists them, and `catmem merge ENTITY BRANCH` brings one together with the head. What it says and
    is no longer wanted can be left out of the merged text; the branch stays in the history.
    """
    yield from _of(faults, lambda kind: kind == _BRANCH)


@rule("CM904", "changed-outside", severity="hint", scope="store")
def changed_outside(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find memory files that were changed since the journal last saw them.

    ## Why
    An editor may change a memory file at any time; the next write through catmem takes the change into the history.
    Until then it has no author and no date there.

    ## Example
    Bad: a person added a line to `USER.md` with an editor, and nothing was written through catmem since.

    Good: the file is as the newest revision of the journal says.

    ## Fix
    Nothing has to be done. Any write through catmem records the change.
    """
    yield from _of(faults, lambda kind: kind == _OUTSIDE)


@rule("CM905", "unfinished-write", scope="store")
def unfinished_write(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find writes that were stopped half-way, and what they left behind.

    ## Why
    A process that was killed leaves files in the sidecar. Nothing is lost by it, but what they hold may be newer than
    the memory file.

    ## Example
    Bad: there is a file in `.catmem/tmp` while no program writes.

    Good: `.catmem/tmp` is empty.

    ## Fix
    `catmem fsck --repair` sees to it. So does the next write, but for what was written into a file that was taken
    out more than 64 records ago.
    """
    yield from _of(faults, _UNFINISHED.__contains__)


@rule("CM906", "open-sidecar", scope="store")
def open_sidecar(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find sidecar folders that others on the machine may look into.

    ## Why
    `.catmem` holds all that the files ever said, removed entries too.

    ## Example
    Bad: the mode of `homes/neo/.catmem` is 0755.

    Good: it is 0700.

    ## Fix
    Run `chmod 700` on the folder, or `catmem fsck --repair`.
    """
    yield from _of(faults, lambda kind: kind == _OPEN)


@rule("CM907", "unread-memory", scope="store")
def unread_memory(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
    """Find what no profile reads in a root whose store is a database: its old files, and rows of no profile.

    ## Why
    Where `store` in `catmem.yaml` names a database, no profile reads memory files in `homes`, nor rows of
    an entity that no profile has. Their writer takes them for remembered.

    ## Example
    Bad: `store` was changed to `sqlite:///.catmem/memory.db`, and `homes/neo/USER.md` holds entries that the database
    never had. Or a client inserted rows of `nea/user`, and the profile is called neo.

    Good: the database has had what the files say, and every row is of an entity of a profile.

    ## Fix
    `catmem store copy files sqlite:///.catmem/memory.db` brings files into an empty database, with their history. What
    a file says that a database with a history has not comes in with `catmem import --from hermes -p NAME FILE`; then
    move the file away. Give rows an entity that there is, or delete them.
    """
    yield from _of(faults, _UNREAD.__contains__)


def _of(faults: Sequence[StoreFault], wanted: Callable[[str], bool]) -> Iterator[Finding]:
    for fault in faults:
        if wanted(fault.kind):
            yield Finding(0, 0, fault.message, fault.hint, path=fault.path)
