"""Which entries are copies that follow their source: a review asks of them there, and once."""

import pytest

from catmem.seeding.lockfile import seeded_copies
from catmem.staleness.review import Review
from tests.roots import put_bytes
from tests.unit.seeding.seeds import DAY, LOCK_NAME, NEO, TEXT, seed, seed_root


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
    return [due.entity for due in Review.open(workspace, as_of=DAY, **how).due()]


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
