"""A root at a glance, again and again: right each time, and worked out anew only where something changed."""

import os
from datetime import date

import pytest

from catmem.plugins.page.profiles_page import saved_by, specialists
from catmem.proposals.promoting import promote_learned
from catmem.workspace.overview import Overviews, next_steps
from catmem.workspace.reports import read_stats
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

DAY = date(2026, 11, 21)
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmemory_categories: ['*']\n",
    "neo": "user_memory_categories: [talk]\nmemory_categories: [talk]\nprompt: {budget: {total: 150}}\nlimits: {user: 400}\n",
    "pupil": "user_memory_categories: [talk]\nseed_from: boss\n",
}
BOSS = "## Talk\n[created: 2026-11-01] Likes tables.\n§\n[verified_date: 2020-01-01] Prefers short answers.\n"
NEO = "## Talk\n[created: 2020-01-01, expires: 2020-02-01] Gone by.\n§\nNo date.\n\n## Vault\nHidden.\n"


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    for name, text in PROFILES.items():
        put(tmp_path / "profiles" / f"{name}.yaml", text)
    put(tmp_path / "homes" / "boss" / "USER.md", BOSS)
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    workspace = Workspace.open(tmp_path, search=False)
    yield workspace
    workspace.store.close()


@pytest.fixture
def overviews(workspace):
    return Overviews(workspace)


def line(overview, name):
    return next(each for each in overview.lines if each.name == name)


def test_a_profile_that_only_others_extend_has_a_line_once_it_has_files(overviews, workspace):
    put(workspace.root / "profiles" / "base.yaml", "include_uncategorized: false\nseed_from: boss\n")
    assert line(overviews.read(DAY), "base").seeded is not None  # which nothing extends yet
    put(workspace.root / "profiles" / "cub.yaml", "extends: base\nuser_memory_categories: [talk]\n")
    overview = overviews.read(DAY)
    assert [each.name for each in overview.lines] == ["boss", "cub", "neo", "pupil"]
    assert [each.name for each in overview.lines if each.seeded and not each.seeded.known] == ["cub", "pupil"]
    put(workspace.root / "homes" / "base" / "USER.md", "Left over.\n")
    assert line(overviews.read(DAY), "base").sizes.entries == 1


def test_a_line_tells_what_a_profile_holds_and_what_is_due(overviews, workspace):
    neo = line(overviews.read(DAY), "neo")
    assert (neo.sizes.entries, neo.sizes.seen) == (3, 2)
    assert neo.due == {"unverified": 2, "expired": 1}
    assert neo.fullest.name == "prompt, total"
    assert line(overviews.read(DAY), "boss").due == {"stale": 1}
    assert "stale" not in line(overviews.read(date(2020, 1, 2)), "boss").due


def test_a_seed_that_was_made_is_in_step_until_the_source_changes(overviews, workspace):
    seeded = line(overviews.read(DAY), "pupil").seeded
    assert (seeded.source, seeded.arriving, seeded.known, seeded.in_step) == ("boss", 2, False, False)
    assert line(overviews.read(DAY), "neo").seeded is None
    workspace.apply_seed(workspace.plan_seed("boss", ["pupil"]))
    assert line(overviews.read(DAY), "pupil").seeded.in_step
    workspace.add("boss", "Reads on trains.", category="talk")
    assert line(overviews.read(DAY), "pupil").seeded.arriving == 1
    workspace.replace("boss", "Likes tables", content="Likes small tables.")
    workspace.replace("pupil", "Likes tables", content="Likes large tables.")
    assert line(overviews.read(DAY), "pupil").seeded.conflicts == 1


def test_a_change_in_another_source_than_its_own_is_seen_too(overviews, workspace):
    for source in ("boss", "neo"):
        workspace.apply_seed(workspace.plan_seed(source, ["pupil"]))
    assert line(overviews.read(DAY), "pupil").seeded.others == ()
    workspace.replace("neo", "No date", content="Another word.")
    assert line(overviews.read(DAY), "pupil").seeded.others == ("neo",)


def not_utf8(path, _elsewhere):
    path.write_bytes(b"\xff")


def out_of_the_root(path, elsewhere):
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)


@pytest.mark.parametrize(("harm", "code"), [(not_utf8, "not_utf8"), (out_of_the_root, "outside_root")])
def test_a_file_that_cannot_be_read_is_no_empty_one_and_a_problem_of_its_profile_alone(
    overviews, workspace, tmp_path_factory, harm, code
):
    harm(workspace.path("neo", "user"), tmp_path_factory.mktemp("elsewhere"))
    found = line(overviews.read(DAY), "neo")
    assert found.sizes is None
    assert [problem.code for problem in found.problems] == [code]
    assert line(overviews.read(DAY), "boss").sizes is not None


def test_seeds_in_a_circle_are_a_problem_and_no_end(overviews, workspace):
    put(workspace.root / "profiles" / "boss.yaml", PROFILES["boss"] + "seed_from: pupil\n")
    overview = overviews.read(DAY)
    assert [problem.code for problem in overview.problems] == ["seed_cycle"]
    assert len(overview.lines) == 3


# --- again and again ------------------------------------------------------------------------------------------------


def changes(workspace):
    yield lambda: workspace.add("neo", "Another.", category="talk")
    yield lambda: workspace.path("neo", "user").write_text("## Talk\nBy hand.\n", encoding="utf-8")
    yield lambda: put(workspace.root / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    yield lambda: workspace.apply_seed(workspace.plan_seed("boss", ["pupil"]))
    yield lambda: workspace.verify("boss", "Prefers short")
    yield lambda: workspace.remove("pupil", "Likes tables")
    yield (workspace.root / "catmem.seed.lock").unlink
    yield workspace.path("neo", "user").unlink
    yield lambda: os.utime(workspace.path("boss", "user"), (0, 0))
    yield (workspace.root / "profiles" / "pupil.yaml").unlink


def test_an_overview_is_never_old(overviews, workspace):
    overviews.read(DAY)
    for change in changes(workspace):
        change()
        assert overviews.read(DAY) == Overviews(workspace).read(DAY)


def test_what_is_next_is_never_old(overviews, workspace):
    for change in [lambda: None, *changes(workspace)]:
        change()
        assert next_steps(workspace, DAY, overviews) == next_steps(workspace, DAY)


def test_branches_proposals_and_what_was_rejected_make_another_list(overviews, workspace):
    def kinds():
        assert next_steps(workspace, DAY, overviews) == next_steps(workspace, DAY)
        return {each.kind for each in next_steps(workspace, DAY, overviews).steps} & {
            "branches",
            "proposals",
            "learned",
        }

    assert kinds() == set()
    first = workspace.add("neo", "One.", category="talk").revision
    workspace.add("neo", "Two.", category="talk")
    workspace.add("neo", "Three.", category="talk", expected=first, on_stale="branch")
    assert kinds() == {"branches"}
    workspace.add("pupil", "Learned by the pupil.", category="talk")
    assert kinds() == {"branches", "learned"}
    promote_learned(workspace)
    assert kinds() == {"branches", "proposals"}
    workspace.reject(workspace.proposals()[0].id)
    assert kinds() == {"branches"}


def test_what_has_not_changed_is_not_worked_out_again(overviews, workspace):
    before = overviews.read(DAY)
    workspace.add("neo", "Another.", category="talk")
    after = overviews.read(DAY)
    assert line(after, "boss").sizes is line(before, "boss").sizes
    assert line(after, "pupil").seeded is line(before, "pupil").seeded
    assert line(after, "neo").sizes is not line(before, "neo").sizes


def test_what_prompts_save_is_beside_what_each_would_load_without_sections(overviews, workspace):
    overview = overviews.read(DAY)
    for each in specialists(overview):
        source = each.slice_of or each.name
        stats = read_stats(workspace, source=source, as_of=DAY)
        (sizes,) = (found.sizes for found in stats.profiles if found.profile == each.name)
        prompts, flat, saved = saved_by(overview, [each])
        assert flat == max(sizes.flat.characters, each.sizes.flat.characters)
        assert saved == (round(100 - (100 * prompts / flat), 1) if flat else 0)
    prompts, flat, _ = saved_by(overview, specialists(overview))
    assert (prompts, flat) == tuple(
        map(sum, zip(*(saved_by(overview, [each])[:2] for each in specialists(overview)), strict=True))
    )
