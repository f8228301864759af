"""Slices for the files that Hermes Agent reads: layout, limits, its own edits, and files that are not its own."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.errors import CatmemError
from catmem.hermes.sync import apply_sync, keep_shared, plan_sync
from catmem.model.document import parse
from catmem.model.layout import is_shared
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.unit.hermes.homes import make_homes

DAY = date(2026, 11, 21)
SOURCE = "## Tastes\nTea.\n§\nNo sugar.\n\n## Payroll\nCANARY.\n"
PROFILE = (
    "seed_from: boss\nuser_memory_categories: [tastes]\nmemory_categories: [tastes]\ninclude_uncategorized: true\n"
)


@pytest.fixture
def homes(tmp_path):
    return make_homes(tmp_path / "hermes", "coder", "aide", config="memory: {}\n")


@pytest.fixture
def workspace(tmp_path, homes):
    root = tmp_path / "root"
    put(root / "catmem.yaml", f"version: 1\nhomes: {tmp_path}/hermes/profiles/{{name}}/memories\n")
    put(
        root / "profiles" / "boss.yaml",
        "tier: 1\nmemory_dir: boss\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n",
    )
    put(root / "profiles" / "coder.yaml", PROFILE)
    put(root / "profiles" / "aide.yaml", PROFILE)
    put(root / "boss" / "USER.md", SOURCE)
    opened = Workspace.open(root, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def sync(workspace, homes):
    def run(names=None, **how):
        plan = plan_sync(workspace, list(homes.values()), "boss", names, as_of=DAY, **how)
        return apply_sync(workspace, plan)

    return run


@pytest.fixture
def user(homes):
    return homes["coder"].memories / "USER.md"


def bodies(path):
    return [entry.body for entry in parse(path.read_bytes()).entries]


def test_new_files_are_made_in_the_shared_layout_with_the_slice_alone(sync, homes):
    result = sync()
    assert [each.plan.target for each in result.files] == ["aide/user", "coder/user"]
    for name in ("aide", "coder"):
        text = (homes[name].memories / "USER.md").read_text(encoding="utf-8")
        assert text == "## Tastes\n§\nTea.\n§\nNo sugar.\n§\n## __uncategorized__"
    assert not list(homes["coder"].memories.glob("*.bak.*"))


def test_the_lock_of_hermes_is_used(sync, homes):
    sync(["coder"])
    assert (homes["coder"].memories / "USER.md.lock").exists()


def test_a_second_sync_writes_nothing(sync, user):
    sync()
    before = user.stat().st_mtime_ns
    assert [each.revision for each in sync().files] == [None, None]
    assert user.stat().st_mtime_ns == before


def test_a_flat_file_gets_sections_when_it_needs_them_and_keeps_its_entries(sync, user):
    put(user, "By Hermes.\n§\nAlso by Hermes.")
    sync()
    assert user.read_text(encoding="utf-8") == (
        "By Hermes.\n§\nAlso by Hermes.\n§\n## Tastes\n§\nTea.\n§\nNo sugar.\n§\n## __uncategorized__"
    )


def test_what_hermes_wrote_is_adopted_and_stays(sync, workspace, user):
    sync()
    hermes = user.read_text(encoding="utf-8").replace("No sugar.", "No sugar, no milk.") + "\n§\nLikes the sea."
    put(user, hermes)
    put(workspace.path("boss", "user"), SOURCE.replace("Tea.", "Green tea."))
    (_, coder) = sync().files
    assert bodies(user) == ["Green tea.", "No sugar, no milk.", "Likes the sea."]
    assert is_shared(parse(user.read_bytes()))
    assert any("history" in note or "adopted" in note or "others" in note for note in coder.notes)
    assert any(data.decode() == hermes for _, data in workspace.store.replay("coder/user"))


def test_a_sync_over_the_limit_of_hermes_is_refused_and_the_others_go_on(sync, homes, user):
    put(homes["coder"].config, "memory: {user_char_limit: 20}\n")
    result = sync()
    (refusal,) = result.refused
    assert (refusal.target, refusal.error.code, result.exit_status) == ("coder/user", "over_budget", 1)
    assert "user_char_limit" in refusal.error.hint
    assert not user.exists()
    assert (homes["aide"].memories / "USER.md").exists()


def test_a_limit_of_the_root_counts_too(sync, workspace, user):
    put(workspace.root / "profiles" / "coder.yaml", PROFILE + "limits: {user: 30}\n")
    assert [each.target for each in sync(["coder"]).refused] == ["coder/user"]
    assert not user.exists()


def test_a_file_changed_between_the_plan_and_the_write_is_merged_and_put_into_the_layout(workspace, homes, user):
    plan = plan_sync(workspace, list(homes.values()), "boss", ["coder"], as_of=DAY)
    put(user, "By Hermes.")
    apply_sync(workspace, plan)
    assert bodies(user) == ["By Hermes.", "Tea.", "No sugar."]
    assert is_shared(parse(user.read_bytes()))


def test_planning_writes_nothing(workspace, homes, user):
    plan = plan_sync(workspace, list(homes.values()), "boss", None, as_of=DAY)
    assert plan.changes
    assert not user.exists()
    assert list(dict.fromkeys(each.target.partition("/")[0] for each in plan.files)) == ["aide", "coder"]


@pytest.mark.parametrize("names", [["coder", "far"], None])
def test_a_profile_with_its_files_elsewhere_is_not_written_to(workspace, homes, names):
    put(workspace.root / "profiles" / "far.yaml", PROFILE + "memory_dir: far\n")
    if names is None:
        plan = plan_sync(workspace, list(homes.values()), "boss", names, as_of=DAY)
        assert not any(each.target.startswith("far/") for each in plan.files)
        return
    with pytest.raises(CatmemError) as caught:
        plan_sync(workspace, list(homes.values()), "boss", names, as_of=DAY)
    assert caught.value.code == "hermes_homes"
    assert "memories" in caught.value.hint


def test_a_source_that_nobody_in_hermes_names_is_refused(workspace, homes):
    with pytest.raises(CatmemError) as caught:
        plan_sync(workspace, list(homes.values()), "coder", None, as_of=DAY)
    assert caught.value.code == "hermes_homes"


def test_a_file_without_sections_and_one_elsewhere_keep_their_layout(workspace, user):
    put(user, "Flat.\n§\nStill flat.\n")
    assert keep_shared(workspace, "coder", "user") is None
    assert keep_shared(workspace, "boss", "user") is None
    assert user.read_text(encoding="utf-8") == "Flat.\n§\nStill flat.\n"


def test_a_file_without_room_for_the_layout_stays_as_it_is(workspace, user):
    put(workspace.root / "profiles" / "coder.yaml", PROFILE + "limits: {user: 20}\n")
    put(user, "## Tastes\nTea.\n")
    assert keep_shared(workspace, "coder", "user") is None
