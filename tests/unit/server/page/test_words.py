"""The words of the page: each thing is told once, in the words of people, and what fits best stands out."""

import re
from datetime import timedelta

import pytest

from catmem.clock import today
from catmem.workspace.history import adopt
from tests.golden.case import put
from tests.unit.server.page.changing import root
from tests.unit.server.page.markup import Markup

FILE = "/page/files/neo/user"
AHEAD = (today() + timedelta(days=400)).isoformat()
TEXT = f"""\
No category here.
§
[verified_date: 2020-01-01, source: chat] Prefers short answers.

## Talk
[created: 2020-01-01, expires: 2020-02-01, domain: finance] Book travel to cost centre 410.
§
[verified_date: {AHEAD}] Comes from the future.
§
[verified_date: 2020-01-01, created: {AHEAD}] Old, and made later.
"""


@pytest.fixture
def workspace(tmp_path):
    workspace = root(tmp_path / "root", text="")
    # No write would take a date in the future.
    put(tmp_path / "root" / "homes" / "neo" / "USER.md", TEXT)
    adopt(workspace, "neo/user")
    return workspace


def card(client, address, words):
    """The HTML of the entry that has these words."""
    texts = re.findall(r"<article.*?</article>|<li class=\"entry\".*?</li>", client.get(address).text, re.DOTALL)
    return next(text for text in texts if words in Markup(text).text)


@pytest.mark.parametrize("address", [FILE, "/page/queue"])
@pytest.mark.parametrize(
    ("words", "told", "tags"),
    [
        ("Prefers short", "verified 1 Jan 2020", ["source chat"]),
        ("Book travel", "1 Feb 2020", ["created 2020-01-01", "domain finance"]),
    ],
)
def test_the_date_that_decides_is_told_once(client, address, words, told, tags):
    made = Markup(card(client, address, words))
    assert made.text.count(told) == 1
    assert [each.strip() for each in re.findall(r"<li>(.*?)</li>", card(client, address, words))] == [
        f'<span class="tag-key">{key}</span> {value}' for key, value in (tag.split(" ") for tag in tags)
    ]


@pytest.mark.parametrize("address", [FILE, "/page/queue", "/page/search?q=future"])
def test_what_is_dated_in_the_future_is_called_so(client, address):
    text = Markup(card(client, address, "future")).text
    assert text.count("dated in the future") == 1
    assert "unverified" not in text
    assert "verified_date" not in text


def highlighted(html):
    return re.findall(r"<button[^>]*main-button[^>]*>(\w+)", html)


@pytest.mark.parametrize("address", [FILE, "/page/queue"])
@pytest.mark.parametrize(("words", "button"), [("Prefers short", "Verify"), ("Book travel", "Remove")])
def test_the_button_that_fits_stands_out(client, address, words, button):
    assert highlighted(card(client, address, words)) == [button]


# --- what nobody sees ------------------------------------------------------------------------------------------------


def test_what_a_section_hid_is_told_as_it_is(client, workspace):
    text = Markup(client.get("/page/profiles/neo").text).text
    assert "2 entries of its USER.md have no category." in text
    assert "in categories that neo does not read" not in text
    put(workspace.root / "profiles" / "neo.yaml", "user_memory_categories: [rules]\ninclude_uncategorized: false\n")
    text = Markup(client.get("/page/profiles/neo").text).text
    assert "3 entries of its USER.md are in categories that neo does not read." in text
    assert "neo does not read what has none" in text


@pytest.mark.parametrize("address", ["/page/search?q=category", "/page/search?q=category&profile=neo"])
def test_a_person_finds_what_no_prompt_shows(client, workspace, address):
    assert "No category" not in workspace.prompt("neo").text
    assert "not seen by neo" in Markup(card(client, address, "No category here.")).text
    assert "not seen by" not in card(client, "/page/search?q=future", "future")


# --- what could not be looked at ------------------------------------------------------------------------------------


BROKEN = "tier: many\n"


@pytest.mark.parametrize("broken", ["boss", "pupil"])
def test_nothing_is_said_to_be_in_order_that_nobody_could_look_at(client, workspace, broken):
    put(workspace.root / "profiles" / "pupil.yaml", "user_memory_categories: [talk]\nseed_from: boss\n")
    assert "could not be looked at" not in client.get("/").text
    put(workspace.root / "profiles" / f"{broken}.yaml", BROKEN)
    text = Markup(client.get("/").text).text
    assert f"{broken}.yaml" in text
    assert "Nothing waits" not in text
    seeds = Markup(client.get("/page/seeds").text).text
    assert "Not everything could be looked at." in seeds
    assert "No profile is seeded" not in seeds
