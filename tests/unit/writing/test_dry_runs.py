"""A dry run is refused where the write itself would be, and answers what it would; it writes nothing."""

import pytest

from catmem.errors import ApprovalError, OperationCollisionError, ProposalError
from catmem.store.contract import Change
from catmem.workspace.history import restore
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import make_root, text_of

USER = "neo/user"
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\n",
    "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\n",
}
TEXT = "## Rules\nInvoices are paid in 30 days.\n§\nDeploys go out on Fridays.\n"


def root(tmp_path, config="approval: {agents: others, most: 1}\n"):
    ws = make_root(tmp_path, config=config, profiles=PROFILES)
    ws.store.commit(USER, None, lambda _: TEXT.encode(), Change())
    return ws


def log(ws):
    return [each.revision for each in ws.store.log(USER)]


def test_of_a_used_op_id_with_other_content(tmp_path):
    ws = root(tmp_path)
    ws.add("neo", "One.", category="rules", op_id="a")
    with pytest.raises(OperationCollisionError, match="other content came first"):
        ws.add("neo", "Two.", category="rules", op_id="a", dry_run=True)
    again = ws.add("neo", "One.", category="rules", op_id="a", dry_run=True)
    assert (again.repeated, again.revision) == (True, "2")


def test_of_a_retry_after_its_category_got_another_name(tmp_path):
    ws = root(tmp_path)
    ws.add("neo", "One.", category="rules", op_id="a")
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {house-rules: {aliases: [rules]}}}\n")
    now = Workspace.open(tmp_path, search=False, store=ws.store)
    for dry_run in (True, False):
        again = now.add("neo", "One.", category="rules", op_id="a", dry_run=dry_run)
        assert (again.repeated, [(each.category, each.body) for each in again.entries]) == (
            True,
            [("house-rules", "One.")],
        )


def test_of_a_proposal_beyond_the_limit(tmp_path):
    ws = root(tmp_path)
    first = ws.remove("neo", "Invoices", actor="neo", dry_run=True)
    assert (first.waiting, first.notes) == (None, ("this would wait for a person as a proposal",))
    made = ws.remove("neo", "Invoices", actor="neo")
    assert ws.remove("neo", "Invoices", actor="neo", dry_run=True).waiting == made.waiting
    with pytest.raises(ProposalError, match=r"approval\.most"):
        ws.remove("neo", "Fridays", actor="neo", dry_run=True)
    assert log(ws) == ["2a", "1"]


def test_of_an_undo_that_would_need_approval(tmp_path):
    ws = root(tmp_path)
    ws.replace("neo", "Fridays", "Deploys go out on Mondays.")
    with pytest.raises(ApprovalError):
        ws.undo(USER, actor="boss", dry_run=True)
    assert ws.undo(USER, dry_run=True).changed
    assert text_of(ws).count("Mondays") == 1


def test_of_a_restore_under_a_used_op_id(tmp_path):
    ws = root(tmp_path)
    ws.add("neo", "One.", category="rules", op_id="a")
    with pytest.raises(OperationCollisionError):
        restore(ws, USER, "1", op_id="a", dry_run=True)


def test_of_a_merge_that_would_need_approval(tmp_path):
    ws = root(tmp_path)
    ws.add("neo", "One.", category="rules")
    ws.remove("neo", "Invoices", expected=1, on_stale="branch")
    assert ws.merge(USER, dry_run=True).changed
    with pytest.raises(ApprovalError):
        ws.merge(USER, actor="boss", dry_run=True)
    ws.add("neo", "Two.", category="rules", op_id="m")
    with pytest.raises(OperationCollisionError):
        ws.merge(USER, op_id="m", dry_run=True)
    assert len(ws.store.branches(USER)) == 2


# --- the id of what waits ------------------------------------------------------------------------------------------


def test_the_op_id_of_what_waits_is_for_no_other_write(tmp_path):
    ws = root(tmp_path)
    waiting = ws.remove("neo", "Invoices", actor="neo", op_id="a")
    for dry_run in (True, False):
        with pytest.raises(OperationCollisionError, match="as a proposal"):
            ws.add("neo", "New.", category="rules", actor="neo", op_id="a", dry_run=dry_run)
    assert ws.remove("neo", "Invoices", actor="neo", op_id="a").waiting == waiting.waiting
    # Nobody else learns that something waits.
    assert ws.add("neo", "Newer.", category="rules", op_id="a").changed
