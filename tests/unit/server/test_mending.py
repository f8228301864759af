"""A store in doubt: refused until somebody has looked, and opened again if it is whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from catmem.errors import BusyError, DamagedError, StoreError
from catmem.server.mending import Mender
from catmem.service.workspace import Workspace
from tests.end_to_end.terminal import write_root

FAULT = StoreError("the disk is full", code="no_space")


@pytest.fixture
def workspace(tmp_path):
    write_root(tmp_path)
    opened = Workspace.open(tmp_path, search=False)
    opened.add("boss", "It is written.", category="rules")
    yield opened
    opened.store.close()


def looked(workspace, *errors):
    """A mender that has heard of these, and what it began is done."""
    pool = ThreadPoolExecutor(1)
    mender = Mender(workspace, pool)
    for error in errors:
        mender.hear(error)
    pool.shutdown()
    return mender


def test_a_store_that_is_whole_is_used_again(workspace):
    looked(workspace, FAULT).refuse_doubt()
    assert workspace.add("boss", "It is written again.", category="rules").changed


@pytest.mark.parametrize("error", [BusyError("wait"), DamagedError("x"), StoreError("x", code="not_writable")])
def test_what_leaves_no_doubt_is_not_looked_at(workspace, error):
    looked(workspace, error).refuse_doubt()


def test_a_store_that_is_damaged_stays_refused(workspace):
    for segment in (workspace.root / "homes" / "boss" / ".catmem" / "journal").iterdir():
        data = segment.read_bytes()
        segment.write_bytes(data[:-20] + b"X" + data[-19:] + data)
    mender = looked(workspace, FAULT)
    with pytest.raises(StoreError) as caught:
        mender.refuse_doubt()
    assert caught.value.code == "no_space"
