"""One open folder of memory files and its sidecar ``.catmem``: where everything the store keeps lies.

::

    USER.md  MEMORY.md        plain Markdown, nothing of the store in them
    .catmem/                  mode 0700
        lock                  held by the writer; never removed, never cut
        journal/              every revision (``catmem.store.files.journal``)
        tmp/                  new files before they are put in place, named by their revision and digest
        gen/                  files that were taken out of their place, as <sequence>-<digest>
        published             the sequence of the last record whose file is known to be in place

The folder is opened once, part by part and without following links, and everything else is done from its descriptor,
so that no other folder can be moved under a running write.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from catmem.errors import BusyError, DamagedError
from catmem.names import HERMES_FOLDER
from catmem.store.contract import SIDECAR
from catmem.store.files.journal import Journal
from catmem.store.files.segments import acknowledged
from catmem.store.files.system import (
    FOLDER,
    Features,
    System,
    in_doubt,
    not_a_file,
    opened,
    stands_for,
    store_error,
    store_errors,
)

FolderIdentity: TypeAlias = tuple[int, int]
"""Which file or folder it is, whatever its name: the device and the inode."""

_PARTS = ("journal", "tmp", "gen")
_NEXT_JOURNAL = "journal.new"
_LEFT = "left-"
_RETIRED = re.compile(r"[0-9]{12}-")
_FIRST_WAIT, _LONGEST_WAIT = 0.0005, 0.01
_MARK_SIZE = 20
PATIENCE = 1.5
"""Seconds within which a write is to end while another program writes to the file. It is tried once in any case."""


@dataclass(frozen=True)
class Place:
    """Where an entity's file is: ``root``, which may be reached through links, then folders that must not be links."""

    root: Path
    folder: tuple[str, ...]
    name: str

    @cached_property
    def path(self) -> Path:
        """The file itself."""
        return self.home / self.name

    @cached_property
    def home(self) -> Path:
        """The folder that it lies in."""
        return self.root.joinpath(*self.folder)

    def leads_to(self, identity: FolderIdentity) -> bool:
        """Whether the folder is this one, and no part of its path below the root is a link."""
        way = os.fspath(self.root)
        try:
            found = os.stat(way)  # noqa: PTH116 - before every write
            for part in self.folder:
                way = f"{way}/{part}"
                found = os.stat(way, follow_symlinks=False)  # noqa: PTH116
                if not stat.S_ISDIR(found.st_mode):
                    return False
        except OSError:
            return False  # opening it anew tells why
        return (found.st_dev, found.st_ino) == identity


class Folder:
    """An open folder. ``Folder.open`` makes one; ``lock`` must be held for everything that writes."""

    def __init__(self, system: System, path: Path, descriptor: int) -> None:
        """Take over ``descriptor``, the open folder; nothing of the sidecar is touched yet."""
        self.system = system
        self.path = path
        self.descriptor = descriptor
        self.features: Features = system.features()
        self.doubtful = False
        self.quiet: dict[str, int] = {}
        """When each file in ``gen/`` last changed (ctime, in ns), once it was as recorded so long after that any change
        from then on shows in its ctime."""
        self.side = self.tmp = self.gen = -1
        self._ends = self._asked = self._longest = 0.0
        self._journal: Journal | None = None
        self._journal_folder = -1
        self._made = False
        self._named = False
        self._place: Place | None = None
        self._paths: dict[str, Path] = {}
        self._identities: tuple[FolderIdentity, ...] = ()

    @cached_property
    def mount(self) -> int:
        """The number of the mount through which the folder is reached; that of an open folder stays."""
        return self.system.mount(self.descriptor)

    @cached_property
    def is_in_one_mount(self) -> bool:
        """Whether files can be moved between the folder, ``tmp/`` and ``gen/``."""
        return all(self.system.mount(part) == self.mount for part in (self.tmp, self.gen))

    @classmethod
    def open(cls, system: System, place: Place, *, create: bool) -> Folder | None:
        """Open the folder of ``place`` and its sidecar; ``None`` if there is no folder and none is to be made."""
        descriptor = _walk(system, place, create=create)
        if descriptor is None:
            return None
        folder = cls(system, place.home, descriptor)
        folder._place = place
        try:
            folder._open_sidecar(create=create)
        except BaseException:
            folder.close()
            raise
        return folder

    @property
    def journal(self) -> Journal | None:
        """The journal; ``None`` for a folder that was opened for reading and has no sidecar."""
        return self._journal

    @property
    def writable_journal(self) -> Journal:
        """The journal of a folder that was opened for writing."""
        if self._journal is None:
            raise in_doubt(self.path / SIDECAR)
        return self._journal

    def _open_sidecar(self, *, create: bool) -> None:
        path = self.path / SIDECAR
        with store_errors(path):
            side = _folder_in(self.system, SIDECAR, self.descriptor, mode=0o700 if create else None)
            if side is None:
                return
            self.side = side
            self._journal_folder = self._open_part("journal", create=create)
            self.tmp = self._open_part("tmp", create=create)
            self.gen = self._open_part("gen", create=create)
        if self._journal_folder >= 0:
            self._journal = Journal(self.system, self._journal_folder, path / "journal")

    def _open_part(self, part: str, *, create: bool) -> int:
        """A descriptor of a part of the sidecar; -1 where it is missing and not to be made."""
        system, side = self.system, self.side
        there = _folder_in(system, part, side, mode=None)
        if there is None and create and part == "journal" and _is_there(system, _NEXT_JOURNAL, side):
            # A repair was stopped that has the next one ready; the mark belongs to the one before.
            with suppress(FileNotFoundError):
                system.unlink("published", folder=side)
            system.rename(_NEXT_JOURNAL, part, old_folder=side, new_folder=side)
            there = _folder_in(system, part, side, mode=None)
        if there is None and create:
            there = _folder_in(system, part, side, mode=0o700)
            self._made = True
        return -1 if there is None else there

    def sync(self, descriptor: int) -> None:
        """Have the disk keep a file's bytes or a folder's names; if it fails once, it is never believed again."""
        # After a failed `fsync` the system may have dropped what it could not write, and a second one would succeed.
        try:
            self.system.fsync(descriptor)
        except OSError:
            self.doubtful = True
            raise

    def refuse_doubt(self) -> None:
        """Raise ``StoreError`` (``read_only``) if the disk did not confirm an earlier write."""
        if self.doubtful:
            raise in_doubt(self.path)
        if self._journal is not None:
            self._journal.refuse_doubt()

    def _sync_names(self) -> None:
        self.sync(self.side)
        self.sync(self.descriptor)
        if self._place is None:
            return
        descriptor = os.open(self._place.root, FOLDER | os.O_CLOEXEC)
        for part in self._place.folder:
            try:
                self.sync(descriptor)
                inner = self.system.open(part, FOLDER, folder=descriptor)
            finally:
                self.system.close(descriptor)
            descriptor = inner
        self.system.close(descriptor)

    def begin_new_journal(self, aside: str, begin: Callable[[Journal], None]) -> None:
        """Move the journal aside, inside the sidecar, and put another in its place. Raises ``OSError``."""
        # `begin` fills the new one before that, so that a repair that is stopped half way has done nothing yet. The
        # files that the old one took out of their place go aside too: their numbers are those of its records.
        side = self.side
        if _is_there(self.system, _NEXT_JOURNAL, side):
            self.system.rename(_NEXT_JOURNAL, f"{aside}-unfinished", old_folder=side, new_folder=side)
        self.system.make_folder(_NEXT_JOURNAL, 0o700, folder=side)
        with opened(self.system, _NEXT_JOURNAL, side, FOLDER) as descriptor:
            journal = Journal(self.system, descriptor, self.path / SIDECAR / _NEXT_JOURNAL)
            begin(journal)
            last = journal.last
            journal.close()
        self.sync(side)
        self.system.rename("gen", f"{aside}-gen", old_folder=side, new_folder=side)
        self.system.make_folder("gen", 0o700, folder=side)
        self.system.rename("journal", aside, old_folder=side, new_folder=side)
        # Before the new one is there: beside it the old mark would say that records are gone.
        with suppress(FileNotFoundError):
            self.system.unlink("published", folder=side)
        self.system.rename(_NEXT_JOURNAL, "journal", old_folder=side, new_folder=side)
        self.mark_published(last.sequence if last else 0)
        self.sync(side)

    def is_current(self, place: Place) -> bool:
        """Whether the path still leads to this folder, and its sidecar and its parts are still the open ones."""
        open_parts = (self.descriptor, self.side, self._journal_folder, self.tmp, self.gen)
        if min(open_parts) < 0:
            return False
        system = self.system
        if not self._identities:
            self._identities = tuple(_identity(system.status(part)) for part in open_parts)
        own, side, *parts = self._identities
        try:
            return (
                place.leads_to(own)
                and _identity(system.look(SIDECAR, folder=self.descriptor)) == side
                and all(
                    _identity(system.look(name, folder=self.side)) == part
                    for name, part in zip(_PARTS, parts, strict=True)
                )
            )
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Let go of everything."""
        if self._journal is not None:
            self._journal.close()
        for descriptor in (self._journal_folder, self.tmp, self.gen, self.side, self.descriptor):
            if descriptor >= 0:
                self.system.close(descriptor)
        self._journal, self._journal_folder = None, -1
        self.tmp = self.gen = self.side = self.descriptor = -1

    @contextmanager
    def lock(self, name: str, timeout: float) -> Iterator[None]:
        """Hold the folder's lock, and Hermes's ``<name>.lock`` where Hermes Agent may write too."""
        ends = self.system.clock() + timeout
        if not self._named:
            # The names must be on the disk before anything that is acknowledged lies behind them, and the process that
            # made them may have died before: then there is no record yet.
            if self._made or not self.system.names(self._journal_folder):
                self._sync_names()
            self._named = True
        held = [self._take(self.side, "lock", ends)]
        try:
            beside = f"{name}.lock"
            # Hermes Agent makes its lock with its first write, and may do so while ours is running.
            if self.path.name == HERMES_FOLDER or _is_there(self.system, beside, self.descriptor):
                held.append(self._take(self.descriptor, beside, ends))
            self._asked = self.system.clock()
            self._ends, self._longest = self._asked + PATIENCE, 0.0
            yield
        finally:
            for descriptor in reversed(held):
                self.system.unlock(descriptor)
                self.system.close(descriptor)

    def out_of_patience(self) -> bool:
        """Whether nothing is begun again: it would not end in time if it took as long as the longest try so far."""
        now = self.system.clock()
        self._longest, self._asked = max(self._longest, now - self._asked), now
        return now + self._longest > self._ends

    def _take(self, where: int, name: str, ends: float) -> int:
        """Open a lock file anew and lock it: two threads, or a forked child, must not share one open file."""
        wait = _FIRST_WAIT
        half = (self.system.clock() + ends) / 2
        while True:
            try:
                descriptor = self.system.open(name, os.O_RDWR | os.O_NONBLOCK | os.O_CREAT, folder=where)
                status = self._locked(descriptor, name, where)
            except OSError as error:
                raise store_error(error, self._lock_path(where, name)) from error
            if status is None:
                return descriptor
            path = self._lock_path(where, name)
            if not stat.S_ISREG(status.st_mode):
                raise not_a_file(path)
            now = self.system.clock()
            if now > ends:
                raise _locked(path, self.system.lock_holder(status))
            self.system.sleep(wait)
            # Others may take the lock again at once, so who has waited long asks as often as at first.
            wait = min(2 * wait, _LONGEST_WAIT if now < half else _FIRST_WAIT)

    def _lock_path(self, where: int, name: str) -> Path:
        return (self.path / SIDECAR if where == self.side else self.path) / name

    def _locked(self, descriptor: int, name: str, where: int) -> os.stat_result | None:
        """Lock an open file, if it is one and free, and give ``None``. Else it is closed, and its state is given."""
        locked = False
        try:
            status = self.system.status(descriptor)
            if stat.S_ISREG(status.st_mode):
                # A lock on a file that was removed keeps no process out.
                locked = self.system.lock(descriptor) and stands_for(self.system, name, where, status)
        finally:
            if not locked:
                self.system.close(descriptor)
        return None if locked else status

    def lost_records(self, known: int | None = None) -> int:
        """How many records are gone from the journal's end; without a lock, by what was ``known`` before that."""
        # Those writes were acknowledged; a line cut short behind them is a write that was not.
        last = self.journal.last if self.journal else None
        return max(0, (self.last_known() if known is None else known) - (last.sequence if last else 0))

    def last_known(self) -> int:
        """The sequence in the mark; where that says nothing, the highest that a file in ``gen/`` is named by, or 0."""
        # A record is on the disk before its file comes into place, and that before the one taken out gets such a name.
        if (said := self.published()) or self.gen < 0:
            return said
        return max((int(name[:12]) for name in self.system.names(self.gen) if _RETIRED.match(name)), default=0)

    def read_to_write(self) -> None:
        """Read the journal up to its end, and cut off a write that was stopped there; for the holder of the lock."""
        journal = self.writable_journal
        journal.refresh()
        self.refuse_lost_end()
        journal.cut_tail()

    def refuse_lost_end(self, known: int | None = None) -> None:
        """Raise ``DamagedError`` for a journal whose end is lost; see ``lost_records``."""
        if lost := self.lost_records(known):
            raise DamagedError(
                f"{acknowledged(lost)} gone from the end of the journal",
                path=self.path / SIDECAR / "journal",
                hint="Nothing was written, and the files are as they are. 'catmem fsck' says more; "
                "'catmem fsck --repair' moves the journal aside, and begins a new one from the files.",
            )

    def file_path(self, name: str) -> Path:
        """The path of a file in the folder, for messages."""
        return self._paths.get(name) or self._paths.setdefault(name, self.path / name)

    def put_aside(self, name: str) -> None:
        """Give a file in ``gen/`` a name that promises nothing."""
        self.system.rename(name, f"{_LEFT}{self.system.token()}", old_folder=self.gen, new_folder=self.gen)

    # --- the publish mark ---------------------------------------------------------------------------------------

    def mark_published(self, sequence: int) -> None:
        """Note that the file of a record is in place. Not durable: without it recovery looks twice, no more."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
        with opened(self.system, "published", self.side, flags) as descriptor:
            self.system.write_at(descriptor, b"%019d\n" % sequence, 0)

    def published(self) -> int:
        """The sequence in the mark; 0 if there is none that can be read."""
        if self.side < 0:
            return 0
        try:
            with opened(self.system, "published", self.side) as descriptor:
                said = self.system.read_at(descriptor, _MARK_SIZE, 0).strip()
        except FileNotFoundError:
            return 0
        return int(said) if said.isdigit() else 0


def _identity(status: os.stat_result) -> FolderIdentity:
    return status.st_dev, status.st_ino


def _walk(system: System, place: Place, *, create: bool) -> int | None:
    """A descriptor of the folder of ``place``; each part below its root is opened without following a link."""
    try:
        descriptor = os.open(place.root, FOLDER | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise store_error(error, place.root) from error
    for part in place.folder:
        try:
            with store_errors(place.home):
                inner = _folder_in(system, part, descriptor, mode=0o777 if create else None)
        finally:
            system.close(descriptor)
        if inner is None:
            return None
        descriptor = inner
    return descriptor


def _folder_in(system: System, name: str, folder: int, *, mode: int | None) -> int | None:
    try:
        return system.open(name, FOLDER, folder=folder)
    except FileNotFoundError:
        if mode is None:
            return None
    with suppress(FileExistsError):  # another process made it at the same moment
        system.make_folder(name, mode, folder=folder)
    return system.open(name, FOLDER, folder=folder)


def _is_there(system: System, name: str, folder: int) -> bool:
    try:
        system.look(name, folder=folder)
    except FileNotFoundError:
        return False
    return True


def _locked(path: Path, holder: int | None) -> BusyError:
    who = "another process" if holder is None else f"process {holder}"
    return BusyError(
        f"{who} holds this lock",
        code="locked",
        path=path,
        hint="Nothing was written. Try again when it is done; a lock goes with its process, so never remove the file.",
    )
