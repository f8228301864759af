"""Proposals in every store: kept, copied, replayed, found whole, written to by envelopes, and purged."""

import json
from contextlib import closing
from uuid import uuid4

import pytest

from catmem.audit import replay
from catmem.errors import NoMatchError, ProposalError
from catmem.jsonable import jsonable
from catmem.workspace.copying import copy_root
from catmem.workspace.purging import purge
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import newest
from tests.sql import server

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n",
    "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\n",
}
STORES = ["files", "sqlite:///.catmem/memory.db", pytest.param("postgresql", marks=pytest.mark.postgresql)]
NEW = "Deploys go out on Mondays."
in_files = pytest.mark.parametrize("ws", ["files"], indirect=True)


@pytest.fixture(params=STORES)
def ws(request, tmp_path):
    # The folder of a test that passed is removed, and the next one may get its name.
    where = server.url_of(tmp_path / uuid4().hex) if request.param == "postgresql" else request.param
    put(tmp_path / "catmem.yaml", f"approval: others\nstore: {where}\n")
    for name, text in PROFILES.items():
        put(tmp_path / "profiles" / f"{name}.yaml", text)
    workspace = Workspace.open(tmp_path)
    with closing(workspace.store):
        for owner in PROFILES:
            workspace.add(owner, "Deploys go out on Fridays.", category="rules")
            workspace.verify(owner, "Fridays")
        yield workspace


def propose(ws, owner="neo", **how):
    return ws.replace(owner, "Fridays", content=NEW, actor=owner, **how).waiting


def said(found):
    return [{**jsonable(each), "timestamp": None} for each in found]


def test_it_waits_is_approved_and_undone(ws):
    name = propose(ws)
    assert [each.id for each in ws.proposals()] == [name]
    ws.approve(name)
    assert ws.list("neo")[0].entry.body == NEW
    assert ws.proposal(name).state == "approved"
    assert ws.store.verify() == []


def test_another_process_finds_it(ws):
    name = propose(ws)
    other = Workspace.open(ws.root)
    with closing(other.store):
        assert said(other.proposals()) == said(ws.proposals())
        other.reject(name, reason="No.")
    assert ws.proposal(name).decision.reason == "No."


@in_files
def test_a_copy_has_it_and_approves_it(ws):
    name = propose(ws)
    rejected = propose(ws, "boss")
    ws.reject(rejected, reason="No.")
    copy_root(ws, "files", "sqlite:///copy.db")
    put(ws.root / "catmem.yaml", "approval: others\nstore: sqlite:///copy.db\n")
    copied = Workspace.open(ws.root)
    with closing(copied.store):
        assert said(copied.proposals()) == said(ws.proposals())
        assert copied.proposal(rejected).state == "rejected"
        copied.approve(name)
        assert copied.list("neo")[0].entry.body == NEW


def test_a_replay_has_it(ws, tmp_path):
    name = propose(ws)
    ws.approve(name)
    propose(ws, "boss")
    assert not replay(ws).damaged


@in_files
def test_an_envelope_waits(ws):
    content = [{"action": "replace", "old_text": "Fridays", "content": NEW}]
    done = ws.submit(ws.envelope("boss", content, agent="boss", prev=newest(ws, "boss/user")))
    assert done.waiting
    assert ws.proposal(done.waiting).agent == "boss"
    assert NEW.encode() not in ws.store.peek("boss/user")
    ws.approve(done.waiting)
    assert NEW.encode() in ws.store.peek("boss/user")


# --- what is purged is gone from what waits too ---


WORDS = "The clinic in Elm Street has the file."


@pytest.fixture(params=["files", "sqlite"])
def workspace(request, tmp_path):
    store = "" if request.param == "files" else "store: sqlite:///memory.db\n"
    put(tmp_path / "catmem.yaml", f"approval: others\n{store}")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [rules]\nwritable_categories: [rules]\n")
    return Workspace.open(tmp_path)


def everything(workspace):
    texts = [data.decode() for _, data in workspace.store.replay("neo/user")]
    notes = [json.dumps(dict(each.note)) for each in workspace.store.log("neo/user")]
    return "\n".join([*texts, *notes])


def test_a_purge_takes_the_words_and_the_reasons_out_of_proposals(workspace):
    workspace.add("neo", "Invoices are paid in 30 days.", category="rules")
    workspace.verify("neo", "Invoices")
    reason = f"He said so: {WORDS}"
    name = workspace.replace("neo", "Invoices", content=WORDS, actor="neo", reason=reason).waiting
    other = workspace.add("neo", "Another thing.", category="rules", reason=reason, proposes=True).waiting
    workspace.reject(other, reason=f"Not because {WORDS}")
    assert everything(workspace).count(WORDS) >= 4
    purge(workspace, "neo/user", WORDS)
    assert WORDS not in everything(workspace)
    assert workspace.proposal(name).state == "stale"
    with pytest.raises(ProposalError):
        workspace.approve(name)
    assert "Invoices are paid in 30 days." in everything(workspace)


def test_words_that_only_a_reason_or_evidence_says_are_purged(workspace):
    workspace.add("neo", "Invoices are due.", category="rules", reason=f"A write: {WORDS}")
    workspace.verify("neo", "Invoices", evidence=f"Seen: {WORDS}")
    workspace.replace("neo", "Invoices", content="Due later.", actor="neo", reason=f"A proposal: {WORDS}")
    other = workspace.add("neo", "Another thing.", category="rules", proposes=True).waiting
    workspace.reject(other, reason=f"A rejection: {WORDS}")
    before, said = workspace.store.peek("neo/user"), everything(workspace).count(WORDS)
    quoting = [each.revision for each in workspace.store.log("neo/user") if WORDS in json.dumps(dict(each.note))]
    foretold = purge(workspace, "neo/user", WORDS, dry_run=True)
    assert (len(quoting), everything(workspace).count(WORDS)) == (4, said)
    assert sorted(foretold.places) == sorted(f"a reason, evidence or category of revision {each}" for each in quoting)
    done = purge(workspace, "neo/user", WORDS)
    assert (done.revisions, done.places, done.entries) == (4, foretold.places, ())
    assert WORDS not in everything(workspace)
    assert workspace.store.peek("neo/user") == before
    with pytest.raises(NoMatchError):
        purge(workspace, "neo/user", WORDS)


def test_a_purge_of_a_declared_entity_names_the_file_whose_reason_says_the_words(workspace):
    workspace.add("neo", "Invoices are due.", category="rules", reason=WORDS)
    config = (workspace.root / "catmem.yaml").read_text()
    put(workspace.root / "catmem.yaml", f'{config}entities: {{"notes:alpha": {{content: text, writers: [neo]}}}}\n')
    workspace = Workspace.open(workspace.root)
    workspace.put("notes:alpha", f"{WORDS}\n", expected="0")
    workspace.put("notes:alpha", "nothing\n", expected="1")
    report = purge(workspace, "notes:alpha", WORDS)
    assert [each.why for each in report.left] == ["neo/user holds the words too: purge it there"]
