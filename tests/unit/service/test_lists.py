"""A list that was asked for before is at hand, and never an old one."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.service.workspace import Workspace

DAY = date(2026, 11, 21)


@pytest.fixture(params=["files", "sqlite:///memory.db"])
def workspace(request, tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "catmem.yaml").write_text(f"version: 1\nstore: {request.param}\n", encoding="utf-8")
    sees(tmp_path, '["*"]')
    opened = Workspace.open(tmp_path, search=False)
    for text, category in (("Acme is the vendor.", "rules"), ("Bolt is a plan.", "plans")):
        opened.add("neo", text, category=category, as_of=DAY)
    yield opened
    opened.store.close()


def sees(root, categories):
    (root / "profiles" / "neo.yaml").write_text(f"user_memory_categories: {categories}\n", encoding="utf-8")


def bodies(workspace, **what):
    return [listed.entry.body for listed in workspace.list("neo", **what)]


def test_the_same_question_gets_the_same_answer_of_its_own(workspace):
    first = workspace.list("neo", as_of=DAY)
    first_again = workspace.list("neo", as_of=DAY)
    assert first == first_again
    first.clear()
    assert workspace.list("neo", as_of=DAY) == first_again


def test_a_write_shows_in_the_next_list_and_the_places_are_new(workspace):
    assert bodies(workspace) == ["Acme is the vendor.", "Bolt is a plan."]
    workspace.add("neo", "Carl keeps the keys.", category="rules", as_of=DAY)
    listed = workspace.list("neo", target="user")
    assert [each.entry.body for each in listed] == ["Acme is the vendor.", "Carl keeps the keys.", "Bolt is a plan."]
    document = workspace.read("neo").document
    assert [each.line for each in listed] == [document.line(entry.start) for entry in document.entries]


def test_a_write_of_somebody_else_shows_in_the_next_list(workspace):
    assert len(bodies(workspace)) == 2
    other = Workspace.open(workspace.root, search=False)
    other.replace("neo", "Bolt", "Dora is a plan.")
    other.store.close()
    assert bodies(workspace) == ["Acme is the vendor.", "Dora is a plan."]


def test_each_category_has_its_own_list(workspace):
    assert bodies(workspace, category="rules") == ["Acme is the vendor."]
    assert bodies(workspace, category="plans") == ["Bolt is a plan."]
    assert len(bodies(workspace)) == 2


def test_a_profile_that_sees_less_lists_less_at_once(workspace):
    assert len(bodies(workspace)) == 2
    sees(workspace.root, "[plans]")
    assert bodies(workspace) == ["Bolt is a plan."]


def test_states_are_those_of_the_day(workspace):
    states = [workspace.list("neo", as_of=day)[0].freshness.state for day in (DAY, DAY.replace(year=2029), DAY)]
    assert states == ["fresh", "stale", "fresh"]


def test_more_questions_than_are_kept_get_right_answers(workspace):
    for _ in range(2):
        for day in range(1, 12):
            (listed,) = workspace.list("neo", category="rules", as_of=date(2026, 12, day))
            assert listed.freshness.day == DAY
