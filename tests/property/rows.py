"""The long run of the two worlds that differ in what waits for a person."""

import os

import pytest

from tests.days import stand_still
from tests.property import waiting_worlds, worlds
from tests.torture import Outcome, Skip, Task, row
from tests.torture.proofs import Proof

PROOF = Proof("waiting-worlds", "what others have waiting changes no answer to a profile", 10_000, "calls")


@row(PROOF, seconds=400)
def waiting(task: Task) -> Outcome:
    """Pairs of worlds, and the same calls in both; the seeds of the default run come first."""
    try:
        from tests.property.test_two_worlds import Doors
    except pytest.skip.Exception as error:
        raise Skip(str(error)) from None
    os.environ["TZ"] = "UTC"
    with pytest.MonkeyPatch.context() as patch:
        stand_still(patch, worlds.NOW.date())
        seed = 0
        while task.asked is not None and task.done < task.asked and task.left():
            here, there = (waiting_worlds.told(seed, propose=each, make_doors=Doors) for each in (False, True))
            if here != there:
                return task.outcome(failed=f"the worlds of seed {seed} answer differently")
            task.add(len(here))
            seed += 1
    return task.outcome(note=f"{seed} pairs of worlds")
