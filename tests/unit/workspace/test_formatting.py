"""Files that are formatted: which, into what, whole or not at all."""

import errno
import os
import stat

import pytest

from catmem.errors import UnreadableError
from catmem.files import rewrite_file
from catmem.store.contract import Change
from catmem.workspace.change_plan import write_file
from catmem.workspace.formatting import memory_files, plan_files, plan_format
from catmem.workspace.root import entities_of_each
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal
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
    paths = memory_files(workspace, [place / name for name in named])[0]
    assert [path.relative_to(place).as_posix() for path in paths] == found


def test_the_profiles_are_looked_over_once_however_many_files_there_are(workspace, place, monkeypatch):
    for number in range(5):
        put(place / "profiles" / f"n{number}.yaml", "{}")
        put(place / "homes" / f"n{number}" / "USER.md", UNTIDY)
    looks = []
    monkeypatch.setattr(
        "catmem.workspace.formatting.entities_of_each", lambda root: looks.append(root) or entities_of_each(root)
    )
    planned = plan_files(workspace, [place], plan_format)
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


@pytest.mark.parametrize("named", [False, True])
def test_a_link_that_nobody_named_is_not_written_through(workspace, place, tmp_path_factory, named):
    # A root may come from somebody else: its links must not choose which of your files are rewritten.
    outside = put(tmp_path_factory.mktemp("outside") / "precious.md", UNTIDY)
    link = place / "homes" / "neo" / "USER.md"
    link.unlink()
    link.symlink_to(outside)
    for paths in ([link], [place, link], [link, place]) if named else ([], [place]):
        may_be_link = memory_files(workspace, paths)[0][link]
        assert may_be_link is named
        if named:
            assert plan_format(workspace, link, may_be_link=may_be_link).changes
        else:
            assert "Name the link" in refusal("symlink", plan_format, workspace, link, may_be_link=may_be_link).hint


def test_a_link_is_written_through_where_the_profile_may_leave_the_root(workspace, place):
    put(place / "profiles" / "neo.yaml", "allow_outside: true")
    assert memory_files(workspace, [])[0] == {place / "homes" / "neo" / "USER.md": True}


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
    found = memory_files(workspace, [odd])[0]
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
    assert closed in memory_files(workspace, [place])[0]


@together("name", ["notes.txt", "USER", "x.md.bak", "script.py"])
def test_a_named_file_must_be_markdown_by_its_name(workspace, place, name):
    file = put(place / name, UNTIDY)
    caught = refusal("not_markdown", memory_files, workspace, [place / "homes" / "neo" / "USER.md", file])
    assert caught.path == str(file)


# --- new bytes in the place of old ones -------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    return put(tmp_path / "USER.md", "old")


def alone(file):
    return [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o700])
def test_the_file_has_the_new_bytes_and_keeps_its_mode(file, mode):
    file.chmod(mode)
    rewrite_file(file, b"old", b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o7777 == mode
    assert alone(file)


def test_a_link_stays_a_link(tmp_path):
    file = put(tmp_path / "elsewhere" / "USER.md", "old")
    link = tmp_path / "link.md"
    link.symlink_to(file)
    rewrite_file(link, b"old", b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert alone(file)


def test_a_file_that_changed_meanwhile_is_left(file):
    assert refusal("changed_meanwhile", rewrite_file, file, b"older", b"new").exit_status == 3
    assert file.read_bytes() == b"old"
    assert alone(file)


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
def test_a_failing_disk_leaves_the_file_as_it_was(file, monkeypatch, step):
    def fail(*_arguments, **_choices):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(UnreadableError) as caught:
        rewrite_file(file, b"old", b"new")
    monkeypatch.undo()
    assert (caught.value.code, str(file) in str(caught.value)) == ("not_writable", True)
    assert file.read_bytes() == b"old"
    assert alone(file)


def refused(file):
    caught = refusal("not_writable", rewrite_file, file, b"old", b"new")
    assert file.read_bytes() == b"old"
    return caught


def test_a_folder_that_cannot_be_opened_is_refused_before_anything_is_written(file, monkeypatch):
    real = os.open

    def refuse_folders(path, flags, *arguments, **choices):
        if flags & os.O_DIRECTORY:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, *arguments, **choices)

    monkeypatch.setattr(os, "open", refuse_folders)
    assert "as it was" in refused(file).hint
    assert alone(file)


def test_a_folder_that_cannot_be_made_durable_is_not_said_to_hold_the_old_file(file, monkeypatch):
    real = os.fsync

    def fail_on_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(UnreadableError) as caught:
        rewrite_file(file, b"old", b"new")
    assert file.read_bytes() == b"new"
    assert "as it was" not in caught.value.hint
    assert caught.value.code == "not_writable"


def test_no_descriptor_is_left_open(file, monkeypatch):
    opened = []
    real = os.open

    def remember(*arguments, **choices):
        opened.append(real(*arguments, **choices))
        return opened[-1]

    monkeypatch.setattr(os, "open", remember)
    rewrite_file(file, b"old", b"new")
    assert opened
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


@pytest.mark.parametrize("mode", [0o400, 0o444, 0o550])
def test_a_read_only_file_is_refused(file, mode):
    file.chmod(mode)
    assert "read-only" in refused(file).message
    assert file.stat().st_mode & 0o7777 == mode
    assert alone(file)


def test_a_file_with_several_names_is_refused(file):
    other = file.with_name("other.md")
    os.link(file, other)
    error = refused(file)
    assert "hard link" in error.message
    assert other.samefile(file)
