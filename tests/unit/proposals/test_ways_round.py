"""Ways round the policy and round a decision, each of which was found open once; and nobody approves what they proposed."""

import dataclasses
import threading
from contextlib import suppress

import pytest

from catmem.errors import CatmemError, EditError, ForbiddenError, ProposalError
from catmem.proposals import proposal
from catmem.store.contract import Change
from catmem.workspace.history import restore
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import make_root, text_of

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "seed_from: boss\nuser_memory_categories: [rules, notes]\nwritable_categories: [rules, notes]\nmay_verify: true\n",
}
TEXT = "## Rules\n[verified_date: 2026-10-01] Deploys go out on Fridays.\n§\nInvoices are paid in 30 days.\n\n## Notes\nA note.\n"


def root(tmp_path, approval="others"):
    ws = make_root(tmp_path, config=f"approval: {approval}\n", profiles=PROFILES)
    for name in PROFILES:
        ws.store.commit(f"{name}/user", None, lambda _: TEXT.encode(), Change())
    return ws


def test_a_move_into_a_guarded_category_waits(tmp_path):
    ws = root(tmp_path, "{agents: off, categories: [rules]}")
    assert ws.add("neo", "Free here.", category="notes", actor="neo").changed
    assert ws.move("neo", "Free here.", "rules", actor="neo").waiting


def test_an_agent_that_approves_gives_no_words(tmp_path):
    ws = root(tmp_path, "all")
    name = ws.add("neo", "From neo.", category="rules", actor="neo").waiting
    with pytest.raises(ForbiddenError):
        ws.approve(name, words="From boss.", actor="boss")
    assert ws.approve(name, actor="boss").changed


def test_what_was_looked_at_under_an_id_stays_what_it_is(tmp_path):
    ws = root(tmp_path, "all")
    first = ws.add("neo", "The limit is 9.", category="rules", actor="neo", reason="First.").waiting
    tags = {"created": "2020-01-01"}
    again = ws.add("neo", "The limit is 9.", category="rules", tags=tags, actor="neo", reason="Other.").waiting
    dated = ws.add(
        "neo", "The limit is 9.", category="rules", tags={"verified_date": "2026-11-01"}, actor="neo"
    ).waiting
    assert again == first != dated
    assert ws.proposal(first).reason == "First."
    ws.approve(first)
    assert "2020-01-01" not in text_of(ws)


def test_an_alias_is_its_category(tmp_path):
    ws = root(tmp_path, "{categories: [law]}\ntaxonomy: {categories: {rules: {title: Rules, aliases: [law]}}}")
    assert ws.add("neo", "New.", category="rules", actor="neo").waiting


def test_a_decision_between_the_look_and_the_lock_leaves_no_second_one(tmp_path, monkeypatch):
    ws = root(tmp_path, "all")
    name = ws.add("neo", "Again and again.", category="rules", actor="neo").waiting
    real, decided = dataclasses.replace, []

    def decide_first(*arguments, **more):
        if not decided:
            decided.append(ws.reject(name, reason="No."))
        return real(*arguments, **more)

    monkeypatch.setattr(proposal, "replace", decide_first)
    other = ws.add("neo", "Another one.", category="rules", actor="neo").waiting
    assert [each.id for each in ws.proposals()] == [other]
    assert ws.proposal(name).state == "rejected"


@pytest.mark.parametrize("store", ["files", "sqlite:///.catmem/memory.db"])
def test_a_limit_holds_among_threads(tmp_path, store):
    put(tmp_path / "catmem.yaml", f"approval: {{agents: all, most: 3}}\nstore: {store}\n")
    for name, text in PROFILES.items():
        put(tmp_path / "profiles" / f"{name}.yaml", text)

    def work(words):
        ws = Workspace.open(tmp_path)
        try:
            ws.add("neo", words, category="rules", actor="neo")
        except CatmemError:
            pass
        finally:
            ws.store.close()

    threads = [threading.Thread(target=work, args=(f"Fact {n % 6} of this.",)) for n in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = Workspace.open(tmp_path).proposals()
    assert 1 <= len(found) == len({each.changes[0].after.body for each in found}) <= 3


def test_an_op_id_tells_nothing_of_what_others_have_waiting(tmp_path):
    ws = root(tmp_path, "all")
    name = ws.add("neo", "Of the boss.", category="rules", actor="boss", op_id="op-1").waiting
    own = ws.add("neo", "Of neo.", category="rules", actor="neo", op_id="op-1").waiting
    assert own not in {None, name}
    assert ws.add("neo", "Of neo.", category="rules", actor="neo", op_id="op-1").waiting == own
    with pytest.raises(CatmemError) as caught:
        ws.add("neo", "Other words.", category="rules", actor="neo", op_id="op-1")
    assert caught.value.code == "hash_collision"
    with pytest.raises(EditError):
        ws.add("neo", "Words.", category="notes", actor="neo", op_id="decision p-1")


def test_a_retry_of_what_waits_keeps_the_file_of_the_first_try(tmp_path):
    ws = root(tmp_path, "all")
    first = ws.add("neo", "Of neo.", category="rules", target="memory", actor="neo", op_id="op-1")
    again = ws.add("neo", "Of neo.", category="rules", actor="neo", op_id="op-1")
    assert (again.waiting, again.entity, again.repeated) == (first.waiting, "neo/memory", True)


@pytest.mark.parametrize("what", ["replace", "add"])
def test_words_that_the_file_has_by_now_are_not_approved_into_one_with_it(tmp_path, what):
    ws = root(tmp_path)
    if what == "replace":
        name = ws.replace("neo", "Deploys", content="Pay B.", category="rules", actor="neo").waiting
    else:
        name = ws.add("neo", "Pay B.", category="rules", actor="neo", proposes=True).waiting
    assert ws.proposal(name).state == "waiting"
    ws.add("neo", "Pay B.", category="rules", tags={"source": "PLANTED", "expires": "2030-01-01"}, actor="neo")
    assert ws.proposal(name).state == "stale"
    with pytest.raises(ProposalError):
        ws.approve(name)
    ws.reject(name)


def test_a_retry_says_what_became_of_it(tmp_path):
    ws = root(tmp_path, "all")
    again = {"content": "Once.", "category": "rules", "actor": "neo", "op_id": "op-1"}
    name = ws.add("neo", **again).waiting
    ws.reject(name)
    done = ws.add("neo", **again)
    assert (done.waiting, done.repeated) == (name, True)
    assert "it is rejected by now" in done.notes


# --- nobody approves what they proposed, whichever way they try ---

APPROVERS = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "user_memory_categories: [rules]\nwritable_categories: [rules]\n",
    "lead": "user_memory_categories: [rules]\nmay_approve: [rules]\nseed_from: middle\n",
    "middle": "user_memory_categories: [rules]\nseed_from: boss\n",
    "critic": "user_memory_categories: [rules]\nmay_approve: [other]\n",
}
RULES = "## Rules\n[verified_date: 2026-10-01] Deploys go out on Fridays.\n§\nInvoices are paid in 30 days.\n"
NEW = "Deploys go out on Mondays."


@pytest.fixture
def ws(tmp_path):
    return make_root(
        tmp_path, config="approval: others\n", profiles=APPROVERS, files={"boss/user": RULES, "neo/user": RULES}
    )


@pytest.fixture
def name(ws):
    return ws.replace("boss", "Fridays", content=NEW, actor="boss").waiting


def leaf(ws, name):
    return ws.proposal(name).revision


def assert_untouched(ws, name):
    assert text_of(ws, "boss/user") == RULES
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
