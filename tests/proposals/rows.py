"""The long runs of proposals, one row a store."""

import shutil
from collections import Counter

from tests.proposals.proof import prove
from tests.sql import server
from tests.torture import Outcome, Skip, Task, row
from tests.torture.proofs import Proof

PROPOSALS = Proof("proposals", "proposals decided while agents write and are killed", 10_000, "answers")
ROUND = 1_000
LEAST = 50


def _proposals(task: Task, store: str) -> Outcome:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    kills = 0
    for turn, size in enumerate(task.rounds(ROUND, LEAST)):
        folder = task.folder / str(turn)
        line = store.format(url=server.url_of(folder)) if "{url}" in store else store
        ended = prove(folder, size, store=line, seed=turn, more=lambda: task.left() > 0)
        shutil.rmtree(folder)
        task.add(sum(ended.told.values()))
        told += ended.told
        kills += ended.kills
        wrong += [f"run {turn}: {each}" for each in ended.wrong]
    said = ", ".join(f"{count:,} {kind}" for kind, count in told.most_common())
    return task.outcome(failed="; ".join(wrong[:5]), note=f"{len(wrong)} wrong, {kills:,} kills; {said}")


@row(PROPOSALS, of="files", seconds=600, cores=2)
def proposals_files(task: Task) -> Outcome:
    """On files."""
    return _proposals(task, "")


@row(PROPOSALS, of="sqlite", seconds=450, cores=2)
def proposals_sqlite(task: Task) -> Outcome:
    """On one SQLite database."""
    return _proposals(task, "store: sqlite:///.catmem/memory.db")


@row(PROPOSALS, of="postgresql", seconds=550, cores=2)
def proposals_postgresql(task: Task) -> Outcome:
    """On one PostgreSQL server."""
    if server.MISSING:
        raise Skip(server.MISSING)
    return _proposals(task, "store: {url}")
