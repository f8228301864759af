"""A flat file is sorted by a person: with a mouse, on a telephone, and without JavaScript."""

import pytest

from tests.browser.serving import make_root, opened, serving
from tests.golden.case import put

SORT = "/page/sort/boss/memory"
TELEPHONE = 390
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FLAT = f"""\
Talk to both names about the rules of mail.
§
Xyzzy is a word that nobody explains, however often a person asks for it, and so it stands in this list until spring.
§
The deploy token is {TOKEN}
§
Xyzzy.

Talk about rules.
§
Xyzzy.

Talk about rules.
"""


@pytest.fixture
def server(tmp_path):
    root = make_root(tmp_path / "root")
    put(root / "homes" / "boss" / "MEMORY.md", FLAT)
    with serving(root) as server:
        yield server


def row(window, number):
    return window.find(f".choice-row:has([name='take-{number}'])")


def press(window, number, says):
    """One of the buttons of a row."""
    (found,) = [each for each in row(window, number).find_elements("css selector", ".pick") if each.text == says]
    window.click(found)


def choose(window, number, value):
    """One of the others, from their list."""
    others = row(window, number).find_elements("css selector", ".pick")
    if others:
        window.click(others[-1])
    window.find(f"[name='other-{number}'] option[value='{value}']").click()


def sorted_as(server):
    """The categories of the file, each with how its entries begin."""
    with opened(server.root) as workspace:
        document = workspace.parse(workspace.store.peek("boss/memory"))
        return {name: [each.body[:5] for each in entries] for name, entries in document.by_category.items()}


def press_sort(window):
    with window.turning():
        window.click(window.button("Sort ticked"))
    return window.find(".note-done").text


def test_the_screen_is_open_to_everybody_at_any_width(window):
    window.open(SORT)
    assert TOKEN not in window.run("return document.documentElement.outerHTML")
    window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    window.look_over("sort", (1280, "light"), (1280, "dark"), (TELEPHONE, "light"), (TELEPHONE, "dark"))


def test_who_chooses_means_the_row_and_undo_takes_all_back(window, server):
    window.look(TELEPHONE)
    window.open("/page/files/boss/memory")
    with window.turning():
        window.click(window.button("Sort 5 entries without a category"))
    for number in (2, 3):
        assert not window.find(f"[name='take-{number}']").is_selected()
    choose(window, 2, "notes")
    window.click(row(window, 3).find_element("css selector", ".tick"))
    press(window, 5, "Cut it into 2 parts")
    assert not window.find("[name='other-5']").is_displayed()
    press(window, 5, "Remove it")
    assert [window.find(f"[name='take-{number}']").is_selected() for number in (2, 3, 4, 5)] == [
        True,
        True,
        False,
        True,
    ]
    told = press_sort(window)
    assert "Sorted:" in told
    assert "1 to notes" in told
    assert "2 removed" in told
    assert "catmem purge boss/memory" in told
    assert sorted_as(server)["notes"] == ["Xyzzy"]
    assert TOKEN not in server.text("boss/memory")
    assert window.address.startswith(SORT)
    assert window.barriers() == []
    with window.turning():
        window.click(window.button("Undo"))
    assert server.text("boss/memory") == FLAT


def test_without_javascript_a_tick_takes_the_row(window, server):
    with window.without_javascript():
        window.open(SORT)
        for number in (1, 2, 4, 5):
            if window.find(f"[name='take-{number}']").is_selected() != (number == 2):
                window.click(row(window, number).find_element("css selector", ".tick"))
        press(window, 2, "Other…")
        window.write(window.find("[name='new-2']"), "Odd Words")
        press(window, 4, "Rules")
        window.click(row(window, 4).find_element("css selector", ".tick"))
        told = press_sort(window)
    assert "Sorted: 1 to odd-words" in told
    assert "odd-words is new in catmem.yaml" in told
    assert sorted_as(server)["odd-words"] == ["Xyzzy"]
    assert sorted_as(server)["rules"] == ["Xyzzy"]
    assert len(window.all(".choice-row")) == 3
