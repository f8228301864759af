"""A clock that is set back or forward by hours between any two steps of a write, or was wrong for a while."""

import random
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from catmem.store.files.retention import KEPT
from catmem.store.files.system import System
from tests.crash.interleavings import one_deep
from tests.crash.kills import OPERATIONS, every_kill, kill_at
from tests.crash.scene import quick_folder, trial_in
from tests.unit.store.one_file import add


class Clock(System):
    """A clock that is wrong by ``wrong`` hours, or by others each time it is read. The disk has the right one."""

    def __init__(self, wrong):
        self.wrong = wrong
        self.chance = random.Random(1)

    def now(self):
        wrong = self.chance.choice((-30, -5, 0, 5, 30)) if self.wrong is None else self.wrong
        return super().now() + timedelta(hours=wrong)


WRONG = [5, -5, None]


@pytest.fixture
def quick(tmp_path):
    with quick_folder(tmp_path) as folder:
        yield folder


@pytest.mark.parametrize("wrong", WRONG)
def test_a_kill_loses_nothing(quick, wrong):
    operation = OPERATIONS["add that meets a new file, with late bytes"]
    for kill in every_kill(quick, operation)[::4]:
        with trial_in(quick) as root:
            kill_at(root, operation, kill, meanwhile="rename over", under=Clock(wrong))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", ["held-open append", "cp -p"])
def test_an_outsider_loses_nothing(quick, kind, wrong):
    assert sum(1 for _ in one_deep(quick, "late bytes", kind, step=4, under=Clock(wrong))) > 10


@pytest.fixture
def system():
    return Clock(0)


def test_what_an_older_journal_took_out_is_not_taken_for_the_newer_ones(store, file):
    """Both count from 1. Somebody removed the journal and its mark, and nothing else."""
    add(store, b"first\n")
    add(store, b"second\n")
    file.write_bytes(b"all new\n")
    store.close()
    shutil.rmtree(file.parent / ".catmem" / "journal")
    (file.parent / ".catmem" / "published").unlink()
    assert store.mend()
    for text in (b"third\n", b"fourth\n", b"fifth\n"):
        add(store, text)
    assert file.read_bytes() == b"all new\nthird\nfourth\nfifth\n"


def test_copies_that_were_made_while_the_clock_was_ahead_do_not_push_out_newer_ones(store, file, system):
    for number in range(KEPT + 2):
        system.wrong = 24 * 365 if number < KEPT else 0
        file.write_bytes(b"%d\n" % number)
        store.backup("user")
    kept = {path.read_bytes() for path in file.parent.glob("*.bak.*")}
    assert kept == {b"%d\n" % number for number in range(2, KEPT + 2)}
    stamps = {path.name.split(".")[-1][:4] for path in file.parent.glob("*.bak.*")}
    assert str(datetime.now(UTC).year) in stamps


def test_the_history_goes_on_in_the_order_of_the_writes(store, system):
    for number, wrong in enumerate((0, 50_000, -50_000, 3)):
        system.wrong = wrong
        add(store, b"%d\n" % number)
    assert [each.revision for each in store.log("user")] == ["4", "3", "2", "1"]
    assert store.peek("user") == b"0\n1\n2\n3\n"
    assert store.verify() == []
