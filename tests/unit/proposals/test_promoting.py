"""What a specialist learned comes to its source: as a rewording of what is there, or as an addition."""

from datetime import date

import pytest

from catmem.errors import EditError
from catmem.proposals.promoting import promote, promote_learned
from catmem.writing.request import Operation
from tests.roots import make_root, put_bytes, text_of

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
    "neo": "seed_from: boss\nuser_memory_categories: [rules]\nwritable_categories: [rules]\n",
    "smith": "tier: 1\nseed_from: neo\nuser_memory_categories: ['*']\nmay_approve: ['*']\n",
}
BOSS = "## Rules\n[verified_date: 2026-10-01] Deploys go out on Fridays.\n§\nInvoices are paid in 30 days.\n"
NEO = "## Rules\nDeploys go out on Fridays, never on Mondays.\n§\nThe staging server is called Otter.\n"


@pytest.fixture
def ws(tmp_path):
    files = {"boss/user": BOSS, "neo/user": NEO}
    return make_root(tmp_path, config="approval: {promote: ['*']}\n", profiles=PROFILES, files=files)


def test_an_addition_keeps_the_order_of_its_tags(ws):
    tagged = "[created: 2026-11-01, expires: 2027-03-02] The staging server is called Otter."
    put_bytes(ws, "neo/user", f"## Rules\n{tagged}\n")
    promote(ws, "neo", "staging server")
    assert tagged in text_of(ws, "boss/user")


def test_a_rewording_takes_the_place_of_the_old_words_and_of_their_verification(ws):
    promote(ws, "neo", "never on Mondays")
    text = text_of(ws, "boss/user")
    assert "Deploys go out on Fridays, never on Mondays." in text
    assert "verified_date" not in text
    assert text.count("Deploys") == 1


def test_another_fact_behind_the_same_label_is_an_addition(ws):
    put_bytes(ws, "boss/user", "## Rules\nVendor: Acme delivers the paper.\n")
    put_bytes(ws, "neo/user", "## Rules\nVendor: Kern repairs our vans.\n")
    promote(ws, "neo", "Kern")
    assert text_of(ws, "boss/user").count("Vendor: ") == 2


def test_what_specialists_learned_waits_in_the_name_of_the_specialist(ws):
    found = promote_learned(ws)[0]
    assert [each.written.waiting is not None for each in found] == [True, True]
    assert text_of(ws, "boss/user") == BOSS
    waiting = ws.proposals()
    assert {(each.agent, each.reason) for each in waiting} == {("neo", "added or reworded in neo/user")}
    reworded = next(each for each in waiting if each.changes[0].before is not None)
    assert reworded.changes[0].before.body == "Deploys go out on Fridays."


def test_the_same_fact_of_two_specialists_waits_once(ws):
    fact = "The staging server is called Otter."
    again = "seed_from: boss\nuser_memory_categories: [rules]\n"
    (ws.root / "profiles" / "tri.yaml").write_text(again)
    put_bytes(ws, "tri/user", f"## Rules\n{fact}\n")
    assert [each.profile for each in promote_learned(ws, dry_run=True)[0]] == ["neo", "neo"]
    assert [each.profile for each in promote_learned(ws)[0]] == ["neo", "neo"]
    assert promote_learned(ws, "tri")[0] == []


def test_what_the_source_says_in_another_section_is_not_new(ws):
    promote(ws, "neo", "staging server")
    ws.write(
        "boss", [Operation("move", old_text="staging server", category="rules", to_category="hosts")], target="user"
    )
    assert [each.entry.body for each in promote_learned(ws)[0]] == ["Deploys go out on Fridays, never on Mondays."]
    with pytest.raises(EditError) as caught:
        promote(ws, "neo", "staging server")
    assert (caught.value.code, "in hosts" in caught.value.message) == ("not_new", True)


@pytest.mark.parametrize("there", ["2026-10-01", "2026-11-02"])
def test_a_person_brings_up_the_day_of_a_verification(ws, there):
    day = "[verified_date: 2026-11-02] "
    put_bytes(ws, "neo/user", NEO.replace("Deploys", f"{day}Deploys").replace("\nThe", f"\n{day}The"))
    ws.write("boss", [Operation("verify", old_text="Deploys", as_of=date.fromisoformat(there))], target="user")
    done = promote(ws, "neo", "never on Mondays")
    promote(ws, "neo", "staging server")
    text = text_of(ws, "boss/user")
    assert "[verified_date: 2026-11-02] Deploys go out on Fridays, never on Mondays." in text
    assert "verified_date: 2026-11-02] The staging server is called Otter." in text
    assert text.count("Deploys") == 1
    assert not [each for each in (*done.written.notes, *done.written.warnings) if "verification" in each]


def test_what_waits_has_no_verification_yet(ws):
    put_bytes(ws, "neo/user", NEO.replace("\nThe", "\n[verified_date: 2026-11-02] The"))
    promote(ws, "neo", "staging server", proposes=True)
    (only,) = ws.proposals()
    assert "verified_date" not in only.changes[0].after.tags


@pytest.fixture
def torn(ws):
    """Both sides gave one entry other words since the seed."""
    ws.apply_seed(ws.plan_seed("boss", "neo"))
    ws.replace("neo", "Invoices", "Invoices are paid in 20 days.")
    ws.replace("boss", "Invoices", "Invoices are paid in 40 days.")
    return ws


def test_newer_words_of_the_source_are_replaced_only_by_a_decision_on_both(torn):
    done = promote(torn, "neo", "Invoices")
    assert "Invoices are paid in 40 days." in text_of(torn, "boss/user")
    assert done.written.notes[-1].startswith("boss/user has other words for it since the seed")
    (only,) = torn.proposals()
    assert [side.body for side in only.changes[0][:2]] == [
        "Invoices are paid in 40 days.",
        "Invoices are paid in 20 days.",
    ]


def test_what_a_seed_asks_about_is_not_proposed(torn):
    found = {each.entry.body: each for each in promote_learned(torn)[0]}
    assert found["Invoices are paid in 20 days."].error.code == "in_conflict"
    assert "catmem seed boss neo --interactive" in found["Invoices are paid in 20 days."].error.hint
    assert all(each.agent == "neo" and "Invoices" not in each.changes[0].after.body for each in torn.proposals())
    torn.apply_seed(torn.plan_seed("boss", "neo", resolve="target"))
    again = {each.entry.body: each for each in promote_learned(torn)[0]}
    assert again["Invoices are paid in 20 days."].written.waiting is not None
