"""All that lies in a folder besides a file and its journal: what it holds, how long it stays, how it is erased.

That is copies beside the file, files that were taken out of their place and that a program may still write to, what
stopped processes left, and journals that are in use no more, unpacked into their texts.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from catmem.digest import bytes_digest
from catmem.errors import DamagedError
from catmem.files import real_path
from catmem.store.changes import Splice
from catmem.store.contract import SIDECAR, Erased, Erasure, Kept, KeptKind, Left, Redact
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.folder import Folder
from catmem.store.files.observed_file import LEASE_TRIES, NO_LEASES, WATCHED, leased
from catmem.store.files.records import decode
from catmem.store.files.segments import MAX_SEGMENT, Segment, is_leftover, is_segment, payloads
from catmem.store.files.system import FOLDER, System, new_file, opened, read_file, read_whole, store_errors

KEPT = 10
"""How many copies of one file are kept."""

KEPT_FOR = timedelta(days=30)
"""For how long; the newest stays whatever its age."""

_NOT_KEPT = "No backup could be written, so nothing else was."
_STAMP = "%Y%m%dT%H%M%SZ"
_BACKUP = re.compile(r"(?P<file>.+)\.bak\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<number>\d+))?")


def keep_backup(folder: Folder, name: str, data: bytes, status: os.stat_result | None) -> Path:
    """Keep ``data`` beside the file ``name``, with the mode in ``status``, and say where."""
    with store_errors(folder.path / name, _NOT_KEPT):
        there = backups(folder, name)
        for copy in reversed(there):
            if _holds_text(folder, copy, data):
                return folder.path / copy
        copy = _write_backup(folder, name, data, 0o600 if status is None else stat.S_IMODE(status.st_mode))
        _prune(folder, [*there, copy])
    return folder.path / copy


def keep_copy(path: Path, data: bytes) -> Path:
    """Keep ``data`` beside a file, and say where. Raises ``StoreError``."""
    real = real_path(path)
    with store_errors(path, _NOT_KEPT):
        status = real.stat()
        descriptor = os.open(real.parent, FOLDER | os.O_CLOEXEC)
    with closing(Folder(System(), real.parent, descriptor)) as folder:
        return keep_backup(folder, real.name, data, status)


def copied_name(copy: str) -> str | None:
    """The name of the file that a copy with this name is of; ``None`` for what is not called like a copy."""
    match = _BACKUP.fullmatch(copy)
    return match["file"] if match else None


def backups(folder: Folder, name: str) -> list[str]:
    """The names of the copies of a file, the oldest first: before all, those of a time in which the clock was ahead."""
    found = [match for each in folder.system.names(folder.descriptor) if (match := _BACKUP.fullmatch(each))]
    own = [match for match in found if match["file"] == name]
    now = folder.system.now().astimezone(UTC).strftime(_STAMP)
    order = sorted(own, key=lambda match: (match["stamp"] <= now, match["stamp"], int(match["number"] or 0)))
    return [match[0] for match in order]


def _holds_text(folder: Folder, copy: str, data: bytes) -> bool:
    system = folder.system
    status = system.look(copy, folder=folder.descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size != len(data):
        return False
    return read_file(system, copy, folder.descriptor) == data


def _write_backup(folder: Folder, name: str, data: bytes, mode: int) -> str:
    system = folder.system
    stamp = system.now().astimezone(UTC).strftime(_STAMP)
    copy, number = f"{name}.bak.{stamp}", 1
    while True:
        try:
            new_file(system, copy, folder.descriptor, data, mode=mode, sync=folder.sync)
            break
        except FileExistsError:
            number += 1
            copy = f"{name}.bak.{stamp}-{number}"
    folder.sync(folder.descriptor)
    return copy


def _prune(folder: Folder, copies: list[str]) -> None:
    """Remove what is over the number or the age; the newest, the last of ``copies``, stays."""
    oldest = (folder.system.now().astimezone(UTC) - KEPT_FOR).strftime(_STAMP)
    for position, copy in enumerate(copies[:-1]):
        match = _BACKUP.fullmatch(copy)
        if position < len(copies) - KEPT or (match and match["stamp"] < oldest):
            folder.system.unlink(copy, folder=folder.descriptor)


def kept(folder: Folder, name: str) -> Generator[Kept, None, None]:
    """Every text that is kept of the file ``name``, and what may be one. What goes away meanwhile is left out."""
    records = folder.journal.records() if folder.journal else ()
    owned = {record.sequence: record.owner == name for record in records}
    with _drawers(folder) as drawers:
        for path, descriptor in drawers:
            for each in folder.system.names(descriptor):
                kind = _kind(folder, path, each, name)
                found = _read(folder.system, each, descriptor) if kind is not None else None
                if kind is None or found is None:
                    continue
                data, whole = found
                if kind == "journal":
                    yield from _journal_texts(path / each, data, name, whole=whole)
                    continue
                retired = _SUPERSEDED.fullmatch(each) if kind == "left" and path.name == "gen" else None
                own = owned.get(int(retired["sequence"])) if retired else kind == "backup" or None
                yield Kept(path / each, data, kind, own, whole)


@contextmanager
def _drawers(folder: Folder) -> Iterator[list[tuple[Path, int]]]:
    """The folder, its sidecar and the folders in that, each with a descriptor."""
    drawers = [(folder.path, folder.descriptor)]
    side, system = folder.path / SIDECAR, folder.system
    with ExitStack() as stack:
        if folder.side >= 0:
            drawers.append((side, folder.side))
            for each in system.names(folder.side):
                with suppress(FileNotFoundError):
                    if stat.S_ISDIR(system.look(each, folder=folder.side).st_mode):
                        drawers.append((side / each, stack.enter_context(opened(system, each, folder.side, FOLDER))))
        yield drawers


def _kind(folder: Folder, drawer: Path, each: str, name: str) -> KeptKind | None:
    """What a file in a drawer is; ``None`` for the file itself, its locks, and the journal, which is read by itself."""
    if drawer == folder.path:
        return None if each in {name, f"{name}.lock"} else "backup" if each.startswith(f"{name}.bak.") else "stray"
    if drawer.name == SIDECAR:
        return None if each in {"lock", "published"} else "stray"
    if drawer.name == "journal":
        return None if is_segment(each) else "journal" if is_leftover(each) else "stray"
    is_aside = drawer.name.startswith("damaged-")
    if drawer.name in {"tmp", "gen"} or (is_aside and drawer.name.endswith("-gen")):
        return "left"
    return "journal" if is_aside or drawer.name == "journal.new" else "stray"


def _read(system: System, name: str, where: int) -> tuple[bytes, bool] | None:
    """The bytes of a file, and whether they are all; ``None`` for what is none, or no longer there."""
    try:
        status = system.look(name, folder=where)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MAX_SEGMENT:
            return b"", False
        with opened(system, name, where) as descriptor:
            data = read_whole(system, descriptor, MAX_SEGMENT)
            return data, len(data) <= MAX_SEGMENT
    except FileNotFoundError:
        return None
    except PermissionError:
        return b"", False


def _journal_texts(path: Path, data: bytes, name: str, *, whole: bool) -> Iterator[Kept]:
    """Every revision in a segment; where it is damaged, every text that its good lines hold."""
    try:
        segment = Segment.read(path, data)
        yield from [Kept(path, content, "journal", record.owner == name) for record, content in segment.contents()]
        whole = whole and not segment.torn
    except DamagedError:
        whole = False
        for payload in payloads(data):
            with suppress(ValueError):
                record, change = decode(payload, "")
                text = change.inserted if isinstance(change, Splice) else change.apply()
                yield Kept(path, text, "journal", record.owner == name)
    if not whole:
        yield Kept(path, b"", "journal", None, whole=False)


SUPERSEDED_FOR = timedelta(days=1)
"""For how long at least."""

_AT_ONCE = 512
_SUPERSEDED = re.compile(r"(?P<sequence>\d{12})-(?P<digest>[0-9a-f]{64})")


def named_digest(name: str) -> str | None:
    """The digest that a name in ``gen/`` promises; ``None`` for a name of another kind."""
    match = _SUPERSEDED.fullmatch(name)
    return f"sha256:{match['digest']}" if match else None


def reap(folder: Folder, newest: int) -> int:
    """Remove retired files that are a day old, as recorded, and open in no program; returns how many."""
    # `newest` is the sequence of the newest record. Where there are no leases nothing is removed, since it is unknown
    # whether a file is still open.
    if not folder.features.leases:
        return 0
    before = folder.system.now().timestamp() - SUPERSEDED_FOR.total_seconds()
    gone = 0
    for name in folder.system.names(folder.gen)[:_AT_ONCE]:
        match = _SUPERSEDED.fullmatch(name)
        is_old = match and int(match["sequence"]) <= newest - WATCHED
        if is_old and folder.system.look(name, folder=folder.gen).st_ctime <= before:
            gone += _remove_alone(folder.system, name, folder.gen, named_digest(name)) == "gone"
    return gone


UNREADABLE = "it cannot be read"
_LEASE_WAIT = 0.002
_Removal: TypeAlias = Literal["gone", "changed", "open", "no leases"]
_WHY_LEFT: dict[_Removal, str] = {
    "changed": "a program wrote to it just now; purge once more",
    "open": "a program has it open; end that and purge once more",
    "no leases": "it is unknown whether a program has it open, for there are no leases here; remove it yourself",
}


def erase(writers: ExternalWriters, erasure: Erasure) -> Erased:
    """Erase from everything that the locked folder keeps of a file. May be run again after a stop."""
    # The journal comes last: what external writers still write to a retired file is joined with the file on the grounds
    # of the revision that they began with, and that must not be redacted before.
    folder, name = writers.folder, writers.name
    removed, left = _remove_retired(writers, erasure)
    rewritten: list[Path] = []
    journals: dict[Path, None] = {}
    with closing(kept(folder, name)) as texts:
        for each in texts:
            if each.kind == "journal" and (not each.whole or erasure.holds(each)):
                journals[each.path] = None
            elif each.kind == "backup" and not each.whole:
                left.append(Left(each.path, UNREADABLE))
            elif each.kind == "backup" and _rewrite(folder, each, erasure.redact):
                rewritten.append(each.path)
    for path in journals:
        _remove_journal(folder, path)
    folder.sync(folder.descriptor)
    journal = folder.writable_journal
    revisions = journal.erase(
        lambda file, data: erasure.redact(data) if file == name else data,
        lambda file, note, data: erasure.redact_note(note, data) if file == name else note,
    )
    return Erased(revisions, tuple(rewritten), (*removed, *journals), tuple(left))


def _remove_retired(writers: ExternalWriters, erasure: Erasure) -> tuple[list[Path], list[Left]]:
    """Remove what holds it of the files that came out of their place, after what was written to them is taken in."""
    folder, name = writers.folder, writers.name
    removed: list[Path] = []
    left: list[Left] = []
    # Whatever file of the folder it was written to, and however long ago.
    for file in writers.journal.files():
        own = writers if file == name else ExternalWriters(writers.publication.for_file(file), writers.merge)
        deque(own.adopt_late_writes(of_all=True), maxlen=0)
    with closing(kept(folder, name)) as texts:
        holding = {
            each.path: each.whole for each in texts if each.kind == "left" and (not each.whole or erasure.holds(each))
        }
    for path, whole in holding.items():
        outcome = _remove_retired_file(folder, path) if whole else None
        if outcome == "gone":
            removed.append(path)
        else:
            left.append(Left(path, UNREADABLE if outcome is None else _WHY_LEFT[outcome]))
    folder.sync(folder.gen)
    return removed, left


def _remove_retired_file(folder: Folder, path: Path) -> _Removal:
    if not folder.features.leases:
        return "no leases"
    digest = named_digest(path.name) if path.parent.name == "gen" else None
    with opened(folder.system, path.parent.name, folder.side, FOLDER) as where:
        return _remove_alone(folder.system, path.name, where, digest, tries=LEASE_TRIES)


def _remove_alone(system: System, name: str, where: int, digest: str | None, *, tries: int = 1) -> _Removal:
    """Remove a file that no other program has open; with a ``digest`` only one that has it."""
    with opened(system, name, where) as descriptor:
        try:
            if not leased(system, descriptor, tries=tries, wait=_LEASE_WAIT, exclusive=True):
                return "open"
        except OSError as error:
            if error.errno not in {*NO_LEASES, errno.EPERM}:
                raise
            return "no leases"
        try:
            if digest is not None and bytes_digest(read_whole(system, descriptor)) != digest:
                return "changed"
            system.unlink(name, folder=where)
        finally:
            system.give_back(descriptor)
    return "gone"


def _remove_journal(folder: Folder, path: Path) -> None:
    """Remove a file of a journal that was moved aside, or a broken end; no program writes to one."""
    with opened(folder.system, path.parent.name, folder.side, FOLDER) as where:
        with suppress(FileNotFoundError):
            folder.system.unlink(path.name, folder=where)
        folder.sync(where)


def _rewrite(folder: Folder, each: Kept, redact: Redact) -> bool:
    rest = redact(each.data)
    if rest == each.data:
        return False
    system, name = folder.system, each.path.name
    temporary = f"erase-{system.token()}"
    mode = system.look(name, folder=folder.descriptor).st_mode & 0o7777
    new_file(system, temporary, folder.tmp, rest, mode=mode, sync=folder.sync)
    system.rename(temporary, name, old_folder=folder.tmp, new_folder=folder.descriptor)
    return True
