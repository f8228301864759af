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
    """A server with tokens, and those of its people by name."""
    folder = tmp_path_factory.mktemp("guarded")
    root = make_root(folder / "root")
    path = folder / "tokens" / "tokens.json"
    with opened(root) as workspace:
        tokens = {
            scope: new_token(workspace.config, path, f"anna-{scope}", person=True, scope=scope)[1]
            for scope in ("read", "write")
        }
        tokens["agent"] = new_token(workspace.config, path, "neo")[1]
    with serving(root, "--tokens", str(path)) as server:
        yield server, tokens


def logged_in(window, token, address="/page/queue"):
    """The page as somebody sees it who gave a name and a token when the browser asked."""
    scheme, _, host = window.url.partition("://")
    window.driver.get(f"{scheme}://anna:{token}@{host}{address}")


FORMS = "main form[method='post']"


def test_a_token_that_only_reads_sees_everything_and_no_form(guarded, window_onto):
    server, tokens = guarded
    window = window_onto(server)
    logged_in(window, tokens["read"])
    for address in ("/page/queue", "/page/files/neo/user", "/page/branches/neo/user/3a", "/page/seeds/pupil"):
        window.open(address)
        assert window.status == 200
        assert window.all(FORMS) == []
    with window.turning():
        window.click(window.button("Dark", window.find(".themes")))
    assert window.find("html").get_attribute("data-theme") == "dark"


def test_who_gave_a_token_at_one_page_is_known_to_what_the_page_asks_for(guarded, window_onto):
    # A browser sends a password along to addresses beside the page of its own accord, and to others when asked.
    server, tokens = guarded
    window = window_onto(server)
    logged_in(window, tokens["read"], "/page/files/pupil/user")
    with opened(server.root) as workspace:
        workspace.add("pupil", "Likes rivers.", category="talk")
    window.wait(lambda: "pupil/user was changed" in window.find("#live").text)


def test_the_token_of_an_agent_opens_no_page(guarded, window_onto):
    server, tokens = guarded
    window = window_onto(server)
    with window.turning(401):
        logged_in(window, tokens["agent"])
    assert "Prefers short answers" not in window.find("body").text


def test_the_prompt_is_copied_with_one_click(calm):
    calm.open("/page/profiles/neo")
    calm.click(calm.button("Copy the prompt"))
    calm.wait(lambda: calm.find("[data-copies]").text == "Copied")
    field = calm.find("#find")
    field.send_keys(Keys.CONTROL + "v")
    assert "Prefers short answers." in field.get_attribute("value")
