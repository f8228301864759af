"""A survey: how the entities of a root stand, in numbers, with nothing written."""

from datetime import date

import pytest

from catmem.workspace.reports import damages
from catmem.workspace.workspace import Workspace
from tests.golden.case import contents, put
from tests.unit.audit.audited import make_audited

DAY = date(2026, 11, 21)


@pytest.fixture
def workspace(tmp_path, request):
    made = make_audited(tmp_path, f"store: {getattr(request, 'param', 'files')}\n")
    yield made
    made.store.close()


def standing(workspace, entity="neo/user"):
    (found,) = [each for each in workspace.survey(as_of=DAY).standings if each.entity == entity]
    return found


def test_stale_and_expired_entries_are_counted_by_the_limits_of_the_profile(workspace):
    workspace.add("neo", "old", category="work", tags={"verified_date": "2026-01-01"})
    workspace.add("neo", "gone", category="work", as_of=DAY, tags={"expires": "2026-11-20"})
    tags = {"created": None, "expires": "2026-11-21"}
    workspace.add("neo", "last day", category="work", as_of=DAY, tags=tags)
    found = standing(workspace)
    assert (found.head, found.entries, found.stale, found.expired, found.unverified) == (3, 3, 1, 1, 1)
    put(workspace.root / "profiles" / "neo.yaml", "stale_after: 3650d\n")
    assert standing(workspace).stale == 0


def test_a_declared_entity_stands_there_too_drifted_or_unreadable_if_another_program_wrote_it(tmp_path):
    made = make_audited(tmp_path, 'entities: {"project:alpha": {content: json}}\n')
    made.put("project:alpha", {"a": 1}, expected=0)
    made.put("project:alpha", {"a": 2}, expected=0, on_stale="branch")
    found = standing(made, "project:alpha")
    assert (found.head, found.entries, found.unmerged, found.drifted) == (1, 0, 1, False)
    file = made.root / "entities" / "project%3Aalpha" / "content.json"
    file.write_text('{"a": 3}')
    assert standing(made, "project:alpha").drifted
    file.write_text("{")
    assert made.survey().unreadable == ("project:alpha",)
    made.store.close()


def test_what_was_changed_behind_the_history_is_drifted_until_a_write_takes_it_in(workspace):
    put(workspace.path("boss", "user"), "## Work\none\n")  # no history knows it yet
    found = standing(workspace, "boss/user")
    assert (found.drifted, found.head, found.entries) == (False, 0, 1)
    workspace.add("neo", "one", category="work")
    path = workspace.path("neo", "user")
    assert not standing(workspace).drifted
    path.write_text(path.read_text() + "§\ntwo\n")
    found = standing(workspace)
    assert (found.drifted, found.head, found.entries) == (True, 1, 2)
    workspace.add("neo", "three", category="work")
    found = standing(workspace)
    assert (found.drifted, found.head, found.entries) == (False, 3, 3)


@pytest.mark.parametrize("workspace", ["files", "sqlite:///memory.db"], indirect=True)
def test_a_survey_writes_nothing(workspace):
    names = ("boss/user", "boss/memory", "neo/user", "neo/memory")
    assert [(each.entity, each.head, each.entries) for each in workspace.survey().standings] == [
        (name, 0, 0) for name in names
    ]
    workspace.add("neo", "one", category="work")
    before = contents(workspace.root)
    workspace.survey()
    damages(workspace)
    after = contents(workspace.root)
    assert {name: data for name, data in after.items() if not name.endswith(("-shm", "-wal"))} == {
        name: data for name, data in before.items() if not name.endswith(("-shm", "-wal"))
    }


def not_text(workspace):
    workspace.path("neo", "user").write_bytes(b"\xff\xfe\x00")


def a_link(workspace):
    path = workspace.path("neo", "user")
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def torn_journal(workspace):
    for segment in (workspace.path("neo", "user").parent / ".catmem" / "journal").iterdir():
        segment.write_bytes(b"\x00" + segment.read_bytes()[1:])


@pytest.mark.parametrize("harm", [not_text, a_link, torn_journal])
def test_what_cannot_be_read_is_told_and_hides_no_other(workspace, harm):
    workspace.add("neo", "one", category="work")
    workspace.add("boss", "one", category="work")
    harm(workspace)
    survey = workspace.survey()
    assert "neo/user" in survey.unreadable
    assert standing(workspace, "boss/user").head == 1


def test_a_bad_profile_has_no_standing_and_hides_no_other(workspace):
    put(workspace.root / "profiles" / "bad.yaml", "tier: nine\n")
    survey = workspace.survey()
    assert survey.unreadable == ("bad/user", "bad/memory")
    assert len(survey.standings) == 4
    put(workspace.root / "profiles" / "late.yaml", "writable_categories: [work]\n")  # it comes later
    workspace.add("late", "one", category="work")
    assert standing(workspace, "late/user").head == 1


def test_a_database_that_is_none_is_unreadable_and_damaged(tmp_path):
    made = make_audited(tmp_path, "store: sqlite:///memory.db\n")
    (tmp_path / "memory.db").write_bytes(b"no database " * 1000)
    survey = made.survey()
    assert (survey.standings, len(survey.unreadable), damages(made)) == ((), 4, 1)


def test_damage_of_a_history_is_counted_and_a_change_from_outside_is_none(workspace):
    workspace.add("neo", "one", category="work")
    path = workspace.path("neo", "user")
    path.write_text(path.read_text() + "§\ntwo\n")
    assert damages(workspace) == 0
    torn_journal(workspace)
    assert damages(workspace) >= 1


def test_a_profile_that_others_extend_and_that_has_no_files_is_no_trouble(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "base.yaml", "include_uncategorized: false\n")
    put(tmp_path / "profiles" / "neo.yaml", "extends: base\nuser_memory_categories: [talk]\n")
    found = Workspace.open(tmp_path, search=False).survey()
    assert ([each.entity for each in found.standings], found.unreadable) == (["neo/user", "neo/memory"], ())
