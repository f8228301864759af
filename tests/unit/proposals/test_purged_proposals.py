"""What is purged is gone from what waits too: from the texts of proposals, and from the reasons given for them."""

import json

import pytest

from catmem.errors import NoMatchError, ProposalError
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

WORDS = "The clinic in Elm Street has the file."


@pytest.fixture(params=["files", "sqlite"])
def ws(request, tmp_path):
    store = "" if request.param == "files" else "store: sqlite:///memory.db\n"
    put(tmp_path / "catmem.yaml", f"approval: others\n{store}")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [rules]\nwritable_categories: [rules]\n")
    return Workspace.open(tmp_path)


def everything(ws):
    texts = [data.decode() for _, data in ws.store.replay("neo/user")]
    notes = [json.dumps(dict(each.note)) for each in ws.store.log("neo/user")]
    return "\n".join([*texts, *notes])


def test_a_purge_takes_the_words_and_the_reasons_out_of_proposals(ws):
    from catmem.workspace.purging import purge

    ws.add("neo", "Invoices are paid in 30 days.", category="rules")
    ws.verify("neo", "Invoices")
    reason = f"He said so: {WORDS}"
    name = ws.replace("neo", "Invoices", content=WORDS, actor="neo", reason=reason).waiting
    other = ws.add("neo", "Another thing.", category="rules", reason=reason, proposes=True).waiting
    ws.reject(other, reason=f"Not because {WORDS}")
    assert everything(ws).count(WORDS) >= 4
    purge(ws, "neo/user", WORDS)
    assert WORDS not in everything(ws)
    assert ws.proposal(name).state == "stale"
    with pytest.raises(ProposalError):
        ws.approve(name)
    assert "Invoices are paid in 30 days." in everything(ws)


def test_words_that_only_a_reason_or_evidence_says_are_purged(ws):
    from catmem.workspace.purging import purge

    ws.add("neo", "Invoices are due.", category="rules", reason=f"A write: {WORDS}")
    ws.verify("neo", "Invoices", evidence=f"Seen: {WORDS}")
    ws.replace("neo", "Invoices", content="Due later.", actor="neo", reason=f"A proposal: {WORDS}")
    other = ws.add("neo", "Another thing.", category="rules", proposes=True).waiting
    ws.reject(other, reason=f"A rejection: {WORDS}")
    before, said = ws.store.peek("neo/user"), everything(ws).count(WORDS)
    quoting = [each.revision for each in ws.store.log("neo/user") if WORDS in json.dumps(dict(each.note))]
    foretold = purge(ws, "neo/user", WORDS, dry_run=True)
    assert (len(quoting), everything(ws).count(WORDS)) == (4, said)
    assert sorted(foretold.places) == sorted(f"a reason, evidence or category of revision {each}" for each in quoting)
    done = purge(ws, "neo/user", WORDS)
    assert (done.revisions, done.places, done.entries) == (4, foretold.places, ())
    assert WORDS not in everything(ws)
    assert ws.store.peek("neo/user") == before
    with pytest.raises(NoMatchError):
        purge(ws, "neo/user", WORDS)


def test_a_purge_of_a_declared_entity_names_the_file_whose_reason_says_the_words(ws):
    from catmem.workspace.purging import purge

    ws.add("neo", "Invoices are due.", category="rules", reason=WORDS)
    config = (ws.root / "catmem.yaml").read_text()
    put(ws.root / "catmem.yaml", f'{config}entities: {{"notes:alpha": {{content: text, writers: [neo]}}}}\n')
    ws = Workspace.open(ws.root)
    ws.put("notes:alpha", f"{WORDS}\n", expected="0")
    ws.put("notes:alpha", "nothing\n", expected="1")
    report = purge(ws, "notes:alpha", WORDS)
    assert [each.why for each in report.left] == ["neo/user holds the words too: purge it there"]
