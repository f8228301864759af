"""Where tests keep their files: in memory, but on the disk where it is the store's files themselves that are tested.

A run makes and removes some hundred thousand files. On a disk that is a tenth of its time and says nothing more, but for
what looks closely at files: a disk gives the number of a removed file to the next one, and memory does not.
"""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Bytes that must be free in memory. The files of all workers at one time and a PostgreSQL server take a quarter of it."""

TOLD = "CATMEM_TEST_DISK"
"""The environment variable with the folder for temporary files as it was, for the processes that tests start."""

ON_DISK = ("interplay", "race", "store", "unit/workspace/test_change_feed.py", "unit/store")
"""Tests, by folder or file, whose `tmp_path` is on the disk."""


def use_memory() -> None:
    """Put temporary files into memory from now on, here and in processes that are started.

    Whoever sets TMPDIR has said where they shall be, and then nothing is done.
    """
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ[TOLD] = tempfile.gettempdir()
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # what it found before


def disk() -> str | None:
    """The folder for temporary files on the disk; None if they are not kept in memory."""
    return os.environ.get(TOLD)


def is_on_disk(test: Path, tests: Path) -> bool:
    """Whether the `tmp_path` of a test file below the folder `tests` is on the disk."""
    return any(test.is_relative_to(tests / each) for each in ON_DISK)


def _has_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= ROOM
