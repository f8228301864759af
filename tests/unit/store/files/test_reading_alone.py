"""Reading changes no byte and no time, makes nothing, and waits for no writer; nor does a writer wait for it."""

import fcntl

import pytest

from catmem.store.contract import Change
from catmem.store.files.system import System
from tests.unit.store.one_file import ENTITY, add


@pytest.fixture
def file(file):
    file.write_bytes(b"One.\n")
    return file


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
    "peek": lambda store: store.peek(ENTITY),
    "read": lambda store: store.read(ENTITY),
    "read a revision": lambda store: store.read(ENTITY, "1"),
    "head": lambda store: store.head(ENTITY),
    "log": lambda store: list(store.log(ENTITY)),
    "branches": lambda store: store.branches(ENTITY),
    "replay": lambda store: list(store.replay(ENTITY)),
    "anchors": lambda store: list(store.anchors()),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("beside", ["nobody", "a writer that has the lock"])
def test_reading_changes_nothing_and_waits_for_nobody(file, opened, name, beside):
    writer = opened()
    for line in (b"Two.\n", b"Three.\n"):
        add(writer, line)
    before = state(file.parent)
    with (file.parent / ".catmem" / "lock").open("r+b") as lock:
        if beside != "nobody":
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert READS[name](opened())
    assert state(file.parent) == before


@pytest.mark.parametrize("name", ["peek", "read"])
def test_reading_a_folder_without_a_history_makes_none(file, opened, name):
    before = state(file.parent)
    READS[name](opened())
    assert opened().head(ENTITY) is None
    assert state(file.parent) == before


@pytest.mark.parametrize("moment", ["before the file is read", "after the file is read"])
def test_a_first_write_in_the_middle_of_a_read_is_named_with_its_revision(file, opened, monkeypatch, moment):
    file.unlink()
    reader, writer = opened(), opened()
    peek, is_done = reader.peek, []

    def peek_beside_a_write(entity):
        data = b"" if moment.startswith("before") else peek(entity)
        if not is_done:
            is_done.append(True)
            add(writer, b"First.\n", "0")
        return peek(entity) if moment.startswith("before") else data

    monkeypatch.setattr(reader, "peek", peek_beside_a_write)
    snapshot = reader.read(ENTITY)
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


def test_a_file_that_is_made_this_moment_is_not_there_yet_and_nobody_changed_it(file, opened):
    file.unlink()
    reader = opened()
    watcher = Watcher(lambda: reader.read(ENTITY))
    writer = opened(system=watcher)
    add(writer, b"One.\n", "0")
    writer.commit(ENTITY, "1", lambda _: b"", Change())
    file.unlink()
    add(writer, b"Two.\n")
    assert [(each.data, each.revision) for each in watcher.seen] == [(b"", "0"), (b"", "2")]
