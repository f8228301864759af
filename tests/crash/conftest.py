"""A folder where waiting for the disk takes no time."""

import pytest

from tests.crash.scene import quick_folder


@pytest.fixture
def folder(tmp_path):
    with quick_folder(tmp_path) as made:
        yield made
