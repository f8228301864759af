"""Ages are asked for by those who read and by those who are in the middle of a write, at the same time."""

import threading

import pytest

from catmem.clock import today
from catmem.staleness import lineage
from catmem.staleness.lineage import freshness_of
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

RIGHTS = "user_memory_categories: [talk]\nwritable_categories: [talk]\n"
"""Who has no right to verify, so that each write asks how old its words are."""
MOST = 120
"""Seconds after which a thread that has not ended waits for ever."""


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", RIGHTS)
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nwithout a date\n")
    workspace = Workspace.open(tmp_path)
    yield workspace
    workspace.store.close()


def read(workspace):
    """Ask how old everything is, as a page does."""
    document = workspace.view("neo", "user").document
    profile = workspace.profile("neo")
    return freshness_of(workspace, profile, "neo/user", document, document.entries, as_of=today(), reader=None)


def test_a_reader_and_a_write_do_not_wait_for_each_other(workspace, monkeypatch):
    """The reader comes while the write holds the lock of the store, and is asking for ages when the write does so."""
    workspace.add("neo", "a history", category="talk")
    in_write, reading = threading.Event(), threading.Event()
    known_since, follow = lineage.known_since, lineage.followed

    def asked_in_a_write(*asked):
        in_write.set()
        assert reading.wait(MOST)
        return known_since(*asked)

    def followed(*asked):
        if threading.current_thread() is reader:
            reading.set()
        return follow(*asked)

    monkeypatch.setattr(lineage, "known_since", asked_in_a_write)
    monkeypatch.setattr(lineage, "followed", followed)
    writer = threading.Thread(
        target=workspace.add, args=("neo", "from an agent"), kwargs={"category": "talk", "actor": "neo"}, daemon=True
    )

    def once_in_the_write():
        assert in_write.wait(MOST)
        read(workspace)

    reader = threading.Thread(target=once_in_the_write, daemon=True)
    for each in (writer, reader):
        each.start()
    for each in (writer, reader):
        each.join(MOST)
    assert not writer.is_alive()
    assert not reader.is_alive()
    assert "from an agent" in workspace.view("neo", "user").document.text


def test_many_that_write_and_read_at_once_all_end(workspace):
    writes, writers, readers = 8, 3, 2
    refused: list[Exception] = []

    def write(number):
        for count in range(writes):
            try:
                workspace.add("neo", f"fact {number}.{count}", category="talk", actor="neo")
            except Exception as error:  # noqa: BLE001 - told below
                refused.append(error)

    def look():
        for _ in range(writes):
            try:
                read(workspace)
            except Exception as error:  # noqa: BLE001 - told below
                refused.append(error)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(writers)]
    threads += [threading.Thread(target=look, daemon=True) for _ in range(readers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(MOST)
    assert not any(each.is_alive() for each in threads)
    assert refused == []
    assert len(workspace.view("neo", "user").document.entries) == 1 + writers * writes
