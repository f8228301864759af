"""Tidy and promote by a person: at any width, by keyboard, without JavaScript, and with nothing over a row."""

from contextlib import nullcontext

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.serving import make_root, opened, serving
from tests.golden.case import put

FLAT = """\
## Notes
Prefers short answers in chat.
§
In chat, prefers short answers
§
Deploys on Fridays are fine.
§
Never deploy on Friday.
"""
LEARNED = [f"Fact number {number} that only the pupil has learned so far." for number in range(12)]
SCREENS = {"tidy": "/page/tidy", "promote": "/page/promote"}


@pytest.fixture
def server(tmp_path):
    root = make_root(tmp_path / "root")
    put(root / "homes" / "boss" / "MEMORY.md", FLAT)
    put(root / "homes" / "pupil" / "USER.md", "## Talk\nLikes tables and charts.\n§\n" + "\n§\n".join(LEARNED) + "\n")
    with serving(root) as server:
        yield server


def pick(window, words, says="Keep this one"):
    """A button of the pair, or the tick of the row, in which these words stand."""
    (row,) = [each for each in window.all(".choice-row") if words in each.text]
    (side,) = [each for each in row.find_elements("css selector", ".side") if words in each.text] or [row]
    (found,) = [each for each in side.find_elements("css selector", ".pick") if each.text == says]
    window.click(found)


def tick(window, words):
    (row,) = [each for each in window.all(".choice-row") if words in each.text]
    window.click(row.find_element("css selector", ".tick"))


def press(window, button):
    with window.turning():
        window.click(window.button(button))
    return window.find(".note-done").text


COVERED = """
const wrong = [];
for (const each of document.querySelectorAll(".choice-row :is(a, input, summary)")) {
  if (!each.getClientRects().length) continue;
  each.focus();
  const place = each.getBoundingClientRect();
  const top = document.elementFromPoint(place.left + place.width / 2, place.top + place.height / 2);
  if (!each.closest(".choice-row").contains(top)) wrong.push(each.outerHTML);
}
return wrong;
"""


STRUCK = """
return [...document.querySelectorAll(".marked")]
  .filter((each) => getComputedStyle(each).textDecorationLine === "line-through")
  .map((each) => each.textContent.trim());
"""


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_open_to_everybody_at_any_width(window, name):
    window.open(SCREENS[name])
    for width, colours in [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]:
        window.look(width, colours)
        assert window.barriers() == []
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert window.run(COVERED) == []
        window.shot(f"{name}-{width}-{colours}")


@pytest.mark.parametrize("scripts", [True, False])
def test_one_of_a_pair_is_kept_and_undo_brings_the_other_back(window, server, scripts):
    with nullcontext() if scripts else window.without_javascript():
        window.look(390)
        window.open(SCREENS["tidy"])
        pick(window, "Never deploy")
        told = press(window, "Tidy as chosen")
        assert "boss/memory, revision" in told
        text = server.text("boss/memory")
        assert "Never deploy on Friday." in text
        assert "Deploys on Fridays" not in text
        assert text.count("short answers") == 1
        with window.turning():
            window.click(window.button("Undo"))
    assert server.text("boss/memory").count("short answers") == 2


def test_the_arrow_keys_choose_and_what_would_go_is_struck_out(window):
    window.open(SCREENS["tidy"])
    assert window.run(STRUCK) == ["In chat, prefers short answers"]
    window.run("document.querySelector('.choice-row [value=one]').focus()")
    window.press(Keys.ARROW_RIGHT)
    assert window.run(STRUCK) == ["Prefers short answers in chat."]
    assert window.barriers() == []
    window.press(Keys.ARROW_RIGHT)
    assert window.run(STRUCK) == []


def test_what_is_ticked_is_proposed(window, server):
    window.look(390)
    window.open(SCREENS["promote"])
    tick(window, LEARNED[3])
    tick(window, "Likes tables and charts.")
    told = press(window, "Propose ticked")
    assert told.count("Proposed:") == 2
    assert window.barriers() == []
    with opened(server.root) as workspace:
        assert sum(each.agent == "pupil" for each in workspace.proposals()) == 2
    assert len(window.all(".choice-row")) == 11
