"""Merge bases: the shapes that people know by name, and how much of a long history is read for them."""

from __future__ import annotations

import pytest

from catmem.store.contract import Revision
from catmem.store.graph import merge_bases

LONG = 100_000


def revision(name, *parents):
    return Revision("neo/user", name, parents, 0, "", "put", "person", "", "", 0)


def line(*rows):
    """A log of ``name: parents``, given from the oldest on."""
    made = []
    for row in rows:
        name, _, parents = row.partition(":")
        made.append(revision(name, *parents.split()))
    return made[::-1]


@pytest.mark.parametrize(
    ("rows", "one", "other", "bases"),
    [
        pytest.param(["1", "2:1", "2a:1"], "2", "2a", ["1"], id="a branch"),
        pytest.param(["1", "2:1", "3:2"], "3", "1", ["1"], id="an ancestor"),
        pytest.param(["1", "2:1"], "2", "2", ["2"], id="itself"),
        pytest.param(["1", "1a"], "1", "1a", [], id="nothing in common"),
        pytest.param(["1", "2:1", "2a:1", "3:2 2a", "3a:2a"], "3", "3a", ["2a"], id="merged before"),
        pytest.param(["1", "2:1", "2a:1", "3:2 2a", "3a:2a 2"], "3", "3a", ["2a", "2"], id="criss-cross"),
        pytest.param(
            ["1", "2:1", "3:2", "3a:2", "2a:1", "4:3 2a", "4a:3a 2a"], "4", "4a", ["2a", "2"], id="of two ages"
        ),
    ],
)
def test_merge_bases(rows, one, other, bases):
    assert merge_bases(line(*rows), one, other) == bases


def counted(log, read):
    for each in log:
        read.append(each.revision)
        yield each


@pytest.mark.parametrize("distance", [1, 10, 1_000])
@pytest.mark.parametrize("length", [2_000, LONG])
def test_the_cost_is_that_of_the_distance_and_not_of_the_history(length, distance):
    seen = length - distance
    log = [revision(f"{seen + 1}a", str(seen))]
    log += [revision(str(number), str(number - 1)) for number in range(length, 1, -1)]
    read: list[str] = []
    assert merge_bases(counted(log, read), str(length), f"{seen + 1}a") == [str(seen)]
    assert len(read) == distance + 3  # the branch, the line down to the base, and one more that is not looked at
