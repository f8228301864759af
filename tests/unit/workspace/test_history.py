"""The way back: an old revision again, once under one op_id; and what others wrote, taken into the history."""

from __future__ import annotations

import pytest

from catmem.errors import OperationCollisionError, RefusedError
from catmem.workspace import history
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

TEXT = "## Talk\none\n"
BY_HAND = "## Talk\none\n§\nby hand\n"


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "store: sqlite:///memory.db\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    opened = Workspace.open(tmp_path, search=False)
    opened.store.commit("neo/user", None, lambda _: TEXT.encode(), history.Change())  # type: ignore[attr-defined]
    opened.add("neo", "two", category="talk")
    yield opened
    opened.store.close()


@pytest.fixture
def edited(tmp_path):
    """A root in files, with a revision and an edit by other means behind it."""
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    opened = Workspace.open(tmp_path, search=False)
    opened.store.commit("neo/user", None, lambda _: TEXT.encode(), history.Change())  # type: ignore[attr-defined]
    opened.path("neo", "user").write_text(BY_HAND, encoding="utf-8")
    yield opened
    opened.store.close()


def revisions(workspace):
    return [(each.revision, each.op, each.agent) for each in workspace.store.log("neo/user")]


def test_a_restore_under_one_op_id_is_made_once(workspace):
    first, again = (history.restore(workspace, "neo", "1", expected=2, op_id="once") for _ in range(2))
    assert (first.revision, again.revision) == ("3", "3")
    assert (first.repeated, again.repeated) == (False, True)
    assert revisions(workspace)[0] == ("3", "restore", "person")


def test_an_op_id_stands_for_one_revision_to_restore(workspace):
    history.restore(workspace, "neo", "1", op_id="once")
    with pytest.raises(OperationCollisionError):
        history.restore(workspace, "neo", "2", op_id="once")


def test_what_others_wrote_is_taken_into_the_history_as_it_is(edited):
    seen = edited.store.read("neo/user").digest
    assert [history.adopt(edited, "neo", expected=seen) for _ in range(2)] == ["2", "2"]
    assert edited.store.peek("neo/user").decode() == BY_HAND
    assert revisions(edited)[0] == ("2", "adopt", "external")


def test_what_came_after_the_look_is_not_taken_for_what_was_seen(edited):
    seen = edited.store.read("neo/user").digest
    edited.path("neo", "user").write_text(BY_HAND + "§\nlater\n", encoding="utf-8")
    with pytest.raises(RefusedError):
        history.adopt(edited, "neo", expected=seen)


def test_the_last_revision_can_be_put_back_over_what_others_wrote(edited):
    seen = edited.store.read("neo/user").digest
    written = history.restore(edited, "neo", "1", expected=seen)
    assert (written.revision, written.adopted, written.after) == ("3", "2", TEXT)
    with pytest.raises(RefusedError):
        history.restore(edited, "neo", "1", expected=seen)


def test_adopting_what_is_recorded_already_changes_nothing(workspace):
    assert history.adopt(workspace, "neo", expected=2) == "2"
    assert len(revisions(workspace)) == 2
