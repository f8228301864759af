"""The same proofs on platforms that have no leases, no exchange of names, or neither, less the named weaknesses."""

import pytest

from tests.crash.failing import fail_at, faults
from tests.crash.fallbacks import WITHOUT, is_named_weakness, kinds, operations, without
from tests.crash.interleavings import one_deep
from tests.crash.kills import OPERATIONS, every_kill, kill_at
from tests.crash.scene import trial_in


@pytest.mark.parametrize(("names", "kind"), [(names, kind) for names in WITHOUT for kind in kinds(names)])
def test_one_outsider_loses_nothing(folder, names, kind):
    tried = one_deep(
        folder, "a file", kind, first=len(kind) % 10, step=10, under=without(names), spare=is_named_weakness
    )
    assert sum(1 for _ in tried) > 4


@pytest.mark.parametrize(("names", "name"), [(names, name) for names in WITHOUT for name in operations(names)])
def test_nothing_is_lost_by_a_kill(folder, names, name):
    operation = OPERATIONS[name]
    for kill in every_kill(folder, operation)[len(name) % 19 :: 19]:
        with trial_in(folder) as root:
            kill_at(root, operation, kill, under=without(names))


@pytest.mark.parametrize("names", WITHOUT)
@pytest.mark.parametrize("name", ["add", "add that meets a new file"])
def test_nothing_is_lost_by_a_failing_disk(folder, names, name):
    operation = OPERATIONS[name]
    with trial_in(folder) as root:
        there = list(faults(fail_at(root, operation, None, under=without(names)).calls))
    for fault in there[len(names) % 11 :: 11]:
        with trial_in(folder) as root:
            fail_at(root, operation, fault, under=without(names))
