"""An old revision again, once under one op_id. What others wrote is taken over or put back in server/page/test_history.py."""

import pytest

from catmem.errors import OperationCollisionError
from catmem.workspace import history
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

TEXT = "## Talk\none\n"


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "store: sqlite:///memory.db\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    opened = Workspace.open(tmp_path, search=False)
    opened.store.commit("neo/user", None, lambda _: TEXT.encode(), history.Change())  # type: ignore[attr-defined]
    opened.add("neo", "two", category="talk")
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


def test_adopting_what_is_recorded_already_changes_nothing(workspace):
    assert history.adopt(workspace, "neo", expected=2) == "2"
    assert len(revisions(workspace)) == 2
