"""Several entries at once: what is ticked is written in one revision, or nothing is, and the page says why."""

from __future__ import annotations

import pytest

from catmem.clock import today
from tests.days import stand_still
from tests.roots import text_of
from tests.together import together
from tests.unit.server.page.changing import TEXT, entry, revisions, root, served
from tests.unit.server.page.forms import Forms, refused, sent, shown, ticked, told

FILE = "/page/files/neo/user"
QUEUE = "/page/queue"
DAY = today()
TODAY = DAY.isoformat()
BUTTONS = ["verify", "expire", "move", "remove"]


@pytest.fixture(autouse=True)
def standing_day(monkeypatch):
    """The day of the constants, however late it is when a long run comes here."""
    stand_still(monkeypatch, DAY)


@pytest.fixture
def workspace(tmp_path):
    workspace = root(tmp_path / "root")
    yield workspace
    workspace.store.close()


def chosen(client, *words, address=FILE):
    """The form of ticked entries, with these ticked."""
    form = ticked(shown(client, address).named("Verify ticked"), *words)
    assert sum(name.startswith("tick-") for name in form["fields"]) == len(words)
    return form


def pressed(client, form, what, **fields):
    return sent(client, {**form, "action": f"/page/change/ticked/{what}"}, **fields)


# --- in one revision -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [FILE, QUEUE])
def test_what_is_ticked_is_verified_in_one_revision(client, workspace, address):
    text = told(client, pressed(client, chosen(client, "short", "names", address=address), "verify")).text
    assert text_of(workspace) == TEXT.replace("2020-01-01] Prefers", f"{TODAY}] Prefers").replace(
        "2020-03-01] Signs", f"{TODAY}] Signs"
    )
    assert revisions(workspace) == 2
    assert workspace.store.head("neo/user").agent == "person"
    assert "Verified in talk, verified in rules: 2 entries" in text
    assert sent(client, shown(client, f"{FILE}?did=neo/user@2").named("Undo")).status_code == 303
    assert text_of(workspace) == TEXT


@pytest.mark.parametrize(
    ("fields", "category"), [({"category": "rules"}, "rules"), ({"category": "talk", "new_category": "food"}, "food")]
)
def test_what_is_ticked_is_moved_where_the_next_page_says(client, workspace, fields, category):
    asked = pressed(client, chosen(client, "short", "travel"), "move")
    assert asked.status_code == 200
    assert revisions(workspace) == 1
    form = Forms(asked.text).named("Move them")
    assert form["choices"]["category"] == ["talk", "rules"]
    told(client, sent(client, form, **fields))
    assert {entry(workspace, each).category for each in ("short", "travel")} == {category}
    assert entry(workspace, "calls").category == "talk"
    assert revisions(workspace) == 2


def test_entries_that_say_the_same_are_each_meant_where_they_stand(tmp_path):
    workspace = root(tmp_path, text="## Talk\nTwice.\n§\nTwice.\n§\nOnce.\n\n## Rules\nTwice.\n")
    with served(workspace) as client:
        form = shown(client, FILE).named("Verify ticked")
        one = entry(workspace, "Twice").id
        boxes = {"tick-4": f"{one} talk", "tick-9": f"{one} rules"}
        told(client, pressed(client, form, "remove", **boxes))
        assert text_of(workspace) == "## Talk\nTwice.\n§\nOnce.\n\n## Rules\n"
        assert revisions(workspace) == 2
    workspace.store.close()


@pytest.mark.parametrize(("address", "rows"), [(FILE, 50), (QUEUE, 40)])
def test_a_whole_page_of_entries_is_one_revision(tmp_path, address, rows):
    words = "which is so, and says what a fact of a hundred characters says"
    text = "§\n".join(f"[created: 2020-01-01, domain: finance] Fact {number}, {words}.\n" for number in range(100))
    workspace = root(tmp_path, text=f"## Talk\n{text}", config="taxonomy: {categories: {talk: {}}}\n")
    with served(workspace) as client:
        page = client.get(address)
        told(client, pressed(client, ticked(Forms(page.text).named("Verify ticked"), "Fact"), "verify"))
        assert text_of(workspace).count(f"verified_date: {TODAY}") == rows
        assert revisions(workspace) == 2
    workspace.store.close()


# --- or nothing ----------------------------------------------------------------------------------------------------


@together("what", BUTTONS)
def test_without_a_tick_nothing_is_written(client, workspace, what):
    form = shown(client, FILE).named("Verify ticked")
    page, _ = refused(pressed(client, form, what), 422)
    assert "no entry is ticked" in page.text
    assert text_of(workspace) == TEXT


def test_a_form_that_is_sent_twice_writes_once(client, workspace):
    form = chosen(client, "short", "calls")
    first, second = (told(client, pressed(client, form, "remove")) for _ in range(2))
    assert first.text == second.text
    assert revisions(workspace) == 2


@pytest.mark.parametrize("what", BUTTONS)
def test_one_entry_that_changed_refuses_the_whole_and_is_named(client, workspace, what):
    form = chosen(client, "short", "calls", "names")
    workspace.replace("neo", "calls", content="Never schedule calls before nine.", actor="boss")
    workspace.remove("neo", "Signs", actor="boss")
    before = text_of(workspace)
    page, forms = refused(pressed(client, form, what, **({"category": "rules"} if what == "move" else {})))
    assert text_of(workspace) == before
    assert "2 ticked entries changed or are gone." in page.text
    again = forms.named(f"{what.capitalize()} what is ticked")
    assert [box for box in again["fields"] if box.startswith("tick-")] == ["tick-2"]  # what is as it was
    assert sent(client, again).status_code == 303
    assert revisions(workspace) == 4
    assert "Never schedule calls before nine." in text_of(workspace)


@together("box", ["", "x", "b2:00000000000000000000000000000000 talk", "\0 \0"])
def test_a_tick_on_what_was_never_there_writes_nothing(client, workspace, box):
    form = chosen(client, "short")
    refused(pressed(client, form, "remove", **{"tick-99": box}), 400)
    assert text_of(workspace) == TEXT
