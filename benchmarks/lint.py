"""Lint of many files of two kilobytes: how long it takes, and against pymarkdownlnt.

Another linter of Markdown is measured if ``--pymarkdown-python`` names a Python that has it, on some of the same files:
it looks for other things, so it says what reading Markdown with rules costs, and no more.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, faster, limited, seconds
from benchmarks.parse import memory_file
from catmem.linting.root_lint import Linter

if TYPE_CHECKING:
    from argparse import Namespace

_FILES = 10_000
_SIZE = 2_000
_FEW = 100
_LONGEST = 30.0


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_root(root, _FILES)
        taken = seconds(lambda: Linter.open(root).run())
        results = [limited(f"lint {_FILES:,} files, all rules", taken, _LONGEST)]
        if options.pymarkdown_python.exists():
            theirs = pymarkdown(options.pymarkdown_python, sorted(root.glob("homes/*/*.md"))[:_FEW])
            results.append(faster("lint, per file, against pymarkdownlnt", taken / _FILES, theirs / _FEW, 10))
        return results


def make_root(root: Path, files: int) -> None:
    """A root with so many memory files, no two of them alike, and no configuration but an empty one."""
    (root / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
    text = memory_file(files * _SIZE)
    for number in range(files):
        part = text[number * _SIZE : (number + 1) * _SIZE]
        name = "USER.md" if number % 2 else "MEMORY.md"
        path = root / "homes" / f"p{number // 2:05}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part[part.index("\n") + 1 :], encoding="utf-8")


def pymarkdown(python: Path, files: list[Path]) -> float:
    """The processor seconds that pymarkdownlnt takes for these files, without its start."""
    command = [str(python), "-m", "pymarkdown", "scan"]
    times = []
    for some in (files[:1], files):
        before = children()
        subprocess.run([*command, *map(str, some)], capture_output=True, check=False)
        times.append(children() - before)
    return (times[1] - times[0]) * len(files) / (len(files) - 1)


def children() -> float:
    """The processor time of every child that has ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
