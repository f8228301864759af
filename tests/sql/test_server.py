"""The PostgreSQL server of the tests: it starts, is shared, is killed, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.sql import server
from tests.sql.keeper import ROOT

pytestmark = pytest.mark.postgresql

LIMIT = 60.0
"""Seconds after which what is waited for does not come."""


def waited_for(condition):
    ends = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def one(url, statement):
    with server.admin(url) as connection:
        row = connection.execute(statement).fetchone()
        return None if row is None else row[0]


PROGRAM = """
import sys
from tests.sql import server
with server.private(durable=False) as mine:
    print(mine.process.pid, mine.folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["end", "kill"])
def test_no_server_and_no_folder_is_left(how):
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        postmaster, folder = process.stdout.readline().split()
        assert is_alive(int(postmaster))
        if how == "kill":
            process.kill()
        process.communicate()
    assert waited_for(lambda: not is_alive(int(postmaster)))
    assert waited_for(lambda: not Path(folder).exists())


def is_alive(process):
    """Whether a process does anything: one that ended and was not asked for by its parent does not."""
    import psutil

    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def temporary():
    """A folder for temporary files that the server's user can go through, as it cannot through those of pytest."""
    with tempfile.TemporaryDirectory(prefix="catmem-test-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


def test_the_shared_server_ends_with_its_last_user_and_starts_again(temporary):
    environment = {**os.environ, "TMPDIR": str(temporary)}
    environment.pop(server.TOLD, None)
    program = "import sys; from tests.sql import server; print(server.server(), flush=True); sys.stdin.read()"

    def user():
        command = [sys.executable, "-c", program]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)

    with user() as first, user() as second:
        urls = {each.stdout.readline() for each in (first, second)}
        assert len(urls) == 1
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert one(urls.pop().strip(), "SELECT 1") == 1
        second.communicate()
    (folder,) = temporary.iterdir()
    assert waited_for(lambda: not (folder / "data").exists())
    with user() as third:
        assert one(third.stdout.readline().strip(), "SELECT 1") == 1
        third.communicate()
    assert waited_for(lambda: {path.name for path in folder.iterdir()} <= {"users", "keeper", "starting"})
