"""Light and dark, as the system says or as the person chose; and reading without JavaScript."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

PAPER = {"light": "rgb(250, 248, 244)", "dark": "rgb(21, 24, 26)"}


def paper(window):
    return window.run("return getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_follows_the_system(calm, colours):
    calm.look(colours=colours)
    calm.open("/")
    assert paper(calm) == PAPER[colours]


@pytest.mark.parametrize(("system", "chosen"), [("light", "Dark"), ("dark", "Light")])
def test_the_switch_at_the_foot_is_remembered(calm, system, chosen):
    calm.look(colours=system)
    calm.open("/page/lint")
    with calm.turning():
        calm.click(calm.button(chosen, calm.find(".themes")))
    assert calm.address == "/page/lint"
    assert paper(calm) == PAPER[chosen.lower()]
    calm.open("/page/access")
    assert paper(calm) == PAPER[chosen.lower()]
    assert calm.barriers() == []
    with calm.turning():
        calm.click(calm.button("As the system", calm.find(".themes")))
    assert paper(calm) == PAPER[system]


def test_the_first_stop_of_the_tab_key_skips_to_the_content(calm):
    calm.open("/")
    calm.press(Keys.TAB)
    assert calm.focused.text == "Skip to the content"
    calm.press(Keys.ENTER)
    assert calm.focused.get_attribute("id") == "main"


def test_without_javascript_everything_can_be_read(calm):
    with calm.without_javascript():
        calm.open("/")
        with calm.turning():
            calm.click(calm.button("neo"))
        assert "Prefers short answers." in calm.text
        field = calm.find("#find")
        with calm.turning():
            calm.write(field, "calls")
            field.submit()
        assert "Never schedule calls before half past ten." in calm.text
        with calm.turning():
            calm.click(calm.button("Dark", calm.find(".themes")))
        assert paper(calm) == PAPER["dark"]
