"""While another program's entry is too long no agent changes the file; and ``catmem reconcile`` brings back what a copy has."""

import re
import shutil

import pytest

from catmem import Workspace, memory_tool
from catmem.writing.drift_guard import ToolSession
from tests.end_to_end.terminal import error_of, run
from tests.together import together

FACT = "Uses tabs for indentation."
MORE = " And more:" + " lorem ipsum dolor" * 480
CHANGE = {"action": "replace", "target": "user", "old_text": "Uses tabs", "content": "Uses spaces."}


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """A new root, with the limits of one."""
    folder = tmp_path_factory.mktemp("new") / "root"
    run("init", folder)
    config = folder / "catmem.yaml"
    text = config.read_text(encoding="utf-8")
    assert "limits: {user: 1375, memory: 2200}\n" in text
    config.write_text(text.replace("approval: others", "approval: off"), encoding="utf-8")
    return folder


@pytest.fixture
def root(new, tmp_path, monkeypatch):
    shutil.copytree(new, tmp_path / "root")
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def file(root):
    """A file with an entry of catmem's own, which another program has made longer than the whole file may be."""
    run("add", FACT, "-p", "orchestrator", "-t", "user", "-c", "projects")
    path = root / "homes" / "orchestrator" / "USER.md"
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + MORE + "\n", encoding="utf-8")
    return path


def test_a_copy_of_an_entry_over_the_limit_is_accepted_by_a_merge_that_writes(file):
    """Before, the agent is refused; see tests/sources/test_drift_guard.py."""
    ws, session = Workspace.open("."), ToolSession()

    def change():
        return memory_tool(ws, "orchestrator", CHANGE, session=session)

    assert change()["reason"] == "drift"
    (copy,) = file.parent.glob(f"{file.name}.bak.*")
    assert "an entry of 8,6" in run("merge", copy, status=1).stderr
    run("merge", copy, "--all", "--dry-run")
    assert change()["reason"] == "drift"
    assert "is accepted" in run("merge", copy, "--all").stderr
    assert memory_tool(ws, "orchestrator", {"action": "list", "target": "user", "offset": 0}, session=session)[
        "success"
    ]
    assert change()["success"]


# --- reconcile -------------------------------------------------------------------------------------------------------

BEFORE = "## Projects\nAtlas ships in May.\n§\n[owner: lea] Borealis has a new lead.\n§\nCrux waits for parts.\n"
AFTER = "## Projects\nAtlas ships in June.\n§\nBorealis has a new lead.\n§\nDelta is new.\n"


@pytest.fixture
def pair(root):
    """A file, and a copy of what it was before."""
    file = root / "homes" / "orchestrator" / "MEMORY.md"
    file.write_text(AFTER, encoding="utf-8")
    copy = file.with_name("MEMORY.md.bak.20261123T065048Z")
    copy.write_text(BEFORE, encoding="utf-8")
    return file, copy


def texts(file):
    """The entries of a file without the day that catmem puts to them."""
    return re.sub(r"\[created: [^\]]*\] ", "", file.read_text(encoding="utf-8"))


def test_it_shows_what_the_copy_has_and_the_file_lacks(pair):
    file, copy = pair
    shown = run("merge", copy, status=1)
    assert shown.stdout == (
        "1. changed in projects; both wordings stay\n"
        "   copy: Atlas ships in May.\n"
        "   file: Atlas ships in June.\n"
        "2. changed in projects\n"
        "   copy: [owner: lea] Borealis has a new lead.\n"
        "   file: Borealis has a new lead.\n"
        "3. missing in projects\n"
        "   copy: Crux waits for parts.\n"
    )
    assert "Nothing was written" in shown.stderr
    assert file.read_text(encoding="utf-8") == AFTER


def test_all_of_it_comes_and_no_word_of_the_file_goes(pair):
    file, copy = pair
    assert "(revision 2)" in run("merge", copy, "--all").stdout
    assert texts(file) == (
        "## Projects\nAtlas ships in June.\n§\n[owner: lea] Borealis has a new lead.\n§\nDelta is new.\n§\n"
        "Atlas ships in May.\n§\nCrux waits for parts.\n"
    )
    assert len(run("log", "orchestrator/memory").stdout.splitlines()) == 2
    left = run("merge", copy)
    assert (left.stdout, left.stderr) == ("Nothing is missing: the file has all that the copy has.\n", "")
    run("restore", "orchestrator/memory", "1")
    assert file.read_text(encoding="utf-8") == AFTER


FUTURE = BEFORE + "§\n[verified_date: 2999-01-01] Ember is dated in the future.\n"


def test_all_of_it_is_refused_if_one_entry_cannot_come_and_the_others_come_by_their_numbers(pair):
    file, copy = pair
    copy.write_text(FUTURE, encoding="utf-8")
    assert "2999-01-01 is in the future" in run("merge", copy, "--all", status=2).stderr
    assert texts(file) == AFTER
    run("merge", copy, "--entry", "3")
    assert "Crux waits for parts." in texts(file)


def test_one_entry(pair):
    file, copy = pair
    run("merge", copy, "--entry", "3")
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"
    assert "-Crux" not in run("merge", copy, "--entry", "1", "--dry-run").stdout
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"


def test_numbers_are_those_of_the_copy_however_many_have_come(pair):
    """``--entry 1`` and then ``--entry 2`` brought over the third, and said no word of which it was."""
    file, copy = pair
    first = run("merge", copy, "--entry", "1").stdout
    assert "copy: Atlas ships in May.\n" in first
    assert "both wordings stay" in first
    second = run("merge", copy, "--entry", "2").stdout
    assert "2. changed in projects\n   copy: [owner: lea] Borealis" in second
    assert "Crux" not in second + texts(file)
    assert "has entry 2 of the copy already; it lacks 3" in run("merge", copy, "--entry", "2", status=2).stderr
    assert run("merge", copy, status=1).stdout.startswith("3. missing")


@together("number", ["0", "4", "-1"])
def test_a_number_that_is_none(pair, number):
    assert "1 to 3" in run("merge", pair[1], "--entry", number, status=2).stderr
    assert pair[0].read_text(encoding="utf-8") == AFTER


def test_both_choices_exclude_each_other(pair):
    assert "--entry does not go with --all" in run("merge", pair[1], "--entry", "1", "--all", status=2).stderr
    assert "--dry-run" in run("merge", pair[1], "--dry-run", status=2).stderr


BAD = {
    "gone": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), None, "missing"),
    "no copy": (lambda file: file, None, "not_a_copy"),
    "another name": (lambda file: file.with_name("MEMORY.md.bak.old"), b"x", "not_a_copy"),
    "of another root": (lambda file: file.parents[3] / "MEMORY.md.bak.20200101T000000Z", b"x", "not_a_copy"),
    "not UTF-8": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), b"caf\xe9\n", "not_utf8"),
    "binary": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), bytes(range(256)), "not_utf8"),
}


@together(("place", "data", "code"), BAD.values(), ids=BAD)
def test_what_cannot_be_reconciled(pair, place, data, code):
    path = place(pair[0])
    if data is not None:
        path.write_bytes(data)
    assert error_of("merge", path, "--all", status=2)["code"] == code
    assert pair[0].read_text(encoding="utf-8") == AFTER
    if data is not None:
        path.unlink()


def test_a_folder_and_a_link_are_no_copies(pair):
    folder = pair[0].with_name("MEMORY.md.bak.20200101T000000Z")
    folder.mkdir()
    assert error_of("merge", folder, status=2)["code"] == "not_a_file"
    folder.rmdir()
    folder.symlink_to(pair[1])
    assert error_of("merge", folder, status=2)["code"] == "symlink"
