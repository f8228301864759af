"""The long runs of outsiders and of kills."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.race.kills import kill_writers
from tests.race.race import REFUSALS, race, team
from tests.torture import Outcome, Task, row

if TYPE_CHECKING:
    from pathlib import Path

    from tests.race.race import Race

EACH = 1_000
"""Writes of each kind of outsider in one race."""

AT_ONCE = 2
"""Races side by side: outsiders and tools of one race mostly wait for each other."""

PACES = (1, 1, 1, 5)
"""How long outsiders rest, in turn: few commits among many writes, and more commits among fewer."""

KILLS_EACH = 500


def _one(folder: Path, each: int, seed: int) -> Race:
    folder.mkdir()
    ended = race(folder, team(each), seed=seed, pace=PACES[seed % len(PACES)])
    shutil.rmtree(folder)
    return ended


@row("races", seconds=450, cores=2)
def races(task: Task) -> Outcome:
    """Races of 5,000 writes, two at a time; first one of a tool that checks and then renames, for contrast."""
    contrast = race(task.folder, team(200), tool="check-then-rename")
    kinds: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    wrong: list[str] = []
    turn = 0
    each = min(EACH, (task.asked or 0) // 5)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while task.left() and kinds.total() < (task.asked or 0):
            seeds = range(turn, turn + min(AT_ONCE, -(-((task.asked or 0) - kinds.total()) // (5 * each))))
            for seed, ended in zip(
                seeds, pool.map(lambda s: _one(task.folder / f"race-{s}", each, s), seeds), strict=True
            ):
                kinds.update(write.kind for write in ended.evidence.writes)
                tools.update({"commits": len(ended.evidence.acknowledged), **ended.refused})
                verdict = ended.verdict
                found = {name: getattr(verdict, name) for name in ("lost", "dropped", "halves", "slow", "hidden")}
                sums.update({name: len(tokens) for name, tokens in found.items()})
                wrong += [
                    f"race {seed}, {name}: {token}" for name in ("lost", "dropped", "halves") for token in found[name]
                ]
            turn += len(seeds)
    wrong += [f"a tool was told {code!r} {tools[code]} times" for code in sorted(set(tools) - {"commits", *REFUSALS})]
    note = (
        f"{sums['lost']} lost, {sums['halves']} half-file commits ({sums['slow']} more of writers slower than the wait), "
        f"{sums['dropped']} acknowledged and dropped, {sums['hidden']} kept aside only; {_said(kinds)}; tools: {_said(tools)}; "
        f"check-then-rename: {len(contrast.verdict.lost)} of {len(contrast.evidence.writes):,} lost"
    )
    if not contrast.verdict.lost:
        wrong.append("check-then-rename lost nothing, so this proves nothing")
    return Outcome(kinds.total(), "; ".join(wrong[:5]), note)


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


@row("kills", seconds=100, cores=2)
def kills(task: Task) -> Outcome:
    """Three writers on one file, one of them killed and started again every few milliseconds."""
    asked = task.asked or 0
    killed = acknowledged = repeated = turn = 0
    wrong: list[str] = []
    while killed < asked and task.left():
        folder = task.folder / str(turn)
        folder.mkdir()
        ended = kill_writers(folder, min(KILLS_EACH, asked - killed), seed=turn, more=lambda: task.left() > 0)
        shutil.rmtree(folder)
        killed, acknowledged = killed + ended.kills, acknowledged + ended.acknowledged
        repeated += ended.repeated
        wrong += [f"run {turn}: {each}" for each in ended.wrong]
        turn += 1
    note = f"{acknowledged:,} writes acknowledged, {repeated:,} repeated after a kill, {len(wrong)} lost, doubled or halved"
    return Outcome(killed, "; ".join(wrong[:5]), note)
