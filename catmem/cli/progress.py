"""How far a long command is, on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from catmem.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY = 0.5
"""Seconds between two looks; what takes less shows nothing."""
_CLEAR = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Give what takes the name of each step, and show the last one with the seconds so far on standard error.

    It stands on a line by itself, which is gone when the command goes on. Nothing is shown where that is no terminal,
    or one that cannot clear a line.
    """
    stderr = sys.stderr
    if stderr is None or not stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return
    begin, over, step = time.monotonic(), threading.Event(), ""

    def begins(name: str) -> None:
        nonlocal step
        step = name

    def show() -> None:
        while not over.wait(_EVERY):
            line = printable(f"{time.monotonic() - begin:.0f} s: {step}")
            stderr.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield begins
    finally:
        over.set()
        thread.join()
        stderr.write(_CLEAR)
        stderr.flush()
