"""Proposals in a real browser: by ticks and keys, in the words of a person, without a script, and taken back."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.serving import opened
from tests.browser.window import NARROW, WIDE

QUEUE = "/proposals"


def waiting(server):
    with opened(server.root) as workspace:
        return [(each.id, each.state) for each in workspace.proposals()]


def test_all_with_keys_and_back(window, server):
    before = server.text()
    window.open(QUEUE)
    assert not window.find("#ticked").is_displayed()
    window.press("j", "t", "j", "t")
    assert len(window.all(".tick :checked")) == 2
    assert window.find("#ticked").is_displayed()
    window.shot("proposals-ticked")
    with window.turning():
        window.press("a")
    assert "Nothing waits" in window.text
    assert "with **one** name" in server.text()
    assert window.find(".note-done").text.count("Proposed by neo, approved") == 2
    # One after the other, as far as nothing came after it.
    with window.turning():
        window.click(window.button("Undo"))
    assert server.text() != before
    assert waiting(server) == []


@pytest.mark.parametrize("width", [WIDE, 390, NARROW])
def test_what_is_ticked_is_rejected_for_a_reason(window, server, width):
    window.look(width)
    window.open(QUEUE)
    window.click(window.find(".tick input"))
    window.find("#ticked [name='reason']").send_keys("Not true.")
    assert window.run("return document.documentElement.scrollWidth") <= width
    window.run("scrollTo(0, document.body.scrollHeight)")  # where what can be done lies over no proposal
    assert window.barriers() == []
    (name, _), *rest = waiting(server)
    with window.turning():
        window.find("#ticked [name='reason']").send_keys(Keys.ENTER)
    assert waiting(server) == rest
    with opened(server.root) as workspace:
        assert workspace.proposal(name).decision.reason == "Not true."


def test_in_the_words_of_a_person_without_a_script(window, server):
    with window.without_javascript():
        window.open(QUEUE)
        window.find("article.entry a[data-key='e']").click()
        window.wait(lambda: window.all("#content"))
        window.write(window.find("#content"), "Signs mail with two names.")
        window.button("Approve").click()
        window.wait(lambda: window.all(".note-done"))
    assert "Signs mail with two names." in server.text()
    assert len(waiting(server)) == 1


def test_three_sides_of_a_stale_one(window, server):
    with opened(server.root) as workspace:
        workspace.replace("neo", "Signs mail", content="Signs mail with a drawing.")
    ((name, _),) = [each for each in waiting(server) if each[1] == "stale"]
    for width in (WIDE, 390):
        window.look(width)
        window.open(f"{QUEUE}/{name}")
        assert [each.text for each in window.all(".side h3")] == ["Before", "Proposed", "Now"]
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert window.barriers() == []
        window.shot(f"proposal-stale-{width}")
