"""A log that is asked for page by page."""

import pytest

from catmem.store.contract import Change

USER = "trinity/user"


@pytest.mark.parametrize("most", [0, 1, 7, 8, 9, 40, 41, 300])
def test_a_log_is_whole_wherever_its_pages_end(store, most):
    for number in range(most):
        store.commit(USER, str(number), lambda _, number=number: b"## Rules\nrule %d\n" % number, Change())
    assert [each.revision for each in store.log(USER)] == [str(number) for number in range(most, 0, -1)]
