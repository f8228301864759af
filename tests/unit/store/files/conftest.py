"""A store on one plain file. A module that has a system of its own says so in a fixture ``system``."""

from contextlib import ExitStack, closing

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
def opened(file, system):
    """Opens a store on the file, as a new process does; each is closed in the end."""
    with ExitStack() as stores:

        def open_it(**choices):
            return stores.enter_context(closing(store_on(file, **{"system": system, **choices})))

        yield open_it


@pytest.fixture
def store(opened):
    return opened()
