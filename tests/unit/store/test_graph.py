"""Merge bases: how much of a long history is read for them."""

import pytest

from catmem.store.contract import Revision, merge_bases

LONG = 100_000


def revision(name, *parents):
    return Revision("neo/user", name, parents, 0, "", "put", "person", "", "", 0)


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
