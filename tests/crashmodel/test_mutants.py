"""Each of twelve broken protocols is caught by a check that the protocol itself passes."""

from __future__ import annotations

import pytest

from tests.crashmodel.mutants import MUTANTS, SOUND

CHECKS = {mutant.caught_by.__name__: mutant.caught_by for mutant in MUTANTS.values()}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_protocol_passes(tmp_path, name):
    CHECKS[name](tmp_path, SOUND)


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_mutant_is_caught(tmp_path, name):
    mutant = MUTANTS[name]
    with pytest.raises(AssertionError):
        mutant.caught_by(tmp_path, mutant.way)
