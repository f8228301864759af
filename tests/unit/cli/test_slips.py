"""A category or selector with a slip in it is told, with the name that is most likely meant."""

import pytest

from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [finance, talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Finance\nPays by card.\n\n## Vault\nA secret place.\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("list", "-p", "neo", "-c", "finanse"),
        ("search", "-p", "neo", "-c", "finanse", "card"),
        ("prompt", "neo", "-c", "finanse"),
        ("prompt", "neo", "-c", "finanse", "-c", "finance"),
        ("replace", "-p", "neo", "-c", "finanse", "Pays", "Pays in cash."),
        ("remove", "-p", "neo", "-t", "user", "-c", "finanse", "Pays"),
    ],
)
def test_a_category_without_an_entry_is_told_with_the_near_one(place, words):
    said = run(*words, "--root", place, status=2 if words[0] in {"replace", "remove"} else 0).stderr
    assert "no entry in sight is in the category 'finanse'; did you mean 'finance'?" in said


def test_what_is_out_of_sight_is_no_near_name(place):
    assert "vault" not in run("list", "-p", "neo", "-c", "vaults", "--root", place).stderr


@pytest.mark.parametrize("words", [("list", "-p", "neo"), ("prompt", "neo")])
def test_a_slip_in_the_selectors_of_both_files_is_told_once(place, words):
    slip = "user_memory_categories: [finanse, talk]\nmemory_categories: [finanse, talk]\n"
    put(place / "profiles" / "neo.yaml", slip)
    said = run(*words, "--root", place).stderr
    assert said.count("the selector 'finanse'") == 1
    assert "the selector 'finanse' matches nothing; did you mean 'finance'?" in said


def test_a_seed_tells_of_the_slip_that_takes_copies_out(place):
    put(place / "profiles" / "tri.yaml", "seed_from: neo\nuser_memory_categories: [finance]\n")
    run("seed", "--all", "--root", place)
    put(place / "profiles" / "tri.yaml", "seed_from: neo\nuser_memory_categories: [finanse]\n")
    slip = "profile tri: the selector 'finanse' matches nothing; did you mean 'finance'?"
    for how in (("--dry-run",), ("--check",), (), ("--dry-run",), ("--check",)):
        assert slip in run("seed", "--all", "--root", place, *how, status=None).stderr
    assert slip in str(run_json("seed", "--all", "--root", place))
    put(place / "profiles" / "tri.yaml", "seed_from: neo\nuser_memory_categories: [finance, rulez]\n")
    put(place / "homes" / "tri" / "USER.md", "## Rulez\nIts own.\n")
    put(place / "catmem.yaml", "taxonomy: {categories: {rules: {}}}\n")
    assert "did you mean" not in run("seed", "--all", "--root", place).stderr
