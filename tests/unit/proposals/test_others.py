"""What an agent did not write itself waits if it goes or changes, by whatever door and however it is put."""

from datetime import date

import pytest

from catmem.errors import ApprovalError
from catmem.ops.memory_tool import memory_tool
from catmem.store.contract import Change
from catmem.workspace.history import restore
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.golden.case import put
from tests.roots import make_root, newest, put_bytes, text_of
from tests.store.memory import InMemoryStore

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "seed_from: boss\nuser_memory_categories: [talk, rules]\nwritable_categories: [talk, rules, drop]\n"
    "may_verify: true\n",
}
TEXT = "## Talk\nOld note of somebody.\n§\nAnother note.\n\n## Rules\nInvoices are paid in 30 days.\n\n## Vault\nthe code\n"
DETOUR = [
    {"action": "remove", "old_text": "Old note"},
    {"action": "add", "content": "Pay all to account 77.", "category": "talk"},
]


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path, config="approval: others\n", profiles=PROFILES, files={"neo/user": TEXT})


def own(ws, words="A note of neo.", **more):
    """An entry that neo writes."""
    done = ws.add("neo", words, category="talk", actor="neo", **more)
    assert done.changed
    return words


def waits(ws, *operations, actor="neo"):
    return ws.write("neo", operations, actor=actor).waiting is not None


def replace(old, content=None, **more):
    return Operation("replace", old_text=old, content=content, **more)


# --- whose an entry is ---------------------------------------------------------------------------------------------


def test_its_own_entries_are_free_and_those_of_others_wait(ws):
    words = own(ws)
    assert not waits(ws, replace(words, "A note in other words."))
    assert not waits(ws, replace("other words", tags={"source": "letter"}))
    assert not waits(ws, Operation("verify", old_text="other words"))
    assert not waits(ws, Operation("move", old_text="other words", to_category="rules"))
    assert not waits(ws, Operation("remove", old_text="other words"))
    assert waits(ws, replace("Old note", "New note."))
    assert waits(ws, Operation("remove", old_text="Another"))
    assert waits(ws, Operation("move", old_text="Invoices", to_category="talk"))


def test_what_another_agent_wrote_is_of_others(ws):
    ws.add("neo", "A note of the boss.", category="talk", actor="boss")
    assert waits(ws, replace("of the boss", "x"))
    assert waits(ws, replace(own(ws), "x"), actor="boss")


def test_a_verification_of_another_entry_does_not_wait_and_takes_nothing_over(ws):
    assert not waits(ws, Operation("verify", old_text="Old note", as_of=date(2026, 11, 1)))
    assert not waits(ws, replace("Old note", tags={"verified_date": "2026-11-02"}))
    assert waits(ws, replace("Old note", tags={"verified_date": "2026-10-01"}))
    assert waits(ws, replace("Old note", tags={"verified_date": None}))
    assert waits(ws, replace("Old note", tags={"source": "letter"}))
    assert waits(ws, replace("Old note", "x"))


@pytest.mark.parametrize("by", ["person", "editor", "boss", "approval"])
def test_an_entry_that_somebody_else_touched_is_no_more_its_own(ws, by):
    words = own(ws)
    if by == "person":
        ws.verify("neo", words)
    elif by == "boss":
        ws.write("neo", [replace(words, tags={"source": "letter"})], actor="boss", proposes=True)
        ws.approve(ws.proposals()[0].id)
    elif by == "editor":
        put_external(ws, text_of(ws).replace(words, f"{words[:-1]}, says an editor."))
    else:
        name = ws.replace("neo", words, content="A note of neo, approved.", actor="neo", proposes=True).waiting
        ws.approve(name)
    seen = ws.read("neo").revision or ws.read("neo").digest
    assert ws.write("neo", [replace("A note of neo", "x")], actor="neo", expected=seen).waiting


def put_external(ws, text):
    """As an editor: what no call of catmem wrote."""
    ws.store.commit("neo/user", None, lambda _: text.encode(), Change(op="adopt", agent="external"))


def test_a_move_by_a_person_and_a_new_layout_take_nothing_away(ws):
    words = own(ws, tags={"source": "letter"})
    ws.move("neo", words, "rules")
    put_bytes(ws, "neo/user", text_of(ws).replace("source: letter", "source:  letter"))
    assert not waits(ws, Operation("remove", old_text=words))


@pytest.mark.parametrize("by", ["neo", "boss", None])
def test_a_seeded_copy_is_nobodys_own(ws, by):
    put_bytes(ws, "boss/user", "## Rules\nDeploys go out on Fridays.\n")
    ws.apply_seed(ws.plan_seed("boss", ["neo"], actor="boss" if by == "boss" else None))
    assert "Fridays" in text_of(ws)
    for actor in ("neo", "boss"):
        assert ws.replace("neo", "Fridays", content="Deploys go out daily.", actor=actor).waiting


def test_the_same_words_of_two_writers_are_of_both(ws):
    own(ws, "Said by two.")
    ws.add("neo", "Said by two.", category="rules")
    assert ws.remove("neo", "Said by two.", category="talk", actor="neo").waiting


def test_what_comes_back_is_whose_it_was(ws):
    ws.remove("neo", "Old note")
    own(ws, "Old note of somebody.")
    assert waits(ws, Operation("remove", old_text="Old note"))


@pytest.mark.parametrize("by", [None, "boss"])
def test_what_is_on_a_branch_stays_of_who_wrote_it_whoever_merges_it(ws, by):
    base = ws.store.head("neo/user").revision
    own(ws, "Something else.")
    aside = {"category": "talk", "expected": base, "on_stale": "branch"}
    assert ws.add("neo", "Of a person.", **aside).branch
    assert ws.add("neo", "Of a branch of neo.", actor="neo", **aside).branch
    ws.merge("neo/user", actor=by)
    for words in ("Of a person", "Of a branch"):
        assert waits(ws, replace(words, "x"), actor="boss")
    assert not waits(ws, replace("Of a branch of neo", "In other words."))


def test_words_of_a_branch_with_tags_of_another_are_of_both(ws):
    own(ws, "Invoices go out on Mondays.")
    base = ws.store.head("neo/user").revision
    own(ws, "Something else.")
    aside = {"expected": base, "on_stale": "branch", "actor": "neo"}
    assert ws.replace("neo", "Mondays", content="Invoices go out on Tuesdays.", **aside).branch
    ws.replace("neo", "Mondays", content=None, tags={"source": "letter"})
    ws.merge("neo/user")
    assert waits(ws, replace("Tuesdays", "x"))


@pytest.mark.parametrize("by_hand", [("of neo.", "of neo, by hand."), ("[created", "[source: x] [created")])
def test_an_external_change_that_no_write_has_taken_in_yet_is_of_others(tmp_path, by_hand):
    put(tmp_path / "catmem.yaml", "approval: others\n")
    put(tmp_path / "profiles" / "neo.yaml", PROFILES["neo"].replace("seed_from: boss\n", ""))
    path = tmp_path / "homes" / "neo" / "USER.md"
    ws = Workspace.open(tmp_path)
    ws.add("neo", "A note of neo.", category="talk", actor="neo")
    path.write_text(path.read_text().replace(*by_hand))
    again = Workspace.open(tmp_path)
    seen = {"expected": again.store.read("neo/user").digest, "actor": "neo"}
    assert again.replace("neo", "of neo", content="x", **seen).waiting
    ws.store.close()
    again.store.close()


def test_where_the_history_cannot_be_read_nothing_is_its_own(ws, monkeypatch):
    from catmem.errors import StoreError

    words = own(ws)

    def broken(*_):
        raise StoreError("the history is damaged", code="damaged")

    monkeypatch.setattr(InMemoryStore, "replay", broken)
    ws._cache.__dict__.pop("histories", None)
    assert waits(ws, replace(words, "x"))


# --- by every door -------------------------------------------------------------------------------------------------


def test_it_waits_by_the_tool_and_by_an_envelope(ws):
    assert "waiting" in memory_tool(ws, "neo", {"operations": DETOUR})
    change = [{"action": "replace", "old_text": "Old note of somebody.", "content": "Pay all to account 77."}]
    assert ws.submit(ws.envelope("neo", change, agent="boss", prev=newest(ws))).waiting
    assert text_of(ws) == TEXT


def test_a_restore_and_a_seed_that_take_away_are_refused(ws):
    before = ws.store.head("neo/user").revision
    own(ws)
    with pytest.raises(ApprovalError):
        restore(ws, "neo/user", before, actor="boss")
    put_bytes(ws, "boss/user", "## Rules\nDeploys go out on Fridays.\n")
    ws.apply_seed(ws.plan_seed("boss", ["neo"], actor="boss"))
    put_bytes(ws, "boss/user", "## Rules\nDeploys go out on Mondays.\n")
    (refused,) = ws.apply_seed(ws.plan_seed("boss", ["neo"], actor="boss")).refused
    assert refused.error.code == "needs_approval"
    assert not ws.apply_seed(ws.plan_seed("boss", ["neo"])).refused


def test_tags_of_its_own_decide_nothing(ws, tmp_path):
    for tags in ({"domain": "code"}, {"domain": "finance"}, {"verified_date": "2026-11-01"}):
        assert waits(ws, replace("Invoices", tags=tags, content="Invoices are paid to account 77."))
    config = "taxonomy: {categories: {rules: {domain: finance}}}\napproval: {agents: off, categories: [rules]}\n"
    other = make_root(tmp_path / "other", config=config, profiles=PROFILES, files={"neo/user": TEXT})
    assert other.add("neo", "New.", category="rules", tags={"domain": "code"}, actor="neo").waiting
    assert other.verify("neo", "Invoices", actor="neo").waiting
    assert other.add("neo", "New.", category="talk", tags={"domain": "finance"}, actor="neo").changed


def test_it_can_add_where_it_sees_nothing(ws):
    assert ws.add("neo", "For the drop.", category="drop", actor="neo").changed
    other = ws.add("neo", "the code", category="talk", actor="neo")
    assert other.changed
    assert not waits(ws, replace("the code", "x"))  # the same words stand where it does not see them


def test_a_verification_hides_no_removal_of_a_twin(ws):
    twins = "## Talk\n[verified_date: 2026-01-02] Twin.\n§\n[verified_date: 2026-02-02] Twin.\n"
    put_bytes(ws, "neo/user", twins)
    one, other = (entry.id for entry in ws.read("neo", "user").document.entries)
    assert waits(ws, Operation("verify", old_text=one), Operation("remove", old_text=other))
    assert not waits(ws, Operation("verify", old_text=one), Operation("verify", old_text=other))


@pytest.mark.parametrize("own_before", [False, True])
def test_a_tag_that_stands_there_twice_is_of_who_wrote_it_and_waits_with_its_entry(ws, own_before):
    words = "A note of the boss."
    ws.add("neo", words, category="talk", actor="boss" if own_before else None, tags={"source": "audit"})
    before = text_of(ws)
    put_external(ws, before.replace("source: audit]", "source: audit, source: tax office]"))
    ws.add("neo", "By hand.", category="rules")  # the record has what an editor did
    twice = text_of(ws)
    assert "tax office" in twice
    done = ws.replace("neo", words, words, tags={"source": "letter"}, actor="boss", expected=newest(ws))
    assert (done.waiting is not None, text_of(ws)) == (True, twice)


VERIFY = Operation("verify", old_text="A note of neo.", as_of=date(2026, 11, 21))
OTHER = Operation("verify", old_text="Old note", as_of=date(2026, 11, 21))
BESIDE = {
    "alone": [VERIFY],
    "beside an addition": [Operation("add", content="Another fact.", category="talk"), VERIFY],
    "beside another": [OTHER, VERIFY],
}


@pytest.mark.parametrize("operations", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("by", [None, "boss"])
def test_what_was_verified_in_whatever_write_on_the_day_that_it_had_is_not_the_agents(ws, operations, by):
    words = own(ws, tags={"verified_date": "2026-11-21"})
    assert ws.write("neo", operations, actor=by).changed is (by is None or len(operations) > 1)
    assert waits(ws, replace(words, "The opposite.")) is (by is None or len(operations) > 1)


@pytest.mark.parametrize("config", ["", "approval: off\n"])
def test_a_second_verification_leaves_no_record_where_it_decides_nothing(tmp_path, config):
    ws = make_root(tmp_path, config=config, profiles=PROFILES, files={"neo/user": TEXT})
    assert ws.write("neo", [OTHER]).changed
    assert not ws.write("neo", [OTHER]).changed


def test_a_branch_on_older_text_makes_no_entry_foreign(ws):
    words = own(ws)
    before = ws.store.head("neo/user").revision
    assert not waits(ws, replace(words, tags={"source": "letter"}))
    assert ws.add("neo", "By hand.", category="talk", expected=before, on_stale="branch").branch
    assert not waits(ws, replace(words, "A note in other words."))


@pytest.mark.parametrize(
    "approval", ["others", "{agents: off, categories: [talk]}", "{agents: off, categories: [pay]}"]
)
def test_no_agent_drops_the_branch_of_another(tmp_path, approval):
    ws = make_root(tmp_path, config=f"approval: {approval}\n", profiles=PROFILES, files={"neo/user": TEXT})
    ws.add("neo", "First.", category="talk")
    before = ws.store.head("neo/user").revision
    ws.add("neo", "Second.", category="talk")
    branch = ws.add("neo", "By hand.", category="talk", expected=before, on_stale="branch").revision
    with pytest.raises(ApprovalError):
        ws.merge("neo/user", [branch], drop=True, actor="boss")
    if "talk" not in approval:
        assert ws.merge("neo/user", [branch], actor="boss").revision
        assert "By hand." in text_of(ws)


def test_where_nothing_waits_an_agent_drops_a_branch(tmp_path):
    ws = make_root(tmp_path, config="approval: {agents: off, most: 3}\n", profiles=PROFILES, files={"neo/user": TEXT})
    before = ws.store.head("neo/user").revision
    ws.add("neo", "Second.", category="talk")
    branch = ws.add("neo", "By hand.", category="talk", expected=before, on_stale="branch").revision
    assert ws.merge("neo/user", [branch], drop=True, actor="boss").revision


@pytest.mark.parametrize("first", [True, False])
def test_an_entry_of_its_own_in_the_same_words_makes_no_proposal_stale(tmp_path, first):
    entries = ["[source: letter] Small commits.", "Else."]
    text = "## Talk\n" + "\n§\n".join(entries if first else reversed(entries)) + "\n"
    ws = make_root(tmp_path, config="approval: others\n", profiles=PROFILES, files={"neo/user": text})
    name = ws.replace("neo", "Small", "Commits of one change.", actor="boss").waiting
    own(ws, "Own note.")
    ws.replace("neo", "Own note.", "Small commits.", actor="neo")
    assert text_of(ws).count("Small commits.") == 2
    assert [each.state for each in ws.proposals()] == ["waiting"]
    ws.approve(name)
    assert "[source: letter] Commits of one change." in text_of(ws)
    assert text_of(ws).count("Small commits.") == 1


# --- how often it is read ------------------------------------------------------------------------------------------


def test_the_history_is_read_once_for_a_whole_batch(ws, monkeypatch):
    words = [f"Fact number {number}, of neo." for number in range(100)]
    ws.write("neo", [Operation("add", content=each, category="talk") for each in words], actor="neo")
    for number in range(150):
        put_bytes(ws, "neo/user", text_of(ws).replace("Another note", f"Another note {number % 10}"))
    read = []
    replay, read_one = InMemoryStore.replay, InMemoryStore.read
    monkeypatch.setattr(InMemoryStore, "replay", lambda *said: read.append("replay") or replay(*said))
    monkeypatch.setattr(InMemoryStore, "read", lambda *said: read.append("read") or read_one(*said))
    found = {}
    for size in (1, 100):
        anew = Workspace.open(ws.root, search=False, store=ws.store)
        read.clear()
        changed = [replace(each, f"{each[:-1]}, again.") for each in words[:size]]
        assert anew.write("neo", changed, actor="neo", dry_run=True).waiting is None
        found[size] = sorted(read)
    assert found[1] == found[100]
    assert found[1].count("replay") == 1
    assert waits(ws, *[replace(each, f"{each[:-1]}, again.") for each in words], replace("Another", "x"))
