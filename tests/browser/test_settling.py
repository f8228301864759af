"""Branches, old revisions, outside edits and seeds: looked at and settled in a browser."""

from __future__ import annotations

import pytest

from tests.browser.serving import opened
from tests.browser.window import NARROW, WIDE

CONFLICT, PLAIN = "/page/branches/neo/user/3a", "/page/branches/neo/user/3b"
HEAD, BRANCH = "Never schedule calls before half past ten.", "Never schedule calls before nine."


def send(window, name, status=200):
    with window.turning(status):
        window.click(window.button(name))


def added(window):
    """The lines that a diff of the page adds."""
    return "\n".join(each.text for each in window.all("tr.new"))


def merge(window, status=200):
    """Where the result is shown, a button stands below it and another at the end."""
    with window.turning(status):
        window.click(window.find("#settle .main-button"))


def told(window):
    return window.find(".note-done").text


def choose(window, label):
    (choice,) = [each for each in window.all("label.choice") if each.text == label]
    window.click(choice)


def look_over(window, name):
    """Open to everybody, wide and narrow, in light and in dark."""
    for width, colours in [(WIDE, "light"), (NARROW, "dark")]:
        window.look(width, colours)
        assert window.barriers() == []
        assert window.run("return document.documentElement.scrollWidth") <= width
        window.shot(f"{name}-{width}-{colours}")
    window.look()


# --- branches --------------------------------------------------------------------------------------------------------


def test_a_branch_that_merges_by_itself_is_one_button(window, server):
    window.open("/page/branches")
    with window.turning():
        window.click(window.button("neo/user 3b"))
    assert "Likes green charts." in added(window)
    merge(window)
    assert told(window).startswith("Merged 3b")
    assert "Likes green charts." in server.text()


@pytest.mark.parametrize(
    ("label", "there", "gone"),
    [
        ("Keep what the head says", [HEAD], [BRANCH]),
        ("Take what the branch says", [BRANCH], [HEAD]),
        ("Keep both, one after the other", [HEAD, BRANCH], []),
    ],
)
def test_a_conflict_is_decided_side_by_side(window, server, label, there, gone):
    window.open(CONFLICT)
    sides = [each.text for each in window.all(".pair-conflict .side")]
    assert [HEAD in sides[1], BRANCH in sides[2]] == [True, True]
    choose(window, label)
    send(window, "Show the result")
    merge(window)
    assert told(window).startswith("Merged 3a")
    text = server.text()
    assert [each for each in there if each not in text] == []
    assert [each for each in gone if each in text] == []


def test_a_conflict_is_decided_with_words_of_ones_own(window, server):
    window.open(CONFLICT)
    choose(window, "Write it anew")
    window.write(window.find(".own-words textarea"), "Never schedule calls before noon.")
    send(window, "Show the result")
    assert "before noon" in added(window)
    look_over(window, "merge-preview")
    assert HEAD in server.text()
    merge(window)
    assert "Never schedule calls before noon." in server.text()


def test_a_conflict_that_nobody_decided_is_not_merged(window, server):
    window.open(CONFLICT)
    window.click(window.button("Merge"))  # the browser asks for a choice
    assert window.address == CONFLICT
    send(window, "Show the result")
    assert "not decided yet" in window.text
    assert server.requests("POST") == [f"{CONFLICT}/preview 200"]
    assert HEAD in server.text()


def test_a_head_that_moved_meanwhile_is_shown_and_the_decision_is_kept(window, server):
    window.open(CONFLICT)
    choose(window, "Write it anew")
    window.write(window.find(".own-words textarea"), "Never schedule calls before noon.")
    with opened(server.root) as workspace:
        workspace.add("neo", "Has a new phone.", category="talk")
    merge(window, 409)
    assert "Has a new phone." in added(window)
    assert window.find(".own-words textarea").get_attribute("value") == "Never schedule calls before noon."
    look_over(window, "merge-out-of-date")
    merge(window)
    text = server.text()
    assert "Never schedule calls before noon." in text
    assert "Has a new phone." in text


def test_a_branch_is_dropped(window, server):
    before = server.text()
    window.open(CONFLICT)
    window.click(window.button("Drop this branch"))
    send(window, "Drop branch 3a")
    assert told(window).startswith("Dropped 3a")
    assert server.text() == before


# --- history ---------------------------------------------------------------------------------------------------------


def test_an_old_revision_is_restored_after_a_look_and_the_restore_is_undone(window, server):
    before = server.text()
    window.open("/page/history/neo/user")
    with window.turning():
        window.click(window.button("2"))
    assert "What restoring revision 2 changes now" in window.text
    send(window, "Restore revision 2")
    assert told(window).startswith("Revision 2 restored")
    assert "before ten." in server.text()
    send(window, "Undo")
    assert server.text() == before


@pytest.mark.parametrize(
    ("answer", "did", "is_there"),
    [("Take it over", "Taken over from outside", True), ("Put revision 1 back", "Revision 1 restored", False)],
)
def test_what_was_typed_by_hand_is_taken_over_or_put_back(window, server, answer, did, is_there):
    window.open("/page/history/neo/memory/now")
    assert "Typed by hand." in added(window)
    send(window, answer)
    assert told(window).startswith(did)
    assert ("Typed by hand." in server.text("neo/memory")) is is_there


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_a_seed_is_applied_after_its_diff(window, server):
    window.open("/page/seeds")
    with window.turning():
        window.click(window.button("pupil"))
    assert "Likes tables." in added(window)
    send(window, "Seed pupil/user")
    assert told(window).startswith("Seeded from boss")
    assert "Likes tables." in server.text("pupil/user")
    window.open("/page/seeds/pupil")
    assert "In step" in window.text
    look_over(window, "seed-in-step")


def test_a_conflict_of_a_seed_is_settled_after_a_look(window, server):
    with opened(server.root) as workspace:
        workspace.apply_seed(workspace.plan_seed("boss"))
        workspace.replace("boss", "Likes tables.", content="Likes wide tables.")
        workspace.replace("pupil", "Likes tables.", content="Likes narrow tables.")
    window.open("/page/seeds/pupil")
    look_over(window, "seed-conflict")
    send(window, "Take what boss says")
    assert "Likes wide tables." in added(window)
    send(window, "Seed pupil/user")
    assert "Likes wide tables." in server.text("pupil/user")
