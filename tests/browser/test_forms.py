"""Forms of the page: sent once, and not left by accident."""

_WATCHED = """
const button = arguments[0];
const seen = {submits: []};
addEventListener("submit", (event) => seen.submits.push(event.defaultPrevented));
addEventListener("pagehide", () => {
  sessionStorage.seen = JSON.stringify({...seen, disabled: button.disabled});
});
button.click();
button.click();
"""


def test_a_double_click_sends_a_form_once(window, server):
    window.open("/page/lint")
    with window.turning():
        window.run(_WATCHED, window.button("Dark", window.find(".themes")))
    assert window.run("return JSON.parse(sessionStorage.seen)") == {"submits": [False, True], "disabled": True}
    assert server.requests("POST") == ["/page/theme 303"]


def test_the_way_back_finds_a_form_that_can_be_sent_again(window):
    window.open("/page/lint")
    with window.turning():
        window.click(window.button("Dark", window.find(".themes")))
    with window.turning():
        window.driver.back()
    for name in ("Light", "Dark"):
        assert window.button(name, window.find(".themes")).is_enabled()
