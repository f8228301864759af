"""Starting the programs of a race together, and hearing what they say at its end."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

LIMIT = 300
"""Seconds after which a race that does not end has failed."""


@contextmanager
def running(programs: Sequence[tuple[object, ...]]) -> Iterator[list[subprocess.Popen[str]]]:
    """The programs, each a module and its arguments, which have said that they are ready and wait for the end of their input."""
    started: list[subprocess.Popen[str]] = []
    try:
        for program in programs:
            command = [sys.executable, "-m", *map(str, program)]
            pipe = subprocess.PIPE
            started.append(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True))
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def end_input(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None


def told_by(process: subprocess.Popen[str]) -> str:
    """Wait for it to end; returns what it printed."""
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, f"{process.args!r} ended with status {process.returncode}"
    return said
