"""One race: outsiders and tools on one file, and the evidence of what became of every write."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catmem.store.contract import EXTERNAL
from catmem.store.files.observed_file import LEASE_TRIES, LEASE_WAIT
from tests.race.judge import Evidence, Verdict, Write, judge
from tests.race.running import end_input, running, told_by
from tests.store.stores import named

ENTITY = "trinity/user"
PATIENCE = 1000 * LEASE_TRIES * LEASE_WAIT
"""The milliseconds for which the store waits for somebody who is writing."""

RESTS = {"append": 0.003, "held": 0.003, "rename": 0.004, "truncate": 0.004, "vim-calls": 0.004, "vim": 0.004}
"""Seconds that an outsider rests at most after each write. Who rewrites has the lock alone, so rests longer."""

REFUSALS = {"drift", "stale_prev", "busy"}
"""What a tool may be told; nothing else."""

TOOLS = 2


@dataclass
class Race:
    evidence: Evidence
    verdict: Verdict
    refused: Counter[str] = field(default_factory=Counter)


def team(each: int) -> dict[str, int]:
    """So many writes of each of five kinds; of vim's, a tenth but no more than 20 by vim itself where there is one."""
    by_vim = min(each // 10, 20) if shutil.which("vim") else 0
    kinds = dict.fromkeys(["append", "held", "rename", "truncate"], each)
    return kinds | {"vim-calls": each - by_vim} | ({"vim": by_vim} if by_vim else {})


def race(folder: Path, writes: Mapping[str, int], *, tool: str = "store", seed: int = 0, pace: float = 1.0) -> Race:
    """Run one in ``folder``: so many ``writes`` of each kind of outsider, all at once, beside two tools.

    ``tool`` is ``store``, or a way of ``programs.naive``. Outsiders rest ``pace`` times as long after each
    write: the longer, the more commits meet each write; the shorter, the more writes meet each commit.
    """
    kind, root = named("files"), folder / "root"
    assert kind.file is not None
    path = kind.file(root, ENTITY)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    what = ("tool", "files", root) if tool == "store" else ("naive", tool, path)
    programs = [(*what, f"tool-{number}", seed) for number in range(TOOLS)]
    programs += [
        ("outsider", name, folder, path, name, count, pace * RESTS[name], seed) for name, count in writes.items()
    ]
    with running([(f"tests.race.programs.{program}", *arguments) for program, *arguments in programs]) as started:
        for process in started[TOOLS:]:
            end_input(process)
        for process in started[TOOLS:]:
            told_by(process)
        for process in started[:TOOLS]:
            end_input(process)
        told = [json.loads(told_by(process)) for process in started[:TOOLS]]
    made = [_write(row) for name in writes for row in (folder / f"{name}.log").read_text(encoding="utf-8").splitlines()]
    evidence = _of_store(root, path, made, told) if tool == "store" else _of_naive(path, made, told)
    refused: Counter[str] = Counter()
    for each in told:
        refused.update(each.get("refused", {}))
    return Race(evidence, judge(evidence, PATIENCE), refused)


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
    acknowledged = [token for one in told for token in one["acknowledged"]]
    return Evidence(revisions, path.read_bytes(), [kept.read_bytes() for kept in aside], writes, acknowledged)


def _of_naive(path: Path, writes: Sequence[Write], told: Sequence[Mapping[str, Any]]) -> Evidence:
    texts = [text.encode("latin-1") for one in told for text in one["texts"]]
    return Evidence([], path.read_bytes(), texts, writes, [])
