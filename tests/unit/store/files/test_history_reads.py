"""How much of the disk a look into the history reads."""

from __future__ import annotations

from itertools import islice

import pytest

from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.system import System
from tests.merges import merge_appended


class Counted(System):
    """Counts the bytes that are read."""

    def __init__(self):
        self.read_bytes = 0

    def read_at(self, descriptor, size, offset):
        part = super().read_at(descriptor, size, offset)
        self.read_bytes += len(part)
        return part


@pytest.fixture
def system():
    return Counted()


@pytest.fixture
def store(tmp_path, system):
    store = FileStore(
        lambda name: Place(tmp_path, (), f"{name}.md"), ["user", "memory"], merge=merge_appended, system=system
    )
    yield store
    store.close()


def write(store, entity, number):
    return store.commit(entity, None, lambda _: b"Number %d.\n" % number, Change())


def test_the_newest_revisions_are_read_from_memory(store, system):
    for number in range(120):
        write(store, "user", number)
    before = system.read_bytes
    assert [each.revision for each in islice(store.log("user"), 3)] == ["120", "119", "118"]
    assert system.read_bytes == before


def test_older_segments_follow_without_a_gap_and_without_one_twice(store):
    for number in range(300):
        write(store, "user" if number % 3 else "memory", number)
    assert [each.revision for each in store.log("user")] == [str(number) for number in range(200, 0, -1)]
    assert [each.revision for each in store.log("memory")] == [str(number) for number in range(100, 0, -1)]


def test_a_history_goes_on_while_others_write(store):
    for number in range(300):
        write(store, "user", number)
    history = store.log("user")
    newest = next(history)
    write(store, "user", 301)
    assert [newest.revision, *(each.revision for each in history)] == [str(number) for number in range(300, 0, -1)]
