"""A store on one plain file. A module that has a system of its own says so in a fixture ``system``."""

import pytest

from catmem.store.files.system import System
from tests.unit.store.one_file import store_on


@pytest.fixture
def file(tmp_path):
    return tmp_path / "USER.md"


@pytest.fixture
def system():
    return System()


@pytest.fixture
def store(file, system):
    opened = store_on(file, system=system)
    yield opened
    opened.close()
