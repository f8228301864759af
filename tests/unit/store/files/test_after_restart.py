"""A file that is shorter than its last revision when the machine was started again: the disk's doing, or a person's."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.store.contract import EXTERNAL
from catmem.store.files.system import System
from tests.crash.disk import LONG_AGO
from tests.unit.store.one_file import add

TEXT = b"first\nsecond\nthird\n"
DAY = 86400.0
HOUR = 3600.0


class Machine(System):
    """One whose clock and starts a test sets. It writes at ``at``, in seconds from now, and what it lost is older."""

    def __init__(self):
        self.at = 0.0
        self.started = None

    def now(self):
        return datetime.now(UTC) + timedelta(seconds=self.at)

    def boot(self):
        return f"boot {self.started}"

    def booted_at(self):
        return time.time() + (self.started or 0.0)


@pytest.fixture
def system():
    return Machine()


def told(store):
    return [(each.op, each.agent, each.note.get("after_stop")) for each in store.log("user")]


@pytest.mark.parametrize("cut", [b"first\n", b"fir", b""])
def test_what_somebody_cut_long_after_the_last_write_stays_cut(store, file, system, cut):
    system.at = -DAY
    add(store, TEXT)
    file.write_bytes(cut)
    system.at, system.started = 0.0, HOUR
    done = add(store, b"new\n")
    assert file.read_bytes() == cut + b"new\n"
    assert (done.adopted, done.restored) == ("2", None)
    assert told(store)[1] == ("adopt", EXTERNAL, None)


@pytest.mark.parametrize("cut", [b"first\n", b"fir", b"", b"first\n\0\0\0"])
def test_what_a_disk_may_have_lost_of_a_write_is_restored_and_told(store, file, system, cut):
    add(store, TEXT)
    file.write_bytes(cut)
    system.started = HOUR
    done = add(store, b"new\n")
    assert file.read_bytes() == TEXT + b"new\n"
    assert (done.revision, done.adopted, done.restored) == ("3", None, "2")
    assert told(store)[1] == ("restore", "catmem", 1)
    assert [path.read_bytes() for path in file.parent.glob("*.bak.*")] == [cut] * bool(cut)
    assert add(store, b"more\n").restored is None


def test_nul_bytes_are_no_persons_whenever_they_came(store, file, system):
    system.at = -DAY
    add(store, TEXT)
    file.write_bytes(b"first\n" + bytes(13))
    system.at, system.started = 0.0, HOUR
    assert add(store, b"new\n").restored == "2"
    assert file.read_bytes() == TEXT + b"new\n"


def test_a_copy_with_an_old_time_since_the_start_of_the_machine_is_a_persons(store, file, system):
    """`cp -p` of a shorter version: the time of the file says nothing, that of its last change does."""
    add(store, TEXT)
    system.started = -HOUR
    file.write_bytes(b"first\n")
    os.utime(file, (LONG_AGO, LONG_AGO))
    assert add(store, b"new\n").restored is None
    assert file.read_bytes() == b"first\nnew\n"


def test_a_restored_file_is_told_by_the_command_and_in_the_log(tmp_path, monkeypatch):
    def catmem(*arguments):
        done = CliRunner().invoke(group, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done

    monkeypatch.chdir(tmp_path)
    catmem("init", "--example")
    catmem("add", "The vendor is Acme.", "-p", "trinity", "-c", "workflow-rules-finance")
    file = tmp_path / "homes" / "trinity" / "USER.md"
    whole = file.read_bytes()
    file.write_bytes(whole[:10])
    machine = Machine()
    machine.started = HOUR
    monkeypatch.setattr(System, "boot", lambda _: machine.boot())
    monkeypatch.setattr(System, "booted_at", lambda _: machine.booted_at())
    answer = catmem("add", "The bank is Bolt.", "-p", "trinity", "-c", "workflow-rules-finance")
    said = "a stop of the machine may have cut the file, so its last text was put back as revision 3"
    assert said in answer.stderr
    assert b"The vendor is Acme." in file.read_bytes()
    (line,) = [line for line in catmem("log", "trinity").stdout.splitlines() if " restore " in line]
    assert "after a stop of the machine" in line
