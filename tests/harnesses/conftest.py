import pytest

from tests.harnesses.homes import home_of


@pytest.fixture
def home(tmp_path):
    with home_of(tmp_path) as found:
        yield found
