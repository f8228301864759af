"""Branches on the page: decided entry by entry, looked at, merged or dropped; and refused where the head has moved."""

import re

import pytest

from catmem.plugins.page.history_page import MOST
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import text_of
from tests.together import together
from tests.unit.server.page.forms import Forms, sent, shown
from tests.unit.server.page.markup import Markup

TEXT = "## Talk\nno calls before ten\n§\nshort answers only\n\n## Rules\ninvoices on the 15th\n"
PAGE = "/page/branches/neo/user/2a"


@pytest.fixture
def workspace(tmp_path):
    """Revision 2 and branch 2a reword the same entry; branch 2b adds one, and merges by itself."""
    put(tmp_path / "catmem.yaml", "{}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    opened = Workspace.open(tmp_path, search=False)
    opened.store.commit("neo/user", None, lambda _: TEXT.encode(), Change())
    for word in ("nine", "eight"):
        opened.replace("neo", "before ten", f"no calls before {word}", expected=1, on_stale="branch")
    opened.add("neo", "likes charts", category="talk", expected=1, on_stale="branch")
    return opened


def revisions(workspace):
    return [(each.revision, each.parents) for each in workspace.store.log("neo/user")]


def settle(forms, choice, words=None):
    """What a person chooses of the one conflict of a page, as fields of its form."""
    form = forms.named("Merge")
    key = next(name.removeprefix("words-") for name in form["fields"] if name.startswith("words-"))
    return form, {f"choice-{key}": choice, **({} if words is None else {f"words-{key}": words})}


def merge(client, choice, words=None, forms=None):
    form, chosen = settle(forms or shown(client, PAGE), choice, words)
    return sent(client, form, **chosen)


def preview(client, choice, words=None):
    form, chosen = settle(shown(client, PAGE), choice, words)
    return sent(client, {**form, "action": f"{PAGE}/preview"}, **chosen)


def diff_lines(html):
    """The texts of the lines that a diff adds."""
    return [
        re.sub(r"<[^>]+>", "", line) for line in re.findall(r'<tr class="new">.*?<td class="text">(.*?)</td>', html)
    ]


# --- what is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["ours", "theirs", "both"])
def test_the_page_merges_what_the_library_merges(client, workspace, choice):
    wanted = workspace.merge("neo", ["2a"], precedence=choice, dry_run=True).after
    answer = merge(client, choice)
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/branches?did=neo/user@3")
    assert text_of(workspace) == wanted
    assert revisions(workspace)[0] == ("3", ("2", "2a"))


def test_what_was_done_is_told_and_has_no_undo_which_would_not_open_the_branch_again(client):
    page = client.get(merge(client, "theirs").headers["location"]).text
    assert "Merged 2a" in Markup(page).text
    assert "Undo" not in str(Forms(page).all)
    links = [each["href"] for each in Markup(page).all("a")]
    assert {"/page/history/neo/user", "/page/history/neo/user/2a"} <= set(links)


def test_a_dropped_branch_is_closed_and_the_file_stays(client, workspace):
    before = text_of(workspace)
    form = shown(client, PAGE).named("Drop branch 2a")
    assert [sent(client, form).headers["location"] for _ in range(2)] == ["/page/branches?did=neo/user@3"] * 2
    assert (text_of(workspace), revisions(workspace)[0]) == (before, ("3", ("2", "2a")))
    told = client.get("/page/branches?did=neo/user@3").text
    assert "Dropped 2a" in told
    assert "Undo" not in told


def test_a_branch_that_nobody_can_read_says_why_and_can_be_dropped(client, workspace):
    change = Change(on_stale="branch")
    branch = workspace.store.commit("neo/user", "1", lambda _: b"## Talk\nno calls \xff\n", change).revision
    page = f"/page/branches/neo/user/{branch}"
    answer = client.get(page)
    assert (answer.status_code, "UTF-8" in Markup(answer.text).text) == (200, True)
    assert sent(client, shown(client, page).named(f"Drop branch {branch}")).status_code == 303
    assert branch not in [each.revision for each in workspace.branches("neo")]
    assert [form for form in shown(client, page).all if "/branches/" in str(form["action"])] == []


# --- what is looked at ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "words"), [("theirs", None), ("both", None), ("own", "no calls before seven")])
def test_what_is_shown_is_what_a_merge_then_writes(client, workspace, choice, words):
    answer = preview(client, choice, words)
    before = revisions(workspace)
    lines = diff_lines(answer.text)
    assert (answer.status_code, revisions(workspace)) == (200, before)
    was = TEXT.replace("ten", "nine").split("\n")
    assert sent(client, Forms(answer.text).named("Merge")).status_code == 303
    assert [line for line in text_of(workspace).split("\n") if line not in was] == [x for x in lines if x != "§"]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_an_undecided_conflict_is_asked_for(client, workspace):
    form, _ = settle(shown(client, PAGE), "ours")
    before = revisions(workspace)
    answer = sent(client, form)
    assert answer.status_code == 422
    assert "1 conflict is not decided yet" in Markup(answer.text).text
    assert revisions(workspace) == before


@together(
    ("button", "choice", "words"),
    [(merge, "own", " \n"), (preview, "own", " \n"), (merge, "neither", None), (merge, "", None)],
)
def test_what_is_no_decision_is_refused(client, workspace, button, choice, words):
    before = revisions(workspace)
    answer = button(client, choice, words)
    assert answer.status_code == 422
    assert Forms(answer.text).named("Merge")
    assert revisions(workspace) == before


def test_where_the_head_moved_the_decision_is_kept_and_the_second_send_writes(client, workspace):
    form, chosen = settle(shown(client, PAGE), "own", "no calls before seven")
    workspace.add("neo", "came in between", category="rules")
    before = revisions(workspace)
    answer = sent(client, form, **chosen)
    assert answer.status_code == 409
    assert revisions(workspace) == before
    assert "came in between" in " ".join(diff_lines(answer.text))
    again = Forms(answer.text).named("Merge")
    assert chosen.items() <= again["fields"].items()
    assert sent(client, again).headers["location"] == "/page/branches?did=neo/user@4"
    assert "came in between" in text_of(workspace)
    assert "no calls before seven" in text_of(workspace)


def test_where_the_head_says_something_else_the_words_are_kept_and_the_choice_is_not(client, workspace):
    form, chosen = settle(shown(client, PAGE), "own", "no calls before seven")
    workspace.replace("neo", "before nine", "no calls before noon")
    answer = sent(client, form, **chosen)
    assert answer.status_code == 409
    again = Forms(answer.text).named("Merge")
    assert "no calls before seven" in answer.text
    assert [name for name in again["fields"] if name.startswith("choice-")] == []
    assert "a conflict that is another one by now" in answer.text


def test_words_for_a_conflict_that_is_gone_are_not_lost(client, workspace):
    form, chosen = settle(shown(client, PAGE), "own", "no calls before seven")
    workspace.replace("neo", "before nine", "no calls before eight")
    answer = sent(client, form, **chosen)
    assert answer.status_code == 409
    assert "no calls before seven" in answer.text
    assert sent(client, Forms(answer.text).named("Merge")).status_code == 303


def test_a_branch_that_somebody_merged_meanwhile_says_so(client, workspace):
    form, chosen = settle(shown(client, PAGE), "theirs")
    workspace.merge("neo", ["2a"], precedence="ours")
    answer = sent(client, form, **chosen)
    assert answer.status_code == 409
    assert "This branch is closed" in answer.text
    assert "before eight" not in text_of(workspace)


def test_words_that_nobody_touched_stay_what_the_branch_says(tmp_path, browse):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    workspace = Workspace.open(tmp_path, search=False)
    for said, seen in (("now", None), ("here", "1"), ("there\rand then", "1")):
        text = f"## Talk\none two three four five six seven {said}\n"
        workspace.store.commit("neo/user", seen, lambda _, text=text: text.encode(), Change(on_stale="branch"))
    client = browse(workspace)
    assert merge(client, "own").status_code == 303
    assert text_of(workspace) == "## Talk\none two three four five six seven there\rand then\n"


# --- many conflicts of long entries ---------------------------------------------------------------------------------

LONG = "Запись о бумаге " * 60


def test_a_form_of_many_long_conflicts_can_be_sent(tmp_path, browse):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    workspace = Workspace.open(tmp_path, search=False)
    for said, seen in (("base", None), ("head", "1"), ("branch", "1")):
        text = "## Talk\n" + "\n§\n".join(f"{number} {said} {LONG}" for number in range(MOST)) + "\n"
        workspace.store.commit("neo/user", seen, lambda _, text=text: text.encode(), Change(on_stale="branch"))
    client = browse(workspace)
    form = shown(client, PAGE).named("Merge")
    keys = [name.removeprefix("words-") for name in form["fields"] if name.startswith("words-")]
    assert len(keys) == MOST
    chosen = {f"choice-{key}": "theirs" for key in keys[:-1]}
    chosen |= {f"choice-{keys[-1]}": "own", f"words-{keys[-1]}": "Words of my own."}
    looked_at = sent(client, {**form, "action": f"{PAGE}/preview"}, **chosen)
    assert looked_at.status_code == 200
    again = Forms(looked_at.text).named("Merge")
    assert again["fields"][f"words-{keys[-1]}"] == "Words of my own."
    assert sent(client, again).status_code == 303
    bodies = [each.body for each in workspace.parse(text_of(workspace)).entries]
    assert bodies == [*(f"{number} branch {LONG}".strip() for number in range(MOST - 1)), "Words of my own."]


def test_words_with_a_secret_are_neither_previewed_nor_merged(client, workspace):
    words = "the token is ghp_" + "q7Rt2LxV9bNs4KdW8mZc3PfH6jYg1TaE5uQo"
    for answer in (preview(client, "own", words), merge(client, "own", words)):
        assert answer.status_code == 422
        assert "holds a secret" in Markup(answer.text).text
    assert "ghp_" not in text_of(workspace)
    assert len(revisions(workspace)) == 4


def test_a_drop_on_an_older_head_is_refused(client, workspace):
    form = shown(client, PAGE).named("Drop branch 2a")
    workspace.add("neo", "came in between", category="rules")
    assert sent(client, form).status_code == 409
    assert [each.revision for each in workspace.branches("neo")] == ["2b", "2a"]
