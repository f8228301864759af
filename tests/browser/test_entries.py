"""What a person does with entries: by click, by key and without JavaScript; and when somebody else was faster."""

import re

import pytest

from tests.browser.serving import make_root, opened, serving
from tests.unit.server.page.test_hostile import MARKDOWN, QUOTES, SCRIPT

FILE = "/page/files/neo/user"
KEYS = {"Verify": "v", "Edit": "e", "Expire": "x"}


def told(window):
    """What the page says was done."""
    return window.find(".note-done").text


def focused_text(window):
    return window.run("return document.activeElement.closest('article')?.innerText ?? ''")


def fields_of(server, words, target="user"):
    """Body, category and tags of the one entry with these words."""
    with opened(server.root) as workspace:
        document = workspace.parse(workspace.store.peek(f"neo/{target}"))
        (entry,) = [each for each in document.entries if words in each.body]
        return entry.body, entry.category, entry.tags


def do(window, action, words, *, by="click"):
    """Verify, edit, expire or remove the entry with these words."""
    with window.turning():
        if by == "click":
            window.click(window.button(action, window.opened(words)))
        else:
            while words not in focused_text(window):
                window.press("j")
            window.press(KEYS[action])


def typed(window, **texts):
    for name, text in texts.items():
        window.write(window.find(f".entry-form [name='{name}']"), text)


def send(window, name, status=200):
    with window.turning(status):
        window.click(window.button(name))


@pytest.mark.parametrize("by", ["click", "key"])
def test_verify_from_the_queue_and_take_it_back(window, server, by):
    before = server.text()
    window.open("/page/queue")
    do(window, "Verify", "Prefers short answers.", by=by)
    assert told(window).startswith("Verified in talk")
    assert "Prefers short answers." not in window.text.replace(told(window), "")
    # The next one has the focus, so that one key goes on.
    assert "Signs mail" in focused_text(window)
    assert server.text() != before
    window.shot(f"verified-by-{by}")
    with window.turning():
        if by == "click":
            window.click(window.button("Undo"))
        else:
            window.press("u")
    assert window.entry("Prefers short answers.")
    assert re.match(r"Revision \d+ restored", told(window))
    assert server.text() == before
    window.press("u")
    window.wait(lambda: "There is nothing to undo on this page." in window.find("#keys-announced").text)
    assert window.button("Undo")
    assert server.text() == before


def test_a_whole_queue_with_one_key(window, server):
    window.open("/page/queue")
    window.press("j")
    for left in reversed(range(len(window.all("main article")))):
        with window.turning():
            window.press("v")
        assert len(window.all("main article")) == left
    assert "All clear" in window.text
    assert [each for each in server.requests("POST") if not each.endswith(" 303")] == []
    assert window.barriers() == []


@pytest.mark.parametrize("by", ["click", "key"])
def test_expire(window, server, by):
    window.open(FILE)
    do(window, "Expire", "Signs mail", by=by)
    assert told(window).startswith("Changed in talk")
    assert window.entry("Signs mail").find_element("css selector", ".state").text == "expired"
    assert "expires" in fields_of(server, "Signs mail")[2]


@pytest.mark.parametrize("by", ["click", "key"])
def test_edit_from_the_queue(window, server, by):
    window.open("/page/queue")
    do(window, "Edit", "Signs mail", by=by)
    window.shot("edit")
    assert window.barriers() == []
    typed(window, content='Signs mail with "one" name & <b>nothing</b>\nbut that.', domain="mail, office")
    send(window, "Save")
    assert told(window)
    body, category, tags = fields_of(server, "Signs mail")
    assert body == 'Signs mail with "one" name & <b>nothing</b>\nbut that.'
    assert (category, tags["domain"]) == ("talk", ["mail", "office"])


def test_add_move_and_remove(window, server):
    window.open(FILE)
    window.click(window.button("Add an entry"))
    window.shot("add")
    assert window.barriers() == []
    typed(window, content="Speaks Dutch.")
    window.find(".entry-form [name='category'] option[value='talk']").click()
    send(window, "Add it")
    assert told(window).startswith("Added to talk")
    assert "Speaks Dutch." in focused_text(window)

    do(window, "Edit", "Speaks Dutch.")
    window.find(".entry-form [name='category'] option[value='rules']").click()
    send(window, "Save")
    assert told(window).startswith("Moved to rules")
    assert fields_of(server, "Speaks Dutch.")[1] == "rules"

    do(window, "Remove", "Speaks Dutch.")
    assert told(window).startswith("Removed from rules")
    assert "Speaks Dutch." not in server.text()


@pytest.fixture
def closed(tmp_path):
    """A server for a root where every category has to be declared."""
    folder = make_root(tmp_path / "root")
    config = folder / "catmem.yaml"
    config.write_text(config.read_text("utf-8").replace("taxonomy:\n", "taxonomy:\n  closed: true\n"), "utf-8")
    with serving(folder) as server:
        yield server


UNTOUCHED = {
    "a section that nobody declared": "## Odd\nMine.\n\n## Talk\nA.\n",
    "before the first section": "Mine.\n\n## Talk\nA.\n",
    "a month": "## Talk\n[expires: 2026-12] Mine.\n",
    "no such day": "## Talk\n[expires: 2027-02-30] Mine.\n",
    "two days": "## Talk\n[expires: [2027-12-31, 2028-01-01]] Mine.\n",
    "a day": "## Talk\n[expires: 2027-12-31] Mine.\n",
    "a domain of two lines": '## Talk\n[domain: "legal\\nfinance"] Mine.\n',
    "a NUL": '## Talk\n[domain: "a\\u0000b"] Mine.\n',
    "bare carriage returns": "## Talk\r\nMine.\rTwo.\r\r\nThree.\r\n",
}


@pytest.mark.parametrize("said", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_nobody_touches_stays_as_it_is(closed, window_onto, said):
    server, window = closed, window_onto(closed)
    (server.root / "homes" / "neo" / "USER.md").write_bytes(said.encode())
    window.open(FILE)
    do(window, "Edit", "Mine.")
    send(window, "Save")
    assert told(window).startswith("Nothing had to be written")
    assert server.text() == said

    do(window, "Edit", "Mine.")
    window.shot(f"untouched-{list(UNTOUCHED.values()).index(said)}")
    assert window.barriers() == []
    assert not was_asked(window, window.find(".brand"))

    window.open(FILE)
    before = fields_of(server, "Mine.")[1:]
    do(window, "Edit", "Mine.")
    typed(window, content="Ours.")
    send(window, "Save")
    assert told(window)
    assert fields_of(server, "Ours.")[1:] == before


# --- somebody else was faster ----------------------------------------------------------------------------------------


def test_a_page_that_is_out_of_date_keeps_the_text_and_shows_what_changed(window, server):
    window.open("/page/queue")
    do(window, "Edit", "Signs mail")
    typed(window, content="Signs mail with first names.")
    with opened(server.root) as workspace:
        workspace.replace("neo", "Signs mail", content="Signs mail with initials.")
    send(window, "Save", 409)
    assert "The entry was changed or is gone." in window.text
    assert window.find("tr.new mark").text
    assert "Signs mail with initials." in server.text()
    assert window.find("[name='content']").get_attribute("value") == "Signs mail with first names."  # to be copied
    assert window.barriers() == []
    window.shot("out-of-date")
    window.look(320, "dark")
    assert window.barriers() == []
    assert window.run("return document.documentElement.scrollWidth") <= 320
    window.shot("out-of-date-320-dark")


# --- leaving ---------------------------------------------------------------------------------------------------------


def was_asked(window, way_out, status=200):
    """Leave the page; whether the page wanted the browser to ask first. The driver answers for the person: yes."""
    window.run("addEventListener('beforeunload', (event) => { sessionStorage.asked = event.defaultPrevented; })")
    with window.turning(status):
        window.click(way_out)
    return window.run("return sessionStorage.asked") == "true"


def test_who_typed_and_leaves_is_asked(window, server):
    window.open(FILE)
    do(window, "Edit", "Signs mail")
    typed(window, content="Half a thought")
    assert was_asked(window, window.find(".brand"))
    assert server.requests("POST") == []


def test_who_sends_is_not_asked(window):
    window.open(FILE)
    do(window, "Edit", "Signs mail")
    typed(window, content="A whole thought.")
    assert not was_asked(window, window.button("Save"))
    assert told(window)


# --- hostile, and without JavaScript ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [f"{SCRIPT}\n{QUOTES}", f"{MARKDOWN}\n{{{{ 7 * 7 }}}}</textarea><script>alert(5)</script>"]
)
def test_hostile_words_are_kept_as_they_are_and_run_nothing(window, server, text):
    window.open(FILE)
    do(window, "Edit", "Signs mail")
    first = text.splitlines()[0][:60]
    typed(window, content=text, domain=first, new_category=first)
    send(window, "Save", 422)
    assert "the tag domain does not fit" in window.text
    fields = {name: window.find(f"[name='{name}']") for name in ("content", "domain", "new_category")}
    shown = {name: field.get_attribute("value") for name, field in fields.items()}
    assert shown == {"content": text, "domain": first, "new_category": first}
    fields["domain"].clear()
    fields["new_category"].clear()
    send(window, "Save")
    scripts = window.run("return [...document.scripts].map((each) => each.src)")
    assert [each for each in scripts if not each.startswith(f"{server.url}/static/")] == []
    assert window.all("main img, main script, main iframe, main b[onclick]") == []
    with opened(server.root) as workspace:
        bodies = [each.body for each in workspace.parse(workspace.store.peek("neo/user")).entries]
    assert text in bodies


def test_everything_can_be_written_without_javascript(window, server):
    with window.without_javascript():
        window.open("/page/queue")
        do(window, "Verify", "Prefers short answers.")
        assert told(window).startswith("Verified in talk")
        send(window, "Undo")
        do(window, "Edit", "Signs mail")
        typed(window, content="Signs mail with first names.")
        send(window, "Save")
        assert told(window)
    assert "Signs mail with first names." in server.text()
