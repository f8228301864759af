"""A disk that fails at one call of an operation, or is full from then on: see `failing.fail_at` for what must hold."""

import pytest

from tests.crash.failing import FULL, Fault, fail_at, faults
from tests.crash.kills import OPERATIONS
from tests.crash.scene import trial_in

STEP = 13
"""The default suite tries every thirteenth fault; `make torture` each."""


def every_fault(folder, name):
    with trial_in(folder) as root:
        return list(faults(fail_at(root, OPERATIONS[name], None).calls))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failing_disk_loses_nothing(folder, name):
    first = list(OPERATIONS).index(name) % STEP
    for fault in every_fault(folder, name)[first::STEP]:
        with trial_in(folder) as root:
            fail_at(root, OPERATIONS[name], fault)


@pytest.mark.parametrize("kind", [FULL, "EDQUOT"])
def test_no_room_is_said_by_its_code(folder, kind):
    said = set()
    for point in range(20, 50):
        with trial_in(folder) as root:
            error = fail_at(root, OPERATIONS["add"], Fault(kind, point)).error
        if error is not None:
            said.add(error.code)
    assert said == {"no_space"}


def test_a_write_that_the_disk_does_not_confirm_is_an_error_each_time(folder):
    """That the store then writes nothing more until it is opened anew is held by `fail_at` itself."""
    syncs = [fault for fault in every_fault(folder, "add") if fault.kind == "EIO"]
    failed = set()
    for fault in syncs:
        with trial_in(folder) as root:
            run = fail_at(root, OPERATIONS["add"], fault)
        if run.failed is not None and run.failed.name == "fsync":
            assert run.error is not None
            failed.add(run.failed.number)
    assert len(failed) >= 3, "the new file, the record and the folder are waited for"
