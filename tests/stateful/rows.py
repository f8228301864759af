"""The long run of the stateful tests, one row a store."""

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


def _run(task: Task, kind: Kind) -> Outcome:
    if kind.missing:
        raise Skip(kind.missing)
    machine = machine_of(kind)
    for size in task.rounds(MOST, STEPS_EACH):
        before = machine.steps
        run_state_machine_as_test(machine, settings=settings(AT_ONCE, max_examples=-(-size // STEPS_EACH)))
        task.add(machine.steps - before)
    return task.outcome(note="every answer was the model's")


@row("stateful", of="memory", seconds=10)
def memory(task: Task) -> Outcome:
    """The store in memory."""
    return _run(task, named("memory"))


@row("stateful", of="files", seconds=40)
def files(task: Task) -> Outcome:
    """The file store, two of them in turn, with outsiders."""
    return _run(task, named("files"))


@row("stateful", of="sqlite", seconds=40)
def sqlite(task: Task) -> Outcome:
    """The SQL store on SQLite, two of them in turn."""
    return _run(task, named("sqlite"))


@row("stateful", of="postgresql", seconds=250)
def postgresql(task: Task) -> Outcome:
    """The SQL store on PostgreSQL, two of them in turn."""
    return _run(task, named("postgresql"))
