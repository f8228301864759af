"""Somebody writes to the file without a pause: a write ends within its time, either way."""

import errno
from contextlib import ExitStack
from dataclasses import replace

import pytest

from catmem.errors import BusyError, StoreError
from catmem.store.contract import Change
from catmem.store.files.folder import PATIENCE, Folder
from catmem.store.files.system import System
from tests.merges import merge_appended
from tests.unit.store.one_file import add

STEP = 0.3
"""Seconds that each wait for the disk takes here."""


class Slow(System):
    """A clock that only the disk moves on, and somebody who acts whenever a test says. Where a file is open for writing
    already there is no lease on it, so none is used.
    """

    def __init__(self, path):
        self.path = path
        self.seconds = 0.0
        self.wants = self.appends = False

    def features(self):
        return replace(super().features(), leases=False)

    def sleep(self, seconds):
        """Nobody needs time."""

    def clock(self):
        return self.seconds

    def fsync(self, descriptor):
        super().fsync(descriptor)
        self.seconds += STEP

    def copy_attributes(self, old, new):
        super().copy_attributes(old, new)
        if self.wants:
            other = self.path.with_name("other")
            other.write_bytes(b"theirs\n")
            other.replace(self.path)

    def exchange(self, old, new, **folders):
        if not self.appends:
            return super().exchange(old, new, **folders)
        with self.path.open("ab") as comes_out:
            super().exchange(old, new, **folders)
            comes_out.write(b"theirs %d\n" % self.seconds)
        return None


@pytest.fixture
def system(tmp_path):
    return Slow(tmp_path / "USER.md")


@pytest.fixture
def store(store, system):
    add(store, b"first\n")
    system.seconds = 0.0
    return store


def test_who_always_wants_the_file_has_a_write_refused_within_its_time(store, system):
    system.wants = True
    with pytest.raises(BusyError) as caught:
        add(store, b"second\n")
    assert caught.value.hint.startswith("Nothing was written")
    assert system.seconds <= PATIENCE
    system.wants = False
    assert add(store, b"third\n").data == b"theirs\nthird\n"


@pytest.mark.parametrize("stage", ["exchange", "mark"])
def test_a_write_that_is_recorded_is_not_to_be_repeated_and_the_next_one_finishes_it(store, monkeypatch, system, stage):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as away:
        if stage == "exchange":
            away.setattr(system, "exchange", refused)
        else:
            away.setattr(Folder, "mark_published", refused)
        with pytest.raises(StoreError) as caught:
            add(store, b"second\n")
    assert "so do not repeat it: the next write or 'catmem fsck --repair' finishes it" in caught.value.hint
    assert (store.peek("user") == b"first\nsecond\n") == (stage != "exchange")
    assert add(store, b"third\n").data == b"first\nsecond\nthird\n"


def test_a_write_that_somebody_follows_without_end_is_made_and_ends(store, system):
    system.appends = True
    done = add(store, b"second\n")
    assert b"second\n" in done.data
    assert system.seconds <= PATIENCE + 4 * STEP  # the write, and one try to join what followed it
    system.appends = False
    add(store, b"third\n")
    text = store.peek("user")
    written = {line for _, data in store.replay("user") for line in data.splitlines() if line.startswith(b"theirs")}
    assert len(written) > 1
    assert written <= set(text.splitlines())


@pytest.mark.parametrize(("takes", "tries"), [(0.1, 14), (0.4, 3), (0.7, 2), (0.8, 1), (60.0, 1)])
def test_a_try_that_would_end_too_late_is_not_begun(store, system, takes, tries):
    system.wants, system.fsync, made = True, lambda descriptor: None, []

    def update(current):
        made.append(current.data)
        system.seconds += takes
        return current.data + b"second\n"

    with pytest.raises(BusyError):
        store.commit("user", None, update, Change())
    assert len(made) == tries


def test_many_late_writes_are_joined_by_as_many_writes_as_it_takes(opened, system):
    """Each merge takes long here. None is lost, and each write ends."""
    merges = []

    def merge(file, base, ours, theirs):
        merges.append(theirs)
        system.seconds += 0.4
        return merge_appended(file, base, ours, theirs)

    store = opened(merge=merge)
    with ExitStack() as held:
        for number in range(8):
            add(store, b"%d\n" % number)
            writer = held.enter_context(system.path.open("ab", buffering=0))
            held.callback(writer.write, b"theirs %d\n" % number)
        add(store, b"last\n")
    system.fsync = lambda descriptor: None
    refused = 0
    while True:
        merges.clear()
        try:
            add(store, b"more\n")
            break
        except BusyError as error:
            assert error.hint.startswith("Nothing of this write was recorded")
            assert 0 < len(merges) <= 4
            refused += 1
    assert refused > 0
    assert {b"theirs %d" % number for number in range(8)} <= set(store.peek("user").splitlines())
    assert store.peek("user").count(b"more") == 1


def test_who_has_waited_long_for_the_lock_asks_more_often(opened):
    """Whoever had it takes it again within a millisecond, and so might keep it from another for all of its time."""

    class Waiting(System):
        seconds, waits = 0.0, ()

        def clock(self):
            return self.seconds

        def sleep(self, seconds):
            self.seconds += seconds
            self.waits = (*self.waits, (self.seconds, seconds))

    system = Waiting()
    holder, other = opened(system=System()), opened(system=system, lock_timeout=1.0)

    def update(current):
        with pytest.raises(BusyError) as caught:
            add(other, b"second\n")
        assert caught.value.code == "locked"
        return b"first\n"

    holder.commit("user", None, update, Change())
    assert max(wait for _, wait in system.waits) <= 0.01
    assert {wait for at, wait in system.waits if at > 0.52} == {0.0005}
    assert 1.0 < system.seconds < 1.01
