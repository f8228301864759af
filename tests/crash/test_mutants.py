"""The checks of this folder see what they are for: each of twelve wrong protocols is caught, and the right one is not."""

import pytest

from tests.crash.mutants import MUTANTS, Protocol

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_protocol_is_caught(folder, name):
    mutant = MUTANTS[name]
    with pytest.raises(AssertionError):
        mutant.check(folder, mutant.protocol)


@pytest.mark.parametrize(
    "check", dict.fromkeys(mutant.check for mutant in MUTANTS.values()), ids=lambda each: each.__name__
)
def test_the_right_protocol_is_not(folder, check):
    check(folder, Protocol())


def test_there_are_twelve():
    assert len(MUTANTS) == 12
