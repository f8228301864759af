"""What starting costs: processor time of child processes, so that a busy machine changes little."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, added

if TYPE_CHECKING:
    from argparse import Namespace

_IMPORT_LIMIT = 0.060
_VERSION_LIMIT = 0.120


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    command = Path(sysconfig.get_path("scripts")) / "catmem"
    commands = {
        "bare": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import catmem"],
        "version": [sys.executable, str(command), "--version"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.times or 15):
        for name, arguments in commands.items():
            taken[name].append(processor_seconds(arguments))
    bare, importing, version = (statistics.median(taken[name]) for name in commands)
    return [
        added("import catmem, over bare Python", importing, bare, _IMPORT_LIMIT),
        Result("catmem --version, all of it", version, bare, version, _VERSION_LIMIT, unit="ms"),
    ]


def processor_seconds(arguments: list[str]) -> float:
    """User and system time of one child process."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return usage.ru_utime + usage.ru_stime
