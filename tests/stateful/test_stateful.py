"""Each store against the model: 250 steps, 10,000 with HYPOTHESIS_PROFILE=thorough and in `make torture`."""

import os

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.machine import machine_of
from tests.store.stores import kinds

STEPS = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 250
STEPS_EACH = 30


@pytest.mark.parametrize("kind", kinds())
def test_a_store_does_what_the_model_does(kind):
    machine = machine_of(kind)
    examples = STEPS // 15  # twice as many as would do if none ended early
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=STEPS_EACH))
    assert machine.steps >= STEPS
