"""Branches on the page: decided entry by entry, looked at, merged or dropped; and refused where the head has moved."""

import re

import pytest

from catmem.plugins.page.history_page import MOST
from catmem.store.contract import Change
from tests.roots import text_of
from tests.together import together
from tests.unit.server.page.changing import root
from tests.unit.server.page.forms import Forms, read, refused, sent, shown, told

TEXT = "## Talk\nno calls before ten\n§\nshort answers only\n\n## Rules\ninvoices on the 15th\n"
PAGE = "/page/branches/neo/user/2a"
KEY = "ghp_q7Rt2LxV9bNs4KdW8mZc3PfH6jYg1TaE5uQo"


@pytest.fixture
def workspace(tmp_path):
    """Revision 2 and branch 2a reword the same entry; branch 2b adds one, and merges by itself."""
    opened = root(tmp_path, text=TEXT)
    for word in ("nine", "eight"):
        opened.replace("neo", "before ten", f"no calls before {word}", expected=1, on_stale="branch")
    opened.add("neo", "likes charts", category="talk", expected=1, on_stale="branch")
    return opened


def branched(folder, base, head, branch):
    """A root in which 2a is a branch beside the head."""
    workspace = root(folder, text="", config="")
    for text, seen in ((base, None), (head, "1"), (branch, "1")):
        workspace.store.commit("neo/user", seen, lambda _, text=text: text.encode(), Change(on_stale="branch"))
    return workspace


def revisions(workspace):
    return [(each.revision, each.parents) for each in workspace.store.log("neo/user")]


def settle(forms, choice, words=None):
    """What a person chooses of the one conflict of a page, as fields of its form; without a choice, none."""
    form = forms.named("Merge")
    key = next(name.removeprefix("words-") for name in form["fields"] if name.startswith("words-"))
    chosen = {f"choice-{key}": choice, f"words-{key}": words}
    return form, {name: said for name, said in chosen.items() if said is not None}


def merge(client, choice, words=None):
    form, chosen = settle(shown(client, PAGE), choice, words)
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
    assert answer.headers["location"] == "/page/branches?did=neo/user@3"
    assert text_of(workspace) == wanted
    assert revisions(workspace)[0] == ("3", ("2", "2a"))
    page = told(client, answer)
    assert "Merged 2a" in page.text
    assert "Undo" not in page.text  # it would not open the branch again
    assert {"/page/history/neo/user", "/page/history/neo/user/2a"} <= {each["href"] for each in page.all("a")}


def test_a_dropped_branch_is_closed_and_the_file_stays(client, workspace):
    before = text_of(workspace)
    form = shown(client, PAGE).named("Drop branch 2a")
    assert [sent(client, form).headers["location"] for _ in range(2)] == ["/page/branches?did=neo/user@3"] * 2
    assert (text_of(workspace), revisions(workspace)[0]) == (before, ("3", ("2", "2a")))
    page = read(client, "/page/branches?did=neo/user@3").text
    assert "Dropped 2a" in page
    assert "Undo" not in page


def test_a_branch_that_nobody_can_read_says_why_and_can_be_dropped(client, workspace):
    change = Change(on_stale="branch")
    branch = workspace.store.commit("neo/user", "1", lambda _: b"## Talk\nno calls \xff\n", change).revision
    page = f"/page/branches/neo/user/{branch}"
    assert "UTF-8" in read(client, page).text
    assert sent(client, shown(client, page).named(f"Drop branch {branch}")).status_code == 303
    assert branch not in [each.revision for each in workspace.branches("neo")]
    assert [form for form in shown(client, page).all if "/branches/" in str(form["action"])] == []


# --- what is looked at ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "words"), [("theirs", None), ("both", None), ("own", "no calls before seven")])
def test_what_is_shown_is_what_a_merge_then_writes(client, workspace, choice, words):
    answer = preview(client, choice, words)
    lines = diff_lines(answer.text)
    assert (answer.status_code, revisions(workspace)[0]) == (200, ("2b", ("1",)))
    was = TEXT.replace("ten", "nine").split("\n")
    assert sent(client, Forms(answer.text).named("Merge")).status_code == 303
    assert [line for line in text_of(workspace).split("\n") if line not in was] == [x for x in lines if x != "§"]


# --- what is refused ------------------------------------------------------------------------------------------------


@together(
    ("button", "choice", "words", "said"),
    [
        (merge, None, None, "1 conflict is not decided yet"),
        (merge, "own", " \n", ""),
        (preview, "own", " \n", ""),
        (merge, "neither", None, ""),
        (merge, "", None, ""),
        (merge, "own", f"the token is {KEY}", "holds a secret"),
        (preview, "own", f"the token is {KEY}", "holds a secret"),
    ],
)
def test_what_is_no_decision_is_refused(client, workspace, *, button, choice, words, said):
    before = revisions(workspace)
    page, forms = refused(button(client, choice, words), 422)
    assert said in page.text
    assert forms.named("Merge")
    assert revisions(workspace) == before


def test_where_the_head_moved_the_decision_is_kept_and_the_second_send_writes(client, workspace):
    form, chosen = settle(shown(client, PAGE), "own", "no calls before seven")
    dropping = shown(client, PAGE).named("Drop branch 2a")
    workspace.add("neo", "came in between", category="rules")
    before = revisions(workspace)
    refused(sent(client, dropping))
    page, forms = refused(sent(client, form, **chosen))
    assert revisions(workspace) == before
    assert "came in between" in " ".join(diff_lines(page.html))
    again = forms.named("Merge")
    assert chosen.items() <= again["fields"].items()
    assert sent(client, again).headers["location"] == "/page/branches?did=neo/user@4"
    assert "came in between" in text_of(workspace)
    assert "no calls before seven" in text_of(workspace)


@pytest.mark.parametrize("word", ["noon", "eight"], ids=["another conflict", "no conflict any more"])
def test_where_the_head_says_something_else_the_words_are_kept_and_the_choice_is_not(client, workspace, word):
    form, chosen = settle(shown(client, PAGE), "own", "no calls before seven")
    workspace.replace("neo", "before nine", f"no calls before {word}")
    page, forms = refused(sent(client, form, **chosen))
    again = forms.named("Merge")
    assert "no calls before seven" in page.html
    assert [name for name in again["fields"] if name.startswith("choice-")] == []
    assert "a conflict that is another one by now" in page.text
    assert sent(client, again).status_code == (303 if word == "eight" else 422)


def test_a_branch_that_somebody_merged_meanwhile_says_so(client, workspace):
    form, chosen = settle(shown(client, PAGE), "theirs")
    workspace.merge("neo", ["2a"], precedence="ours")
    page, _ = refused(sent(client, form, **chosen))
    assert "This branch is closed" in page.text
    assert "before eight" not in text_of(workspace)


def test_words_that_nobody_touched_stay_what_the_branch_says(tmp_path, browse):
    said = ("now", "here", "there\rand then")
    workspace = branched(tmp_path, *(f"## Talk\none two three four five six seven {each}\n" for each in said))
    assert merge(browse(workspace), "own").status_code == 303
    assert text_of(workspace) == "## Talk\none two three four five six seven there\rand then\n"


# --- many conflicts of long entries ---------------------------------------------------------------------------------

LONG = "Запись о бумаге " * 60


def test_a_form_of_many_long_conflicts_can_be_sent(tmp_path, browse):
    def text(said):
        return "## Talk\n" + "\n§\n".join(f"{number} {said} {LONG}" for number in range(MOST)) + "\n"

    workspace = branched(tmp_path, text("base"), text("head"), text("branch"))
    client = browse(workspace)
    form = shown(client, PAGE).named("Merge")
    keys = [name.removeprefix("words-") for name in form["fields"] if name.startswith("words-")]
    assert len(keys) == MOST
    chosen = {f"choice-{key}": "theirs" for key in keys[:-1]}
    chosen |= {f"choice-{keys[-1]}": "own", f"words-{keys[-1]}": "Words of my own."}
    looked_at = sent(client, {**form, "action": f"{PAGE}/preview"}, **chosen)
    again = Forms(looked_at.text).named("Merge")
    assert again["fields"][f"words-{keys[-1]}"] == "Words of my own."
    assert sent(client, again).status_code == 303
    bodies = [each.body for each in workspace.parse(text_of(workspace)).entries]
    assert bodies == [*(f"{number} branch {LONG}".strip() for number in range(MOST - 1)), "Words of my own."]
