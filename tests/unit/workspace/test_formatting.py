"""Which files are formatted, and into what."""

import errno
import os
from functools import partial

import pytest

from catmem.errors import ConfigError, NotUtf8Error, UnreadableError
from catmem.store.contract import Change
from catmem.workspace.change_plan import write_file
from catmem.workspace.formatting import memory_files, plan_files, plan_format
from catmem.workspace.root import entities_of_each
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

UNTIDY = "## A\n\n\none\n§\n§\ntwo\n## B\nthree"
PLAIN = "## A\none\n§\ntwo\n\n## B\nthree\n"

FMT = Change(op="fmt")


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "{}")
    put(tmp_path / "homes" / "neo" / "USER.md", UNTIDY)
    put(tmp_path / "homes" / "other" / "MEMORY.md", UNTIDY)
    put(tmp_path / "homes" / "other" / "NOTES.md", UNTIDY)
    return tmp_path


@pytest.fixture
def workspace(place):
    return Workspace.open(place, search=False)


USER, MEMORY, NOTES = "homes/neo/USER.md", "homes/other/MEMORY.md", "homes/other/NOTES.md"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ([], [USER]),  # those of profiles
        (["."], [USER, MEMORY]),
        ([NOTES, USER, "homes/neo", NOTES], [NOTES, USER]),
        (["X.MD", "x.MarkDown"], ["X.MD", "x.MarkDown"]),
    ],
)
def test_which_files_are_meant_each_once(workspace, place, named, found):
    paths = memory_files(workspace, [place / name for name in named]).links
    assert [path.relative_to(place).as_posix() for path in paths] == found


def test_a_file_keeps_to_its_layout(workspace, place):
    path = place / "homes" / "neo" / "USER.md"
    write_file(workspace, plan_format(workspace, path, "shared"), FMT)
    shared = path.read_text()
    assert not shared.endswith("\n")
    assert "## A\n§\none\n§\ntwo" in shared
    assert not plan_format(workspace, path).changes
    write_file(workspace, plan_format(workspace, path, "plain"), FMT)
    assert path.read_text().startswith(PLAIN.rstrip())


def test_the_profiles_are_looked_over_once_however_many_files_there_are(workspace, place, monkeypatch):
    for number in range(5):
        put(place / "profiles" / f"n{number}.yaml", "{}")
        put(place / "homes" / f"n{number}" / "USER.md", UNTIDY)
    looks = []
    monkeypatch.setattr(
        "catmem.workspace.formatting.entities_of_each", lambda root: looks.append(root) or entities_of_each(root)
    )
    files = memory_files(workspace, [place])
    planned = plan_files(files, partial(plan_format, workspace))
    assert len([each for each in planned.files if each.entity]) == 6
    assert len(looks) == 1


def test_entries_that_stand_twice_are_named_in_the_shared_layout(workspace, place):
    path = put(place / "USER.md", "## A\nsame\n§\nother\n\n## B\nsame\n")
    (said,) = plan_format(workspace, path, "shared").warnings
    assert said.endswith("stands more than once; stock Hermes Agent keeps only the first: same")
    assert plan_format(workspace, path, "plain").warnings == ()


def test_bom_and_newlines_are_kept(workspace, place):
    path = put(place / "USER.md", b"\xef\xbb\xbf## A\r\n\r\none\r\n")
    write_file(workspace, plan_format(workspace, path), FMT)
    assert path.read_bytes() == b"\xef\xbb\xbf## A\r\none\r\n"


def test_a_file_of_a_profile_gets_a_history_and_another_one_does_not(workspace, place):
    ours, other = (place / "homes" / name / "MEMORY.md" for name in ("neo", "other"))
    put(ours, UNTIDY)
    for path in (ours, other):
        write_file(workspace, plan_format(workspace, path), FMT)
        assert path.read_text() == PLAIN
    assert [revision.op for revision in workspace.store.log("neo/memory")] == ["fmt", "adopt"]
    assert (ours.parent / ".catmem").is_dir()
    assert not (other.parent / ".catmem").exists()


def test_an_unreadable_file_is_named(workspace, place):
    path = put(place / "USER.md", b"## A\n\xff")
    with pytest.raises(NotUtf8Error) as caught:
        plan_format(workspace, path)
    assert caught.value.path == str(path)
    fifo = place / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnreadableError) as caught:
        plan_format(workspace, fifo)
    assert caught.value.code == "not_a_file"


@pytest.mark.parametrize("named", [False, True])
def test_a_link_that_nobody_named_is_not_written_through(workspace, place, tmp_path_factory, named):
    # A root may come from somebody else: its links must not choose which of your files are rewritten.
    outside = put(tmp_path_factory.mktemp("outside") / "precious.md", UNTIDY)
    link = place / "homes" / "neo" / "USER.md"
    link.unlink()
    link.symlink_to(outside)
    for paths in ([link], [place, link], [link, place]) if named else ([], [place]):
        may_be_link = memory_files(workspace, paths).links[link]
        assert may_be_link is named
        if named:
            assert plan_format(workspace, link, may_be_link=may_be_link).changes
        else:
            with pytest.raises(UnreadableError) as caught:
                plan_format(workspace, link, may_be_link=may_be_link)
            assert (caught.value.code, "Name the link" in caught.value.hint) == ("symlink", True)


def test_a_link_is_written_through_where_the_profile_may_leave_the_root(workspace, place):
    put(place / "profiles" / "neo.yaml", "allow_outside: true")
    assert memory_files(workspace, []).links == {place / "homes" / "neo" / "USER.md": True}


def code_of(workspace, path, *, may_be_link):
    with pytest.raises(UnreadableError) as caught:
        plan_format(workspace, path, may_be_link=may_be_link)
    return caught.value.code


def test_what_stands_in_the_place_of_a_memory_file_in_a_folder_is_not_passed_over(workspace, place):
    odd = place / "odd"
    (odd / "a" / "USER.md").mkdir(parents=True)
    (odd / "b").mkdir()
    os.mkfifo(odd / "b" / "MEMORY.md")
    (odd / "c").mkdir()
    (odd / "c" / "USER.md").symlink_to("nowhere")
    put(odd / "d" / "USER.md", PLAIN)
    found = memory_files(workspace, [odd]).links
    assert [path.relative_to(odd).as_posix() for path in found] == [
        "a/USER.md",
        "b/MEMORY.md",
        "c/USER.md",
        "d/USER.md",
    ]
    codes = [code_of(workspace, path, may_be_link=found[path]) for path in list(found)[:3]]
    assert codes == ["not_a_file", "not_a_file", "symlink"]


def test_a_folder_that_cannot_be_listed_is_not_passed_over(workspace, place, monkeypatch):
    # Root may list everything, so the right is refused by hand.
    closed = place / "homes" / "neo"
    real = os.scandir

    def refuse(path):
        if os.fspath(path) == os.fspath(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert closed in memory_files(workspace, [place]).links


@together("name", ["notes.txt", "USER", "x.md.bak", "script.py"])
def test_a_named_file_must_be_markdown_by_its_name(workspace, place, name):
    file = put(place / name, UNTIDY)
    with pytest.raises(UnreadableError) as caught:
        memory_files(workspace, [place / "homes" / "neo" / "USER.md", file])
    assert (caught.value.code, caught.value.path) == ("not_markdown", str(file))
    assert "catmem fmt -" in caught.value.hint
    assert "catmem migrate -" in caught.value.hint


def test_a_folder_that_is_no_root_and_has_nothing_is_an_error(tmp_path):
    workspace = Workspace.open(tmp_path)
    with pytest.raises(ConfigError, match=r"no catmem\.yaml was found") as caught:
        memory_files(workspace, [])
    error = caught.value
    assert (error.code, error.exit_status, "--root" in error.hint, "catmem init" in error.hint) == (
        "no_root",
        2,
        True,
        True,
    )
    assert str(tmp_path) in str(error)
    assert "or above" in error.message
    put(tmp_path / "catmem.yaml", "version: 1\n")
    assert memory_files(Workspace.open(tmp_path), []) == ({}, ())
