"""A model of what a disk still has when the machine stops: what was synced for certain, and of the rest what it likes.

Before every system call of a run the whole folder is looked at. A crash at that moment may leave the names that were last
synced or those that are there now; and of bytes that nobody had synced all, none, half or as many NUL bytes. The harshest
of these states has nothing that no ``fsync`` asked for.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from catmem.store.system import System
from tests.crash.watched import Call, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEPT = ("none", "all", "half", "NUL bytes")
LONG_AGO = 1_000_000_000.0


@dataclass(frozen=True, slots=True)
class State:
    """A folder as a crash leaves it: every file below it by its path, and what the store had acknowledged by then."""

    moment: str
    files: dict[str, bytes]
    folders: tuple[str, ...]
    acknowledged: dict[str, bytes]
    visible: frozenset[bytes]

    def put(self, root: Path) -> None:
        """Make it, as files that were written long before the machine was started again."""
        for name in self.folders:
            (root / name).mkdir(parents=True, exist_ok=True)
            (root / name).chmod(0o700)
        for name, data in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (LONG_AGO, LONG_AGO))


class AfterBoot(System):
    """A machine that was started again."""

    def boot(self) -> str:
        return "the next boot"

    def booted_at(self) -> float:
        return LONG_AGO + 1000


class Disk(Watched):
    """Passes every call on, and keeps the states that a crash before it could leave."""

    def __init__(self, root: Path, acknowledged: Callable[[], tuple[dict[str, bytes], frozenset[bytes]]]) -> None:
        super().__init__(_FirstBoot())
        self.root = root
        self.states: list[State] = []
        self._acknowledged = acknowledged
        self._bytes: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._is_folder: set[int] = set()
        self._number: dict[int, int] = {}
        """Our own number of each file and folder: the system gives those of files that are gone to new ones."""
        self._given = 0
        self._seen: set[int] = set()
        self._look()
        self._synced_bytes = dict(self._bytes)
        self._synced_names = {folder: dict(names) for folder, names in self._names.items()}

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        self.keep(str(call))
        result = make()
        if call.name == "fsync":
            self._look()
            number = self._number.get(os.fstat(call.arguments[0]).st_ino, 0)
            if number in self._is_folder:
                self._synced_names[number] = dict(self._names[number])
            else:
                self._synced_bytes[number] = self._bytes.get(number, b"")
        return result

    def keep(self, moment: str) -> None:
        """Keep the states of a crash now."""
        self._look()
        acknowledged, visible = self._acknowledged()
        for names_synced, bytes_kept in product((True, False), KEPT):
            files: dict[str, bytes] = {}
            folders: list[str] = []
            self._collect(self._number[self.root.stat().st_ino], "", names_synced, bytes_kept, files, folders)
            which = f"{'synced' if names_synced else 'all'} names, of other bytes {bytes_kept}"
            state = State(f"before {moment}: {which}", files, tuple(folders), acknowledged, visible)
            seen = hash((tuple(sorted(files.items())), state.folders, tuple(sorted(acknowledged.items()))))
            if seen not in self._seen:
                self._seen.add(seen)
                self.states.append(state)

    def _collect(  # noqa: PLR0917 - a walk and where it writes
        self,
        folder: int,
        path: str,
        names_synced: bool,  # noqa: FBT001
        bytes_kept: str,
        files: dict[str, bytes],
        folders: list[str],
    ) -> None:
        names = (self._synced_names if names_synced else self._names).get(folder, {})
        for name, inode in names.items():
            inner = f"{path}{name}"
            if inode in self._is_folder:
                folders.append(inner)
                self._collect(inode, f"{inner}/", names_synced, bytes_kept, files, folders)
            else:
                files[inner] = _left(self._synced_bytes.get(inode, b""), self._bytes.get(inode, b""), bytes_kept)

    def _look(self) -> None:
        found = list(self._walk(self.root))
        there = {inode for folder, names, _ in found for inode in (folder, *names.values())}
        self._number = {inode: number for inode, number in self._number.items() if inode in there}
        for inode in sorted(there - self._number.keys()):
            self._given += 1
            self._number[inode] = self._given
        for folder, names, inner in found:
            number = self._number[folder]
            self._is_folder.add(number)
            self._names[number] = {name: self._number[inode] for name, inode in names.items()}
            self._bytes.update({self._number[inode]: data for inode, data in inner.items()})

    def _walk(self, path: Path) -> Iterator[tuple[int, dict[str, int], dict[int, bytes]]]:
        names: dict[str, int] = {}
        inner: dict[int, bytes] = {}
        for each in sorted(path.iterdir()):
            status = each.lstat()
            names[each.name] = status.st_ino
            if stat.S_ISDIR(status.st_mode):
                yield from self._walk(each)
            else:
                inner[status.st_ino] = each.read_bytes()
        yield path.stat().st_ino, names, inner


def _left(synced: bytes, now: bytes, kept: str) -> bytes:
    """What is left of a file whose bytes are ``now`` and were ``synced`` last."""
    if synced == now or kept == "all":
        return now
    if kept == "none":
        return synced
    if kept == "half":
        return now[: (len(synced) + len(now)) // 2] if now.startswith(synced) else now[: len(now) // 2]
    return synced + bytes(len(now) - len(synced)) if now.startswith(synced) else bytes(len(now))


class _FirstBoot(System):
    def boot(self) -> str:
        return "the first boot"
