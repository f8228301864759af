"""Nobody approves what they proposed, whichever way they try."""

from contextlib import suppress

import pytest

from catmem.errors import CatmemError, EditError, ForbiddenError, ProposalError
from catmem.workspace.history import restore
from tests.roots import make_root, text_of

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\n",
    "lead": "user_memory_categories: [rules]\nmay_approve: [rules]\nseed_from: middle\n",
    "middle": "user_memory_categories: [rules]\nseed_from: boss\n",
    "critic": "user_memory_categories: [rules]\nmay_approve: [other]\n",
}
TEXT = "## Rules\n[verified_date: 2026-10-01] Deploys go out on Fridays.\n§\nInvoices are paid in 30 days.\n"
NEW = "Deploys go out on Mondays."


@pytest.fixture
def ws(tmp_path):
    return make_root(
        tmp_path, config="approval: others\n", profiles=PROFILES, files={"boss/user": TEXT, "neo/user": TEXT}
    )


@pytest.fixture
def name(ws):
    return ws.replace("boss", "Fridays", content=NEW, actor="boss").waiting


def leaf(ws, name):
    return ws.proposal(name).revision


def assert_untouched(ws, name):
    assert text_of(ws, "boss/user") == TEXT
    assert ws.proposal(name).state == "waiting"


def test_not_by_approving_and_not_by_a_profile_that_is_seeded_from_the_proposer_or_may_approve_other_categories(
    ws, name
):
    with pytest.raises(ForbiddenError):
        ws.approve(name, actor="boss")
    with pytest.raises(ForbiddenError, match="seeded from boss"):
        ws.approve(name, actor="lead")
    with pytest.raises(CatmemError) as caught:
        ws.approve(name, actor="critic")
    assert caught.value.code == "unknown_proposal"
    assert_untouched(ws, name)


@pytest.mark.parametrize("drop", [False, True])
def test_not_by_merging_or_dropping_the_branch(ws, name, drop):
    for actor in ("boss", None):
        with pytest.raises(ProposalError) as caught:
            ws.merge("boss/user", [leaf(ws, name)], actor=actor, drop=drop)
        assert caught.value.code == "on_proposal"
    ws.merge("boss/user", actor="boss")
    ws.merge_all(actor="boss")
    assert_untouched(ws, name)
    assert ws.branches("boss/user") == []


def test_not_by_restoring_it(ws, name):
    for actor in ("boss", None):
        with pytest.raises(ProposalError) as refused:
            restore(ws, "boss/user", leaf(ws, name), actor=actor)
        assert refused.value.code == "on_proposal"
    assert_untouched(ws, name)


@pytest.mark.parametrize(
    ("how", "view"), [({"on_stale": "branch"}, "revision"), ({"on_drift": "merge"}, "digest"), ({}, "revision")]
)
def test_not_by_writing_on_the_branch(ws, name, how, view):
    found = next(each for each in ws.store.log("boss/user") if each.revision == leaf(ws, name))
    with suppress(CatmemError):  # whether it is refused or goes to the head, nothing may grow on the proposal
        ws.add("boss", "One more.", category="rules", expected=getattr(found, view), actor="boss", **how)
    ws.merge_all(actor="boss")
    assert NEW not in text_of(ws, "boss/user")
    assert ws.proposal(name).state == "waiting"


def test_not_by_a_branch_of_an_old_view(ws):
    ws.add("boss", "Something new.", category="rules")
    late = ws.replace("boss", "Fridays", content=NEW, expected="1", on_stale="branch", actor="boss")
    assert late.waiting
    ws.merge_all(actor="boss")
    assert NEW not in text_of(ws, "boss/user")


def test_not_by_an_op_id_that_decides(ws, name):
    with pytest.raises(EditError):
        ws.add("boss", "Harmless.", category="rules", op_id=f"decision {name}", actor="boss")
    assert ws.approve(name).changed
