"""A seed that somebody looked at: what was shown is what is written, and else nothing is."""

from __future__ import annotations

import pytest

from catmem.seeding import applying
from catmem.seeding.applying import apply_shown, shown_digest
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.unit.seeding.seeds import DAY, NEO, TEXT, bodies, locked, seed, write_files


@pytest.fixture(params=["files", "sqlite:///memory.db"])
def workspace(tmp_path, request):
    write_files(tmp_path, config=f"store: {request.param}\n")
    opened = Workspace.open(tmp_path, search=False)
    opened.store.commit("boss/user", None, lambda _: TEXT.encode(), Change())
    yield opened
    opened.store.close()


def plan_of(workspace, *targets, **how):
    return workspace.plan_seed("boss", targets or None, as_of=DAY, every_entry=True, **how)


def digests(plan):
    return {each.target: shown_digest(each) for each in plan.files if each.changes}


def revisions(workspace, entity):
    return [each.op for each in workspace.store.log(entity)]


def test_what_was_shown_is_written_and_counts_as_seeded(workspace):
    plan = plan_of(workspace)
    result = apply_shown(workspace, plan, digests(plan))
    assert [(each.plan.target, each.revision) for each in result.files] == [("ann/user", "1"), ("neo/user", "1")]
    assert workspace.store.peek("neo/user").decode() == NEO
    assert len(locked(workspace)) == 3
    assert workspace.plan_seed("boss", as_of=DAY).in_sync


def test_only_the_files_that_were_chosen_are_written(workspace):
    plan = plan_of(workspace)
    result = apply_shown(workspace, plan, {"ann/user": digests(plan)["ann/user"]})
    assert [each.plan.target for each in result.files] == ["ann/user"]
    assert (revisions(workspace, "neo/user"), locked(workspace)) == ([], [])


def source_changed(workspace):
    workspace.replace("boss", "Likes tea.", "Likes green tea.")


def target_changed(workspace):
    workspace.add("neo", "Came in between.", category="talk")


def other_target_changed(workspace):
    workspace.add("ann", "Came in between.", category="talk")


def other_target_seeded(workspace):
    seed(workspace, "ann")


@pytest.mark.parametrize("change", [source_changed, target_changed])
def test_what_would_be_something_else_by_now_is_left_alone(workspace, change):
    plan = plan_of(workspace)
    change(workspace)
    before = workspace.store.peek("neo/user")
    result = apply_shown(workspace, plan, {"neo/user": digests(plan)["neo/user"]})
    assert [(each.target, each.error.code) for each in result.refused] == [("neo/user", "stale_prev")]
    assert (result.files, workspace.store.peek("neo/user"), locked(workspace)) == ((), before, [])


@pytest.mark.parametrize("change", [other_target_changed, other_target_seeded])
def test_what_happens_to_other_targets_does_not_matter(workspace, change):
    plan = plan_of(workspace)
    change(workspace)
    result = apply_shown(workspace, plan, {"neo/user": digests(plan)["neo/user"]})
    assert ([each.plan.target for each in result.files], result.refused) == (["neo/user"], ())
    assert len(locked(workspace)) == 3


def test_one_file_is_refused_and_the_others_are_written(workspace):
    plan = plan_of(workspace)
    target_changed(workspace)
    result = apply_shown(workspace, plan, digests(plan))
    assert [each.plan.target for each in result.files] == ["ann/user"]
    assert [each.target for each in result.refused] == ["neo/user"]


def test_the_second_time_nothing_is_left_to_do(workspace):
    plan = plan_of(workspace)
    apply_shown(workspace, plan, digests(plan))
    again = apply_shown(workspace, plan, digests(plan))
    assert ([each.revision for each in again.files], again.refused) == ([None, None], ())
    assert revisions(workspace, "neo/user") == ["seed"]


def test_a_conflict_is_settled_as_it_was_shown(workspace):
    seed(workspace)
    workspace.replace("neo", "Likes tea.", "Likes black tea.")
    source_changed(workspace)
    open_plan, plan = plan_of(workspace, "neo"), plan_of(workspace, "neo", resolve="source")
    assert shown_digest(open_plan.files[0]) != shown_digest(plan.files[0])
    apply_shown(workspace, plan, digests(plan))
    assert bodies(workspace)[0] == "Likes green tea."
    assert workspace.plan_seed("boss", ["neo"], as_of=DAY).in_sync


def test_an_edit_at_the_very_moment_of_the_write_is_not_overwritten(tmp_path, monkeypatch):
    write_files(tmp_path)
    workspace = Workspace.open(tmp_path, search=False)
    try:
        plan = plan_of(workspace, "neo")
        replanned = applying.replanned  # type: ignore[attr-defined]

        def planned_and_then_edited(*given):
            made = replanned(*given)
            target_changed(workspace)
            return made

        monkeypatch.setattr(applying, "replanned", planned_and_then_edited)
        result = apply_shown(workspace, plan, digests(plan))
        assert [each.error.code for each in result.refused] == ["stale_prev"]
        assert bodies(workspace) == ["Came in between."]
    finally:
        workspace.store.close()


def test_what_nobody_would_seed_is_refused(workspace):
    result = apply_shown(workspace, plan_of(workspace, "ann"), {"neo/user": "b2:0"})
    assert [(each.target, each.error.code) for each in result.refused] == [("neo/user", "stale_prev")]
