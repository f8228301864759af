"""Cases that run as one test: each is run, and each that fails is told by its name."""

import pytest

from tests.together import together


def notes(caught):
    return [error.__notes__ for error in caught.value.exceptions]


def test_every_case_is_run_and_those_that_fail_are_named():
    seen = []

    @together(("one", "other"), [(1, 2), pytest.param(3, 3, id="same"), (5, 5)])
    def differ(one, other):
        seen.append(one)
        assert one != other

    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as caught:
        differ()
    assert seen == [1, 3, 5]
    assert notes(caught) == [["in the case 'same'"], ["in the case '2: 5, 5'"]]


def test_what_pytest_itself_raises_fails_the_case():
    @together("act", [lambda: 1, lambda: pytest.skip("no")], ids=["quiet", "skipped"])
    def raises(act):
        with pytest.raises(ValueError, match="x"):
            act()

    with pytest.raises(ExceptionGroup) as caught:
        raises()
    assert notes(caught) == [["in the case 'quiet'"], ["in the case 'skipped'"]]
