"""What a caller may say that it saw: revisions and digests, of a root in files."""

import pytest

from catmem.errors import DriftError, EditError, StaleError, UnknownRevisionError
from catmem.workspace import history
from catmem.workspace.workspace import Workspace
from catmem.writing.request import checked_expected
from tests.golden.case import put

NEVER = "sha256:" + "0" * 64
TEXT = "## Talk\none\n"


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def file(workspace):
    return workspace.path("neo", "user")


def add(workspace, text="x", **how):
    return workspace.add("neo", text, category="talk", **how)


@pytest.mark.parametrize(
    ("given", "taken"), [(None, None), ("7", "7"), (7, "7"), (0, "0"), ("8a", "8a"), (NEVER, NEVER)]
)
def test_a_revision_or_a_digest(given, taken):
    assert checked_expected(given) == taken


@pytest.mark.parametrize(
    "given",
    ["", " 7", "7\n", "-7", -7, "latest", "a8", "8A", "٧", "sha256:", NEVER[:-1], NEVER.upper(), True, 7.0, b"7"],
)
def test_what_can_be_neither(given):
    with pytest.raises(EditError) as caught:
        checked_expected(given)
    assert caught.value.code == "bad_expected"
    assert "a revision such as 7" in caught.value.hint


@pytest.mark.parametrize(("expected", "error"), [("1", StaleError), ("5", UnknownRevisionError)])
def test_a_revision_of_the_file_that_was_not_named_is_told_with_the_file_that_holds_the_words(
    workspace, expected, error
):
    add(workspace, "tea")
    workspace.add("neo", "coffee", category="talk", target="memory")
    hints = {}
    for old_text in ("coffee", "tea"):
        with pytest.raises(error) as caught:
            workspace.replace("neo", old_text, "water", expected=expected)
        hints[old_text] = caught.value.hint
    assert hints["coffee"] == "The memory file of neo holds it: give -t memory."
    assert "-t memory" not in hints["tea"]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("on_drift", ["adopt", "merge"])
@pytest.mark.parametrize("revision", ["3", "8a"])
def test_a_revision_that_is_in_no_record(workspace, dry_run, on_drift, revision):
    add(workspace)
    with pytest.raises(UnknownRevisionError):
        add(workspace, "y", expected=revision, dry_run=dry_run, on_drift=on_drift)
    with pytest.raises(UnknownRevisionError):
        history.restore(workspace, "neo", "1", expected=revision, dry_run=dry_run)


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_digest_that_is_in_no_record_is_drift_only_where_there_is_a_change_from_outside(workspace, file, dry_run):
    with pytest.raises(DriftError):
        add(workspace, expected=NEVER, dry_run=dry_run)
    add(workspace)
    with pytest.raises(StaleError):
        add(workspace, "y", expected=NEVER, dry_run=dry_run)
    file.write_text(file.read_text(encoding="utf-8") + "§\ntheirs\n", encoding="utf-8")
    with pytest.raises(DriftError):
        add(workspace, "y", expected=NEVER, dry_run=dry_run)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_empty_file_without_a_history_has_the_revision_0(workspace, file, dry_run):
    file.write_bytes(b"")
    assert add(workspace, expected="0", dry_run=dry_run).changed


def test_what_others_wrote_is_noted(workspace, file):
    first = add(workspace)
    assert (first.adopted, first.notes) == ("1", ("what the file held before is kept as revision 1 of its history",))
    assert (add(workspace, "y").adopted, add(workspace, "z").notes) == (None, ())
    file.write_text(file.read_text(encoding="utf-8") + "§\ntheirs\n", encoding="utf-8")
    again = add(workspace)
    said = "another program changed the file before; that is revision 5 of its history"
    assert (again.changed, again.revision, again.adopted) == (False, "5", "5")
    assert again.notes == ("'x' is already there, so no second copy was made", said)
    file.write_text(TEXT, encoding="utf-8")
    assert history.restore(workspace, "neo", "2").notes == (said.replace("5", "6"),)
