"""Look over all that the file store keeps in a folder, say what is not right, and mend what is safe to mend.

Looking changes nothing. Mending throws nothing away: what cannot be used any more is moved aside inside ``.catmem``.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.errors import CatmemError, DamagedError, StoreError, UnreadableError
from catmem.files import read_bounded
from catmem.store.contract import SIDECAR, Fault
from catmem.store.files.external_changes import WATCHED, Outside
from catmem.store.files.folder import Folder, Place, acknowledged
from catmem.store.files.history_import import is_half_brought
from catmem.store.files.journal_check import Readable
from catmem.store.files.journal_lines import Brought
from catmem.store.files.recovery import bridge, record_as_it_is, recover
from catmem.store.files.retention import named_digest
from catmem.store.files.system import read_file, store_errors
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.store.contract import Merge
    from catmem.store.files.journal import Journal
    from catmem.store.files.publication import Publication
    from catmem.store.files.system import System

_LOCK_TIMEOUT = 10.0
_GOES_ON = (
    "The files are as they are, and nothing is written. 'catmem fsck --repair' keeps what is left of that end aside, "
    "and goes on from the files, under new numbers."
)
_WRITES = "The next write sees to it, and so does 'catmem fsck --repair'."


def look_over(system: System, places: Sequence[Place]) -> list[Fault]:
    """What is not right in the folder of ``places``, which all lie in one. An unused folder has no faults."""
    try:
        folder = Folder.open(system, places[0], create=False)
    except StoreError as error:
        return [_of_error(error)]
    if folder is None:
        return []
    try:
        with closing(folder), store_errors(folder.path):
            if folder.journal is None:
                return _without_journal(folder)
            with _lock_if_possible(folder, places[0].name):
                return [*_journal_faults(folder, folder.journal, places), *_leftovers(folder), *_sidecar_faults(folder)]
    except CatmemError as error:
        return [_of_error(error)]


@contextmanager
def _lock_if_possible(folder: Folder, name: str) -> Iterator[None]:
    """The folder's lock, so that nobody is in the middle of a write; without it where this user may not take it."""
    with ExitStack() as stack:
        with suppress(StoreError):
            stack.enter_context(folder.lock(name, _LOCK_TIMEOUT))
        yield


def _of_error(error: CatmemError) -> Fault:
    return Fault(error.code, error.message, error.path, error.hint or "")


def _without_journal(folder: Folder) -> list[Fault]:
    if folder.side < 0:
        return []
    message = "the sidecar has no journal: the history of this folder is gone"
    hint = "The files are as they are, and the next write begins a new history from them."
    return [Fault("no_journal", message, str(folder.path / SIDECAR), hint)]


def _journal_faults(folder: Folder, journal: Journal, places: Sequence[Place]) -> Iterator[Fault]:
    found = journal.verify()
    try:
        journal.refresh()
        lost = folder.lost_records()
    except DamagedError:
        if not found:
            raise
        yield from found
        return  # said already, at its place
    yield from (each._replace(hint=_GOES_ON) if lost and each.code == "journal_tail" else each for each in found)
    if lost:
        message = f"{acknowledged(lost)} gone from the end of the journal"
        yield Fault("lost_records", message, str(folder.path / SIDECAR / "journal"), _GOES_ON, repairable=True)
        return
    last = journal.last_write
    if last is not None and last.publishes and last.sequence > folder.published():
        message = f"a write of {last.file} (revision {last.revision}) was recorded and may not be in place"
        yield Fault("unfinished", message, str(folder.path / last.file), _WRITES, repairable=True, damage=False)
        return
    for place in places:
        yield from _file_faults(place, journal)


def _file_faults(place: Place, journal: Journal) -> Iterator[Fault]:
    head = journal.head(place.name)
    if head is not None and is_half_brought(head):
        message = f"the history from another store was taken over up to revision {head.revision}, and then stopped"
        yield Fault("half_brought", message, str(place.path), "Copy from that store again: it goes on from there.")
        return
    try:
        data = b""
        if os.path.lexists(place.path):
            data = read_bounded(place.path, DEFAULT_LIMITS.file_bytes, follow_symlink=False)
    except UnreadableError as error:
        yield _of_error(error)
        return
    if head is not None and head.head != bytes_digest(data):
        message = f"the file was changed outside the journal since revision {head.revision}"
        hint = "Nothing is wrong with that: the next write takes the change into the history."
        yield Fault("changed_outside", message, str(place.path), hint, damage=False)


def _leftovers(folder: Folder) -> Iterator[Fault]:
    side = folder.path / SIDECAR
    latest = folder.journal.latest(WATCHED) if folder.journal else ()
    watched = {f"{each.late_of or each.sequence:012d}": each.file for each in latest if each.retired is not None}
    for name in folder.system.names(folder.tmp):
        message = "a write was stopped before it was recorded"
        yield Fault("leftover", message, str(side / "tmp" / name), _WRITES, repairable=True, damage=False)
    for name in folder.system.names(folder.gen):
        digest = named_digest(name)
        if digest is not None and digest != bytes_digest(read_file(folder.system, name, folder.gen)):
            file = watched.get(name.partition("-")[0])
            hint = "No write looks at a file that old any more. 'catmem fsck --repair' sees to it."
            if file is not None:
                hint = f"The next write to {file} sees to it, and so does 'catmem fsck --repair'."
            message = "somebody wrote to a file that was no longer in its place"
            yield Fault("late_write", message, str(side / "gen" / name), hint, repairable=True, damage=False)


def _sidecar_faults(folder: Folder) -> Iterator[Fault]:
    if stat.S_IMODE(folder.system.status(folder.side).st_mode) & 0o077:
        yield Fault(
            "open_sidecar",
            "others may look into the sidecar, which holds all that the files ever said",
            str(folder.path / SIDECAR),
            "chmod 700 it, or run 'catmem fsck --repair'.",
            repairable=True,
        )


def mend(folder: Folder, merge: Merge | None, publication: type[Publication], *, durable: bool) -> list[str]:
    """Mend the sidecar, the journal, an unfinished write and late writes of a locked folder; says what was done.

    A damaged journal is moved aside whole and a new one begun: its revisions go on where the old one's ended, and it
    has the branches that were not merged.
    """
    done: list[str] = []
    if stat.S_IMODE(folder.system.status(folder.side).st_mode) & 0o077:
        folder.system.change_mode(folder.side, 0o700)
        done.append(f"{folder.path / SIDECAR} is closed to others")
    _with_a_good_journal(folder, done)
    journal = folder.writable_journal
    for name in journal.files():
        put = publication(folder, name, durable=durable)
        outside = Outside(put, merge)
        recover(folder, put, merge)
        done += [
            f"what was written late to {folder.path / name} is revision {head.number + 1}"
            for head in outside.take_in_late(journal.records())
        ]
    return done


def _with_a_good_journal(folder: Folder, done: list[str]) -> None:
    """Put a new journal in the place of a damaged one; say so in ``done``."""
    journal = folder.writable_journal
    try:
        journal.refresh(repair=True)
        damage = [fault for fault in journal.verify() if fault.damage]
    except DamagedError as error:
        damage = [_of_error(error)]
    if not damage:
        if lost := folder.lost_records():
            bridge(folder, lost)
            done.append(
                f"{acknowledged(lost)} gone from the history of {folder.path}, which goes on from the files as they are"
            )
        return
    stamp = folder.system.now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = f"damaged-{stamp}-{folder.system.token()[:8]}"
    readable = Readable.of(folder)
    folder.begin_new_journal(aside, lambda journal: _begin_again(folder, journal, readable))
    done.append(f"the damaged journal is kept as {folder.path / SIDECAR / aside}, and a new one is begun")
    done += [
        f"{folder.path / name} is revision {number + 1} there; no older one can be shown or restored any more"
        for name, number in sorted(readable.highest.items())
    ]
    done += [
        f"the branch {branch.revision} of {folder.path / branch.owner}, which was not merged, is in the new one too"
        for branch, _ in readable.unmerged
    ]


def _begin_again(folder: Folder, journal: Journal, readable: Readable) -> None:
    """Record each file as it is, as the revision after the highest that ever was: no number means two things.

    Branches that wait for a merge are in no file, so they are taken over.
    """
    for name, number in sorted(readable.highest.items()):
        # What is not there, or no file, the next write to it tells.
        record_as_it_is(folder, journal, name, number + 1, (), {"begins": "anew"}, missing=OSError)
    journal.bring(
        Brought(replace(branch, publishes=False, brought=True), data, branch.timestamp)
        for branch, data in readable.unmerged
    )
