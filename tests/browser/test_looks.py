"""Light and dark, as the system says or as the person chose; and reading without JavaScript."""

from contextlib import nullcontext

import pytest
from selenium.webdriver.common.keys import Keys

PAPER = {"light": "rgb(250, 248, 244)", "dark": "rgb(21, 24, 26)"}


def paper(window):
    return window.run("return getComputedStyle(document.body).backgroundColor")


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


@pytest.mark.parametrize("scripts", [True, False])
def test_a_button_lists_the_pages_on_a_telephone(calm, scripts):
    calm.look(390, "dark")
    with nullcontext() if scripts else calm.without_javascript():
        calm.open("/page/queue")
        pages = calm.find(".top nav")
        assert not pages.is_displayed()
        calm.click(calm.find(".menu-button"))
        assert pages.is_displayed()
        assert calm.find(".top nav [aria-current]").text == "Review"
        if scripts:
            assert calm.barriers() == []
            calm.press(Keys.ESCAPE)
            assert not pages.is_displayed()
            assert calm.focused.text == "Menu"
            calm.press(Keys.ENTER)
        with calm.turning():
            calm.click(calm.button("Lint", pages))
    assert calm.address == "/page/lint"


OVERHANGING = """
const inside = (each) => each.closest('.entry, .row, .line, tr, section, main').getBoundingClientRect();
return [...document.querySelectorAll('.state, .tier, .tags li, .mark, .narrowed a, .ticked button')].filter((each) => {
  const place = each.getBoundingClientRect();
  return place.width && (place.right > inside(each).right + 1 || place.left < inside(each).left - 1);
}).map((each) => each.outerHTML);
"""


@pytest.mark.parametrize("address", ["/", "/page/queue", "/page/files/neo/user", "/page/lint"])
def test_no_pill_overhangs_on_a_telephone(calm, address):
    calm.look(390)
    calm.open(address)
    assert calm.run(OVERHANGING) == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_of_entries_is_rows_of_one_line_that_open_in_place(calm, scripts):
    calm.look(1280)
    with nullcontext() if scripts else calm.without_javascript():
        calm.open("/page/files/neo/user")
        rows = calm.all("article")
        assert max(each.rect["height"] for each in rows) < 60
        assert [each for each in calm.all("article .answers-form") if each.is_displayed()] == []
        row = calm.opened("Prefers short answers.")
        assert row.find_element("css selector", ".body").is_displayed()
        assert row.find_element("css selector", ".answers-form").is_displayed()
        assert len([each for each in calm.all("article .answers-form") if each.is_displayed()]) == 1
        if scripts:
            assert calm.barriers() == []


def test_ticked_entries_are_offered_what_can_be_done_with_them(calm):
    calm.open("/page/files/neo/user")
    bar = calm.find("form.ticked")
    assert not bar.is_displayed()
    calm.click(calm.find("article .tick"))
    assert bar.is_displayed()
    assert bar.rect["y"] + bar.rect["height"] <= calm.run("return scrollY + innerHeight") + 1
    assert calm.barriers() == []
    calm.click(calm.find("article .tick"))
    assert not bar.is_displayed()


@pytest.mark.parametrize("address", ["/page/files/neo/user", "/proposals"])
@pytest.mark.parametrize("width", [390, 1280])
def test_what_can_be_done_with_ticked_entries_has_one_line(calm, address, width):
    calm.look(width)
    calm.open(address)
    calm.click(calm.find("article .tick"))
    (bar,) = [each for each in calm.all("form.ticked") if each.is_displayed()]
    middles = calm.run(
        "return [...arguments[0].querySelectorAll('button, label')].map((each) => each.getBoundingClientRect())"
        ".map((place) => Math.round((place.top + place.bottom) / 2))",
        bar,
    )
    assert len(middles) >= 3
    assert max(middles) - min(middles) <= 1
    assert bar.rect["height"] < 70
    assert calm.run("return document.documentElement.scrollWidth") <= width


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
