import errno
import os
from pathlib import Path

import pytest

from catmem import files
from catmem.errors import ChangedMeanwhileError, TooLargeError, UnreadableError
from catmem.files import os_errors, read_bounded, replace_file, rewrite_file


def code_of(path, *, limit=100, follow_symlink=True):
    with pytest.raises(UnreadableError) as caught:
        read_bounded(path, limit, follow_symlink=follow_symlink)
    assert caught.value.path == str(path)
    return caught.value.code


def test_a_file_over_the_limit_is_not_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 101)
    with pytest.raises(TooLargeError) as caught:
        read_bounded(path, 100)
    assert (caught.value.size, caught.value.limit, caught.value.path) == (101, 100, str(path))


def test_a_file_that_grows_while_it_is_read_is_held_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 60)
    real = os.read

    def read_while_somebody_appends(descriptor, size):
        data = real(descriptor, size)
        with path.open("ab") as file:
            file.write(b"y" * 60)
        return data

    monkeypatch.setattr(files.os, "read", read_while_somebody_appends)  # type: ignore[attr-defined]
    with pytest.raises(TooLargeError):
        read_bounded(path, 100)


def test_what_is_no_file(tmp_path):
    assert code_of(tmp_path) == "not_a_file"
    (tmp_path / "file").touch()
    assert code_of(tmp_path / "file" / "below") == "not_a_file"
    os.mkfifo(tmp_path / "fifo")
    assert code_of(tmp_path / "fifo") == "not_a_file"
    assert code_of(Path("/dev/null")) == "not_a_file"


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EACCES, "permission"), (errno.EPERM, "permission"), (errno.EIO, "io"), (errno.ENXIO, "not_a_file")],
)
def test_what_the_system_refuses(tmp_path, monkeypatch, number, code):
    # Root may read everything, so permission is refused by hand.
    def refuse(*_arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "open", refuse)  # type: ignore[attr-defined]
    assert code_of(tmp_path / "file") == code


def test_an_error_while_reading_is_unreadable_and_closes_the_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    opened = []
    real = os.open

    def remember(*arguments):
        opened.append(real(*arguments))
        return opened[-1]

    def refuse(*_arguments):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(files.os, "open", remember)  # type: ignore[attr-defined]
    monkeypatch.setattr(files.os, "read", refuse)  # type: ignore[attr-defined]
    assert code_of(path) == "io"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_what_the_system_refuses_is_said_with_code_path_and_hint(tmp_path):
    with (
        pytest.raises(UnreadableError, match="cannot be written: No such file") as caught,
        os_errors("cannot be written", path=tmp_path, hint="Look."),
    ):
        (tmp_path / "no" / "x").write_bytes(b"")
    error = caught.value
    assert (error.code, error.path, error.hint) == ("not_writable", str(tmp_path), "Look.")
    assert isinstance(error.__cause__, FileNotFoundError)


@pytest.mark.parametrize("lasting", [False, True])
def test_a_file_is_replaced_whole_and_for_its_owner(tmp_path, lasting):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    replace_file(path, b"new", lasting=lasting)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_replaced_is_as_it_was(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "no room")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(files.os, "replace", refuse)  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="no room"):
        replace_file(path, b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"old"}


def test_a_file_that_a_program_has_open_for_writing_is_not_replaced(tmp_path):
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"one\n")
    with path.open("ab") as appending:
        with pytest.raises(ChangedMeanwhileError, match="open for writing"):
            rewrite_file(path, b"one\n", b"two\n")
        appending.write(b"a line of the other program\n")
    assert path.read_bytes() == b"one\na line of the other program\n"
    with path.open("rb"):  # who only reads is not in the way
        rewrite_file(path, path.read_bytes(), b"two\n")
    assert path.read_bytes() == b"two\n"
