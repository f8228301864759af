"""What a person leaves alone in a form changes nothing, whatever the file holds and whatever a browser makes of it."""

from itertools import count
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catmem.store.contract import Change
from tests.golden.case import put
from tests.roots import text_of
from tests.unit.server.page.changing import CONFIG, entry, root, served
from tests.unit.server.page.forms import sent, shown

CLOSED = "taxonomy: {closed: true, categories: {talk: {title: Talk}, rules: {title: Rules}}}\n"
OPEN = "taxonomy: {categories: {talk: {title: Talk}, rules: {title: Rules}}}\n"
NUMBERS = count()


@pytest.fixture
def made(tmp_path, browse):
    """Makes a root whose file says a text, and a browser at its page."""

    def make(text, config=OPEN):
        workspace = root(tmp_path / "root", text="", config=config)
        put(tmp_path / "root" / "homes" / "neo" / "USER.md", text)
        return workspace, browse(workspace)

    return make


def editing(client, found, button="Save"):
    """The form that edits an entry."""
    query = urlencode({"entry": found.id, "where": found.category})
    return shown(client, f"/page/edit/neo/user?{query}").named(button)


TEXTS = [
    pytest.param("## Talk\nA.\n\n## Odd\nMine.\n", id="a section that nobody declared"),
    pytest.param("Mine.\n\n## Talk\nA.\n", id="before the first section"),
    pytest.param("A.\n§\nMine.\n", id="no sections"),
    pytest.param("## Talk\n[expires: 2026-12] Mine.\n", id="a month"),
    pytest.param("## Talk\n[expires: 2027-02-30] Mine.\n", id="no such day"),
    pytest.param("## Talk\n[expires: 31.12.2027] Mine.\n", id="a day in other words"),
    pytest.param("## Talk\n[expires: 2027-12-31T10:00] Mine.\n", id="a moment"),
    pytest.param("## Talk\n[expires: [2027-12-31, 2028-01-01]] Mine.\n", id="two days"),
    pytest.param('## Talk\n[expires: " 2027-12-31 "] Mine.\n', id="a day between spaces"),
    pytest.param('## Talk\n[domain: "legal\\nfinance"] Mine.\n', id="a domain of two lines"),
    pytest.param('## Talk\n[domain: ["a, b", c]] Mine.\n', id="a domain with a comma"),
    pytest.param('## Talk\n[domain: "a\\u0000b"] Mine.\n', id="a domain with a NUL"),
    pytest.param("## Talk\nMine.\rTwo.\n", id="a bare carriage return"),
    pytest.param("## Talk\r\nMine.\r\r\nTwo.\r\n", id="a carriage return before a line end"),
]


@pytest.mark.parametrize("config", [OPEN, CLOSED], ids=["open", "closed"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_form_that_nobody_touched_writes_nothing_and_other_words_change_the_words_alone(made, text, config):
    workspace, client = made(text, config)
    before, found = text_of(workspace), entry(workspace, "Mine.")
    answer = sent(client, editing(client, found))
    assert answer.headers["location"].endswith("did=nothing"), answer.text
    assert text_of(workspace) == before
    if "\r" in text:  # a browser sends other line ends
        return
    answer = sent(client, editing(client, found), content="Ours.")
    assert answer.status_code == 303, answer.text
    after = entry(workspace, "Ours.")
    assert (after.category, after.tags) == (found.category, found.tags)
    assert text_of(workspace).replace("Ours.", "Mine.") == before


def test_a_date_that_is_none_can_be_put_right_and_taken_away(made):
    workspace, client = made("## Talk\n[expires: 2026-12] Mine.\n")
    assert editing(client, entry(workspace, "Mine."))["fields"]["expires"] == "2026-12"
    sent(client, editing(client, entry(workspace, "Mine.")), expires="2026-12-31")
    assert entry(workspace, "Mine.").tags == {"expires": "2026-12-31"}
    sent(client, editing(client, entry(workspace, "Mine.")), expires="")
    assert entry(workspace, "Mine.").tags == {}


# --- whatever a file holds -------------------------------------------------------------------------------------------

WORDS = st.text(st.sampled_from("ab \r\t\0,\"'&<§#é\u2028\u202e"), min_size=1, max_size=6)
QUOTED = WORDS.map(lambda text: '"' + "".join(f"\\u{ord(each):04x}" for each in text) + '"')
DATES = st.sampled_from(
    ["2026-12", "2027-02-30", "2027-12-31", "0001-01-01", '"2027-12-31\\n"', "[2027-01-01, x]", '""']
)
VALUES = st.one_of(QUOTED, st.lists(QUOTED, min_size=1, max_size=3).map(lambda each: f"[{', '.join(each)}]"))
TAGS = st.one_of(
    st.just(""),
    st.fixed_dictionaries({}, optional={"expires": st.one_of(DATES, VALUES), "domain": VALUES}).map(
        lambda tags: "".join(["[", ", ".join(f"{key}: {value}" for key, value in tags.items()), "] "]) if tags else ""
    ),
)
BODIES = st.text(st.sampled_from("ab \n\r\t\0&<é"), min_size=1, max_size=12)
HEADERS = st.sampled_from(["", "## Talk\n", "## Odd\n", "## Rules & more\n", "## __uncategorized__\n"])
PARTS = st.lists(st.tuples(HEADERS, TAGS, BODIES), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def whatever(tmp_path_factory):
    """A root whose file can say anything, with a browser at it, where categories are open; and one where not."""
    config = CONFIG.replace("limits: {user: 1200}\n", "")
    folder = tmp_path_factory.mktemp("whatever")
    free = root(folder / "open", text="", config=config)
    bound = root(folder / "closed", text="", config=config.replace("taxonomy: {", "taxonomy: {closed: true, "))
    with served(free) as free_client, served(bound) as bound_client:
        yield {False: (free, free_client), True: (bound, bound_client)}
    free.store.close()
    bound.store.close()


@settings(max_examples=max(30, settings().max_examples // 2))
@given(PARTS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_no_entry_is_changed_by_a_form_that_nobody_touched(whatever, parts, closed, end):
    workspace, client = whatever[closed]
    text = "\n§\n".join(f"{tags}{body}" if not header else f"\n{header}{tags}{body}" for header, tags, body in parts)
    whole = f"# {next(NUMBERS)}\n\n{text}\n".replace("\n", end)
    workspace.store.commit("neo/user", None, lambda _: whole.encode(), Change())
    for found in workspace.parse(whole.encode()).entries:
        answer = sent(client, editing(client, found))
        assert answer.headers.get("location", "").endswith("did=nothing"), answer.text
    assert text_of(workspace) == whole
