"""The long runs of outsiders and of kills."""

import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.race.kills import Killed, kill_writers
from tests.race.race import REFUSALS, Race, race, team
from tests.torture import Outcome, Task, row

EACH = 5_000
"""Writes of all outsiders of one race, at most."""

AT_ONCE = 2
"""Races side by side: outsiders and tools of one race mostly wait for each other."""

LEAST = 200
"""Writes of a round, and of the one race of a tool that loses some."""

PACES = (1, 1, 1, 5)
"""How long outsiders rest, in turn: few commits among many writes, and more commits among fewer."""

KILLS_EACH = 500


def _one(folder: Path, each: int, seed: int) -> Race:
    folder.mkdir()
    ended = race(folder, team(each), seed=seed, pace=PACES[seed % len(PACES)])
    shutil.rmtree(folder)
    return ended


@row("races", seconds=700, cores=2, on_disk=True)
def races(task: Task) -> Outcome:
    """Races of 5,000 writes, two at a time; first one of a tool that checks and then renames, for contrast."""
    contrast = race(task.folder, team(LEAST), tool="check-then-rename")
    kinds: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    wrong: list[str] = []
    turn = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for size in task.rounds(AT_ONCE * EACH, LEAST):
            each = -(-size // (5 * AT_ONCE))
            seeds = range(turn, turn + AT_ONCE)
            folders = [task.folder / f"race-{seed}" for seed in seeds]
            for seed, ended in zip(seeds, pool.map(_one, folders, [each] * AT_ONCE, seeds), strict=True):
                task.add(len(ended.evidence.writes))
                kinds.update(write.kind for write in ended.evidence.writes)
                tools.update({"commits": len(ended.evidence.acknowledged), **ended.refused})
                verdict = ended.verdict
                found = {name: getattr(verdict, name) for name in ("lost", "dropped", "halves", "slow", "hidden")}
                sums.update({name: len(tokens) for name, tokens in found.items()})
                wrong += [
                    f"race {seed}, {name}: {token}" for name in ("lost", "dropped", "halves") for token in found[name]
                ]
            turn += AT_ONCE
    wrong += [f"a tool was told {code!r} {tools[code]} times" for code in sorted(set(tools) - {"commits", *REFUSALS})]
    note = (
        f"{sums['lost']} lost, {sums['halves']} half-file commits ({sums['slow']} more of writers slower than the wait), "
        f"{sums['dropped']} acknowledged and dropped, {sums['hidden']} kept aside only; {_said(kinds)}; tools: {_said(tools)}; "
        f"check-then-rename: {len(contrast.verdict.lost)} of {len(contrast.evidence.writes):,} lost"
    )
    if not contrast.verdict.lost:
        wrong.append("check-then-rename lost nothing, so this proves nothing")
    return task.outcome(failed="; ".join(wrong[:5]), note=note)


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


@row("kills", seconds=80, cores=2, on_disk=True)
def kills(task: Task) -> Outcome:
    """Three writers on one file, one of them killed and started again every few milliseconds."""

    def one(folder: Path, kills: int, seed: int) -> Killed:
        return kill_writers(folder, kills, seed=seed, more=lambda: task.left() > 0)

    return killed(task, KILLS_EACH, one)


def killed(task: Task, most: int, one: Callable[[Path, int, int], Killed]) -> Outcome:
    """Kill until the figure is reached; ``one`` is given a folder, a number of kills and a seed."""
    acknowledged = repeated = 0
    wrong: list[str] = []
    for turn, size in enumerate(task.rounds(most)):
        folder = task.folder / str(turn)
        folder.mkdir()
        ended = one(folder, size, turn)
        shutil.rmtree(folder)
        task.add(ended.kills)
        acknowledged += ended.acknowledged
        repeated += ended.repeated
        wrong += [f"run {turn}: {each}" for each in ended.wrong]
    note = f"{acknowledged:,} writes acknowledged, {repeated:,} repeated after a kill, {len(wrong)} lost, doubled or halved"
    return task.outcome(failed="; ".join(wrong[:5]), note=note)
