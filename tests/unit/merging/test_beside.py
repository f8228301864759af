"""A branch, the head and what both come from, entry by entry."""

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


def told(found):
    bodies = [[None if side is None else side.body for side in pair[1:4]] for pair in found.pairs]
    return [(pair.outcome, *sides) for pair, sides in zip(found.pairs, bodies, strict=True)]


ONE, TWO, THREE = "Alpha one two three.", "Beta one two three.", "Gamma one two three."


@pytest.mark.parametrize(
    ("head", "branch", "pairs"),
    [
        (BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"), [("head", ONE, "Alef one two three.", ONE), ("branch", TWO, TWO, "Bet one two three.")]),
        (BASE.replace("Alpha", "Alef"), BASE.replace("Alpha", "Aleph"), [("conflict", ONE, "Alef one two three.", "Aleph one two three.")]),
        (BASE.replace("Alpha", "Alef"), BASE.replace(f"{ONE}\n§\n", ""), [("conflict", ONE, "Alef one two three.", None)]),
        (BASE + "§\nNew here.\n", BASE + "§\nOther words there.\n", [("head", None, "New here.", None), ("branch", None, None, "Other words there.")]),
        (BASE + "§\nNew.\n§\nMine.\n", BASE + "§\nNew.\n", [("same", None, "New.", "New."), ("head", None, "Mine.", None)]),
        (BASE.replace(f"{ONE}\n§\n", ""), BASE.replace(f"{ONE}\n§\n", "") + "§\nNew.\n", [("same", ONE, None, None), ("branch", None, None, "New.")]),
        (BASE.replace("Alpha", "[a: 1] Alpha"), BASE.replace("Alpha", "[b: 2] Alpha"), [("both", ONE, ONE, ONE)]),
    ],
)  # fmt: skip
def test_entries_that_differ_stand_side_by_side(workspace, head, branch, pairs):
    assert told(branched(workspace, head, branch)) == pairs


def test_what_nobody_touched_is_counted(workspace):
    found = branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    assert (found.untouched, found.conflicts, found.head, found.base) == (1, 0, "2", "1")


def test_conflicts_stand_in_front_and_say_why(workspace):
    found = branched(
        workspace, BASE.replace("Alpha", "Alef").replace("Gamma", "Gimel"), BASE.replace("Gamma", "Gimmel")
    )
    assert [(pair.outcome, pair.reason) for pair in found.pairs] == [("conflict", "body"), ("head", None)]
    assert found.conflicts == 1


def test_conflicts_are_those_that_a_merge_has(workspace):
    found = branched(workspace, BASE.replace("one", "uno"), BASE.replace("one", "un"))
    assert found.conflicts == workspace.branches("neo")[0].conflicts == 3
    assert len(found.pairs) == 3


def test_a_branch_that_was_merged_is_not_open(workspace):
    found = branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    assert found.is_open
    workspace.merge("neo")
    assert not beside(workspace, "neo/user", found.revision.revision).is_open


def test_looking_writes_nothing(workspace):
    found = branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    before = [each.revision for each in workspace.store.log("neo/user")]
    beside(workspace, "neo/user", found.revision.revision)
    assert [each.revision for each in workspace.store.log("neo/user")] == before


def test_the_comparison_is_data_for_programs(workspace):
    told = branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Alpha", "Aleph")).to_dict()
    assert told["pairs"] == [
        {"outcome": "conflict", "reason": "body", "category": "talk", "base": ONE, "head": "Alef one two three.", "branch": "Aleph one two three."}
    ]  # fmt: skip
    assert (told["entity"], told["branch"], told["conflicts"]) == ("neo/user", "2a", 1)


@pytest.mark.parametrize("name", ["2", "9a", "", "../1"])
def test_what_is_no_branch_is_not_there(workspace, name):
    branched(workspace, BASE.replace("Alpha", "Alef"), BASE.replace("Beta", "Bet"))
    with pytest.raises(UnknownRevisionError):
        beside(workspace, "neo/user", name)


def test_a_profile_that_there_is_not_has_no_branch(workspace):
    with pytest.raises(UnknownNameError):
        beside(workspace, "nobody", "2a")


def test_bytes_that_are_no_text_cannot_be_compared(workspace):
    with pytest.raises(DriftError):
        branched(workspace, b"\xff\xfe", BASE.replace("Beta", "Bet"))
