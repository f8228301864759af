"""``catmem simulate``: what it says, many writes that race on every store, and what is left when it is killed."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial

import psutil
import pytest

from catmem.plugins.simulate.operations import Trial, race
from tests.end_to_end.terminal import run as command
from tests.lengths import at_length
from tests.sql import server

SMALL = ["--agents", "3", "--writes", "12", "--entities", "2"]


run = partial(command, "simulate")


def test_one_of_each_is_told_as_one():
    assert run("--agents", "1", "--writes", "1", "--entities", "1").stderr == "1 agent, 1 write, 1 file, in files\n"


def test_a_server_that_is_not_there_is_told_without_the_password():
    result = run("--store", "postgresql://me:hush@127.0.0.1:1/x", *SMALL, status=4)
    assert "error[not_available]" in result.stderr
    assert "hush" not in result.output


def test_a_database_that_exists_is_left_alone(tmp_path):
    path = tmp_path / "mine.db"
    path.write_bytes(b"mine")
    assert "error[not_empty]" in run("--store", f"sqlite:///{path}", *SMALL, status=2).stderr
    assert path.read_bytes() == b"mine"


def test_both_races_stand_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = run(*SMALL)
    rows = {line[:31].strip(): line[31:].split() for line in result.stdout.splitlines()}
    assert rows["writes acknowledged"] == ["12", "12"]
    assert rows["silent overwrites"][1] == "0"
    assert rows["kappa between the agents"][1] == "1.000"
    assert "3 agents, 12 writes, 2 files, in files" in result.stderr
    assert list(tmp_path.iterdir()) == []  # nothing of it stays


WRITES = at_length(200, 100)
"""The long run (`python -m tests.torture stale-writes`) makes 1,000 of each."""
AGENTS = at_length(8, 3)
RACED = [
    pytest.param("files", id="files"),
    pytest.param("sqlite:///race.db", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture
def place(where):
    return server.url("stale_story") if where == "postgresql" else where


@pytest.mark.parametrize("where", RACED)
@pytest.mark.parametrize("guard", ["refuse", "branch"])
def test_racing_writes_lose_nothing(place, guard):
    outcome = race(Trial(AGENTS, WRITES), guard, place)
    assert outcome.acknowledged == WRITES
    assert (outcome.silent_overwrites, outcome.unrecorded) == (0, 0)
    assert outcome.kappa == 1
    if guard == "refuse":
        assert (outcome.conflicts > 0, outcome.branches) == (True, 0)
    else:
        assert (outcome.conflicts, outcome.branches > 0) == (0, True)


AGENTS_AT_WORK = 2
LONG = ["--agents", str(AGENTS_AT_WORK), "--writes", "1000000", "--entities", "1"]


def workers(process):
    """The processes of a race, without the one in which Python looks after semaphores."""
    found = psutil.Process(process.pid).children()
    return [each for each in found if "spawn_main" in " ".join(each.cmdline())]


def is_writing(folder):
    """Whether an agent has written."""
    return any(b"agent-" in file.read_bytes() for file in folder.rglob("*.log"))


def is_alive(process):
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def wait(condition):
    """Wait for a condition; the limit is for a machine that hangs."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize("where", ["at the start", "at work"])
def test_its_processes_end_with_it(where, tmp_path):
    command = [sys.executable, "-m", "catmem", "simulate", *LONG]
    simulation = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)})
    found = []
    try:
        wait(lambda: len(workers(simulation)) == AGENTS_AT_WORK)
        found = workers(simulation)
        if where == "at work":
            wait(lambda: is_writing(tmp_path))
        simulation.kill()
        simulation.wait()
        wait(lambda: not any(map(is_alive, found)))
    finally:
        for process in (simulation, *filter(is_alive, found)):
            process.kill()
