"""Proposals in every store: kept, copied, replayed, found whole, and written to by envelopes."""

from contextlib import closing
from dataclasses import replace
from uuid import uuid4

import pytest

from catmem.audit.rebuilding import replay
from catmem.errors import ProposalError
from catmem.jsonable import jsonable
from catmem.workspace.copying import copy_root
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
    assert not replay(ws, tmp_path / "again").damaged


@in_files
@pytest.mark.parametrize("form", ["operations", "text"])
def test_an_envelope_waits(ws, form):
    content = (
        [{"action": "replace", "old_text": "Fridays", "content": NEW}]
        if form == "operations"
        else ws.store.peek("boss/user").decode().replace("Deploys go out on Fridays.", NEW)
    )
    done = ws.submit(ws.envelope("boss", content, agent="boss", prev=newest(ws, "boss/user")))
    assert done.waiting
    assert ws.proposal(done.waiting).agent == "boss"
    assert NEW.encode() not in ws.store.peek("boss/user")
    ws.approve(done.waiting)
    assert NEW.encode() in ws.store.peek("boss/user")


@in_files
def test_an_envelope_cannot_merge_one_in(ws):
    name = propose(ws, "boss")
    leaf = ws.proposal(name).revision
    envelope = ws.envelope("boss", [{"action": "add", "content": "More.", "category": "rules"}], agent="boss")
    with pytest.raises(ProposalError) as caught:
        ws.submit(replace(envelope, merges=(leaf,)))
    assert caught.value.code == "on_proposal"
    assert ws.proposal(name).state == "waiting"
