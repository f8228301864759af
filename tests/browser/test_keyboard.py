"""The keys of the page: what they do, when they keep quiet, and how they are turned off."""

import pytest
from selenium.webdriver.common.keys import Keys

FILE = "/page/files/neo/user"


def focused_entry(window):
    return window.run("return document.activeElement.closest('article')?.id ?? null")


def entries(window):
    return [each.get_attribute("id") for each in window.all("main article")]


def is_listed(window):
    return window.run("return document.getElementById('keys').open")


def test_j_and_k_go_from_entry_to_entry(calm):
    calm.open(FILE)
    first, second, *_, last = entries(calm)
    visited = []
    for key in "jjk":
        calm.press(key)
        visited.append(focused_entry(calm))
    assert visited == [first, second, first]
    calm.press("k")
    assert focused_entry(calm) == first
    assert calm.find("#keys-announced").text == "This is the first entry."
    calm.press(*("j" * 20))
    assert focused_entry(calm) == last
    assert calm.find("#keys-announced").text == "This is the last entry."


def test_j_begins_where_the_person_reads(calm):
    calm.look(320)
    calm.open(FILE)
    calm.run("document.querySelectorAll('article details').forEach((each) => { each.open = true; })")
    third = entries(calm)[2]
    calm.run("document.getElementById(arguments[0]).scrollIntoView({block: 'start'})", third)
    calm.press("j")
    assert focused_entry(calm) == third


@pytest.mark.parametrize("key", ["o", Keys.ENTER], ids=["o", "Enter"])
def test_a_key_opens_the_entry_that_has_the_focus_and_closes_it(calm, key):
    calm.open(FILE)
    calm.press("j", "j")
    entry = calm.focused
    assert not entry.find_elements("css selector", "[open]")
    assert entry.find_element("css selector", ".answers-form").is_displayed()  # also while it is closed
    calm.press(key)
    assert entry.find_element("css selector", "[open] .body").is_displayed()
    assert calm.focused == entry
    calm.press(key)
    assert not entry.find_elements("css selector", "[open]")


def test_enter_on_a_link_or_a_row_is_the_browsers(calm):
    calm.open(FILE)
    row = calm.find("article summary")
    calm.run("arguments[0].focus()", row)
    calm.press(Keys.ENTER)
    assert calm.find("article [open]").is_displayed()
    calm.press(Keys.TAB, Keys.TAB)
    assert calm.focused.text == "Edit"
    with calm.turning():
        calm.press(Keys.ENTER)
    assert calm.address.startswith("/page/edit/neo/user")


def test_a_slash_goes_to_the_search(calm):
    calm.open(FILE)
    calm.press("/")
    assert calm.focused.get_attribute("id") == "find"
    with calm.turning():
        calm.press(*"vejx?/", Keys.ENTER)
    assert calm.address == "/page/search?q=vejx%3F%2F"


def test_a_question_mark_lists_the_keys_and_escape_gives_the_focus_back(calm):
    calm.open(FILE)
    calm.press("j")
    entry = focused_entry(calm)
    calm.press("?")
    assert is_listed(calm)
    assert calm.find("#keys").text.startswith("Keyboard\n")
    assert calm.barriers() == []
    calm.shot("keyboard")
    calm.press("j", "v", Keys.ESCAPE)
    assert not is_listed(calm)
    assert focused_entry(calm) == entry


@pytest.mark.parametrize("end", ["button", "beside"])
def test_the_list_opens_from_the_foot_and_closes(calm, end):
    calm.open(FILE)
    opener = calm.find("[data-shows='keys']")
    calm.click(opener)
    assert is_listed(calm)
    if end == "button":
        calm.press(Keys.ENTER)  # "Close" has the focus
    else:
        calm.click_at(5, 5)
    assert not is_listed(calm)
    assert calm.focused == opener


@pytest.mark.parametrize("held", [Keys.CONTROL, Keys.ALT, Keys.META], ids=["ctrl", "alt", "meta"])
def test_a_key_with_another_held_is_the_browsers(calm, held):
    calm.open(FILE)
    calm.run("window.prevented = []; addEventListener('keydown', (event) => prevented.push(event.defaultPrevented))")
    calm.chord(held, "j")
    assert focused_entry(calm) is None
    assert calm.run("return prevented") == [False, False]


def test_the_keys_can_be_turned_off_and_stay_off(calm):
    calm.open(FILE)
    calm.press("?")
    switch = calm.find("#keys [name='keys']")
    switch.click()
    calm.press(Keys.ESCAPE, "j", "?")
    assert focused_entry(calm) is None
    assert not is_listed(calm)
    calm.open(FILE)
    calm.press("j")
    assert focused_entry(calm) is None
    calm.click(calm.find("[data-shows='keys']"))
    calm.find("#keys [name='keys']").click()
    calm.press(Keys.ESCAPE, "j")
    assert focused_entry(calm) is not None


@pytest.mark.parametrize("key", "vexu")
def test_a_key_with_nothing_to_do_says_so(calm, key):
    calm.open("/page/access")
    calm.press(key)
    assert calm.find("#keys-announced").text.startswith("There is nothing to ")
