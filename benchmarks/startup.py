"""What starting costs: processor time of child processes, so that a busy machine changes little.

The prompt and the add are whole commands on the root that ``catmem init --example`` makes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from typing import TYPE_CHECKING

from benchmarks.measure import Result, added, slower

if TYPE_CHECKING:
    from argparse import Namespace

_IMPORT_LIMIT = 0.060
_VERSION_LIMIT = 0.120
_PROMPT_LIMIT = 7
_ADD_LIMIT = 9


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    python = str(options.python)
    command = [python, str(options.python.with_name("catmem"))]
    with tempfile.TemporaryDirectory() as root:
        processor_seconds([*command, "init", "--example", root])
        adding = [*command, "add", "--root", root, "-p", "neo", "-c", "dev-workflow"]
        commands = {
            "bare": [python, "-c", "pass"],
            "import": [python, "-c", "import catmem"],
            "version": [*command, "--version"],
            "prompt": [*command, "prompt", "trinity", "--root", root],
            "add": adding,
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(options.times or 15):
            commands["add"] = [*adding, f"The project {number} is built with make."]
            for name, arguments in commands.items():
                taken[name].append(processor_seconds(arguments))
    bare, importing, version, prompt, add = (statistics.median(taken[name]) for name in commands)
    return [
        added("import catmem, over bare Python", importing, bare, _IMPORT_LIMIT),
        Result("catmem --version, all of it", version, bare, version, _VERSION_LIMIT, unit="ms"),
        slower("catmem prompt, all of it, against bare Python", prompt, bare, _PROMPT_LIMIT),
        slower("catmem add, all of it, against bare Python", add, bare, _ADD_LIMIT),
    ]


def processor_seconds(arguments: list[str]) -> float:
    """User and system time of one child process."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return usage.ru_utime + usage.ru_stime
