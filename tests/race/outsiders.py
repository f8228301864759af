"""Outsiders of five kinds, as functions that make one write each: append, held-open append, rename, truncate, vim.

They know nothing of catmem. They do keep out of each other's way, by a lock of their own that no tool looks at: who
appends shares it, who reads and then rewrites has it alone. Then whatever is lost, a tool lost. One thing more needs
telling among them: who holds the file open must open it again after another outsider has put a new file in its place.
After a tool has done so it does not, and writes to a file that is out of its place.
"""

import contextlib
import fcntl
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from tests.race.judge import Write
from tests.race.texts import block, line, shortened

HELD_FOR = 8
"""Writes after which who holds the file open closes it for a while."""

PAUSE = 0.001
"""Seconds that a rewriter pauses at most, now and then, between reading and writing and in the middle of writing."""

VIM_TRIES = 50
VIM = """\
set backupskip= writebackup backupcopy={copy}
call append(line('$'), {rows})
try
  write!
catch
  cquit
endtry
write! {told}
quit!
"""


class Outsider:
    """One outsider process. ``folder`` is the round's, ``path`` the file that everybody writes to."""

    def __init__(self, folder: Path, path: Path, name: str, seed: int) -> None:
        """``name`` begins its tokens, so it is one that nobody else has."""
        self.folder = folder
        self.path = path
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.number = 0
        self.held: FileIO | None = None
        self.held_since = b""
        self._lock = (folder / "outsiders.lock").open("ab")
        self._replacements = folder / "replacements"

    def close(self) -> None:
        if self.held:
            self.held.close()
        self._lock.close()

    def token(self) -> str:
        """A new one. All of one outsider are of one length, so that one cut short is no other."""
        self.number += 1
        return f"{self.name}-{self.number:06d}"

    @contextlib.contextmanager
    def among_others(self, *, alone: bool) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def pause(self) -> None:
        if self.random.random() < 0.4:
            time.sleep(self.random.random() * PAUSE)

    def replacements(self) -> bytes:
        """How often outsiders have put a new file in the place, one byte each."""
        return self._replacements.read_bytes() if self._replacements.exists() else b""

    def replaced(self) -> None:
        with self._replacements.open("ab") as file:
            file.write(b".")

    def edited(self, text: bytes, token: str) -> bytes:
        """What a rewriter makes of what it has read: shorter, and a block more at the top or at the end."""
        new, short = block(token, self.random.randrange(2, 12)), shortened(text)
        if short and not short.endswith(b"\n"):
            short += b"\n"
        return new + short if self.random.random() < 0.5 else short + new

    def read(self) -> bytes:
        """The file, as one who edits it reads it."""
        return self.path.read_bytes() if self.path.exists() else b""


def append(one: Outsider) -> Write:
    token = one.token()
    with one.among_others(alone=False), one.path.open("ab", buffering=0) as file:
        one.pause()
        file.write(line(token))
    return Write("append", token, line(token))


def held(one: Outsider) -> Write:
    """A line to a file that was opened a while ago."""
    token = one.token()
    with one.among_others(alone=False):
        now = one.replacements()
        if one.held and (now != one.held_since or one.number % HELD_FOR == 0):
            one.held.close()
            one.held = None
        if one.held is None:
            one.held, one.held_since = one.path.open("ab", buffering=0), now
        one.held.write(line(token))
    return Write("held", token, line(token))


def rename(one: Outsider) -> Write:
    """Read, write a new file, rename it over the old one."""
    token = one.token()
    with one.among_others(alone=True):
        before = one.read()
        after = one.edited(before, token)
        beside = one.path.with_name(f".{one.name}.new")
        beside.write_bytes(after)
        one.pause()
        beside.replace(one.path)
        one.replaced()
    return Write("rename", token, after, before)


def truncate(one: Outsider) -> Write:
    """Read, then write over it from the start, in two parts."""
    token = one.token()
    with one.among_others(alone=True):
        before = one.read()
        after = one.edited(before, token)
        one.pause()
        begun = time.monotonic()
        with one.path.open("wb", buffering=0) as file:
            middle = one.random.randrange(len(after))
            file.write(after[:middle])
            one.pause()
            file.write(after[middle:])
        took = 1000 * (time.monotonic() - begun)
    return Write("truncate", token, after, before, took, in_place=True)


def vim_calls(one: Outsider) -> Write:
    """The system calls that vim 9.0 makes for ``:w``, traced with ``backupcopy`` ``yes`` and ``no``, done here."""
    token = one.token()
    with one.among_others(alone=True):
        before = one.read()
        after = one.edited(before, token)
        one.pause()
        backup = one.path.with_name(f"{one.path.name}~")
        renames = one.random.random() < 0.5
        if renames:
            with contextlib.suppress(FileNotFoundError):
                one.path.rename(backup)
            one.replaced()
        else:
            backup.write_bytes(before)
        begun = time.monotonic()
        descriptor = os.open(one.path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, after)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        took = 1000 * (time.monotonic() - begun)
        backup.unlink(missing_ok=True)
    return Write("vim-calls", token, after, before, took, in_place=True)


def vim(one: Outsider) -> Write:
    """vim itself, with a script that adds a block at the end; it saves a second copy, by which we know what it wrote.

    Asked whether to write over a file that changed since it was read, we say yes, as people do. vim does not write, and
    so saves no copy, when the file changes while it makes ready to (its error E949). A person tries again, and so do we.
    """
    token = one.token()
    told, script = one.folder / f"{one.name}.copy", one.folder / f"{one.name}.vim"
    new = block(token, 3)
    rows = [row.decode() for row in new.split(b"\n")[:-1]]
    script.write_text(VIM.format(copy=one.random.choice(["yes", "no", "auto"]), rows=rows, told=told), encoding="utf-8")
    command = ["vim", "-Nes", "-u", "NONE", "-n", "-S", str(script), str(one.path)]
    told.unlink(missing_ok=True)
    with one.among_others(alone=True):
        for _ in range(VIM_TRIES):
            begun = time.monotonic()
            subprocess.run(command, input=b"yyyy", stdout=subprocess.DEVNULL, check=False, timeout=60)
            one.replaced()
            if told.exists():
                break
        took = 1000 * (time.monotonic() - begun)
    after = told.read_bytes()
    return Write("vim", token, after, after.removesuffix(new), took, in_place=True)


KINDS: dict[str, Callable[[Outsider], Write]] = {
    "append": append,
    "held": held,
    "rename": rename,
    "truncate": truncate,
    "vim-calls": vim_calls,
    "vim": vim,
}
