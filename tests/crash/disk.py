"""A small model of a disk: what a stop of the machine may leave of the calls that were made.

A file's bytes are kept by `fsync` of the file, names by `fsync` of their folder. What was done since may be there or
not. Two kinds of disk are modelled:

- `ordered`, like ext4: names change in the order of the calls, whatever folder they are in, and any `fsync` keeps all
  changes of names before it. A file has the writes since its last `fsync` up to some point, the last one cut short.
- `harsh`: each folder by itself keeps a part of its changes from the front; each file keeps a part of its writes, or its
  new size without the bytes (NUL instead), or is cut, or is as it was.

A rename from one folder to another is two changes, so on a harsh disk the file may be in both, or in neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = 0
SECTOR = 512
LONG_AGO = 1_000_000_000
"""When the files of a disk were last written, in seconds since 1970: before any machine that runs this was started."""


class Write(NamedTuple):
    """`data` at `offset`."""

    offset: int
    data: bytes

    def apply(self, data: bytes) -> bytes:
        front = data[: self.offset].ljust(self.offset, b"\0")
        return front + self.data + data[self.offset + len(self.data) :]

    def part(self, size: int, there: int) -> Write:
        """About `size` bytes of it. What overwrites bytes that are `there` is written by whole sectors."""
        if self.offset + size < there:
            size = max(0, (self.offset + size) // SECTOR * SECTOR - self.offset)
        return Write(self.offset, self.data[:size])


class Cut(NamedTuple):
    """The file ends after `size` bytes."""

    size: int

    def apply(self, data: bytes) -> bytes:
        return data[: self.size].ljust(self.size, b"\0")


class Named(NamedTuple):
    """From now on `name` leads to the file or folder with this number, or to nothing. `order` counts all changes."""

    name: str
    number: int | None
    order: int


@dataclass
class File:
    """What the disk keeps of a file for sure, and what was done since."""

    kept: bytes = b""
    since: list[Write | Cut] = field(default_factory=list)

    @property
    def now(self) -> bytes:
        data = self.kept
        for each in self.since:
            data = each.apply(data)
        return data

    def sync(self) -> None:
        self.kept, self.since = self.now, []


@dataclass
class Folder:
    """The names that the disk keeps for sure, and the changes since."""

    kept: dict[str, int] = field(default_factory=dict)
    since: list[Named] = field(default_factory=list)

    def after(self, changes: list[Named]) -> dict[str, int]:
        names = dict(self.kept)
        for name, number, _ in changes:
            if number is None:
                names.pop(name, None)
            else:
                names[name] = number
        return names

    @property
    def now(self) -> dict[str, int]:
        return self.after(self.since)

    def sync(self) -> None:
        self.kept, self.since = self.now, []


@dataclass
class State:
    """What is on a disk after a stop: bytes of files, names in folders, both by number."""

    files: dict[int, bytes]
    folders: dict[int, dict[str, int]]

    def write_to(self, root: Path) -> None:
        """Make it so in an empty folder, with times before the machine was started."""
        made: dict[int, Path] = {}
        self._write(ROOT, root, made)

    def _write(self, number: int, folder: Path, made: dict[int, Path]) -> None:
        for name, inner in self.folders[number].items():
            path = folder / name
            if inner in self.folders:
                path.mkdir(mode=0o700)
                self._write(inner, path, made)
            elif inner in made:
                path.hardlink_to(made[inner])
            else:
                path.write_bytes(self.files[inner])
                os.utime(path, (LONG_AGO, LONG_AGO))
                made[inner] = path

    def key(self) -> tuple[object, ...]:
        """The same for two disks that no program can tell apart."""
        return self._key(ROOT)

    def _key(self, number: int) -> tuple[object, ...]:
        return tuple(
            (name, self._key(inner) if inner in self.folders else (inner, self.files[inner]))
            for name, inner in sorted(self.folders[number].items())
        )


class Disk:
    """A disk while calls are made. Numbers stand for files and folders; `ROOT` is the folder that all begins in."""

    def __init__(self, state: State | None = None) -> None:
        """Empty, or as a stop of the machine left it: what is there then is kept for sure."""
        self.files = {number: File(data) for number, data in state.files.items()} if state else {}
        self.folders = {number: Folder(dict(names)) for number, names in state.folders.items()} if state else {}
        self.folders.setdefault(ROOT, Folder())
        self.made = max([*self.files, *self.folders])
        self.changes = 0
        self.kept_changes = 0

    # --- calls --------------------------------------------------------------------------------------------------

    def find(self, folder: int, name: str) -> int | None:
        return self.folders[folder].now.get(name)

    def create(self, folder: int, name: str) -> int:
        self.made += 1
        self.files[self.made] = File()
        self._name(folder, name, self.made)
        return self.made

    def make_folder(self, folder: int, name: str) -> None:
        self.made += 1
        self.folders[self.made] = Folder()
        self._name(folder, name, self.made)

    def write(self, number: int, offset: int, data: bytes) -> None:
        self.files[number].since.append(Write(offset, data))

    def cut(self, number: int, size: int) -> None:
        self.files[number].since.append(Cut(size))

    def sync(self, number: int) -> None:
        (self.files.get(number) or self.folders[number]).sync()
        self.kept_changes = self.changes

    def link(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        self._name(new_folder, new_name, self._there(folder, name))

    def rename(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        number = self._there(folder, name)
        if self.find(new_folder, new_name) == number:
            return  # two names of one file: nothing is done
        self._name(new_folder, new_name, number)
        self._name(folder, name, None, together=True)

    def exchange(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        one, other = self._there(folder, name), self._there(new_folder, new_name)
        self._name(folder, name, other)
        self._name(new_folder, new_name, one, together=True)

    def unlink(self, folder: int, name: str) -> None:
        self._there(folder, name)
        self._name(folder, name, None)

    def _there(self, folder: int, name: str) -> int:
        number = self.find(folder, name)
        assert number is not None, name
        return number

    def _name(self, folder: int, name: str, number: int | None, *, together: bool = False) -> None:
        self.changes += not together
        self.folders[folder].since.append(Named(name, number, self.changes))

    # --- a stop of the machine ----------------------------------------------------------------------------------

    def everything(self) -> State:
        """As if the disk had kept all."""
        return State(
            {number: file.now for number, file in self.files.items()},
            {number: folder.now for number, folder in self.folders.items()},
        )

    def nothing_unsynced(self) -> State:
        """Only what the disk promised."""
        return State(
            {number: file.kept for number, file in self.files.items()},
            {number: dict(folder.kept) for number, folder in self.folders.items()},
        )

    def ordered(self, chance: Random) -> State:
        last = chance.randint(self.kept_changes, self.changes)
        return State(
            {number: _front(file, chance) for number, file in self.files.items()},
            {
                number: folder.after([each for each in folder.since if each.order <= last])
                for number, folder in self.folders.items()
            },
        )

    def harsh(self, chance: Random) -> State:
        return State(
            {number: chance.choice(LOSSES)(file, chance) for number, file in self.files.items()},
            {number: folder.after(_first(folder.since, chance)) for number, folder in self.folders.items()},
        )


def _first(changes: list[Named], chance: Random) -> list[Named]:
    """Some changes from the front. A rename within one folder is one change."""
    done = chance.randint(0, len(changes))
    while 0 < done < len(changes) and changes[done - 1].order == changes[done].order:
        done -= 1
    return changes[:done]


def _as_it_was(file: File, chance: Random) -> bytes:
    return file.kept


def _all(file: File, chance: Random) -> bytes:
    return file.now


def _front(file: File, chance: Random) -> bytes:
    """The writes since up to some point, the last one cut short."""
    done = chance.randint(0, len(file.since))
    data = file.kept
    for each in file.since[:done]:
        data = each.apply(data)
    if done < len(file.since):
        next_one = file.since[done]
        if isinstance(next_one, Write) and next_one.data:
            data = next_one.part(chance.randint(0, len(next_one.data) - 1), len(data)).apply(data)
    return data


def _size_alone(file: File, chance: Random) -> bytes:
    """The file is as long as it is now, and where it grew there are NUL bytes."""
    data = file.kept
    for each in file.since:
        size = max(len(data), each.offset + len(each.data)) if isinstance(each, Write) else each.size
        data = Cut(size).apply(data)
    return data


def _cut_short(file: File, chance: Random) -> bytes:
    """Cut somewhere behind what it is to be cut to, or what is kept."""
    if not file.since:
        return file.kept
    data = file.now
    least = min([len(file.kept), len(data), *(each.size for each in file.since if isinstance(each, Cut))])
    return data[: chance.randint(least, len(data))]


LOSSES: tuple[Callable[[File, Random], bytes], ...] = (_as_it_was, _all, _front, _size_alone, _cut_short)
