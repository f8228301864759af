"""The long run of the stateful tests, one row a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.machine import machine_of
from tests.store.stores import named
from tests.torture import Outcome, Skip, Task, row

if TYPE_CHECKING:
    from tests.store.stores import Kind

AT_ONCE = settings(
    max_examples=40,
    stateful_step_count=50,
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
    while task.left() and machine.steps < (task.asked or 0):
        run_state_machine_as_test(machine, settings=AT_ONCE)
    return Outcome(machine.steps, note="every answer was the model's")


@row("stateful", of="memory", seconds=10)
def memory(task: Task) -> Outcome:
    """The store in memory."""
    return _run(task, named("memory"))


@row("stateful", of="files", seconds=40)
def files(task: Task) -> Outcome:
    """The file store, two of them in turn, with outsiders."""
    return _run(task, named("files"))


@row("stateful", of="sqlite", seconds=60)
def sqlite(task: Task) -> Outcome:
    """The SQL store on SQLite, two of them in turn."""
    return _run(task, named("sqlite"))


@row("stateful", of="postgresql", seconds=60)
def postgresql(task: Task) -> Outcome:
    """The SQL store on PostgreSQL, two of them in turn."""
    return _run(task, named("postgresql"))
