"""Forms that are refused: the reason in plain words, what changed, and the text that was typed kept."""

import pytest

from catmem.errors import StoreError
from catmem.plugins.page import page_view
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import put_bytes, text_of
from tests.store.memory import InMemoryStore
from tests.unit.server.page.changing import CONFIG, TEXT, entry, revisions, root
from tests.unit.server.page.forms import refused, sent, shown
from tests.unit.server.page.markup import Markup

FILE = "/page/files/neo/user"
KEY = "ghp_q7Rt2LxV9bNs4KdW8mZc3PfH6jYg1TaE5uQo"
TYPED = "Prefers long answers.\nReally: <b>é</b>"


@pytest.fixture
def workspace(tmp_path):
    return root(tmp_path / "root")


def editing(client, workspace, words="short"):
    """The form that edits an entry, with other words typed into it."""
    form = shown(client, f"/page/edit/neo/user?entry={entry(workspace, words).id}").named("Save")
    form["fields"]["content"] = TYPED
    return form


def verifying(client, workspace, words="short"):
    return shown(client, FILE).named("Verify", entry=entry(workspace, words).id)


# --- the file changed ----------------------------------------------------------------------------------------------


def test_another_entry_changed(client, workspace):
    form = editing(client, workspace)
    workspace.replace("neo", "calls", content="No calls before nine.", actor="boss")
    made, forms = refused(sent(client, form))
    assert "What the form is on is as you saw it, and the file around it changed" in made.text
    assert "/page/history/neo/user" in {each["href"] for each in made.all("a")}
    assert "No calls before nine." in made.text
    again = forms.named("Save")
    assert again["fields"]["content"] == TYPED
    assert text_of(workspace).count("Prefers short") == 1
    assert sent(client, again).status_code == 303
    assert entry(workspace, "long").body == TYPED
    assert revisions(workspace) == 3


@pytest.mark.parametrize("becomes", ["Prefers quite short answers.", None])
def test_the_entry_changed_or_is_gone(client, workspace, becomes):
    forms = [editing(client, workspace), verifying(client, workspace)]
    if becomes is None:
        workspace.remove("neo", "short")
    else:
        workspace.replace("neo", "short", content=becomes)
    for form in forms:
        made, again = refused(sent(client, form))
        assert "The entry was changed or is gone" in made.text
        assert (becomes or "Prefers short answers.") in made.text
        assert not [each for each in again.all if (each["action"] or "").startswith("/page/change/")]
    made, _ = refused(sent(client, forms[0]))
    assert "Text, to be copied" in made.text
    assert revisions(workspace) == 2


@pytest.mark.parametrize(
    ("answer", "again"), [("verify", "Verify it"), ("expire", "Let it expire"), ("remove", "Remove it")]
)
def test_a_form_that_was_undone_is_no_success_when_it_is_sent_again(client, workspace, answer, again):
    form = {**verifying(client, workspace), "action": f"/page/change/{answer}"}
    before, did = text_of(workspace), sent(client, form)
    assert sent(client, shown(client, did.headers["location"]).named("Undo")).status_code == 303
    made, forms = refused(sent(client, form))
    assert "This form was sent before, and wrote revision 2" in made.text
    assert text_of(workspace) == before
    assert sent(client, forms.named(again)).status_code == 303
    assert text_of(workspace) != before


def test_an_addition_that_somebody_took_out_by_hand_is_no_success_when_it_is_sent_again(client, workspace):
    before = text_of(workspace)
    adding = shown(client, FILE).named("Add it")
    assert sent(client, adding, content=TYPED, category="talk").status_code == 303
    workspace.path("neo", "user").write_text(before, encoding="utf-8")
    made, forms = refused(sent(client, adding, content=TYPED, category="talk"))
    assert "This form was sent before" in made.text
    assert forms.named("Add it")["fields"]["content"] == TYPED


def by_an_agent(workspace, before, after):
    workspace.replace("neo", before, content=f"Never schedule calls {after}.", actor="boss")


def by_hand(workspace, before, after):
    path = workspace.root / "homes" / "neo" / "USER.md"
    put(path, path.read_text(encoding="utf-8").replace(before, after))


@pytest.mark.parametrize("means", [by_an_agent, by_hand])
@pytest.mark.parametrize("press", [editing, verifying])
def test_a_person_who_writes_on_an_old_page_is_asked_where_the_root_keeps_branches(tmp_path, means, press, browse):
    workspace = root(tmp_path / "root", config=f"{CONFIG}on_stale: branch\n")
    client = browse(workspace)
    form = press(client, workspace)
    means(workspace, "before ten", "before nine")
    made, forms = refused(sent(client, form))
    assert "Never schedule calls before nine." in made.text
    again = forms.named("Save" if press is editing else "Verify it")
    assert sent(client, again).status_code == 303
    assert not any(each.is_branch for each in workspace.store.branches("neo/user"))
    assert "before nine" in text_of(workspace)
    assert "2020-01-01] Prefers short answers." not in text_of(workspace)


# --- it changed by other means -------------------------------------------------------------------------------------


def test_what_nobody_has_any_more_has_no_diff(tmp_path, browse):
    workspace = root(tmp_path / "root", text="")
    put(tmp_path / "root" / "homes" / "neo" / "USER.md", TEXT)
    client = browse(workspace)
    form = editing(client, workspace)
    by_hand(workspace, "before ten", "before nine")
    made, forms = refused(sent(client, form))
    assert "What the form is on is as you saw it" in made.text
    assert made.all("table") == []
    assert sent(client, forms.named("Save")).status_code == 303
    assert "before nine" in text_of(workspace)
    assert entry(workspace, "long").body == TYPED


def test_a_file_that_no_tool_can_read_is_left_alone(client, workspace):
    form = editing(client, workspace)
    path = workspace.root / "homes" / "neo" / "USER.md"
    path.write_bytes(b"\xff\xfe broken")
    made, _ = refused(sent(client, form))
    assert "a copy of what was found is kept" in made.text
    assert "&lt;b&gt;é&lt;/b&gt;</textarea>" in made.html
    assert path.read_bytes() == b"\xff\xfe broken"


# --- what is wrong with it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"content": " \n "}, "no text to store"),
        ({"content": "word " * 400}, "1,200"),
        ({"expires": "soon"}, "expires"),
        ({"domain": "Not A Slug"}, "domain"),
        ({"new_category": "§"}, "not a category"),
        ({"content": f"Pushes with {KEY}."}, "github-token"),
    ],
)
def test_what_cannot_be_written_is_told_with_the_form(client, workspace, fields, said):
    form = editing(client, workspace)
    made, forms = refused(sent(client, form, **fields), 422)
    assert said in made.text
    assert ("--allow-secret" in made.text) == (said == "github-token")
    again = forms.named("Save")["fields"]
    assert {name: again[name] for name in fields} == fields
    assert text_of(workspace) == TEXT
    assert sent(client, forms.named("Save"), content=TYPED, expires="", domain="", new_category="").status_code == 303
    assert entry(workspace, "long").body == TYPED


class FullDisk(InMemoryStore):
    """A store whose disk is full from some moment on."""

    full = False

    def commit(self, entity, expected, update, change):
        if self.full:
            raise StoreError("no space left on device", code="no_space", path="/disk")
        return super().commit(entity, expected, update, change)


def test_a_full_disk_keeps_what_was_typed(tmp_path, browse):
    store = FullDisk()
    workspace = Workspace(root(tmp_path / "root", text="").config, store)
    put_bytes(workspace, "neo/user", TEXT)
    client = browse(workspace)
    form = editing(client, workspace)
    store.full = True
    made, forms = refused(sent(client, form), 503)
    assert "no space left on device" in made.text
    store.full = False
    assert sent(client, forms.named("Save")).status_code == 303
    assert entry(workspace, "long").body == TYPED


def test_an_error_that_nobody_foresaw_keeps_what_was_typed(client, workspace, monkeypatch):
    form = editing(client, workspace)

    def broken(*_, **__):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(page_view, "submit_plain", broken)
    made, forms = refused(sent(client, form), 500)
    assert "something went wrong in the server" in made.text
    assert "secret" not in made.text
    assert forms.named("Save")["fields"]["content"] == TYPED


# --- hostile text --------------------------------------------------------------------------------------------------

NASTY = "</textarea><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e{{ 4321 * 4321 }}"
# What a template would make of it: a number that no time or date on the page looks like.
MADE = str(4321 * 4321)


@pytest.mark.parametrize(
    "name",
    "content category new_category expires domain entity expected op_id entry where next back csrf other".split(),  # noqa: SIM905 - shorter
)
def test_hostile_text_in_any_field_does_nothing(client, workspace, name):
    for form in (editing(client, workspace), verifying(client, workspace), shown(client, FILE).named("Add it")):
        workspace.add("neo", f"Note {revisions(workspace)}.", category="rules")
        answer = sent(client, form, **{name: NASTY})
        made = Markup(answer.text)
        assert answer.status_code in {400, 403, 404, 409, 422}
        assert made.unbalanced == []
        assert made.all("img") == []
        assert all(each["src"].startswith("/static/") for each in made.all("script"))
        assert not [key for _, each in made.tags for key in each if key.startswith("on")]
        assert MADE not in made.text


def test_what_was_typed_comes_back_as_it_was(client, workspace):
    form = editing(client, workspace)
    workspace.add("neo", "More.", category="rules")
    for typed in (NASTY, "\nA line before it, and after\n\n", "&lt;b&gt; &amp;", "a\tb\x07c"):
        _, forms = refused(sent(client, form, content=typed))
        assert forms.named("Save")["fields"]["content"] == typed
