"""A root for tests of the command line."""

import pytest

from tests.end_to_end.terminal import write_root


@pytest.fixture
def user(tmp_path, monkeypatch):
    """The USER.md of neo in a new root, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return write_root(tmp_path)
