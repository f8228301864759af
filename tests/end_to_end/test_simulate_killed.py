"""A simulation that is killed leaves no process behind, wherever its processes are just then."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

PROCESSES = 2
LONG = ["--agents", "2", "--writes", "1000", "--think", "1000", "--entities", "1", "--processes", str(PROCESSES)]


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
        wait(lambda: len(workers(simulation)) == PROCESSES)
        found = workers(simulation)
        if where == "at work":
            wait(lambda: is_writing(tmp_path))
        simulation.kill()
        simulation.wait()
        wait(lambda: not any(map(is_alive, found)))
    finally:
        for process in (simulation, *filter(is_alive, found)):
            process.kill()
