"""Kill writers at random moments, start them again, and look at what became of what they wrote."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from catmem.store.contract import Change
from tests.race.programs.writers import FIRST
from tests.race.texts import line, shortened
from tests.store.stores import named

ROOT = Path(__file__).parent.parent.parent
ENTITY = "trinity/user"
WRITERS = ("ann", "bob", "cyd")

LAST = "last"
PATIENCE = 60.0
"""Seconds after which what a writer waits for does not come."""

LONGEST = {"files": 0.03, "sqlite": 0.15, "postgresql": 0.15}
"""Seconds that pass at most between two kills. A database takes longer to open."""


class Killed(NamedTuple):
    """What came of it: how many were killed, how many writes were acknowledged, and what is wrong."""

    kills: int
    acknowledged: int
    repeated: int
    wrong: list[str]


def kill_writers(
    folder: Path, kills: int, *, kind: str = "files", seed: int = 0, more: Callable[[], bool] = lambda: True
) -> Killed:
    """Have three writers write in ``folder``, and kill so many times one of them, as long as there is ``more`` time."""
    named(kind).make(folder).close()  # a server that it needs is started here, and lives on when the writers do not
    chance = random.Random(seed)
    done, longest = 0, LONGEST[kind]
    with starter_of(folder, kind) as program:
        running = dict(start_writer(program, name) for name in WRITERS)
        while done < kills and more():
            if done % 2:
                one_more_answer(folder, WRITERS)  # a busy machine may give nobody the time for a write
            # Half of them die in their first moments, while they open the store and mend what the last one left.
            time.sleep(chance.random() * longest if chance.random() < 0.5 else chance.random() * longest / 10)
            name = chance.choice(WRITERS)
            os.kill(running[name], signal.SIGKILL)
            done += 1
            running[name] = start_writer(program, name)[1]
    return found(folder, done, kind)


@contextmanager
def starter_of(folder: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """A program that starts writers, and ends them at the end."""
    command = [sys.executable, "-m", "tests.race.programs.writers", kind, str(folder)]
    pipe = subprocess.PIPE
    program = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        yield program
    finally:
        program.communicate(timeout=PATIENCE)


def one_more_answer(folder: Path, *groups: Sequence[str]) -> None:
    """Wait until of each group of writers one has had one more answer."""
    before = [_answers(folder, names) for names in groups]
    ends = time.monotonic() + PATIENCE
    while any(_answers(folder, names) == had for names, had in zip(groups, before, strict=True)):
        if time.monotonic() > ends:
            raise AssertionError("a writer did not go on")
        time.sleep(0.001)


def _answers(folder: Path, names: Sequence[str]) -> int:
    paths = [folder / f"{name}.said" for name in names]
    return sum(path.read_bytes().count(b"!") for path in paths if path.exists())


def start_writer(program: subprocess.Popen[str], name: str) -> tuple[str, int]:
    """Have the program start a writer; returns its name and its process."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{name}\n")
    program.stdin.flush()
    said, process = program.stdout.readline().split()
    assert said == name
    return name, int(process)


def found(folder: Path, kills: int, name: str) -> Killed:
    """Look at the replay, the head and what the writers said, after one more write that mends what was left."""
    # A writer that was killed before it asked anything has said nothing, and has no file.
    files = [path for path in (folder / f"{writer}.said" for writer in WRITERS) if path.exists()]
    words = [word for path in files for word in path.read_text(encoding="utf-8").split()]
    asked = Counter(word[1:] for word in words if word.startswith("?"))
    acknowledged = Counter(word[1:] for word in words if word.startswith("!"))
    kind = named(name)
    store = kind.make(folder)
    store.commit(ENTITY, None, lambda current: shortened(current.data) + line(LAST), Change(op_id=LAST))
    replay = [(recorded.op_id, data) for recorded, data in store.replay(ENTITY)]
    faults = [fault.message for fault in store.verify()]
    head = kind.file(folder, ENTITY).read_bytes() if kind.file else store.peek(ENTITY)
    store.close()
    wrong = judge(replay, asked, acknowledged)
    wrong += [f"verify: {fault}" for fault in faults]
    if head != replay[-1][1]:
        wrong.append("the head is not what the replay ends with")
    repeated = sum(times > 1 for times in asked.values())
    return Killed(kills, len(acknowledged), repeated, wrong)


def judge(replay: Sequence[tuple[str, bytes]], asked: Counter[str], acknowledged: Counter[str]) -> list[str]:
    """What is wrong with a replay of ``(op_id, bytes)``: each acknowledged token is made once, and no half of anything."""
    wrong: list[str] = []
    made = Counter(token for token, _ in replay)
    wrong += [f"{token} was acknowledged and is not there" for token in acknowledged if not made[token]]
    wrong += [f"{token} is there {times} times" for token, times in made.items() if times > 1]
    wrong += [f"{token} was acknowledged {times} times" for token, times in acknowledged.items() if times > 1]
    before = b""
    for op_id, data in replay:
        if op_id not in {*asked, FIRST, LAST}:
            wrong.append(f"{op_id} was never asked for")
        if data != shortened(before) + line(op_id):
            wrong.append(f"the revision of {op_id} is not the one before it and its line")
        before = data
    return wrong
