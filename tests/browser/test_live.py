"""The page tells when what it shows was changed meanwhile, and takes nothing away from whoever types."""

import pytest

from tests.browser.serving import opened
from tests.browser.window import NARROW

FILE = "/page/files/neo/user"


def notice(window):
    return window.find("#live").text


def add(server, words, name="neo", **how):
    with opened(server.root) as workspace:
        workspace.add(name, words, category="talk", **how)


def test_a_write_of_somebody_else_is_told_and_reload_shows_it(window, server):
    window.open(FILE)
    add(server, "Likes rivers.", actor="neo")
    window.wait(lambda: "neo/user was changed by neo." in notice(window))
    window.shot("live")
    assert window.barriers() == []
    window.look(NARROW, "dark")
    window.shot("live-narrow-dark")
    assert window.barriers() == []
    assert "Likes rivers." not in window.text
    with window.turning():
        window.find("#live a").click()
    assert "Likes rivers." in window.text
    assert notice(window) == ""


@pytest.mark.parametrize("address", [FILE, "/page/queue", "/page/profiles/neo", "/page/history/neo/user"])
def test_what_changed_before_the_page_listens_is_told_too(window, server, address):
    window.open(address)
    with opened(server.root) as workspace:
        workspace.remove("neo", "Signs mail")
    window.wait(lambda: "neo/user was changed by person." in notice(window))


def test_the_notice_takes_nothing_from_who_types_and_can_be_put_away(window, server):
    window.open(FILE)
    search = window.find("#find")
    search.click()
    search.send_keys("half a wo")
    add(server, "One.")
    window.wait(lambda: notice(window))
    search.send_keys("rd")
    assert window.focused.get_attribute("value") == "half a word"
    window.find("#live button").click()
    assert notice(window) == ""
    assert search.get_attribute("value") == "half a word"


def test_the_page_of_a_server_that_ended_says_nothing_wrong(window_onto, tmp_path):
    from tests.browser.serving import make_root, serving

    with serving(make_root(tmp_path / "root")) as server:
        window = window_onto(server)
        window.open(FILE)
        add(server, "One.")
        window.wait(lambda: notice(window))
        window.expect_end()
    assert "neo" in window.find("h1").text
