"""Looking after memory without changing it: from page to page, and with a token that only reads."""

import pytest
from selenium.webdriver.common.keys import Keys

from catmem.envelopes.tokens import new_token
from tests.browser.serving import make_root, opened, serving


def follow(window, *names):
    for name in names:
        with window.turning():
            window.click(window.button(name))


def test_from_the_overview_to_one_fact_and_its_history(calm):
    calm.open("/")
    with calm.turning():
        calm.click(calm.find(".next a[href='/page/queue']"))
    assert calm.address == "/page/queue"
    with calm.turning():
        calm.click(calm.button("USER.md, line 2", calm.opened("Prefers short answers.")))
    assert "Prefers short answers." in calm.find("article:has([open])").text
    follow(calm, "History of USER.md")
    assert "Verified" in calm.text


# --- behind tokens ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens, and that of a person who may read."""
    folder = tmp_path_factory.mktemp("guarded")
    root = make_root(folder / "root")
    path = folder / "tokens" / "tokens.json"
    with opened(root) as workspace:
        _, token = new_token(workspace.config, path, "anna", person=True, scope="read")
    with serving(root, "--tokens", str(path)) as server:
        yield server, token


def logged_in(window, token, address):
    """The page as somebody sees it who gave a name and a token when the browser asked."""
    scheme, _, host = window.url.partition("://")
    window.driver.get(f"{scheme}://anna:{token}@{host}{address}")


def test_who_gave_a_token_at_one_page_is_known_to_what_the_page_asks_for(guarded, window_onto):
    # A browser sends a password along to addresses beside the page of its own accord, and to others when asked.
    server, token = guarded
    window = window_onto(server)
    logged_in(window, token, "/page/files/pupil/user")
    with opened(server.root) as workspace:
        workspace.add("pupil", "Likes rivers.", category="talk")
    window.wait(lambda: "pupil/user was changed" in window.find("#live").text)


def test_the_prompt_is_copied_with_one_click(calm):
    calm.open("/page/profiles/neo")
    calm.click(calm.button("Copy the prompt"))
    calm.wait(lambda: calm.find("[data-copies]").text == "Copied")
    field = calm.find("#find")
    field.send_keys(Keys.CONTROL + "v")
    assert "Prefers short answers." in field.get_attribute("value")
