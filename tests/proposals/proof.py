"""Agents propose while a person decides and writes, and all of them are killed; then the history is read line by line.

The judge knows neither entries nor proposals: each fact is one line, so what a proposal may do is to take the lines that
its branch took from its base out of the head, and to put those in that its branch has.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from catmem import Workspace
from catmem.store.contract import Revision
from tests.golden.case import put
from tests.proposals.worker import FACTS, OWNERS

ROOT = Path(__file__).parent.parent.parent
WORKERS = ("boss", "neo", "person", "person")
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\nmay_approve: [rules]\n",
}
PATIENCE = 60.0


class Proof(NamedTuple):
    """What came of it: what the workers were told, counted, how many were killed, and what is wrong."""

    told: Counter[str]
    kills: int
    wrong: list[str]


def prove(
    folder: Path, operations: int, *, store: str = "", seed: int = 0, more: Callable[[], bool] = lambda: True
) -> Proof:
    """Have workers work in ``folder`` until they were told so many answers, as long as there is ``more`` time.

    ``store`` is the line of catmem.yaml.
    """
    put(folder / "catmem.yaml", f"approval: others\n{store}\n")
    for name, text in PROFILES.items():
        put(folder / "profiles" / f"{name}.yaml", text)
    workspace = Workspace.open(folder)
    with closing(workspace.store):
        for owner in OWNERS:
            for number in range(FACTS):
                workspace.add(owner, f"F{number}: begin", category="rules")
    chance = random.Random(seed)
    running = [_start(folder, name, seed, turn) for turn, name in enumerate(WORKERS)]
    kills = 0
    try:
        began = time.monotonic()
        while sum(_told(folder).values()) < operations and more() and time.monotonic() - began < PATIENCE * 60:
            time.sleep(chance.random() * 3)
            turn = chance.randrange(len(running))
            os.kill(running[turn].pid, signal.SIGKILL)
            assert running[turn].wait(PATIENCE) == -signal.SIGKILL, "a worker ended by itself"
            kills += 1
            running[turn] = _start(folder, WORKERS[turn], seed, kills * 10 + turn)
    finally:
        put(folder / "end", "")
        for process in running:
            process.wait(PATIENCE)
    return Proof(_told(folder), kills, judged(folder))


def _start(folder: Path, name: str, seed: int, turn: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.proposals.worker", str(folder), name, f"{seed}-{turn}"]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "CATMEM_PERSON": "Ann"})


def _lines(folder: Path) -> list[list[str]]:
    paths = sorted(folder.glob("*.told"))
    return [line.split() for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def _told(folder: Path) -> Counter[str]:
    return Counter(line[0] if line[0] != "decided" else line[2] for line in _lines(folder))


def judged(folder: Path) -> list[str]:
    """What is wrong with the histories, by what the workers were told."""
    told = _lines(folder)
    wrong: list[str] = []
    known: dict[str, str] = {}
    verdicts: Counter[tuple[str, str]] = Counter()
    texts = ""
    with closing(Workspace.open(folder).store) as store:
        for owner in OWNERS:
            replay = list(store.replay(f"{owner}/user"))
            wrong += wrong_in(replay)
            for revision, data in replay:
                texts += data.decode()
                if "proposal" in revision.note:
                    known[revision.note["proposal"]["id"]] = revision.revision
                if "decision" in revision.note:
                    said = revision.note["decision"]
                    verdicts[said["proposal"], said["verdict"]] += 1
        wrong += [f"fsck: {fault.message}" for fault in store.verify()]
    decided = Counter(name for name, _ in verdicts.elements())
    wrong += [f"{name} was decided {times} times" for name, times in decided.items() if times > 1]
    for line in told:
        if line[0] in {"proposed", "written"} and line[1] not in texts:
            wrong.append(f"{line[0]} {line[1]} was acknowledged, and is in no revision")
        if line[0] == "proposed" and line[2] not in known:
            wrong.append(f"the proposal {line[2]} was acknowledged, and is lost")
        if line[0] == "decided" and not verdicts[line[1], line[2]]:
            wrong.append(f"{line[1]} was {line[2]}, and no record says so")
    return wrong


def wrong_in(replay: Sequence[tuple[Revision, bytes]]) -> list[str]:
    """What is wrong with the decisions of one history, by its lines."""
    wrong: list[str] = []
    texts: Mapping[str, Counter[str]] = {"0": Counter(), **{each.revision: _facts(data) for each, data in replay}}
    records = {each.revision: each for each, _ in replay}
    head = "0"
    for revision, _ in replay:
        if revision.is_branch:
            continue
        said = revision.note.get("decision")
        if said is not None:
            branch = records[next(each for each in revision.parents if each in records and records[each].is_branch)]
            proposer = branch.note["actor"] or "person"
            gone, come = Counter[str](), Counter[str]()
            if said["verdict"] == "approved":
                base = texts[str(branch.note["proposal"]["base"])]
                gone, come = base - texts[branch.revision], texts[branch.revision] - base
                if revision.agent == "person" and all(line.startswith("[verified_date: ") for line in gone):
                    come = _dated(come, revision.timestamp[:10])
                if revision.agent == proposer and proposer != "person":
                    wrong.append(f"{said['proposal']} was approved by its proposer")
                if gone - texts[head]:
                    wrong.append(f"{said['proposal']} was applied on a changed entry")
            if texts[revision.revision] != texts[head] - gone + come:
                wrong.append(f"{said['proposal']} ({said['verdict']}) wrote something else than it said")
        head = revision.revision
    return wrong


def _dated(facts: Counter[str], day: str) -> Counter[str]:
    """The facts as a person's approval leaves them: new words of a verified fact are verified that day."""
    return Counter({line.replace("[", f"[verified_date: {day}, ", 1): times for line, times in facts.items()})


def _facts(data: bytes) -> Counter[str]:
    """The lines of the facts, each with its tags."""
    return Counter(line for line in data.decode().splitlines() if "F" in line and ": " in line)
