"""An approval can be undone, and what it did stays on the record."""

import pytest

from catmem.errors import ProposalError
from catmem.proposals.proposal import disclosed
from catmem.staleness.lineage import blame
from tests.roots import make_root, text_of

PROFILES = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}
TEXT = "## Talk\n[verified_date: 2026-03-02] Prefers short answers.\n§\nNever calls before ten.\n"


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path, config="approval: all\n", profiles=PROFILES, files={"neo/user": TEXT})


def proposed(ws, words="Prefers long answers."):
    return ws.replace("neo", "Prefers short", content=words, actor="neo", reason="He said so.").waiting


def test_undo_takes_an_approval_back(ws):
    name = proposed(ws)
    (change,) = ws.proposal(name).changes
    assert change.verifies
    revision = ws.approve(name).revision
    assert change.approved.text in text_of(ws)  # it showed to the letter what an approval writes
    ws.undo("neo/user", expected=revision)
    assert text_of(ws) == TEXT
    with pytest.raises(ProposalError, match="was approved"):
        ws.approve(name)
    again = proposed(ws)
    ws.approve(again)
    assert "long answers" in text_of(ws)


def test_what_was_approved_in_other_words_says_which(ws):
    name = proposed(ws)
    ws.approve(name, words="Prefers a table.")
    found = ws.proposal(name)
    assert found.decision.words.body == "Prefers a table."
    assert disclosed(ws, name, "neo")["decision"]["words"].endswith("Prefers a table.")
    assert [change.after.body for change in found.changes] == ["Prefers long answers."]


def test_undo_of_the_first_text_of_a_file_takes_it_out(ws):
    name = ws.add("neo", "A first note.", target="memory", category="talk", actor="neo").waiting
    ws.approve(name)
    assert "A first note." in text_of(ws, "neo/memory")
    ws.undo("neo/memory")
    assert text_of(ws, "neo/memory") == ""


@pytest.mark.parametrize("words", [None, "Prefers no answers at all, thank you."])
def test_the_record_of_an_approval_says_what_it_did_to_which_entry(ws, words):
    name = proposed(ws, "Something else altogether, from top to bottom.")
    revision = ws.approve(name, words=words).revision
    record = ws.store.head("neo/user")
    first = ws.parse(ws.store.peek("neo/user")).entries[0]
    assert [(each["action"], each["id"]) for each in record.note["actions"]] == [("replace", first.id)]
    # So the entry goes on from what it was, in other words.
    line = next(each for each in blame(ws, ws.store, "neo/user") if each.entry.id == first.id)
    assert [each.revision for each in line.revisions] == ["1", revision]
