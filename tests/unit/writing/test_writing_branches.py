"""Branch mode: a write on an older revision is kept beside the head, and its answer says so."""

import json
from datetime import date

import pytest

from catmem.errors import NoMatchError, OperationCollisionError, StaleError
from catmem.jsonable import jsonable
from catmem.ops.memory_tool import memory_tool
from catmem.writing.drift_guard import ToolSession
from tests.roots import make_root, put_bytes

DAY = date(2026, 5, 1)
PROFILES = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}
OLD = "## Talk\nshort answers\n§\nno calls\n\n## Pay\nsecret\n"
NEW = OLD.replace("secret", "another secret").replace("short", "long")


@pytest.fixture
def workspace(tmp_path):
    """neo/user at revision 2, of a root in branch mode."""
    made = make_root(tmp_path, config="on_stale: branch\n", profiles=PROFILES, files={"neo/user": OLD})
    put_bytes(made, "neo/user", NEW)
    return made


def recorded(workspace):
    return [(each.revision, each.parents) for each in workspace.store.log("neo/user")]


def test_a_call_may_ask_for_it_and_may_ask_for_a_refusal(workspace, tmp_path):
    with pytest.raises(StaleError):
        workspace.add("neo", "one", category="talk", expected=1, on_stale="refuse")
    strict = make_root(tmp_path / "strict", profiles=PROFILES, files={"neo/user": OLD})
    put_bytes(strict, "neo/user", NEW)
    with pytest.raises(StaleError):
        strict.add("neo", "one", category="talk", expected=1)
    assert strict.add("neo", "one", category="talk", expected=1, on_stale="branch").branch


def test_a_retry_gives_the_first_answer_again(workspace):
    first = workspace.add("neo", "one", category="talk", expected=1, op_id="a")
    again = workspace.add("neo", "one", category="talk", expected=1, op_id="a")
    assert (again.revision, again.branch, again.repeated, again.after) == ("2a", True, True, first.after)
    assert again.notes[-1] == first.notes[-1]
    assert len(recorded(workspace)) == 3
    with pytest.raises(OperationCollisionError):
        workspace.add("neo", "two", category="talk", expected=1, op_id="a")


@pytest.mark.parametrize("dry_run", [False, True])
def test_merging_by_entry_comes_before_branching(workspace, dry_run):
    written = workspace.replace("neo", "no calls", "calls", expected=1, on_drift="merge", dry_run=dry_run)
    assert not written.branch
    assert written.after == NEW.replace("no calls", "calls")


# --- what a profile learns ---


def test_a_branch_tells_a_profile_nothing_of_the_head(workspace):
    other = put_bytes(workspace, "neo/user", NEW + "§\nmore\n")
    written = workspace.replace("neo", "no calls", "calls", expected=1, actor="neo")
    said = json.dumps(jsonable(written), ensure_ascii=False)
    assert written.revision == "2a"
    assert f'"{other}"' not in said
    assert "another" not in said
    with pytest.raises(NoMatchError) as caught:
        workspace.replace("neo", "long answers", "none", expected=1, actor="neo")
    assert "long" not in str(caught.value.hint)


def test_the_memory_tool_says_that_it_is_a_branch_and_goes_on_from_it(workspace):
    session = ToolSession()
    asked = {"action": "add", "category": "talk", "content": "likes tea"}
    answer = memory_tool(workspace, "neo", {**asked, "expected": "1"}, session=session)
    assert (answer["success"], answer["revision"], answer["branch"]) == (True, "2a", True)
    assert "kept as branch 2a" in answer["message"]
    more = memory_tool(workspace, "neo", {**asked, "content": "likes milk", "expected": "2a"}, session=session)
    assert (more["revision"], more["branch"]) == ("3a", True)
    listed = memory_tool(workspace, "neo", {"action": "list"}, session=session)
    assert "likes tea" not in json.dumps(listed)
    assert "branch" not in memory_tool(workspace, "neo", {**asked, "content": "likes rum"}, session=session)
