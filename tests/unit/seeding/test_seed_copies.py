"""Which entries are copies that follow their source; and targets whose files are clones of it."""

import pytest

from catmem.seeding.planner import seed_answer
from catmem.seeding.seed_lock import seeded_copies
from catmem.staleness.review import Review
from catmem.workspace.history import restore
from tests.roots import put_bytes, text_of
from tests.unit.seeding.seeds import DAY, LOCK_NAME, NEO, TEXT, bodies, seed, seed_root


@pytest.fixture
def workspace(tmp_path):
    made = seed_root(tmp_path)
    seed(made, "neo")
    return made


def copied(workspace):
    """What the copies say, by entity."""
    said = {}
    for entity, entry_id in seeded_copies(workspace):
        document = workspace.parse(workspace.store.peek(entity))
        said.setdefault(entity, set()).update(entry.body for entry in document.entries if entry.id == entry_id)
    return said


COPIES = {"Likes tea.", "No calls before ten.", "Vendor is Acme."}


@pytest.mark.parametrize(
    ("entity", "text", "copies"),
    [
        ("neo/user", NEO + "§\nmine\n", COPIES),
        ("neo/user", NEO.replace("Acme", "Bolt"), COPIES - {"Vendor is Acme."}),
        ("boss/user", TEXT.replace("Acme", "Bolt"), COPIES),
    ],
)
def test_a_copy_is_what_was_seeded_and_the_target_left_whatever_the_source_says_by_now(workspace, entity, text, copies):
    put_bytes(workspace, entity, text)
    assert copied(workspace) == {"neo/user": copies}


def test_a_copy_is_told_with_all_that_it_was_seeded_from(tmp_path):
    workspace = seed_root(tmp_path, profiles={"zoe": "user_memory_categories: [talk]\n"})
    put_bytes(workspace, "zoe/user", "## Talk\nLikes tea.\n")
    seed(workspace, "neo")
    seed(workspace, "neo", source="zoe")
    found = {tuple(sorted(sources)) for sources in seeded_copies(workspace).values()}
    assert found == {("boss/user",), ("boss/user", "zoe/user")}


@pytest.mark.parametrize("entity", ["neo/user", "boss/user"])
def test_nothing_follows_what_cannot_be_read(workspace, entity):
    put_bytes(workspace, entity, b"caf\xe9\n")
    assert seeded_copies(workspace) == {}


@pytest.mark.parametrize("gone", [LOCK_NAME, "profiles/neo.yaml"])
def test_nothing_is_a_copy_without_a_lock_or_its_profile(workspace, tmp_path, gone):
    (tmp_path / gone).unlink()
    assert seeded_copies(workspace) == {}


OLD = "## Talk\n[verified_date: 2026-01-01] Old fact.\n"
STRICT = {
    "boss": "tier: 1\nstale_after: 9999d\nuser_memory_categories: ['*']\n",
    "neo": "seed_from: boss\nstale_after: 10d\nuser_memory_categories: [talk]\n",
}


def asked_of(workspace, **how):
    return [due.entity for due in Review(workspace, as_of=DAY, **how).due()]


def test_a_copy_whose_source_says_something_else_by_now_is_left_to_the_next_seed(tmp_path):
    workspace = seed_root(tmp_path, profiles=STRICT, text=OLD)
    seed(workspace, "neo")
    put_bytes(workspace, "boss/user", "## Talk\n[verified_date: 2026-11-20] Old fact, looked at again.\n")
    assert asked_of(workspace) == []


def test_a_copy_is_asked_about_at_its_source_also_by_a_review_of_its_profile_alone(tmp_path):
    workspace = seed_root(tmp_path, text=OLD)
    seed(workspace, "neo")
    assert asked_of(workspace) == ["boss/user"]
    assert asked_of(workspace, profiles=["neo"]) == []


def test_of_copies_of_each_other_none_is_left_out(tmp_path):
    workspace = seed_root(tmp_path, text=OLD)
    seed(workspace, "neo")
    seed(workspace, "boss", source="neo")
    assert asked_of(workspace) == ["boss/user", "neo/user"]


# --- a target whose file is a clone of its source's ---


CLONE = "Likes tea.\n§\nNo calls before ten.\n§\nVendor is Acme.\n§\nThe pay is a secret.\n"


@pytest.fixture
def cloned(tmp_path):
    made = seed_root(tmp_path)
    put_bytes(made, "neo/user", CLONE)
    return made


def test_a_seed_says_that_a_file_is_a_clone_and_what_to_do(cloned):
    done = seed(cloned, "neo")
    note = done.notes[-1]
    assert seed_answer(done)["warnings"] == [note]
    assert note.startswith("neo/user: keeps 4 entries that boss/user has too")
    assert "--replace-cloned" in note
    assert bodies(cloned)[:4] == [line for line in CLONE.split("\n") if line not in {"§", ""}]


def test_the_slice_takes_the_place_of_a_clone_in_one_revision_and_the_old_text_can_be_restored(cloned):
    plan = cloned.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True)
    assert "takes out 4 entries" in plan.notes[-1]
    (done,) = cloned.apply_seed(plan).files
    assert text_of(cloned) == NEO
    assert [each.op for each in cloned.store.log("neo/user")][-2:].count("seed") == 1
    assert cloned.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True).in_sync
    restore(cloned, "neo/user", "1")
    assert text_of(cloned) == CLONE
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
def test_what_is_no_clone_of_these_categories_stays(cloned, text, categories, left):
    put_bytes(cloned, "neo/user", text)
    seed(cloned, "neo", categories=categories, replace_cloned=True)
    assert bodies(cloned) == left


def test_a_file_with_much_of_its_own_is_no_clone(cloned):
    own = "Likes tea.\n§\nOne.\n§\nTwo.\n§\nThree.\n"
    put_bytes(cloned, "neo/user", own)
    plan = cloned.plan_seed("boss", "neo", as_of=DAY, replace_cloned=True)
    assert not [note for note in plan.notes if "boss/user has too" in note]
    cloned.apply_seed(plan)
    assert bodies(cloned)[:4] == ["Likes tea.", "One.", "Two.", "Three."]


def test_a_clone_of_a_file_of_which_the_profile_reads_nothing_is_taken_out(cloned):
    put_bytes(cloned, "boss/memory", "## Pay\nOn the 25th.\n")
    put_bytes(cloned, "neo/memory", "On the 25th.\n")
    seed(cloned, "neo")
    assert bodies(cloned, "neo/memory") == ["On the 25th."]
    seed(cloned, "neo", replace_cloned=True)
    assert bodies(cloned, "neo/memory") == []


def test_nothing_is_taken_out_while_the_source_is_not_sorted(cloned):
    put_bytes(cloned, "boss/user", CLONE)
    seed(cloned, "neo", replace_cloned=True)
    assert text_of(cloned) == CLONE


def test_a_clone_without_room_for_the_slice_is_refused_with_the_way_out(tmp_path):
    cloned = seed_root(tmp_path, config="version: 1\nlimits: {user: 150}\n")
    put_bytes(cloned, "neo/user", CLONE)
    (refused,) = seed(cloned, "neo").refused
    assert "--replace-cloned" in refused.error.hint
    assert seed(cloned, "neo", replace_cloned=True).refused == ()
    assert text_of(cloned) == NEO


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
