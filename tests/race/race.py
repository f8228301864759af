"""One race: outsiders and tools on one file, and the evidence of what became of every write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.store.contract import EXTERNAL
from catmem.store.sight import LEASE_TRIES, LEASE_WAIT
from tests.race.judge import Acknowledged, Evidence, Verdict, Write, judge
from tests.store.stores import named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parent.parent.parent
ENTITY = "trinity/user"
PATIENCE = 1000 * LEASE_TRIES * LEASE_WAIT
"""The milliseconds for which the store waits for somebody who is writing."""

RESTS = {"append": 0.003, "held": 0.003, "rename": 0.004, "truncate": 0.004, "vim-calls": 0.004, "vim": 0.004}
"""Seconds that an outsider rests at most after each write. Who rewrites has the lock alone, so rests longer."""

LIMIT = 300
"""Seconds after which a race that does not end has failed."""


@dataclass
class Race:
    """What came of a race."""

    evidence: Evidence
    verdict: Verdict
    refused: Counter[str] = field(default_factory=Counter)


def race(
    folder: Path, writes: Mapping[str, int], *, tool: str = "store", tools: int = 2, seed: int = 0, without: str = ""
) -> Race:
    """Run one in ``folder``: so many ``writes`` of each kind of outsider, beside so many tools.

    ``tool`` is ``store``, or a way of ``programs.naive``. ``without`` names features that the store must do without.
    """
    kind, root = named("files"), folder / "root"
    assert kind.file is not None
    path = kind.file(root, ENTITY)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    environment = {**os.environ, "CATMEM_STORE_WITHOUT": without}
    started: list[subprocess.Popen[str]] = []
    try:
        team = [
            _start("tool", root, f"tool-{number}", seed, env=environment)
            if tool == "store"
            else _start("naive", tool, path, f"tool-{number}", seed)
            for number in range(tools)
        ]
        started += team
        outsiders = [
            _start("outsider", name, folder, path, name, count, RESTS[name], seed) for name, count in writes.items()
        ]
        started += outsiders
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in outsiders:
            _end(process)
        told = [json.loads(_end(process)) for process in team]
    finally:
        for process in started:
            process.kill()
            process.communicate()
    made = [_write(row) for name in writes for row in (folder / f"{name}.log").read_text(encoding="utf-8").splitlines()]
    evidence = _of_store(root, path, made, told) if tool == "store" else _of_naive(path, made, told)
    refused: Counter[str] = Counter()
    for each in told:
        refused.update(each.get("refused", {}))
    return Race(evidence, judge(evidence, PATIENCE), refused)


def _start(program: str, *arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"tests.race.programs.{program}", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str]) -> str:
    """End its standard input, and wait for what it says."""
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, f"{process.args} ended with status {process.returncode}"
    return said


def _write(row: str) -> Write:
    kind, token, wrote, read, milliseconds, in_place = json.loads(row)
    before = None if read is None else read.encode("latin-1")
    return Write(kind, token, wrote.encode("latin-1"), before, milliseconds, in_place)


def _of_store(root: Path, path: Path, writes: Sequence[Write], told: Sequence[Mapping[str, Any]]) -> Evidence:
    store = named("files").make(root)
    revisions = [(each.revision, data, each.agent == EXTERNAL) for each, data in store.replay(ENTITY)]
    store.close()
    sidecar = path.parent / ".catmem"
    aside = [*(sidecar / "gen").iterdir(), *(sidecar / "tmp").iterdir(), *path.parent.glob(f"{path.name}.bak.*")]
    acknowledged = [Acknowledged(*each) for one in told for each in one["acknowledged"]]
    return Evidence(revisions, path.read_bytes(), [kept.read_bytes() for kept in aside], writes, acknowledged)


def _of_naive(path: Path, writes: Sequence[Write], told: Sequence[Mapping[str, Any]]) -> Evidence:
    texts = [text.encode("latin-1") for one in told for text in one["texts"]]
    return Evidence([], path.read_bytes(), texts, writes, [])
