"""The history on the page: an old revision again, and what others wrote taken over or put back."""

import pytest

from tests.golden.case import put
from tests.roots import put_bytes, text_of
from tests.unit.server.page.changing import root
from tests.unit.server.page.forms import read, refused, sent, shown

FIRST = "## Talk\none\n"
SECOND = "## Talk\none\n§\ntwo\n"
BY_HAND = "## Talk\none\n§\ntwo\n§\nby hand\n"
OLD = "/page/history/neo/user/1"
NOW = "/page/history/neo/user/now"
DONE = "/page/history/neo/user?did=neo/user@"


@pytest.fixture
def workspace(tmp_path):
    """Two revisions."""
    workspace = root(tmp_path, text=FIRST)
    put_bytes(workspace, "neo/user", SECOND)
    return workspace


@pytest.fixture
def edited(workspace, browse):
    """A root in files that somebody edited by other means."""
    edit(workspace, BY_HAND)
    return workspace, browse(workspace)


def edit(workspace, text):
    workspace.path("neo", "user").write_text(text, encoding="utf-8")


def revisions(workspace):
    return [(each.revision, each.op, each.agent) for each in workspace.store.log("neo/user")]


# --- an old revision ------------------------------------------------------------------------------------------------


def test_two_revisions_are_compared_as_chosen(client, workspace):
    workspace.add("neo", "came later", category="talk")
    form = shown(client, "/page/history/neo/user").named("Compare")
    assert form["method"] == "get"
    page = read(client, f"{form['action']}?since=1&to=2")
    assert "From revision 1 to revision 2: 2 lines added, 0 removed" in page.text
    for unknown in ("since=1&to=99", "since=99&to=1"):
        assert client.get(f"{form['action']}?{unknown}").status_code == 404


def test_what_restoring_changes_is_shown_and_then_done(client, workspace):
    assert "What restoring revision 1 changes now: 0 lines added, 2 removed" in read(client, OLD).text
    answer = sent(client, shown(client, OLD).named("Restore revision 1"))
    assert answer.headers["location"] == f"{DONE}3"
    assert (text_of(workspace), revisions(workspace)[0]) == (FIRST, ("3", "restore", "person"))


def test_a_restore_that_was_undone_is_no_success_when_it_is_sent_again(client, workspace):
    restoring = shown(client, OLD).named("Restore revision 1")
    sent(client, shown(client, sent(client, restoring).headers["location"]).named("Undo"))
    page, forms = refused(sent(client, restoring))
    assert "This form was sent before, and wrote revision 3" in page.text
    assert text_of(workspace) == SECOND
    assert sent(client, forms.named("Restore it")).status_code == 303
    assert text_of(workspace) == FIRST


def test_where_somebody_wrote_meanwhile_the_difference_is_shown_and_the_second_send_writes(client, workspace):
    form = shown(client, OLD).named("Restore revision 1")
    workspace.add("neo", "came in between", category="talk")
    page, forms = refused(sent(client, form))
    assert text_of(workspace) != FIRST
    assert "came in between" in page.text
    assert sent(client, forms.named("Restore it")).status_code == 303
    assert text_of(workspace) == FIRST


# --- what others wrote ----------------------------------------------------------------------------------------------


def test_an_edit_from_outside_is_taken_over_as_it_is(edited):
    workspace, client = edited
    form = shown(client, NOW).named("Take it over")
    assert [sent(client, form).headers["location"] for _ in range(2)] == [f"{DONE}4"] * 2
    assert text_of(workspace) == BY_HAND
    # The second revision says that a person has seen it, so that nobody is told of it again.
    assert revisions(workspace)[:2] == [("4", "adopt", "person"), ("3", "adopt", "external")]


def test_an_edit_from_outside_is_put_back_and_stays_in_the_history(edited):
    workspace, client = edited
    answer = sent(client, shown(client, NOW).named("Put revision 2 back"))
    assert answer.headers["location"] == f"{DONE}4"
    assert text_of(workspace) == SECOND
    assert [each[:2] for each in revisions(workspace)[:2]] == [("4", "restore"), ("3", "adopt")]
    assert workspace.store.read("neo/user", "3").data.decode() == BY_HAND


@pytest.mark.parametrize("button", ["Take it over", "Put revision 2 back"])
def test_another_edit_meanwhile_is_shown_first(edited, button):
    workspace, client = edited
    form = shown(client, NOW).named(button)
    edit(workspace, BY_HAND + "§\nand more\n")
    page, _ = refused(sent(client, form))
    assert "and more" in page.text
    assert text_of(workspace).endswith("and more\n")


def test_bytes_that_are_no_text_can_be_put_back(edited):
    workspace, client = edited
    workspace.path("neo", "user").write_bytes(b"\xff\xfe")
    sent(client, shown(client, NOW).named("Put revision 2 back"))
    assert text_of(workspace) == SECOND


def test_a_file_without_a_history_gets_one(tmp_path, browse):
    workspace = root(tmp_path, text="")
    put(tmp_path / "homes" / "neo" / "USER.md", FIRST)
    client = browse(workspace)
    sent(client, shown(client, NOW).named("Record it"))
    assert (text_of(workspace), revisions(workspace)) == (FIRST, [("1", "adopt", "external")])
