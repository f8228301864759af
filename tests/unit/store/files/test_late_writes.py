"""Bytes that somebody writes into a file that is out of its place already, whatever time the file says afterwards."""

import os
import time
from dataclasses import dataclass
from functools import partial

import pytest

from catmem.digest import bytes_digest
from catmem.store.contract import Change
from catmem.store.files.observed_file import WATCHED
from catmem.store.files.system import System
from tests.crash.disk import LONG_AGO
from tests.crash.scene import merge_lines
from tests.unit.store.one_file import ENTITY, add

OLD = b"theirs\nfirst\n"


@dataclass
class Machine(System):
    """One that was started for the given time, and whose seconds pass as the test says."""

    started: int = 1
    passed: float = 0.0

    def clock(self) -> float:
        return self.passed

    def boot(self) -> str:
        return f"boot {self.started}"


@pytest.fixture
def system():
    return Machine()


@pytest.fixture
def opened(opened):
    return partial(opened, merge=merge_lines)


def copied_late(file, store, text=OLD, *, more=b"second\n"):
    """What `cp -p` does that had opened the file before it was taken out: new bytes, and an old time."""
    add(store, b"first\n")
    with file.open("r+b", buffering=0) as held:
        before = os.fstat(held.fileno())
        add(store, more)
        held.truncate(0)
        held.write(text)
        times = (before.st_mtime_ns,) * 2 if len(text) == before.st_size else (LONG_AGO * 10**9,) * 2
        os.utime(held.fileno(), ns=times)


def late(store):
    """The revisions of what was written late, with what the store says of them."""
    return [(data, revision.note.get("after_stop")) for revision, data in store.replay(ENTITY) if revision.op == "late"]


def told(store):
    return [fault for fault in store.verify() if fault.code == "late_write"]


@pytest.mark.parametrize("text", [OLD, b"FIRST\n"], ids=["another size", "the same size and time"])
@pytest.mark.parametrize("anew", [False, True], ids=["the same process", "another"])
def test_a_copy_with_an_old_time_is_taken_in_by_the_next_write(file, opened, text, anew):
    store = opened()
    copied_late(file, store, text)
    assert len(told(store)) == 1
    store = opened() if anew else store
    add(store, b"third\n")
    assert late(store) == [(text, None)]
    assert text.splitlines(keepends=True)[0] in file.read_bytes()
    assert told(store) == []


def test_after_a_restart_it_is_a_revision_and_changes_no_file(file, opened, system):
    """The disk may have lost a part of it, and nobody can tell."""
    copied_late(file, opened())
    system.started = 2
    store = opened()
    add(store, b"third\n")
    assert late(store) == [(OLD, 1)]
    assert file.read_bytes() == b"first\nsecond\nthird\n"
    assert told(store) == []


@pytest.mark.parametrize("left", [b"", b"fir", b"fir\0\0\0", b"first\n\0\0\0\0"])
def test_what_a_restart_left_of_a_text_is_nobodys(file, opened, system, left):
    copied_late(file, opened(), left)
    system.started = 2
    store = opened()
    assert len(told(store)) == 1
    add(store, b"third\n")
    assert late(store) == []
    assert file.read_bytes() == b"first\nsecond\nthird\n"
    assert told(store) == []
    kept = [path.read_bytes() for path in (file.parent / ".catmem" / "gen").iterdir()]
    assert left in kept


def test_what_a_recovery_took_out_after_a_restart_is_no_late_write(file, opened, system):
    """The front of the replaced text, though it goes on behind the new one, and nothing in the journal tells of it."""
    store = opened()
    add(store, b"first\n")
    add(store, b"second\n")
    store.commit(ENTITY, None, lambda _: b"first\n", Change(op="restore"))
    gen = file.parent / ".catmem" / "gen"
    (retired,) = gen.glob("000000000003-*")
    retired.write_bytes(b"fi")
    found = b"first\nsec"
    (gen / f"000000000003-{bytes_digest(found).removeprefix('sha256:')}").write_bytes(found)
    system.started = 2
    for _ in range(2):
        add(opened(), b"new\n")
    assert file.read_bytes() == b"first\nnew\nnew\n"
    assert [each.agent for each in store.log(ENTITY)] == ["person"] * 5


def test_a_file_that_no_write_looks_at_any_more_is_left_to_a_repair(file, opened):
    store = opened()
    add(store, b"first\n")
    with file.open("r+b", buffering=0) as held:
        for number in range(WATCHED + 1):
            add(store, b"%d\n" % number)
        held.write(b"theirs\n")
    assert len(told(store)) == 1
    store = opened()
    add(store, b"last\n")
    assert late(store) == []
    store.mend()
    assert late(store) == [(b"theirs\n", None)]
    assert told(store) == []


def test_a_file_that_was_open_is_looked_at_by_every_write(file, opened):
    """However many came out after it, and again after it was written to."""
    store = opened()
    add(store, b"first\n")
    with file.open("ab", buffering=0) as held:
        for number in range(12):
            add(store, b"%d\n" % number)
        for number in range(1, 3):
            held.write(b"theirs %d\n" % number)
            add(store, b"at once\n")
            assert len(late(store)) == number
            for _ in range(12):
                add(store, b"more\n")
    assert file.read_bytes().count(b"theirs") == 2


@pytest.mark.parametrize("younger", [1, 7, 8, 31, 32])
def test_each_file_is_looked_at_before_it_is_forgotten(file, opened, younger):
    """Whenever it is written to, as long as the newest 64 records tell of it."""
    store = opened()
    for number in range(younger):
        add(store, b"before %d\n" % number)
    for number in range(WATCHED - 1):
        add(store, b"%d\n" % number)
    (replaced,) = (file.parent / ".catmem" / "gen").glob(f"{younger + 1:012d}-*")
    with replaced.open("ab", buffering=0) as by_its_path:
        by_its_path.write(b"theirs\n")
    for number in range(33):
        add(store, b"after %d\n" % number)
    assert len(late(store)) == 1
    assert file.read_bytes().count(b"theirs\n") == 1


@pytest.mark.parametrize("looked_before", [True, False])
def test_a_rewrite_that_sets_size_and_time_back_is_found(file, opened, system, looked_before):
    store = opened()
    add(store, b"first\n")
    with file.open("r+b", buffering=0) as held:
        add(store, b"second\n")
        add(store, b"third\n")
        if looked_before:
            time.sleep(0.05)  # a tick of the file system's clock
            system.passed += 2
            add(store, b"fourth\n")
        before = os.fstat(held.fileno())
        time.sleep(0.02)
        held.write(b"FIRST")
        os.utime(held.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
    if looked_before:
        system.passed += 2
        add(store, b"fifth\n")
    else:
        store.mend()
    assert any(b"FIRST" in data for _, data in store.replay(ENTITY))
