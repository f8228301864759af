"""A process of a simulation: ``python -m catmem.service.simulating.worker``.

Reads its job, a JSON object, from the first line of standard input, says ``ready``, starts when that input ends, and
prints what its agents were told, a JSON object a line.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

from catmem.service.simulating.agent import Agent
from catmem.service.simulating.places import open_stores
from catmem.service.simulating.plan import Trial

if TYPE_CHECKING:
    from catmem.service.simulating.agent import Told


def main() -> None:
    """Run one process."""
    job = json.loads(sys.stdin.readline())
    trial, guard = Trial(**job["trial"]), job["guard"]
    with open_stores(job["root"], job["stores"]) as stores:
        for entity in trial.entity_names():
            stores.of(entity).read(entity)  # opens the connection
        print("ready", flush=True)  # noqa: T201 - the answer to the process that started this one
        sys.stdin.read()
        told: list[Told] = []
        failed: list[BaseException] = []

        def run(agent: Agent) -> None:
            try:
                told.append(agent.run())
            except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that counts
                failed.append(error)

        team = [Agent(name, trial.steps(name), stores.of, guard) for name in trial.team(job["process"])]
        threads = [threading.Thread(target=run, args=(agent,)) for agent in team]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    for each in told:
        print(json.dumps(each.to_dict()))  # noqa: T201 - see above


if __name__ == "__main__":
    main()
