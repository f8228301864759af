"""Seeds on two branches, merged by real git: nothing is lost, nothing comes twice, and the next seed knows its way."""

import shutil

import pytest

from catmem.model.document import parse
from tests.golden.case import put
from tests.interplay.repository import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")

SOURCE, TARGET = "homes/boss/USER.md", "homes/neo/USER.md"


@pytest.fixture
def repository(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n")
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: [facts]\n")
    put(tmp_path / ".gitignore", ".catmem/\n*.bak.*\n")
    put(tmp_path / SOURCE, "## Facts\nThe office is in Lyon.\n§\nThe vendor is Acme.\n")
    made = Repository(tmp_path)
    seed(made)
    made.set_up()
    return made


def seed(repository):
    repository.catmem("seed", "boss", "neo")


def branches(repository, on_theirs, on_ours):
    """Make one change on each of two branches, and merge them."""
    repository.git("checkout", "--quiet", "-b", "theirs")
    on_theirs()
    repository.commit({}, "theirs")
    repository.git("checkout", "--quiet", "main")
    on_ours()
    repository.commit({}, "ours")
    repository.git("merge", "--quiet", "--no-edit", "theirs")
    assert repository.unmerged() == []


def bodies(repository, file):
    return sorted(entry.body for entry in parse((repository.folder / file).read_bytes()).entries)


def learn(repository, text):
    def act():
        repository.catmem("add", "-p", "boss", "-c", "facts", text)
        seed(repository)

    return act


def test_seeds_on_both_branches(repository):
    branches(repository, learn(repository, "Travel is on cost centre 410."), learn(repository, "Ada runs finance."))
    both = ["Ada runs finance.", "The office is in Lyon.", "The vendor is Acme.", "Travel is on cost centre 410."]
    assert (bodies(repository, SOURCE), bodies(repository, TARGET)) == (both, both)
    seed(repository)
    assert bodies(repository, TARGET) == both
    # From the record that this seed made, a removal at the source arrives again.
    repository.catmem("remove", "-p", "boss", "Travel is on")
    seed(repository)
    assert bodies(repository, TARGET) == both[:3]


def test_a_seed_on_one_branch_and_an_edit_of_the_copy_on_the_other(repository):
    def edit():
        repository.catmem("replace", "-p", "neo", "The vendor is Acme", "The vendor is Acme Ltd of Leeds.")

    branches(repository, edit, learn(repository, "Ada runs finance."))
    seed(repository)
    assert bodies(repository, TARGET) == [
        "Ada runs finance.",
        "The office is in Lyon.",
        "The vendor is Acme Ltd of Leeds.",
    ]


def test_what_was_taken_back_on_one_branch_stays_away(repository):
    def forget():
        repository.catmem("remove", "-p", "boss", "The vendor is Acme")
        seed(repository)

    branches(repository, forget, learn(repository, "Ada runs finance."))
    seed(repository)
    left = ["Ada runs finance.", "The office is in Lyon."]
    assert (bodies(repository, SOURCE), bodies(repository, TARGET)) == (left, left)
