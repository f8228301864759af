"""Run rows in processes of their own, as many at a time as there are cores, within a total time.

Each row may use its share of the time that is left, by what its author says that it takes. A row that ends early leaves
its time to the others. A row that does not end is stopped and has failed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests import places
from tests.torture.registry import PROGRESS, TESTS, Outcome, Row, Skip, Task, part_of

GRACE = 20.0
"""Seconds after its time in which a row may still end by itself."""

START = 8.0
"""Seconds that a row may take for what is the same for every figure, such as starting."""

COMMAND = (sys.executable, "-m", "tests.torture")
"""What runs one row."""

LOOK = 0.05
"""Seconds between two looks at the processes."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table: ``status`` is ``ok``, ``failed``, ``out of time`` or ``skipped``; ``whole`` the full figure."""

    row: Row
    whole: int | None
    done: int
    status: str
    note: str
    seconds: float
    log: str = ""

    @property
    def is_proof(self) -> bool:
        """Whether it says anything for the stores, or that it cannot here: nothing failed, and something was done."""
        return self.status != "failed" and (self.done > 0 or self.status == "skipped")


@dataclass(slots=True)
class _Running:
    row: Row
    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    started: float
    seconds: float
    share: float


def run(
    rows: Iterable[Row], minutes: float, *, share: float, cores: int = 2, told: Callable[[Result], None] | None = None
) -> list[Result]:
    """Run that ``share`` of the rows; ``told`` hears of each as it ends. The results come in the order of ``rows``."""
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
                seconds = allotted(waiting, ends - time.monotonic(), cores, share)
                running.append(_start(waiting.pop(0), seconds, share))
                continue
            time.sleep(LOOK)
            for each in [each for each in running if _has_ended(each)]:
                running.remove(each)
                results[each.row.name] = _result(each)
                each.folder.cleanup()
                if told:
                    told(results[each.row.name])
    finally:
        for each in running:
            _stop(each)
            each.folder.cleanup()
    return [results[row.name] for row in rows]


def allotted(waiting: list[Row], left: float, cores: int, share: float) -> float:
    """The seconds that the first row of ``waiting`` may take of those that are ``left``."""
    expected = [START + share * row.seconds for row in waiting]
    all_of_them = sum(each * min(row.cores, cores) / cores for each, row in zip(expected, waiting, strict=True))
    # Rows side by side: the longest one alone may last longer than an even part.
    return max(1.0, left * expected[0] / max(all_of_them, *expected))


def _start(row: Row, seconds: float, share: float) -> _Running:
    place = places.disk() if row.on_disk else None
    folder = tempfile.TemporaryDirectory(prefix="catmem-torture-", dir=place)
    command = [*COMMAND, "--one", row.name, "--share", str(share)]
    command += ["--seconds", f"{seconds:.3f}", "--folder", folder.name]
    environment = {**os.environ, "TMPDIR": place or tempfile.gettempdir()}
    with Path(folder.name, "log").open("wb") as log:
        # A session of its own, so that whatever it starts can be stopped with it.
        process = subprocess.Popen(
            command, cwd=TESTS.parent, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    return _Running(row, process, folder, time.monotonic(), seconds, share)


def _has_ended(each: _Running) -> bool:
    if each.process.poll() is None and time.monotonic() - each.started > each.seconds + GRACE:
        _stop(each)
    return each.process.poll() is not None


def _stop(each: _Running) -> None:
    if each.process.poll() is None:
        os.killpg(each.process.pid, signal.SIGKILL)
        each.process.wait()


def _result(each: _Running) -> Result:
    row, folder = each.row, Path(each.folder.name)
    seconds = time.monotonic() - each.started
    log = Path(folder, "log").read_text(encoding="utf-8", errors="replace")
    try:
        said = json.loads(Path(folder, "outcome").read_text(encoding="utf-8"))
    except FileNotFoundError:
        over = seconds > each.seconds + GRACE
        last = (log.strip() or f"ended with status {each.process.returncode}").split("\n")[-1]
        why = f"did not end {GRACE:.0f} s after its time of {each.seconds:.0f} s, and was stopped" if over else last
        said = {"done": _progress(folder), "failed": why}
    if "skipped" in said:
        return Result(row, row.proof.asked, 0, "skipped", said["skipped"], seconds)
    outcome = Outcome(**said)
    whole = row.proof.asked if outcome.whole is None else outcome.whole
    status = judged(outcome, whole, each.share)
    note = "; ".join(filter(None, (outcome.failed, outcome.note)))
    return Result(row, whole, outcome.done, status, note, seconds, log)


def _progress(folder: Path) -> int:
    path = folder / PROGRESS
    return int(path.read_text(encoding="ascii") or 0) if path.exists() else 0


def judged(outcome: Outcome, whole: int | None, share: float) -> str:
    if outcome.failed:
        return "failed"
    reached = bool(outcome.done) and (whole is None or outcome.done >= part_of(whole, share))
    return "ok" if reached else "out of time"


def run_one(row: Row, seconds: float, folder: Path, share: float) -> int:
    """Run one row here, and leave its outcome in ``folder``. The exit status is 0 unless it raised an exception."""
    work = folder / "work"
    work.mkdir()
    task = Task(row.proof.asked, seconds, work, share=share)
    try:
        said = asdict(row.work(task))
    except Skip as skipped:
        said = {"skipped": str(skipped)}
    part = folder / "outcome.part"
    part.write_text(json.dumps(said), encoding="utf-8")
    part.rename(folder / "outcome")
    return 0
