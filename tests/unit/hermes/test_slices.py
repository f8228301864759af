"""Slices for the files that Hermes Agent reads: their layout, and its own edits."""

from datetime import date

import pytest

from catmem.model.document import parse
from catmem.model.layout import is_shared
from catmem.plugins.sorting.migrating import plan_migrated, write_migrated
from catmem.plugins.sorting.operations import apply_sort, plan_sort
from catmem.plugins.sorting.sort_lines import read_list
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
def sync(workspace):
    return lambda: workspace.apply_seed(workspace.plan_seed("boss", as_of=DAY))


@pytest.fixture
def user(homes):
    return homes["coder"].memories / "USER.md"


def bodies(path):
    return [entry.body for entry in parse(path.read_bytes()).entries]


def test_new_files_are_made_in_the_shared_layout_with_the_slice_alone(sync, homes):
    result = sync()
    assert [each.target for each in result.files] == ["aide/user", "coder/user"]
    for name in ("aide", "coder"):
        text = (homes[name].memories / "USER.md").read_text(encoding="utf-8")
        assert text == "## Tastes\n§\nTea.\n§\nNo sugar.\n§\n## __uncategorized__"
    assert not list(homes["coder"].memories.glob("*.bak.*"))


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


SHARED = "No sugar.\n§\n## Tastes\n§\nTea.\n§\n## __uncategorized__"
LABELLED = "[tastes] Tea.\n§\nNo sugar.\n"
TASTES = "taxonomy:\n  categories:\n    tastes: {title: Tastes}\n"


def sort_one(workspace):
    plan = plan_sort(workspace, "coder", "user")
    apply_sort(plan, plan.chosen(read_list("1 +Tastes\n2 uncategorized\n")))


def migrate_one(workspace):
    config = workspace.root / "catmem.yaml"
    put(config, config.read_text(encoding="utf-8") + TASTES)
    with workspace.anew() as now:
        write_migrated(now, plan_migrated(now, now.path("coder", "user")))


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("Tea.\n§\nNo sugar.\n", sort_one),
        ("Tea.\n§\nNo sugar.\n", lambda root: root.move("coder", "Tea.", "tastes")),
        (LABELLED, migrate_one),
        ("## Tastes\nTea, green.\n", lambda root: root.replace("coder", "Tea, green.", "Tea.")),
        ("", lambda root: root.add("coder", "Tea.", category="tastes", tags={"created": None})),
        ("No sugar.\n", lambda root: root.apply_seed(root.plan_seed("boss", "coder"))),
    ],
    ids=["sort", "move", "migrate", "replace", "add", "seed"],
)
def test_each_write_that_makes_sections_keeps_to_the_layout_that_hermes_does_no_harm_to(workspace, user, text, write):
    put(workspace.root / "boss" / "USER.md", "## Tastes\nTea.\n")
    put(user, text)
    write(workspace)
    expected = SHARED if "No sugar." in text else SHARED.removeprefix("No sugar.\n§\n")
    assert user.read_text(encoding="utf-8") == expected
    assert len(list(workspace.store.log("coder/user"))) == (2 if text else 1)  # what was there, and one write


def test_a_file_without_sections_and_one_elsewhere_keep_their_layout(workspace, user):
    put(user, "Flat.\n§\nStill flat.\n")
    workspace.replace("coder", "Still flat.", "Flat still.")
    assert user.read_text(encoding="utf-8") == "Flat.\n§\nFlat still.\n"
    workspace.replace("boss", "No sugar.", "Sugar.")
    assert workspace.path("boss", "user").read_text(encoding="utf-8") == SOURCE.replace("No sugar.", "Sugar.")


def test_a_file_without_room_for_the_layout_keeps_its_own_and_the_answer_says_so(workspace, user):
    put(workspace.root / "profiles" / "coder.yaml", PROFILE + "limits: {user: 20}\n")
    put(user, "## Tastes\nTea, tea.\n")
    written = workspace.replace("coder", "Tea, tea.", "Tea.")
    assert user.read_text(encoding="utf-8") == "## Tastes\nTea.\n"
    assert "catmem fmt --layout shared" in written.warnings[0]
