"""The long run of the stateful tests, one row a store."""

from functools import partial

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.machine import machine_of
from tests.store.stores import Kind, named
from tests.torture import Outcome, Skip, Task, row

MOST, STEPS_EACH = 2_000, 50

AT_ONCE = settings(
    stateful_step_count=STEPS_EACH,
    deadline=None,
    database=None,
    derandomize=False,
    phases=[Phase.generate],  # a failure is found again, and made small, by tests/stateful/test_stateful.py
    suppress_health_check=list(HealthCheck),
)


SECONDS = {"memory": 10, "files": 40, "sqlite": 40, "postgresql": 250}
"""What each store takes: that in memory, that on files with outsiders, and two in turn on each database."""


def _run(kind: Kind, task: Task) -> Outcome:
    if kind.missing:
        raise Skip(kind.missing)
    machine = machine_of(kind)
    for size in task.rounds(MOST, STEPS_EACH):
        before = machine.steps
        run_state_machine_as_test(machine, settings=settings(AT_ONCE, max_examples=-(-size // STEPS_EACH)))
        task.add(machine.steps - before)
    return task.outcome(note="every answer was the model's")


for name, seconds in SECONDS.items():
    row("stateful", of=name, seconds=seconds)(partial(_run, named(name)))
