"""New bytes in the place of old ones, whole or not at all."""

import errno
import os
import stat

import pytest

from catmem.errors import ChangedMeanwhileError, UnreadableError
from catmem.files import rewrite_file
from tests.golden.case import put


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
    with pytest.raises(ChangedMeanwhileError) as caught:
        rewrite_file(file, b"older", b"new")
    assert caught.value.exit_status == 3
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
    with pytest.raises(UnreadableError) as caught:
        rewrite_file(file, b"old", b"new")
    assert caught.value.code == "not_writable"
    assert file.read_bytes() == b"old"
    return caught.value


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
