"""A target whose file is a clone of its source's: what a seed says of it, and what it takes out."""

import pytest

from catmem.seeding.planner import seed_answer
from catmem.workspace.history import restore
from tests.roots import put_bytes, text_of
from tests.unit.seeding.seeds import DAY, NEO, TEXT, bodies, seed, seed_root

CLONE = "Likes tea.\n§\nNo calls before ten.\n§\nVendor is Acme.\n§\nThe pay is a secret.\n"


@pytest.fixture
def workspace(tmp_path):
    made = seed_root(tmp_path)
    put_bytes(made, "neo/user", CLONE)
    return made


def test_a_seed_says_that_a_file_is_a_clone_and_what_to_do(workspace):
    done = seed(workspace, "neo")
    note = done.notes[-1]
    assert seed_answer(done)["warnings"] == [note]
    assert note.startswith("neo/user: keeps 4 entries that boss/user has too")
    assert "--replace-cloned" in note
    assert bodies(workspace)[:4] == [line for line in CLONE.split("\n") if line not in {"§", ""}]


def test_the_slice_takes_the_place_of_a_clone_in_one_revision_and_the_old_text_can_be_restored(workspace):
    plan = workspace.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True)
    assert "takes out 4 entries" in plan.notes[-1]
    (done,) = workspace.apply_seed(plan).files
    assert text_of(workspace) == NEO
    assert [each.op for each in workspace.store.log("neo/user")][-2:].count("seed") == 1
    assert workspace.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True).in_sync
    restore(workspace, "neo/user", "1")
    assert text_of(workspace) == CLONE
    assert done.revision is not None


SEEDED = ["Likes tea.", "No calls before ten.", "Vendor is Acme."]
TARGETS = {
    "beside what the source does not have": (f"{CLONE}§\nOnly here.\n", None, ["Only here.", *SEEDED]),
    "beside a clone of another category": (
        f"Likes tea.\n§\nThe pay is a secret.\n\n{TEXT}",
        "talk",
        ["The pay is a secret.", *SEEDED, "The pay is a secret."],
    ),
}


@pytest.mark.parametrize(("text", "categories", "left"), TARGETS.values(), ids=TARGETS)
def test_what_is_no_clone_of_these_categories_stays(workspace, text, categories, left):
    put_bytes(workspace, "neo/user", text)
    seed(workspace, "neo", categories=categories, replace_cloned=True)
    assert bodies(workspace) == left


def test_a_file_with_much_of_its_own_is_no_clone(workspace):
    own = "Likes tea.\n§\nOne.\n§\nTwo.\n§\nThree.\n"
    put_bytes(workspace, "neo/user", own)
    plan = workspace.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True)
    assert not [note for note in plan.notes if "boss/user has too" in note]
    workspace.apply_seed(plan)
    assert bodies(workspace)[:4] == ["Likes tea.", "One.", "Two.", "Three."]


def test_a_clone_of_a_file_of_which_the_profile_reads_nothing_is_taken_out(workspace):
    put_bytes(workspace, "boss/memory", "## Pay\nOn the 25th.\n")
    put_bytes(workspace, "neo/memory", "On the 25th.\n")
    seed(workspace, "neo")
    assert bodies(workspace, "neo/memory") == ["On the 25th."]
    seed(workspace, "neo", replace_cloned=True)
    assert bodies(workspace, "neo/memory") == []


def test_nothing_is_taken_out_while_the_source_is_not_sorted(workspace):
    put_bytes(workspace, "boss/user", CLONE)
    seed(workspace, "neo", replace_cloned=True)
    assert text_of(workspace) == CLONE


def test_a_clone_without_room_for_the_slice_is_refused_with_the_way_out(tmp_path):
    workspace = seed_root(tmp_path, config="version: 1\nlimits: {user: 150}\n")
    put_bytes(workspace, "neo/user", CLONE)
    (refused,) = seed(workspace, "neo").refused
    assert "--replace-cloned" in refused.error.hint
    assert seed(workspace, "neo", replace_cloned=True).refused == ()
    assert text_of(workspace) == NEO


def test_what_was_seeded_of_other_categories_is_known(tmp_path):
    made = seed_root(tmp_path)
    assert [seed(made, "neo", categories=each, replace_cloned=True).notes for each in ("talk", "rules")] == [(), ()]
    assert text_of(made) == NEO
    for how in ({"categories": "rules"}, {"categories": "talk"}, {}):
        assert seed(made, "neo", **how, replace_cloned=True).notes == ()
        assert text_of(made) == NEO


def test_what_was_seeded_from_another_source_is_known(tmp_path):
    made = seed_root(tmp_path, profiles={"chief": "tier: 1\nuser_memory_categories: ['*']\n"})
    put_bytes(made, "chief/user", "## Pay\nThe pay is a secret.\n§\nVendor is Acme.\n")
    put_bytes(made, "boss/user", f"{text_of(made, 'boss/user')}§\nVendor is Acme.\n")
    (made.root / "profiles" / "neo.yaml").write_text("user_memory_categories: [pay]\n")
    seed(made, "neo", source="chief")
    (made.root / "profiles" / "neo.yaml").write_text("user_memory_categories: [talk]\n")
    assert seed(made, "neo", replace_cloned=True).notes == ()
    assert bodies(made) == ["The pay is a secret.", "Vendor is Acme.", "Likes tea.", "No calls before ten."]


def test_a_copy_that_was_verified_or_moved_stays_a_copy(tmp_path):
    made = seed_root(tmp_path)
    seed(made, "neo")
    own = "## Talk\n[verified_date: 2026-11-02] Likes tea.\n§\nVendor is Acme.\n"
    put_bytes(made, "neo/user", own)
    assert seed(made, "neo", replace_cloned=True).notes == ()
    assert text_of(made) == own
