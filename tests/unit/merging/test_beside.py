"""A branch beside the head."""

from __future__ import annotations

import pytest

from catmem.errors import DriftError, UnknownNameError, UnknownRevisionError
from catmem.merging.branches import beside
from catmem.store.contract import Change
from tests.roots import make_root, put_bytes

PROFILES = {"neo": "tier: 1\nuser_memory_categories: ['*']\n"}
BASE = "## Talk\nAlpha one two three.\n§\nBeta one two three.\n§\nGamma one two three.\n"


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path, profiles=PROFILES)


def branched(workspace, head, branch, base=BASE):
    """The texts of the two sides, made on `base`; the comparison."""
    seen = put_bytes(workspace, "neo/user", base)
    put_bytes(workspace, "neo/user", head)
    made = workspace.store.commit("neo/user", seen, lambda _: branch.encode(), Change(on_stale="branch"))
    return beside(workspace, "neo", made.revision)


def test_a_branch_that_was_merged_is_not_open(workspace):
    found = branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    assert (found.revision.revision, found.head, found.base, found.possible) == ("2a", "2", "1", True)
    assert found.is_open
    workspace.merge("neo")
    assert not beside(workspace, "neo/user", found.revision.revision).is_open


def test_what_is_no_branch_is_not_there(workspace):
    branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    for name in ("2", "9a", "", "../1"):
        with pytest.raises(UnknownRevisionError):
            beside(workspace, "neo/user", name)
    with pytest.raises(UnknownNameError):
        beside(workspace, "nobody", "2a")


def test_bytes_that_are_no_text_cannot_be_compared(workspace):
    with pytest.raises(DriftError):
        branched(workspace, b"\xff\xfe", BASE.replace("Beta", "Bet"))
