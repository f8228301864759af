"""Branches, old revisions, outside edits and seeds: looked at and settled in a browser."""

import pytest

CONFLICT, PLAIN = "/page/branches/neo/user/3a", "/page/branches/neo/user/3b"
HEAD, BRANCH = "Never schedule calls before half past ten.", "Never schedule calls before nine o'clock."


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


# --- branches --------------------------------------------------------------------------------------------------------


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
    window.look_over("merge-preview")
    assert HEAD in server.text()
    merge(window)
    assert "Never schedule calls before noon." in server.text()
