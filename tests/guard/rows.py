"""The long runs of the drift guard, one row a door."""

import logging
from functools import partial

from tests.guard.doors import DOORS
from tests.guard.oracle import Tally
from tests.torture import Outcome, Task, row
from tests.torture.proofs import Proof

GUARD = Proof("guard", "an outsider's text that no agent was shown stays, at every door", 20_000, "sessions")
OF_PROCESSES = GUARD._replace(asked=500)
SECONDS = {"tool": 300, "provider": 320, "anthropic": 320, "drop-in": 300, "http": 450, "mcp": 550, "mcp-process": 150}
PROCESSES = 2
ROUND, LEAST, LEAST_OF_PROCESSES = 500, 20, 6
"""Sessions in a round. Where each starts a process of its own, a small share of the row needs fewer."""


def _play(task: Task, name: str) -> Outcome:
    """Sessions by their numbers, those of the default run first."""
    logging.disable()
    tally = Tally(DOORS[name])
    for size in task.rounds(ROUND, LEAST_OF_PROCESSES if name == "mcp-process" else LEAST):
        tally.take(range(task.done, task.done + size), PROCESSES)
        task.add(size)
    wrong = len(tally.wrong)
    if wrong:
        print(tally.examples(1, 2))
    return task.outcome(failed=f"{wrong:,} sessions are wrong" if wrong else "", note=str(tally))


for _name in DOORS:
    _proof = OF_PROCESSES if _name == "mcp-process" else GUARD
    row(_proof, of=_name, seconds=SECONDS.get(_name, 800), cores=PROCESSES)(partial(_play, name=_name))
