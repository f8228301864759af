"""Text of somebody else in every field, before a browser that would run it if it could."""

import pytest

from tests.browser.serving import serving
from tests.unit.server.page.test_hostile import ADDRESSES, hostile_root


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "root"
    hostile_root(folder).store.close()
    with serving(folder) as server:
        yield server


def injected(window):
    """Elements that no page of ours has, and scripts from elsewhere."""
    return window.run(
        """
        const strange = [...document.querySelectorAll("img, iframe, object, embed, main script, main svg[onload], style")];
        const scripts = [...document.scripts].filter((each) => !each.src.startsWith(location.origin + "/static/"));
        const handlers = [...document.querySelectorAll("*")].filter(
          (each) => [...each.attributes].some((attribute) => attribute.name.startsWith("on")));
        const links = [...document.links].filter((each) => each.origin !== location.origin && !each.hash);
        return [...strange, ...scripts, ...handlers, ...links].map((each) => each.outerHTML);
        """
    )


@pytest.mark.parametrize("address", ADDRESSES)
def test_hostile_text_runs_nothing_and_turns_nothing(hostile, window_onto, address):
    window = window_onto(hostile)
    window.expect(404)
    window.open(address)
    # A dialog of the browser would end the test here.
    assert injected(window) == []
    assert [each for each in window.loaded() if not each.startswith(hostile.url)] == []
    assert "\u202e" not in window.find("body").text
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
