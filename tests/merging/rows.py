"""The long run of the merges by script."""

from tests.merging.count import wrong_with
from tests.merging.oracle import GRAVE
from tests.torture import Outcome, Task, row


@row("merges", seconds=60)
def by_script(task: Task) -> Outcome:
    """Scenes of edits of which each is known; a merge each way round and one for each winner."""
    wrong = [seed for seed in task.steps() if any(mistake.kind in GRAVE for mistake in wrong_with(seed))]
    first = f"python -m tests.merging.count --merges 1 --seed {wrong[0]}" if wrong else ""
    return task.outcome(failed=f"{len(wrong)} scenes are merged wrong; see {first}" if wrong else "")
