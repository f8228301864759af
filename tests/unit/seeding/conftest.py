import pytest

from tests.unit.seeding.seeds import seed_root


@pytest.fixture
def workspace(tmp_path):
    return seed_root(tmp_path)
