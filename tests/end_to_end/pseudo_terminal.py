"""A command on a terminal of its own, as a person meets it."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SECONDS = 60


class Terminal:
    """A command on a terminal of its own. ``wait_for`` reads what it shows, ``type`` writes a line."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.shown = ""
        self._end, other = pty.openpty()
        self._ready = select.poll()
        self._ready.register(self._end, select.POLLIN | select.POLLHUP)
        clean = {key: value for key, value in os.environ.items() if key not in {"EDITOR", "VISUAL"}}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "catmem", *arguments],
            cwd=folder,
            stdin=other,
            stdout=other,
            stderr=other,
            env={**clean, "TERM": "dumb", **environment},
        )
        os.close(other)

    def wait_for(self, text: str) -> str:
        """Read on until ``text`` is shown; returns what was shown up to there."""
        while text not in self.shown:
            assert self._ready.poll(1000 * _SECONDS), f"{text!r} is not shown, but: {self.shown}"
            try:
                data = os.read(self._end, 4096)
            except OSError:  # how a terminal says that the other end is gone
                data = b""
            assert data, f"it ended without {text!r}: {self.shown}"
            self.shown += data.decode().replace("\r\n", "\n")
        before, found, self.shown = self.shown.partition(text)
        return before + found

    def type(self, line: str) -> None:
        os.write(self._end, line.encode())

    def status(self) -> int:
        """The exit status, once it has ended."""
        return self._process.wait(timeout=_SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)


@contextmanager
def terminals(folder: Path, *arguments: str) -> Iterator[Callable[..., Terminal]]:
    """Opens terminals with one command, as many as are asked for; they are closed at the end."""
    opened: list[Terminal] = []

    def opening(**environment: str) -> Terminal:
        opened.append(Terminal(folder, *arguments, **environment))
        return opened[-1]

    yield opening
    for terminal in opened:
        terminal.close()
