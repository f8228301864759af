"""A served root for each test of the API."""

import pytest

from tests.http_root import served_root


@pytest.fixture
def served(tmp_path):
    """A root that is served, of which ``neo`` has a file that no history has yet."""
    yield from served_root(tmp_path)


@pytest.fixture
def person(served):
    return served.client()


@pytest.fixture
def neo(served):
    return served.client("neo")


@pytest.fixture
def boss(served):
    """A profile of tier 1."""
    return served.client("boss")
