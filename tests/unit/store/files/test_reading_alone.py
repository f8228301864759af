"""Reading changes no byte and no time, makes nothing, and waits for no writer; nor does a writer wait for it."""

import fcntl
import os

import pytest

from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.system import System
from tests.merges import merge_appended


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    (made / "USER.md").write_bytes(b"One.\n")
    return made


@pytest.fixture
def opened(folder):
    stores = []

    def open_it():
        stores.append(FileStore(lambda entity: Place(folder, (), f"{entity}.md"), ["USER"], merge=merge_appended))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def state(folder):
    """Every file and folder below, with its bytes and times; the time of reading may change."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.stat()
        found[path.relative_to(folder)] = (
            status.st_ino,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_mode,
            path.read_bytes() if path.is_file() else None,
        )
    return found


READS = {
    "peek": lambda store: store.peek("USER"),
    "read": lambda store: store.read("USER"),
    "read a revision": lambda store: store.read("USER", "1"),
    "head": lambda store: store.head("USER"),
    "log": lambda store: list(store.log("USER")),
    "branches": lambda store: store.branches("USER"),
    "replay": lambda store: list(store.replay("USER")),
    "anchors": lambda store: list(store.anchors()),
}


@pytest.mark.parametrize("name", READS)
def test_reading_changes_nothing(folder, opened, name):
    writer = opened()
    for line in (b"Two.\n", b"Three.\n"):
        writer.commit("USER", None, lambda current, line=line: current.data + line, Change())
    before = state(folder)
    assert READS[name](opened())
    assert state(folder) == before


@pytest.mark.parametrize("name", ["peek", "read"])
def test_reading_a_folder_without_a_history_makes_none(folder, opened, name):
    before = state(folder)
    READS[name](opened())
    assert opened().head("USER") is None
    assert state(folder) == before


@pytest.mark.parametrize("name", READS)
def test_reading_waits_for_no_writer(folder, opened, name):
    opened().commit("USER", None, lambda current: current.data + b"Two.\n", Change())
    lock = os.open(folder / ".catmem" / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert READS[name](opened())
    finally:
        os.close(lock)


@pytest.mark.parametrize("moment", ["before the file is read", "after the file is read"])
def test_a_first_write_in_the_middle_of_a_read_is_named_with_its_revision(folder, opened, monkeypatch, moment):
    (folder / "USER.md").unlink()
    reader, writer = opened(), opened()
    peek, is_done = reader.peek, []

    def peek_beside_a_write(entity):
        data = b"" if moment.startswith("before") else peek(entity)
        if not is_done:
            is_done.append(True)
            writer.commit("USER", "0", lambda _: b"First.\n", Change())
        return peek(entity) if moment.startswith("before") else data

    monkeypatch.setattr(reader, "peek", peek_beside_a_write)
    snapshot = reader.read("USER")
    assert (snapshot.data, snapshot.revision) == (b"First.\n", "1")


class Watcher(System):
    """Reads the file at the moment in which a write that is recorded is put in an empty place."""

    def __init__(self, read):
        self.read = read
        self.seen = []

    def link(self, old, new, *, old_folder, new_folder):
        if new == "USER.md":
            self.seen.append(self.read())
        super().link(old, new, old_folder=old_folder, new_folder=new_folder)


def test_a_file_that_is_made_this_moment_is_not_there_yet_and_nobody_changed_it(folder, opened):
    (folder / "USER.md").unlink()
    reader = opened()
    watcher = Watcher(lambda: reader.read("USER"))
    writer = FileStore(lambda entity: Place(folder, (), f"{entity}.md"), ["USER"], merge=merge_appended, system=watcher)
    writer.commit("USER", "0", lambda _: b"One.\n", Change())
    writer.commit("USER", "1", lambda _: b"", Change())
    (folder / "USER.md").unlink()
    writer.commit("USER", None, lambda _: b"Two.\n", Change())
    writer.close()
    assert [(each.data, each.revision) for each in watcher.seen] == [(b"", "0"), (b"", "2")]
