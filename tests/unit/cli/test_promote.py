"""``catmem promote --all``: what it says where there is nothing to propose, and of selectors that fit nothing."""

from __future__ import annotations

import pytest

from tests.end_to_end.terminal import error_of, run
from tests.golden.case import put


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "## Vendors\nAcme delivers paper.\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Vendors\nAcme delivers paper.\n§\nKern repairs the van.\n")
    put(tmp_path / "catmem.yaml", "version: 1\napproval: others\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_selected_category_it_says_where_to_name_one(place):
    assert run("promote", "--all").stdout == (
        "No category is selected. Name some with -c, or in approval.promote of catmem.yaml.\n"
    )


def test_what_waits_already_is_another_answer(place):
    assert "1 wait as proposals" in run("promote", "--all", "-c", "vendors").stderr
    said = run("promote", "--all", "-c", "vendors").stdout
    assert said == "Nothing to propose: the sources have all of these categories, or it waits there.\n"


def test_a_misspelt_category_is_named(place):
    error = error_of("promote", "--all", "-c", "vendrs")
    assert (error["code"], error["message"]) == ("unknown_category", "no category fits vendrs")
    assert error["hint"] == "Did you mean 'vendors'?"
    put(place / "catmem.yaml", "version: 1\napproval: {promote: [vendrs, 'v*']}\n")
    said = run("promote", "--all").stderr
    assert "no category fits vendrs, which approval.promote in catmem.yaml names. Did you mean 'vendors'?" in said
    assert "1 wait as proposals" in said
