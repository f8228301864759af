"""Seeding a fleet: the first run against bare writes of the same files, and a run that has nothing to do.

A root of 1,000 profiles, each of which names five of twenty categories, and an orchestrator with 200 entries. Each run
is a process of its own, which reads the configuration and all profiles; its start is not counted. A run with nothing to
do is measured in such a process, of which half is reading the profiles, and as the second one of a process that stays.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, slower

if TYPE_CHECKING:
    from argparse import Namespace

_PROFILES = 1_000
_CATEGORIES = tuple(f"topic-{number}" for number in range(20))
_NAMED = 5
_ENTRIES = 10
"""In each category."""
_ROUNDS = 5
_BARE_LIMIT = 4.0
_AGAIN_LIMIT = 0.1

_SEED = """
import json, sys, time
import catmem, catmem.seeding.planner, catmem.store.files.file_store
workspace = catmem.Workspace.open(sys.argv[1], search=False)
for run in range(2):
    began = time.perf_counter()
    result = workspace.apply_seed(workspace.plan_seed("orchestrator"))
    print(json.dumps([time.perf_counter() - began, sum(each.revision is not None for each in result.files)]))
workspace.store.close()
"""

_BARE = """
import json, os, sys, time
from pathlib import Path
root = Path(sys.argv[1])
files = [(path.parent.name, path.read_bytes()) for path in root.glob("homes/agent*/USER.md")]
began = time.perf_counter()
for name, data in files:
    folder = root / "bare" / name
    folder.mkdir(parents=True)
    with open(folder / "new", "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(folder / "new", folder / "USER.md")
print(json.dumps([time.perf_counter() - began, len(files)]))
"""


def run(options: Namespace) -> list[Result]:
    """A first run, the bare writes of what it wrote, and a run with nothing to do, in turns."""
    first: list[float] = []
    bare: list[float] = []
    again: list[float] = []
    anew: list[float] = []
    for _ in range(options.times or _ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            _make(root)
            wrote, nothing = _timed(_SEED, root, [_PROFILES, 0])
            first.append(wrote)
            again.append(nothing)
            bare += _timed(_BARE, root, [_PROFILES])
            before = _state(root)
            anew.append(_timed(_SEED, root, [0, 0])[0])
            if _state(root) != before:
                message = "a run with nothing to do wrote something"
                raise AssertionError(message)
    seconds = statistics.median(first)
    return [
        slower(
            "first run of 1,000 profiles / bare write, fsync, rename", seconds, statistics.median(bare), _BARE_LIMIT
        ),
        slower("nothing to do, in the same process / first run", statistics.median(again), seconds, _AGAIN_LIMIT),
        Result(
            "nothing to do, in a new process / first run",
            statistics.median(anew),
            seconds,
            statistics.median(anew) / seconds,
            None,
        ),
    ]


def _make(root: Path) -> None:
    chosen = random.Random(20261121)  # noqa: S311 - which categories a profile names
    put(root / "catmem.yaml", "version: 1\n")
    put(root / "profiles/orchestrator.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    for number in range(_PROFILES):
        named = ", ".join(chosen.sample(_CATEGORIES, _NAMED))
        put(root / f"profiles/agent{number}.yaml", f"seed_from: orchestrator\nuser_memory_categories: [{named}]\n")
    sections = [
        f"## {category}\n"
        + "\n§\n".join(
            f"[created: 2026-10-{day:02}] Fact {day} about {category}, with about as many words as such facts have."
            for day in range(1, _ENTRIES + 1)
        )
        for category in _CATEGORIES
    ]
    put(root / "homes/orchestrator/USER.md", "\n\n".join(sections) + "\n")


def put(path: Path, text: str) -> None:
    """Write a file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _timed(script: str, root: Path, files: list[int]) -> list[float]:
    """The seconds of the runs of one process, each of which has to write so many files."""
    done = subprocess.run([sys.executable, "-c", script, str(root)], capture_output=True, text=True, check=True)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    wrote = [number for _, number in runs]
    if wrote != files:
        message = f"{wrote} files were written, not {files}"
        raise AssertionError(message)
    return [float(seconds) for seconds, _ in runs]


def _state(root: Path) -> list[tuple[str, int, int]]:
    """Every file with its size and time."""
    found = ((path, path.stat()) for path in sorted(root.rglob("*")))
    return [(str(path), status.st_size, status.st_mtime_ns) for path, status in found]
