"""Run rows in processes of their own, as many at a time as there are cores, within a total time.

Each row may use its share of the time that is left, by what its author says that it takes. A row that ends early leaves
its time to the others. A row that does not end is stopped and has failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.registry import TESTS, Outcome, Skip, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.torture.registry import Row

GRACE = 20.0
"""Seconds after its time in which a row may still end by itself."""

COMMAND = (sys.executable, "-m", "tests.torture")
"""What runs one row."""

LOOK = 0.05
"""Seconds between two looks at the processes."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table: ``status`` is ``ok``, ``failed`` or ``skipped``."""

    name: str
    proof: str
    unit: str
    asked: int | None
    done: int
    status: str
    note: str
    seconds: float
    log: str = ""


@dataclass(slots=True)
class _Running:
    row: Row
    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    started: float
    seconds: float


def run(
    rows: Iterable[Row], minutes: float, *, quick: bool, cores: int = 2, told: Callable[[Result], None] | None = None
) -> list[Result]:
    """Run the rows; ``told`` hears of each as it ends. The results come in the order of ``rows``."""
    rows = list(rows)
    ends = time.monotonic() + 60 * minutes
    # What keeps both cores busy goes first and alone, then the rest side by side, the longest first.
    waiting = sorted(rows, key=lambda row: (-row.cores, -row.seconds))
    running: list[_Running] = []
    results: dict[str, Result] = {}
    try:
        while waiting or running:
            free = cores - sum(min(each.row.cores, cores) for each in running)
            if waiting and min(waiting[0].cores, cores) <= free:
                running.append(_start(waiting, ends - time.monotonic(), cores, quick=quick))
                continue
            time.sleep(LOOK)
            for each in [each for each in running if _has_ended(each)]:
                running.remove(each)
                results[each.row.name] = _result(each, quick=quick)
                each.folder.cleanup()
                if told:
                    told(results[each.row.name])
    finally:
        for each in running:
            _stop(each)
            each.folder.cleanup()
    return [results[row.name] for row in rows]


def share(row: Row, waiting: list[Row], left: float, cores: int) -> float:
    """The seconds that ``row``, the first of ``waiting``, may take of those that are ``left``."""
    expected = sum(each.seconds * min(each.cores, cores) / cores for each in waiting)
    # Rows side by side: the longest one alone may last longer than an even share.
    expected = max(expected, *(each.seconds for each in waiting))
    return max(1.0, left * row.seconds / expected)


def _start(waiting: list[Row], left: float, cores: int, *, quick: bool) -> _Running:
    seconds = share(waiting[0], waiting, left, cores)
    row = waiting.pop(0)
    folder = tempfile.TemporaryDirectory(prefix="catmem-torture-")
    command = [*COMMAND, "--one", row.name]
    command += ["--seconds", f"{seconds:.3f}", "--folder", folder.name, *(["--quick"] if quick else [])]
    with Path(folder.name, "log").open("wb") as log:
        # A session of its own, so that whatever it starts can be stopped with it.
        process = subprocess.Popen(command, cwd=TESTS.parent, stdout=log, stderr=log, start_new_session=True)
    return _Running(row, process, folder, time.monotonic(), seconds)


def _has_ended(each: _Running) -> bool:
    if each.process.poll() is None and time.monotonic() - each.started > each.seconds + GRACE:
        _stop(each)
    return each.process.poll() is not None


def _stop(each: _Running) -> None:
    if each.process.poll() is None:
        os.killpg(each.process.pid, signal.SIGKILL)
        each.process.wait()


def _result(each: _Running, *, quick: bool) -> Result:
    row, folder = each.row, Path(each.folder.name)
    asked = row.proof.quick if quick else row.proof.asked
    seconds = time.monotonic() - each.started
    log = Path(folder, "log").read_text(encoding="utf-8", errors="replace")
    try:
        said = json.loads(Path(folder, "outcome").read_text(encoding="utf-8"))
    except FileNotFoundError:
        over = seconds > each.seconds + GRACE
        last = (log.strip() or f"ended with status {each.process.returncode}").split("\n")[-1]
        said = {"done": 0, "failed": f"did not end in {each.seconds:.0f} s" if over else last}
    if "skipped" in said:
        return Result(row.name, row.proof.text, row.proof.unit, asked, 0, "skipped", said["skipped"], seconds)
    outcome = Outcome(**said)
    asked = asked if outcome.asked is None else outcome.asked
    status, note = judged(outcome, asked)
    return Result(row.name, row.proof.text, row.proof.unit, asked, outcome.done, status, note, seconds, log)


def judged(outcome: Outcome, asked: int | None) -> tuple[str, str]:
    """The status of an outcome, and what there is to say about it."""
    if outcome.failed:
        return "failed", "; ".join(filter(None, (outcome.failed, outcome.note)))
    if not outcome.done:
        return "failed", "; ".join(filter(None, ("nothing was done", outcome.note)))
    if asked is not None and outcome.done < asked:
        return "ok", "; ".join(filter(None, (f"scaled down to {outcome.done / asked:.1%}: no more time", outcome.note)))
    return "ok", outcome.note


def run_one(row: Row, seconds: float, folder: Path, *, quick: bool) -> int:
    """Run one row here, and leave its outcome in ``folder``. The exit status is 0 unless it raised an exception."""
    work = folder / "work"
    work.mkdir()
    task = Task(row.proof.quick if quick else row.proof.asked, seconds, work, quick=quick)
    try:
        said = asdict(row.work(task))
    except Skip as skipped:
        said = {"skipped": str(skipped)}
    part = folder / "outcome.part"
    part.write_text(json.dumps(said), encoding="utf-8")
    part.rename(folder / "outcome")
    return 0
