"""What is purged is gone from what waits too: from the texts of proposals, and from the reasons given for them."""

import json

import pytest

from catmem.errors import ProposalError
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
