"""What a write says of itself: the text that it is made on, its op_id, and that it is a dry run.

A dry run is refused where the write itself would be, and answers what it would; it writes nothing.
"""

import pytest

from catmem.errors import (
    OperationCollisionError,
    ProposalError,
    StaleError,
    UnknownRevisionError,
)
from catmem.workspace import history
from catmem.workspace.workspace import Workspace
from catmem.writing.request import checked_expected
from tests.golden.case import put
from tests.refusals import refusal
from tests.roots import make_root, put_bytes, text_of

NEVER = "sha256:" + "0" * 64
TEXT = "## Talk\none\n"
BOTH = pytest.mark.parametrize("dry_run", [True, False])


@pytest.fixture
def workspace(tmp_path):
    """A root in files."""
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def file(workspace):
    return workspace.path("neo", "user")


def add(workspace, text="x", **how):
    return workspace.add("neo", text, category="talk", **how)


def by_another(file):
    file.write_text(file.read_text(encoding="utf-8") + "§\ntheirs\n", encoding="utf-8")


# --- what was seen -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["", " 7", "7\n", "-7", -7, "latest", "a8", "8A", "٧", "sha256:", NEVER[:-1], NEVER.upper(), True, 7.0, b"7"],
)
def test_what_can_be_neither(given):
    assert "a revision such as 7" in refusal("bad_expected", checked_expected, given).hint


@pytest.mark.parametrize(("expected", "error"), [("1", StaleError), ("5", UnknownRevisionError)])
def test_a_revision_of_the_file_that_was_not_named_is_told_with_the_file_that_holds_the_words(
    workspace, expected, error
):
    add(workspace, "tea")
    workspace.add("neo", "coffee", category="talk", target="memory")
    hints = {}
    for old_text in ("coffee", "tea"):
        with pytest.raises(error) as caught:
            workspace.replace("neo", old_text, "water", expected=expected)
        hints[old_text] = caught.value.hint
    assert hints["coffee"] == "The memory file of neo holds it: give -t memory."
    assert "-t memory" not in hints["tea"]


@BOTH
@pytest.mark.parametrize("on_drift", ["adopt", "merge"])
@pytest.mark.parametrize("revision", ["3", "8a"])
def test_a_revision_that_is_in_no_record(workspace, dry_run, on_drift, revision):
    add(workspace)
    refusal("unknown_revision", add, workspace, "y", expected=revision, dry_run=dry_run, on_drift=on_drift)
    refusal("unknown_revision", history.restore, workspace, "neo", "1", expected=revision, dry_run=dry_run)


@BOTH
def test_a_digest_that_is_in_no_record_is_drift_only_where_there_is_a_change_from_outside(workspace, file, dry_run):
    refusal("drift", add, workspace, expected=NEVER, dry_run=dry_run)
    add(workspace)
    refusal("stale_prev", add, workspace, "y", expected=NEVER, dry_run=dry_run)
    by_another(file)
    refusal("drift", add, workspace, "y", expected=NEVER, dry_run=dry_run)


@BOTH
def test_an_empty_file_without_a_history_has_the_revision_0(workspace, file, dry_run):
    file.write_bytes(b"")
    assert add(workspace, expected="0", dry_run=dry_run).changed


def test_what_others_wrote_is_noted(workspace, file):
    first = add(workspace)
    assert (first.adopted, first.notes) == ("1", ("what the file held before is kept as revision 1 of its history",))
    assert (add(workspace, "y").adopted, add(workspace, "z").notes) == (None, ())
    assert (history.adopt(workspace, "neo", expected=4), workspace.store.head("neo/user").revision) == ("4", "4")
    by_another(file)
    again = add(workspace)
    said = "another program changed the file before; that is revision 5 of its history"
    assert (again.changed, again.revision, again.adopted) == (False, "5", "5")
    assert again.notes == ("'x' is already in talk of neo/user, so no second copy was made", said)
    file.write_text(TEXT, encoding="utf-8")
    assert history.restore(workspace, "neo", "2").notes == (said.replace("5", "6"),)


# --- one op_id, and dry runs ---------------------------------------------------------------------------------------

USER = "neo/user"
RULES = "## Rules\nInvoices are paid in 30 days.\n§\nDeploys go out on Fridays.\n"


@pytest.fixture
def ws(tmp_path):
    """A root in which agents ask before they change what others wrote, and may ask once."""
    profiles = {
        "boss": "tier: 1\nuser_memory_categories: ['*']\n",
        "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\n",
    }
    made = make_root(tmp_path, config="approval: {agents: others, most: 1}\n", profiles=profiles)
    put_bytes(made, USER, RULES)
    return made


def rule(ws, text="One.", **how):
    return ws.add("neo", text, category="rules", **how)


def test_a_dry_run_under_a_used_op_id(ws):
    rule(ws, op_id="a")
    with pytest.raises(OperationCollisionError, match="other content came first"):
        rule(ws, "Two.", op_id="a", dry_run=True)
    again = rule(ws, op_id="a", dry_run=True)
    assert (again.repeated, again.revision) == (True, "2")


def test_a_retry_after_its_category_got_another_name(ws, tmp_path):
    rule(ws, op_id="a")
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {house-rules: {aliases: [rules]}}}\n")
    now = Workspace.open(tmp_path, search=False, store=ws.store)
    for dry_run in (True, False):
        again = rule(now, op_id="a", dry_run=dry_run)
        assert again.repeated
        assert [(each.category, each.body) for each in again.entries] == [("house-rules", "One.")]


def test_a_restore_under_one_op_id_is_made_once_and_stands_for_one_revision(ws):
    rule(ws, op_id="of an addition")
    first, again = (history.restore(ws, USER, "1", expected=2, op_id="once") for _ in range(2))
    assert (first.revision, again.revision) == ("3", "3")
    assert (first.repeated, again.repeated) == (False, True)
    assert next(ws.store.log(USER)).agent == "person"
    for revision, op_id in (("2", "once"), ("1", "of an addition")):
        for dry_run in (True, False):
            refusal("hash_collision", history.restore, ws, USER, revision, op_id=op_id, dry_run=dry_run)


def test_a_dry_run_of_a_proposal_beyond_the_limit(ws):
    first = ws.remove("neo", "Invoices", actor="neo", dry_run=True)
    assert (first.waiting, first.notes) == (None, ("this would wait for a person as a proposal",))
    made = ws.remove("neo", "Invoices", actor="neo")
    assert ws.remove("neo", "Invoices", actor="neo", dry_run=True).waiting == made.waiting
    with pytest.raises(ProposalError, match=r"approval\.most"):
        ws.remove("neo", "Fridays", actor="neo", dry_run=True)
    assert [each.revision for each in ws.store.log(USER)] == ["2a", "1"]


def test_a_dry_run_of_an_undo_that_would_need_approval(ws):
    ws.replace("neo", "Fridays", "Deploys go out on Mondays.")
    refusal("needs_approval", ws.undo, USER, actor="boss", dry_run=True)
    assert ws.undo(USER, dry_run=True).changed
    assert text_of(ws).count("Mondays") == 1


def test_a_dry_run_of_a_merge_that_would_need_approval(ws):
    rule(ws)
    ws.remove("neo", "Invoices", expected=1, on_stale="branch")
    assert ws.merge(USER, dry_run=True).changed
    refusal("needs_approval", ws.merge, USER, actor="boss", dry_run=True)
    rule(ws, "Two.", op_id="m")
    refusal("hash_collision", ws.merge, USER, op_id="m", dry_run=True)
    assert len(ws.store.branches(USER)) == 2


def test_the_op_id_of_what_waits_is_for_no_other_write(ws):
    waiting = ws.remove("neo", "Invoices", actor="neo", op_id="a")
    for dry_run in (True, False):
        with pytest.raises(OperationCollisionError, match="as a proposal"):
            rule(ws, "New.", actor="neo", op_id="a", dry_run=dry_run)
    assert ws.remove("neo", "Invoices", actor="neo", op_id="a").waiting == waiting.waiting
    # Nobody else learns that something waits.
    assert rule(ws, "Newer.", op_id="a").changed
