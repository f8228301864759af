"""What stands in the way of a write: a clear error with its code, nothing lost, and a way out."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from catmem.errors import BusyError, CatmemError, DamagedError, StoreError, UnknownRevisionError
from tests.unit.store.one_file import ENTITY, add

TEXT, LINE = b"One.\n", b"Added.\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "home" / "USER.md"
    path.parent.mkdir()
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def folder(file):
    return file.parent


def refusal(store):
    with pytest.raises(CatmemError) as caught:
        add(store, LINE)
    error = caught.value
    assert error.exit_status in {3, 4}
    assert error.path
    assert error.hint
    return error


def test_no_space(file, opened):
    """The kernel refuses to let files grow, as a full disk does."""
    add(opened(), LINE)
    before = file.read_bytes()

    def with_no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        with pytest.raises(StoreError) as caught:
            add(opened(), b"x" * 100)
        return caught.value.code

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, with_no_room().encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"no_space"
    os.waitpid(child, 0)
    assert file.read_bytes() == before
    assert add(opened(), LINE).data == before + LINE


def test_a_lock_that_another_process_holds(folder, file, opened):
    add(opened(), LINE)
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, 2); print(1, flush=True); input()",
         folder / ".catmem" / "lock"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with holder:
        holder.stdout.readline()
        before = file.read_bytes()
        error = refusal(opened(lock_timeout=0.05))
        assert isinstance(error, BusyError)
        assert error.code == "locked"
        assert str(holder.pid) in error.message
        assert file.read_bytes() == before
        holder.communicate(b"\n")
    add(opened(), LINE)


@pytest.mark.parametrize(
    ("put", "code"),
    [
        (lambda path: path.symlink_to("elsewhere"), "symlink"),
        (lambda path: path.mkdir(), "not_a_file"),
        (os.mkfifo, "not_a_file"),
        (lambda path: socket.socket(socket.AF_UNIX).bind(path.name), "not_a_file"),
    ],
    ids=["link", "folder", "pipe", "socket"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_something_else_in_place_of_the_file(file, opened, monkeypatch, put, code):
    monkeypatch.chdir(file.parent)
    file.unlink()
    put(file)
    assert refusal(opened()).code == code


@pytest.mark.parametrize("name", ["lock", "journal", "tmp", "gen", "."])
def test_links_in_place_of_the_sidecar_and_its_parts_are_not_followed(tmp_path, folder, file, opened, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if name == ".":
        (folder / ".catmem").symlink_to(elsewhere)
    else:
        (folder / ".catmem").mkdir()
        (folder / ".catmem" / name).symlink_to(elsewhere if name != "lock" else elsewhere / "lock")
    assert refusal(opened()).code in {"symlink", "not_a_file"}
    assert list(elsewhere.iterdir()) == []
    assert file.read_bytes() == TEXT


MOUNTED = """
import os, subprocess, sys
from pathlib import Path
from catmem.errors import StoreError
from catmem.store.contract import Change
from catmem.store.files.folder import Place
from catmem.store.files.file_store import FileStore

folder, where = Path(sys.argv[1]), Path(sys.argv[2])
subprocess.run(["mount", "--bind", where, where], check=True)
store = FileStore(lambda entity: Place(folder, (), f"{entity}.md"), ["USER"], merge=None)
try:
    store.commit("USER", None, lambda now: now.data + b"x", Change())
except StoreError as error:
    print(error.code, Path(error.path).name, error.message, error.hint, sep="|")
print(store.head("USER"))
store.close()
subprocess.run(["umount", where], check=True)
store.commit("USER", None, lambda now: now.data + b"x", Change())
"""


@pytest.mark.parametrize(
    ("part", "missing"), [("USER.md", False), (".catmem/tmp", False), (".catmem/gen", True), (".catmem", True)]
)
def test_a_file_or_a_sidecar_that_is_mounted_by_itself(folder, file, part, missing):
    """In a container's manner. It is found out before anything is recorded; once it is unmounted, all goes on."""
    place = folder / part
    if part != "USER.md":
        place.mkdir(parents=True)
        if missing:
            file.unlink()
    may = subprocess.run(["unshare", "--map-root-user", "--mount", "true"], check=False)
    if may.returncode:
        pytest.skip("no mounts of its own here")
    command = ["unshare", "--map-root-user", "--mount", sys.executable, "-c", MOUNTED, folder, place]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    named = "USER.md" if part == "USER.md" else ".catmem"
    assert said[0] == (
        f"not_writable|{named}|is mounted by itself, so no new file can be put in its place|Nothing was written, and the "
        "file is as it was. Mount the whole folder that it lies in instead, with .catmem in it, or unmount it."
    )
    assert said[1] == "None"
    assert file.read_bytes() == (b"" if missing else TEXT) + b"x"


def test_the_sidecar_removed_while_the_store_is_open(folder, file, opened):
    store = opened()
    add(store, LINE)
    before = file.read_bytes()
    shutil.rmtree(folder / ".catmem")
    assert add(store, LINE).data == before + LINE
    assert [revision.op for revision in store.log(ENTITY)] == ["put", "adopt"]
    assert store.verify() == []


def cut_short(data):
    """The journal without the end of its last record."""
    return data[:-3]


def cut_clean(data):
    """The journal without its last record, to the byte."""
    return data[: data.rindex(b"\x1e")]


def flipped(data):
    """The journal with one bit of its last record changed."""
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def lose(path, how):
    if how == "emptied":
        path.write_bytes(b"")
    elif how == "removed":
        path.unlink()


@pytest.mark.parametrize("mark", ["kept", "removed", "emptied"])
@pytest.mark.parametrize("hurt", [cut_short, cut_clean, flipped])
def test_a_journal_that_lost_an_acknowledged_record_takes_no_write_before_a_repair(folder, file, opened, hurt, mark):
    """It is left as it is. The repair moves it aside whole, and goes on from the files behind what was lost."""
    store = opened()
    add(store, LINE)
    add(store, LINE)
    store.close()
    (segment,) = (folder / ".catmem" / "journal").iterdir()
    segment.write_bytes(hurt(segment.read_bytes()))
    lose(folder / ".catmem" / "published", mark)
    left, before = segment.read_bytes(), file.read_bytes()
    assert "lost_records" in {fault.code for fault in opened().verify() if fault.damage}
    for _ in range(2):
        error = refusal(opened())
        assert (error.code, error.exit_status) == ("damaged", 4)
        assert "1 acknowledged record is gone" in error.message
        assert "catmem fsck" in error.hint
    assert [each.read_bytes() for each in (folder / ".catmem" / "journal").iterdir()] == [left]
    assert opened().read(ENTITY).data == before
    with pytest.raises(UnknownRevisionError):
        opened().read(ENTITY, "3")

    assert opened().mend()[0].startswith("the damaged journal is kept with its branches as ")
    assert [each.read_bytes() for each in folder.glob(".catmem/damaged-*/*.log")] == [left]
    assert file.read_bytes() == before
    assert add(opened(), LINE).data == before + LINE
    assert [revision.revision for revision in opened().log(ENTITY)] == ["5", "4"]
    assert opened().verify() == []


@pytest.mark.parametrize("mark", ["kept", "removed", "emptied"])
@pytest.mark.parametrize("names", ["journal", "journal/*"])
def test_a_journal_that_is_gone_from_beside_its_mark_or_what_it_took_out_is_damage(folder, file, opened, names, mark):
    store = opened()
    add(store, LINE)
    add(store, LINE)
    store.close()
    for path in list((folder / ".catmem").glob(names)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    lose(folder / ".catmem" / "published", mark)
    before = file.read_bytes()
    for _ in range(2):
        error = refusal(opened())
        assert (error.code, error.exit_status) == ("damaged", 4)
        with pytest.raises(DamagedError):
            list(opened().log(ENTITY))
        (fault,) = opened().verify()
        assert (fault.code, fault.repairable) == ("lost_records", True)
    assert opened().read(ENTITY).data == file.read_bytes() == before
    assert opened().mend()
    assert add(opened(), LINE).data == before + LINE
    assert [revision.revision for revision in opened().log(ENTITY)] == ["5", "4"]
    assert opened().verify() == []
