"""``catmem migrate``."""

from functools import partial

import pytest

from tests.end_to_end.terminal import run as command
from tests.golden.case import put

CONFIG = "version: 1\ntaxonomy: {categories: {communication-style: {aliases: [comm]}}}\n"
FLAT = "# About\n§\n[COMM] Short.\n§\n[OPS] Plain.\n"
SECTIONED = "# About\n\n[OPS] Plain.\n\n## Communication Style\nShort.\n"


run = partial(command, "migrate")


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "{user_memory_categories: ['*'], include_uncategorized: true}")
    put(tmp_path / "homes" / "neo" / "USER.md", FLAT)
    put(tmp_path / "old notes.md", FLAT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_says_how_to_take_it_back_and_that_works(place):
    user = place / "homes" / "neo" / "USER.md"
    result = run(user)
    assert user.read_text() == SECTIONED
    assert "to take it back (revision 2): catmem restore neo/user 1\n" in result.stderr
    command("restore", "neo/user", "1")
    assert user.read_text() == FLAT


def test_a_file_in_no_store_has_its_copy_named(place):
    (place / "old notes.md").chmod(0o640)
    result = run("old notes.md")
    (copy,) = place.glob("*.bak.*")
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == (FLAT, 0o640)
    assert f"to take it back: mv '{copy.name}' 'old notes.md'\n" in result.stderr
    assert run("old notes.md").stdout == (
        "old notes.md: not migrated: of 1 entry without a category 0 moved, 0 tagged, 1 as before\n"
    )


# --- labels that nobody declared ---

LABELLED = "[WORK FLOW] One.\n§\n[COMM] Short.\n§\n[WORK-FLOW] Two.\n§\n[HR/PAY] Three.\n§\n[COMMUNICATION STILE] Four.\n§\n[OPS-112] Ticket.\n"


def test_they_are_declared_when_asked(place):
    put(place / "catmem.yaml", "# ours\ntaxonomy:\n  categories:\n    comm: {}   # talk\nversion: 1\n")
    put(place / "homes" / "neo" / "USER.md", LABELLED)
    result = run("homes/neo/USER.md", "--declare")
    assert (place / "catmem.yaml").read_text() == (
        "# ours\ntaxonomy:\n  categories:\n    comm: {}   # talk\n    work-flow: {title: Work Flow}\n"
        "    hr-pay: {title: Hr/Pay}\n    communication-stile: {title: Communication Stile}\nversion: 1\n"
    )
    assert (place / "homes" / "neo" / "USER.md").read_text() == (
        "[OPS-112] Ticket.\n\n## Comm\nShort.\n\n## Work Flow\nOne.\n§\nTwo.\n\n## Hr/Pay\nThree.\n\n"
        "## Communication Stile\nFour.\n"
    )
    assert "catmem.yaml declares these categories:\n  work-flow: {title: Work Flow} " in result.stderr
    files = {name: (place / name).read_bytes() for name in ("catmem.yaml", "homes/neo/USER.md")}
    assert run("homes/neo/USER.md", "--declare").stderr == "no label is without a category: nothing to declare\n"
    assert files == {name: (place / name).read_bytes() for name in files}


def test_a_catmem_yaml_that_cannot_be_edited_stops_before_any_file(place):
    put(place / "catmem.yaml", "version: 1\n...\n")
    result = run("old notes.md", "--declare", status=2)
    assert "error[declare_by_hand]: catmem.yaml" in result.stderr
    assert "comm: {title: Comm}, ops: {title: Ops}" in result.stderr
    assert (place / "catmem.yaml").read_text() == "version: 1\n...\n"
    assert (place / "old notes.md").read_text() == FLAT


# --- labels that begin the name of a category ---

SPECIALIST = "{user_memory_categories: [communication-style, workflow-rules-finance], include_uncategorized: true}"
SHORT = "[COMM] Short.\n§\n[WORKFLOW] Paid on the 15th.\n§\n[HR] Leave is booked early.\n"


@pytest.fixture
def named(place):
    """A root that declares nothing, with a profile that names two categories."""
    put(place / "catmem.yaml", "version: 1\n")
    put(place / "profiles" / "trinity.yaml", SPECIALIST)
    put(place / "profiles" / "neo.yaml", "{tier: 1, user_memory_categories: ['*'], include_uncategorized: true}")
    put(place / "homes" / "neo" / "USER.md", SHORT)
    return place


def test_labels_go_to_the_categories_that_profiles_name(named):
    result = run("homes/neo/USER.md", "--declare")
    assert (named / "catmem.yaml").read_text().split("categories:\n")[1] == (
        "    communication-style: {title: Communication Style}\n"
        "    workflow-rules-finance: {title: Workflow Rules Finance}\n    hr: {title: Hr}\n"
    )
    assert (named / "homes" / "neo" / "USER.md").read_text() == (
        "## Communication Style\nShort.\n\n## Workflow Rules Finance\nPaid on the 15th.\n\n## Hr\nLeave is booked early.\n"
    )
    assert "communication-style: {title: Communication Style}        1 entry  [COMM]" in result.stderr
    assert [line for line in result.stderr.splitlines() if "reads" in line] == [
        "warning: no specialist reads hr in USER.md"
    ]


def test_a_label_of_several_categories_stays_and_says_so(named):
    put(named / "profiles" / "coder.yaml", "{user_memory_categories: [workflow-rules-development]}")
    for how in ("--dry-run", "--declare"):
        said = run("homes/neo/USER.md", how).stderr
        assert (
            "[WORKFLOW] may be workflow-rules-development or workflow-rules-finance: give it to one as an alias, and run "
            "this again" in said
        )
        assert "workflow:" not in said
    assert (named / "homes" / "neo" / "USER.md").read_text().startswith("[WORKFLOW] Paid on the 15th.\n")
    assert "[WORKFLOW]" not in run("homes/neo/USER.md", "--declare").stdout


def test_a_dry_run_shows_the_diff_and_a_table_and_writes_nothing(place):
    result = run("homes/neo/USER.md", "--dry-run")
    assert result.stdout == (
        "--- a/homes/neo/USER.md\n+++ b/homes/neo/USER.md\n@@ -1,5 +1,6 @@\n"
        " # About\n-§\n-[COMM] Short.\n-§\n+\n [OPS] Plain.\n+\n+## Communication Style\n+Short.\n"
        "neo/user: would be migrated: of 2 entries without a category 1 moved to 1 category, 0 tagged, "
        "1 as before\n"
        "line  category             entry          why\n"
        "   3  communication-style  [COMM] Short.  [COMM] is an alias of communication-style\n"
        "   5  -                    [OPS] Plain.   [OPS] names no declared category\n"
    )
    assert result.stderr == (
        "the heading '# About' would be the title of the file\n"
        "labels that name no category; --declare would declare these in catmem.yaml:\n"
        "  ops: {title: Ops}  1 entry  [OPS]\n"
        "  Or give the labels there as aliases of another category, and run this again.\n"
    )
    assert (place / "homes" / "neo" / "USER.md").read_text() == FLAT
    assert [path.name for path in (place / "homes" / "neo").iterdir()] == ["USER.md"]
