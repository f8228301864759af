"""A store of each kind, for the tests of the contract."""

import pytest

from tests.store.stores import kinds


@pytest.fixture(params=kinds())
def kind(request):
    return request.param


@pytest.fixture
def store(kind, tmp_path):
    made = kind.make(tmp_path)
    yield made
    made.close()
