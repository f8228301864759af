"""What agents propose, on the page: the queue, one proposal, and what a person decides."""

import pytest

from catmem.digest import bytes_digest
from catmem.envelopes.tokens import new_token
from tests.roots import text_of
from tests.unit.server.page.changing import TEXT, revisions, root
from tests.unit.server.page.forms import Forms, read, refused, sent, shown, told
from tests.unit.server.page.markup import Markup

QUEUE = "/proposals"
CONFIG = """\
taxonomy: {categories: {talk: {title: Talk}, rules: {title: Rules}}}
approval: {agents: all}
"""
ANN = "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n"


@pytest.fixture
def workspace(tmp_path):
    return root(tmp_path / "root", config=CONFIG, ann=ANN)


def reword(workspace, old="Prefers short", new="Prefers long answers.", reason="He said so."):
    return workspace.replace("neo", old, content=new, actor="neo", reason=reason).waiting


def add(workspace, words, profile="neo"):
    return workspace.add(profile, words, category="talk", actor=profile).waiting


def marked(made):
    return [text for tag, text in made.texts if tag == "mark"]


def form_for(client, button, *names, address=QUEUE):
    """The form with a button, with these proposals ticked."""
    form = shown(client, address).named(button)
    boxes = dict.fromkeys((f"tick-{each}" for each in names), "on")
    assert boxes.keys() <= {name for name, _ in form["boxes"].values()} | form["fields"].keys()
    return {**form, "fields": form["fields"] | boxes}


def press(client, verdict, *names, address=QUEUE, **fields):
    button = {"approve": "Approve ticked", "reject": "Reject ticked"}[verdict]
    form = form_for(client, button, *names)
    return sent(client, {**form, "action": f"/page/change/proposals/{verdict}"}, **fields)


def alone(client, verdict, name, **fields):
    form = shown(client, f"{QUEUE}/{name}").named("Reject")
    return sent(client, {**form, "action": f"/page/change/proposals/{verdict}"}, **fields)


# --- what is shown -------------------------------------------------------------------------------------------------


def test_the_queue_says_who_wants_what_and_why(client, workspace):
    reword(workspace)
    workspace.remove("neo", "travel", actor="neo")
    add(workspace, "Likes tea.")
    made = read(client, QUEUE)
    assert "3 changes of agents wait for your yes or no" in made.text
    assert "neo: He said so." in made.text
    assert "Before Prefers short answers." in made.text
    assert "Proposed Prefers long answers." in made.text
    assert {"short", "long"} <= set(marked(made))
    assert "Proposed: remove it" in made.text
    assert "Proposed, new Likes tea." in made.text
    assert "gave no reason" in made.text


HIDDEN = "Thirty days net, as ever.\n\n[//]: # (All invoices go to account 77.)\n\n``` and so on\nx\n```"


def test_no_word_is_hidden_by_markdown(client, workspace):
    name = add(workspace, HIDDEN)
    for address in (QUEUE, f"{QUEUE}/{name}"):
        said = "\n".join(text for tag, text in read(client, address).texts if tag == "p")
        assert all(line in said for line in HIDDEN.split("\n")), address


def test_every_page_says_how_many_wait(client, workspace):
    assert "Proposals (" not in read(client, "/page/lint").text
    reword(workspace)
    add(workspace, "Likes tea.")
    assert "Proposals (2)" in read(client, "/page/lint").text
    assert "2 proposals for you to decide" in read(client, "/").text
    assert "2 proposals wait for your yes or no." in read(client, "/page/queue").text
    press(client, "reject", workspace.proposals()[0].id)
    assert "Proposals (1)" in read(client, "/page/lint").text
    assert "1 proposal waits for your yes or no." in read(client, "/page/queue").text


def test_a_hundred_are_read_in_pages_of_which_none_is_large(tmp_path, browse):
    config = f"{CONFIG.replace('approval: {', 'approval: {most: 100, ')}"
    workspace = root(tmp_path, config=config, text="")
    for number in range(100):
        add(workspace, f"Fact {number:03}: the vendor for cloud billing is Acme Ltd, its invoices are due on the 15th.")
    client = browse(workspace)
    seen = []
    for page in range(1, 5):
        answer = client.get(f"{QUEUE}?page={page}")
        assert len(answer.content) < 100_000
        seen += [each["name"] for each in Markup(answer.text).all("input") if each.get("name", "").startswith("tick-")]
    assert len(seen) == len(set(seen)) == 100
    assert "76 to 100 of 100" in Markup(answer.text).text


# --- yes -----------------------------------------------------------------------------------------------------------


def test_what_is_ticked_is_approved_each_as_a_revision(client, workspace):
    names = [reword(workspace), reword(workspace, "Never schedule", "Never schedule calls before nine.")]
    other = add(workspace, "Likes tea.")
    made = told(client, press(client, "approve", *names))
    assert "Prefers long answers." in text_of(workspace)
    assert "before nine" in text_of(workspace)
    assert revisions(workspace) == 1 + 3 + 2
    assert [each.id for each in workspace.proposals()] == [other]
    assert made.text.count("Proposed by neo, approved: ") == 2


def test_what_cannot_be_approved_is_named_and_the_rest_is_done(client, workspace):
    stale, fine = reword(workspace), add(workspace, "Likes tea.")
    workspace.replace("neo", "Prefers short", content="Prefers pictures.")
    page, _ = refused(press(client, "approve", stale, fine))
    assert f"1 of 2 were not approved: {stale} is stale" in page.text
    assert "The others were approved: 1." in page.text
    assert "Likes tea." in text_of(workspace)
    assert "Prefers pictures." in text_of(workspace)
    assert workspace.proposal(stale).state == "stale"


def test_own_words_that_are_refused_are_kept(client, workspace):
    name = reword(workspace)
    words = "DB_PASSWORD=hunter2-Falk0n!"
    _, forms = refused(alone(client, "approve", name, content=words), 422)
    form = forms.named("Approve")
    assert form["fields"]["content"] == words
    assert text_of(workspace) == TEXT
    told(client, sent(client, {**form, "action": "/page/change/proposals/approve"}, content="Prefers maps."))
    assert "Prefers maps." in text_of(workspace)


def test_a_stale_one_shows_three_sides_and_takes_no_yes(client, workspace):
    name = reword(workspace)
    form = shown(client, f"{QUEUE}/{name}").named("Reject")
    workspace.replace("neo", "Prefers short", content="Prefers short answers, with pictures.")
    made = read(client, f"{QUEUE}/{name}")
    assert "Before Prefers short answers." in made.text
    assert "Proposed Prefers long answers." in made.text
    assert "Now Prefers short answers, with pictures." in made.text
    buttons = shown(client, f"{QUEUE}/{name}").named("Reject")["buttons"]
    assert buttons == ["Reject"]
    # The page that was open before says so too, with the words of the person.
    page, forms = refused(sent(client, {**form, "action": "/page/change/proposals/approve"}, content="Mine."))
    assert "another one by now" in page.text
    assert forms.named("Approve")["fields"]["content"] == "Mine."
    assert "Prefers long" not in text_of(workspace)


def test_the_second_of_two_decisions_is_told_of_the_first(client, workspace):
    name = reword(workspace)
    form = shown(client, f"{QUEUE}/{name}").named("Reject")
    workspace.reject(name, reason="Not true.")
    page, _ = refused(sent(client, {**form, "action": "/page/change/proposals/approve"}))
    assert "was rejected by" in page.text
    assert "(Not true.)" in page.text
    assert text_of(workspace) == TEXT


# --- no ------------------------------------------------------------------------------------------------------------


def test_what_is_ticked_is_rejected_with_a_reason_and_says_who_decided(client, workspace):
    names = [reword(workspace), add(workspace, "Likes tea.")]
    made = told(client, press(client, "reject", *names, reason=" Not true. "))
    assert "Nothing waits" in made.text
    assert text_of(workspace) == TEXT
    for name in names:
        decision = workspace.proposal(name).decision
        assert decision.reason == "Not true."
        made = read(client, f"{QUEUE}/{name}")
        assert f"Proposed by neo, rejected by {decision.by}" in made.text
        assert "Not true." in made.text


# --- the history ---------------------------------------------------------------------------------------------------


def test_the_history_says_who_proposed_and_who_approved(client, workspace):
    name = reword(workspace)
    workspace.approve(name)
    made = read(client, "/page/history/neo/user")
    assert f"Proposed by neo, approved: Prefers long answers. {name}" in made.text
    assert "Proposed: Changed in talk" in made.text
    revision = workspace.store.head("neo/user")
    page = read(client, f"/page/history/neo/user/{revision.revision}")
    assert f"Proposed by neo, approved by {revision.who}" in page.text
    assert f"{QUEUE}/{name}" in [each.get("href") for each in page.all("a")]
    branch = read(client, f"/page/history/neo/user/{workspace.proposal(name).revision}")
    assert f"{QUEUE}/{name}" in [each.get("href") for each in branch.all("a")]
    assert "This branch beside the head" not in branch.text


# --- guards --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["waiting", "stale", "approved", "rejected"])
def test_a_page_is_well_made_whatever_became_of_it(client, workspace, state):
    name = reword(workspace)
    if state == "stale":
        workspace.replace("neo", "Prefers short", content="Prefers pictures.")
    elif state != "waiting":
        {"approved": workspace.approve, "rejected": workspace.reject}[state](name)
    for address in (QUEUE, f"{QUEUE}/{name}"):
        made = read(client, address)
        shown_of = {each["data-entity"]: each["data-revision"] for each in made.all("div") if "data-entity" in each}
        assert shown_of == {each: bytes_digest(workspace.store.peek(each)) for each in shown_of}
    assert shown_of.keys() == {"neo/user"}


def test_who_may_only_read_sees_no_form_and_an_agent_sees_nothing(workspace, tmp_path, browse):
    name, path = reword(workspace), tmp_path / "tokens" / "tokens.json"
    _, eve = new_token(workspace.config, path, "eve", person=True, scope="read")
    _, neo = new_token(workspace.config, path, "neo")
    client = browse(workspace, tokens=path)
    for address in (QUEUE, f"{QUEUE}/{name}"):
        answer = client.get(address, headers={"Authorization": f"Bearer {eve}"})
        assert "Prefers long answers." in Markup(answer.text).text
        assert {form["action"] for form in Forms(answer.text).all if form["method"] == "post"} == {"/page/theme"}
        assert not [each for each in Markup(answer.text).all("input") if "tick" in each["name"]]
        assert client.get(address, headers={"Authorization": f"Bearer {neo}"}).status_code == 403


def test_several_of_a_form_that_this_server_did_not_show_are_sent_once_more(client, workspace):
    names = [reword(workspace), add(workspace, "Likes tea.")]
    _, forms = refused(press(client, "approve", *names, csrf="odd"), 403)
    told(client, sent(client, forms.named("Approve")))
    assert workspace.proposals() == []
