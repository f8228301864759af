"""Outsiders: programs that know nothing of catmem, and write the file at the moment that they are told to.

An outsider who opens the file for writing waits while somebody holds a lease on it. So that the test does not wait with
it, it asks first whether it would have to; then it opens the file in a thread, which goes on when the lease is given
back.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

from tests.crash.disk import LONG_AGO
from tests.crash.scene import FIRST, Scene, line

PATIENCE = 20.0
"""Seconds after which an outsider who still waits is said to hang."""


class Outsider:
    """One program. `act` does its work, or its first part, `finish` what is left of it.

    `destroys`: what it writes replaces what is there, so another outsider's text may go. `lines` are what it added,
    `removed` what it took away. `contested`: another one wrote at the same time and could not know of it; `exposed`:
    that one may have destroyed what this one wrote. `inserts`: only a merge by line joins what it wrote late.
    """

    destroys = False
    inserts = False
    renames = False
    removed = b""
    contested = False
    exposed = False

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.path = scene.path
        self.name = name
        self.lines: set[bytes] = set()
        self.descriptor: int | None = None
        self.acted = False
        self._waiting: threading.Thread | None = None
        self._failed: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether it has begun and is not done."""
        return self.descriptor is not None or self._waiting is not None

    @property
    def waits(self) -> bool:
        """Whether it waits for a lease to be given back."""
        return self._waiting is not None

    def beside(self, other: Outsider) -> None:
        """This one begins while `other` is not done: without catmem too, one of them can lose the other's text."""
        if self.destroys:
            other.exposed = True
            other.removed = other.cut
        if other.destroys:
            self.exposed = True
        self.contested = other.contested = self.destroys or other.destroys

    @property
    def cut(self) -> bytes:
        """What is gone from the file for as long as this one is not done."""
        return b""

    def act(self) -> None:
        self.acted = True
        self.path.parent.mkdir(exist_ok=True)
        self._now_or_later()

    def settle(self) -> None:
        """Wait until it got what it waits for: the lease was given back."""
        if self._waiting is None:
            return
        self._waiting.join(PATIENCE)
        assert not self._waiting.is_alive(), f"{self.name} still waits for the file"
        self._waiting = None
        if self._failed is not None:
            raise self._failed

    def finish(self) -> None:
        """Do what is left to do."""
        self.settle()

    def work(self, path: Path, flags: int) -> None:
        """The work on the file `path`; `flags` are for every `open`. Raises `BlockingIOError` before it did anything."""
        raise NotImplementedError

    def _now_or_later(self) -> None:
        try:
            self.work(self.path, os.O_NONBLOCK)
        except BlockingIOError:
            # Whoever waits has found its file already, and gets that one, whatever the name stands for by then.
            found = os.open(self.path, os.O_PATH)
            self._waiting = threading.Thread(target=self._wait, args=(found,))
            self._waiting.start()

    def _wait(self, found: int) -> None:
        try:
            self.work(Path(f"/proc/self/fd/{found}"), 0)
        except BaseException as error:  # noqa: BLE001 - raised again where the outsider is waited for
            self._failed = error
        finally:
            os.close(found)

    def _new_line(self, part: str = "") -> bytes:
        added = line(f"{self.name}{part}")
        self.lines.add(added)
        return added

    def _write_beside(self, data: bytes) -> None:
        other = self.path.with_name(f".{self.name}.swp")
        other.write_bytes(data)
        other.replace(self.path)


class Append(Outsider):
    """`echo … >> file`."""

    def work(self, path: Path, flags: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | flags, 0o600)
        os.write(descriptor, self._new_line())
        os.close(descriptor)


class HeldAppend(Outsider):
    """Opens the file to append to it, writes, keeps it open, and writes again later, as a program with a log does."""

    def work(self, path: Path, flags: int) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | flags, 0o600)
        os.write(self.descriptor, self._new_line(" one"))

    def finish(self) -> None:
        super().finish()
        if self.descriptor is not None:
            os.write(self.descriptor, self._new_line(" two"))
            os.close(self.descriptor)
            self.descriptor = None


class RenameOver(Outsider):
    """Reads the file, writes a new one beside it, and renames that over it: most editors, and careful programs."""

    destroys = True
    renames = True

    def work(self, path: Path, flags: int) -> None:
        self._write_beside(self.scene.read() + self._new_line())


class Sed(Outsider):
    """`sed -i` on the first line: as `RenameOver`, but what changes is in the middle. Does nothing without a file."""

    destroys = True
    renames = True

    def work(self, path: Path, flags: int) -> None:
        data = self.scene.read()
        if FIRST in data:
            self._write_beside(data.replace(FIRST, FIRST + self._new_line()))


class Rewrite(Outsider):
    """Reads the file, cuts it to nothing and writes it anew in place: `open(path, "w")`."""

    destroys = True

    def act(self) -> None:
        self.saw = self.scene.read()
        super().act()

    def work(self, path: Path, flags: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | flags, 0o600)
        os.write(descriptor, self.saw + self._new_line())
        os.close(descriptor)


class SlowRewrite(Rewrite):
    """The same with a pause between the cut and the new text: for a while the file is half of something."""

    @property
    def cut(self) -> bytes:
        return self.saw if self.descriptor is not None else b""

    def work(self, path: Path, flags: int) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | flags, 0o600)

    def finish(self) -> None:
        super().finish()
        if self.descriptor is not None:
            os.write(self.descriptor, self.text())
            self.close(self.descriptor)
            self.descriptor = None

    def text(self) -> bytes:
        return self.saw + self._new_line()

    def close(self, descriptor: int) -> None:
        os.close(descriptor)


class Copy(SlowRewrite):
    """`cp -p` of an old file onto this one: the same, with another beginning and, at the end, the time of the old one."""

    inserts = True

    def text(self) -> bytes:
        return self._new_line() + self.saw

    def close(self, descriptor: int) -> None:
        os.utime(descriptor, (LONG_AGO, LONG_AGO))
        super().close(descriptor)


class AppendAfterAll(Append):
    """Waits for the lease so long that the system takes it away, as it does after 45 seconds; then it appends."""

    def act(self) -> None:
        for descriptor in self.scene.leased:
            with suppress(BlockingIOError):  # two of them may have waited
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        super().act()


class Delete(Outsider):
    """`rm file`."""

    destroys = True

    def work(self, path: Path, flags: int) -> None:
        self.removed = self.scene.read()
        self.path.unlink(missing_ok=True)


KINDS: dict[str, type[Outsider]] = {
    "append": Append,
    "rename over": RenameOver,
    "truncate and rewrite": Rewrite,
    "delete": Delete,
    "held-open append": HeldAppend,
    "sed -i": Sed,
    "slow rewrite": SlowRewrite,
    "cp -p": Copy,
    "append after all": AppendAfterAll,
}
