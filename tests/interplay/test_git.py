"""Real git merges memory files by entry, where ``catmem init --git`` has been; ``tests/merging`` has it merge many scenes."""

import json
import re
import shutil

import pytest

from catmem.model.document import parse
from tests.golden.case import put
from tests.interplay.repository import FILE, WAYS, Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")

HEAD = "## Finance\n"
ACME = "[verified_date: 2026-01-01] Acme is the vendor for cloud billing.\n"
INVOICES = "Invoices are due on the 15th.\n"
BASE = f"{HEAD}{ACME}§\n{INVOICES}"
TRAVEL, OFFICE = "Travel is booked on cost centre 410.", "The office in Lyon closes at noon on Fridays."
ACME_BODY, INVOICES_BODY = "Acme is the vendor for cloud billing.", "Invoices are due on the 15th."


@pytest.fixture
def repository(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    return Repository(tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_changes_to_different_entries_merge_by_themselves(repository, way):
    repository.set_up()
    merged = repository.merged(BASE.encode(), f"{BASE}§\n{TRAVEL}\n".encode(), f"{BASE}§\n{OFFICE}\n".encode(), way)
    assert (merged.status, repository.unmerged()) == (0, []), merged.said
    assert sorted(merged.bodies) == sorted([ACME_BODY, INVOICES_BODY, TRAVEL, OFFICE])
    assert parse(merged.data).problems == ()


@pytest.mark.parametrize("way", WAYS)
def test_a_conflict_stands_between_marks_and_git_waits_for_a_person(repository, way):
    repository.set_up()
    sides = [BASE.replace("Acme", vendor) for vendor in ("Bolt", "Core")]
    merged = repository.merged(BASE.encode(), *(side.encode() for side in sides), way)
    assert (merged.status != 0, repository.unmerged()) == (True, [FILE])
    (marked,) = re.findall(r"^<<<<<<< ours\n(.*)^=======\n(.*)^>>>>>>> theirs$", merged.text, re.MULTILINE | re.DOTALL)
    # Either order: git turns the sides of a rebase.
    assert set(marked) == {ACME.replace("Acme", "Bolt"), ACME.replace("Acme", "Core")}
    # It is one entry, in the place of the one that both changed; the others stand as they stood.
    assert len(merged.bodies) == len(parse(BASE).entries)
    assert parse(merged.data).problems == ()
    assert f"{FILE}: 1 conflict between entries" in merged.said
    repository.git("add", FILE)
    going_on = {"rebase": ("rebase", "--continue"), "cherry-pick": ("cherry-pick", "--continue")}
    repository.git(*going_on.get(way, ("commit", "--no-edit")))


def test_aliases_of_the_root_are_one_category(repository):
    put(
        repository.folder / "catmem.yaml",
        "version: 1\ntaxonomy:\n  categories:\n    finance: {title: Finance, aliases: [money]}\n",
    )
    repository.set_up()
    merged = repository.merged(
        BASE.encode(), BASE.replace("## Finance", "## Money").encode(), f"{BASE}§\n{TRAVEL}\n".encode()
    )
    assert merged.status == 0
    assert sorted(merged.bodies) == sorted([ACME_BODY, INVOICES_BODY, TRAVEL])
    assert len(parse(merged.data).sections) == 1


# --- what catmem cannot merge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_a_file_that_is_not_utf8_gets_the_conflict_of_git(repository, way):
    repository.set_up()
    merged = repository.merged(
        BASE.encode(),
        BASE.replace("Acme", "Caf\u00e9").encode("latin-1", "replace"),
        BASE.replace("Acme", "Core").encode(),
        way,
    )
    assert (merged.status != 0, repository.unmerged()) == (True, [FILE])
    assert b"<<<<<<<" in merged.data
    assert b"Caf\xe9" in merged.data
    assert b"Core is" in merged.data
    assert "not_utf8" in merged.said


# --- the record of seeds -------------------------------------------------------------------------------------------


def lock(*entries, date="2026-05-01"):
    ids = {f"b2:{index:032x}": text for index, text in enumerate(["one", "two", "three"], 1) if text in entries}
    record = {"revision": "1", "digest": "sha256:00", "date": date, "entries": {"finance": list(ids)}}
    return json.dumps({"version": 1, "seeds": {"neo/user": {"trinity/user": record}}, "texts": ids}, indent=1).encode()


@pytest.mark.parametrize("way", WAYS[:2])
def test_of_seeds_on_both_sides_what_they_agree_on_counts(repository, way):
    repository.set_up()
    file = "catmem.seed.lock"
    merged = repository.merged(lock("one"), lock("one", "two"), lock("one", "three"), way, file)
    assert (merged.status, repository.unmerged()) == (0, []), merged.said
    assert list(json.loads(merged.data)["texts"].values()) == ["one"]


def test_a_record_that_is_damaged_gets_the_conflict_of_git(repository):
    repository.set_up()
    merged = repository.merged(lock("one"), b"{ broken", lock("two"), file="catmem.seed.lock")
    assert (merged.status != 0, repository.unmerged()) == (True, ["catmem.seed.lock"])
    assert b"{ broken" in merged.data
    assert b"two" in merged.data


# --- showing -------------------------------------------------------------------------------------------------------


def test_a_diff_shows_entries(repository):
    repository.set_up()
    repository.commit({FILE: BASE.encode()}, "base")
    (repository.folder / FILE).write_text(BASE.replace("2026-01-01", "2026-05-01").replace("\n", "\r\n"))
    diff = repository.git("diff")
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    assert changed == ["-  [verified_date: 2026-01-01]", "+  [verified_date: 2026-05-01]"]


# --- seeds on two branches ---


SOURCE, TARGET = "homes/boss/USER.md", "homes/neo/USER.md"


@pytest.fixture
def seeded(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n")
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: [facts]\n")
    put(tmp_path / ".gitignore", ".catmem/\n*.bak.*\n")
    put(tmp_path / SOURCE, "## Facts\nThe office is in Lyon.\n§\nThe vendor is Acme.\n")
    made = Repository(tmp_path)
    seed(made)
    made.set_up()
    return made


def seed(seeded):
    seeded.catmem("seed", "boss", "neo")


def branches(seeded, on_theirs, on_ours):
    """Make one change on each of two branches, and merge them."""
    seeded.git("checkout", "--quiet", "-b", "theirs")
    on_theirs()
    seeded.commit({}, "theirs")
    seeded.git("checkout", "--quiet", "main")
    on_ours()
    seeded.commit({}, "ours")
    seeded.git("merge", "--quiet", "--no-edit", "theirs")
    assert seeded.unmerged() == []


def bodies_of(seeded, file):
    return sorted(entry.body for entry in parse((seeded.folder / file).read_bytes()).entries)


def learn(seeded, text):
    def act():
        seeded.catmem("add", "-p", "boss", "-c", "facts", text)
        seed(seeded)

    return act


def test_seeds_on_both_branches(seeded):
    branches(seeded, learn(seeded, "Travel is on cost centre 410."), learn(seeded, "Ada runs finance."))
    both = ["Ada runs finance.", "The office is in Lyon.", "The vendor is Acme.", "Travel is on cost centre 410."]
    assert (bodies_of(seeded, SOURCE), bodies_of(seeded, TARGET)) == (both, both)
    seed(seeded)
    assert bodies_of(seeded, TARGET) == both
    # From the record that this seed made, a removal at the source arrives again.
    seeded.catmem("remove", "-p", "boss", "Travel is on")
    seed(seeded)
    assert bodies_of(seeded, TARGET) == both[:3]


def test_a_seed_on_one_branch_and_an_edit_of_the_copy_on_the_other(seeded):
    def edit():
        seeded.catmem("replace", "-p", "neo", "The vendor is Acme", "The vendor is Acme Ltd of Leeds.")

    branches(seeded, edit, learn(seeded, "Ada runs finance."))
    seed(seeded)
    assert bodies_of(seeded, TARGET) == [
        "Ada runs finance.",
        "The office is in Lyon.",
        "The vendor is Acme Ltd of Leeds.",
    ]


def test_what_was_taken_back_on_one_branch_stays_away(seeded):
    def forget():
        seeded.catmem("remove", "-p", "boss", "The vendor is Acme")
        seed(seeded)

    branches(seeded, forget, learn(seeded, "Ada runs finance."))
    seed(seeded)
    left = ["Ada runs finance.", "The office is in Lyon."]
    assert (bodies_of(seeded, SOURCE), bodies_of(seeded, TARGET)) == (left, left)
