"""The upkeep of a folder: what it is on, what is not right in it, and mending what is safe to mend.

Looking leaves nothing behind. Mending throws nothing away: what cannot be used any more is moved aside inside
``.catmem``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC
from pathlib import Path

from catmem.digest import bytes_digest
from catmem.errors import CatmemError, DamagedError, StoreError, UnreadableError
from catmem.files import read_bounded
from catmem.store.contract import EXTERNAL, SIDECAR, Fault, MergeFunction
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.folder import Folder, Place
from catmem.store.files.journal import Journal, last_numbers
from catmem.store.files.publication import Publication
from catmem.store.files.records import RecordDraft
from catmem.store.files.recovery import recover
from catmem.store.files.retention import named_digest
from catmem.store.files.segments import SegmentFolder, acknowledged
from catmem.store.files.system import FOLDER, System, lines_of, opened, read_file, store_errors
from catmem.text import MAX_FILE_BYTES


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on, as ``/proc/mounts`` says it; empty where that is unknown."""
    where = Path(os.path.realpath(folder))
    best, kind = "", ""
    for _, mount, of_kind, *_ in (words for line in lines_of("/proc/mounts") if (words := line.split())):
        if where.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, of_kind
    return kind


_LOCK_TIMEOUT = 10.0
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
    """The folder's lock, so that no process is in the middle of a write; without it where this user may not take it."""
    with ExitStack() as stack:
        with suppress(StoreError):
            stack.enter_context(folder.lock(name, _LOCK_TIMEOUT))
        yield


def _of_error(error: CatmemError) -> Fault:
    return Fault(error.code, error.message, error.path, error.hint or "")


def _without_journal(folder: Folder) -> list[Fault]:
    if folder.side < 0:
        return []
    if lost := folder.lost_records():
        return [_lost_end(folder, lost)]
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
    yield from (each for each in found if not lost or each.code != "journal_tail")
    if lost:
        yield _lost_end(folder, lost)
        return
    last = journal.last_write
    if last is not None and last.publishes and last.sequence > folder.published():
        message = f"a write of {last.file} (revision {last.revision}) was recorded and may not be in place"
        yield Fault("unfinished", message, str(folder.path / last.file), _WRITES, repairable=True, damage=False)
        return
    for place in places:
        yield from _file_faults(place, journal)


def _lost_end(folder: Folder, lost: int) -> Fault:
    said = f"{acknowledged(lost)} gone from the end of the journal"
    hint = (
        "The files are as they are, and nothing is written. 'catmem fsck --repair' moves the journal aside, and begins "
        "a new one from the files, with new numbers."
    )
    return Fault("lost_records", said, str(folder.path / SIDECAR / "journal"), hint, repairable=True)


def _file_faults(place: Place, journal: Journal) -> Iterator[Fault]:
    head = journal.head(place.name)
    try:
        data = b""
        if os.path.lexists(place.path):
            data = read_bounded(place.path, MAX_FILE_BYTES, follow_symlink=False)
    except UnreadableError as error:
        yield _of_error(error)
        return
    if head is not None and head.head != bytes_digest(data):
        message = f"the file was changed by another program since revision {head.revision}"
        hint = "Nothing is wrong with that: the next write takes the change into the history."
        yield Fault("changed_outside", message, str(place.path), hint, damage=False)


def _leftovers(folder: Folder) -> Iterator[Fault]:
    side = folder.path / SIDECAR
    for name in folder.system.names(folder.tmp):
        message = "a write was stopped before it was recorded"
        yield Fault("leftover", message, str(side / "tmp" / name), _WRITES, repairable=True, damage=False)
    for name in folder.system.names(folder.gen):
        digest = named_digest(name)
        if digest is not None and digest != bytes_digest(read_file(folder.system, name, folder.gen)):
            message = "a program wrote to a file that was no longer in its place"
            hint = "'catmem fsck --repair' sees to it, and so does the next write if it is among the newest."
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


def mend_journal(folder: Folder, places: Sequence[Place]) -> list[str]:
    """Mend the sidecar and the journal of a locked folder, which is to be opened again then; says what was done."""
    done: list[str] = []
    if stat.S_IMODE(folder.system.status(folder.side).st_mode) & 0o077:
        folder.system.change_mode(folder.side, 0o700)
        done.append(f"{folder.path / SIDECAR} is closed to others")
    journal = folder.writable_journal
    try:
        journal.refresh()
        if not folder.lost_records() and all(fault.code != "journal_damaged" for fault in journal.verify()):
            journal.cut_tail()
            return done
    except DamagedError:
        pass
    return [*done, *_with_new_journal(folder, places)]


def _with_new_journal(folder: Folder, places: Sequence[Place]) -> list[str]:
    """Put a new journal in the place of one that is damaged or lost its end; says so."""
    stamp = folder.system.now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = f"damaged-{stamp}-{folder.system.token()[:8]}"
    with opened(folder.system, "journal", folder.side, FOLDER) as descriptor:
        last, highest = last_numbers(SegmentFolder(folder.system, descriptor, folder.path))
    lost = max(0, folder.last_known() - last)
    if lost:
        # The lost records may be all that a file had.
        highest = {place.name: 0 for place in places if os.path.lexists(place.path)} | highest
    first = {name: number + lost + 1 for name, number in sorted(highest.items())}

    def begin(journal: Journal) -> None:
        """Record each file as it is, after the highest revision that ever was: no number means two things."""
        for name, number in first.items():
            _record_as_it_is(folder, journal, name, str(number))

    folder.begin_new_journal(aside, begin)
    return [
        f"the damaged journal is kept with its branches as {folder.path / SIDECAR / aside}, and a new one is begun",
        *(
            f"{folder.path / name} is revision {number} there; no older one can be shown or restored any more"
            for name, number in first.items()
        ),
    ]


def _record_as_it_is(folder: Folder, journal: Journal, name: str, revision: str) -> None:
    """Record what a file holds as an external writer's revision: a repair cannot tell who wrote it."""
    try:
        data = read_file(folder.system, name, folder.descriptor)
    except OSError:
        data = b""  # what is not there, or no file, the next write to it tells
    draft = RecordDraft(
        file=name,
        op="adopt",
        agent=EXTERNAL,
        revision=revision,
        parents=(),
        op_id=folder.system.token(),
        note={"begins": "anew"},
        publishes=False,
    )
    journal.append(draft, data[:MAX_FILE_BYTES])


def mend_files(folder: Folder, merge: MergeFunction, publication: type[Publication], *, durable: bool) -> list[str]:
    """Finish an unfinished write, and take in late ones, in a locked folder with a good journal; says what was done."""
    done: list[str] = []
    for name in folder.writable_journal.files():
        put = publication(folder, name, durable=durable)
        writers = ExternalWriters(put, merge)
        recover(folder, put, merge)
        done += [
            f"what was written late to {folder.path / name} is revision {head.number + 1}"
            for head in writers.adopt_late_writes(of_all=True)
        ]
    return done
