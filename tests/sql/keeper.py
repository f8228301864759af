"""The process that ends a PostgreSQL server when nobody uses it any more, however its users ended.

``python -m tests.sql.keeper keep FOLDER`` starts a server, goes into the background when it answers, and ends it when the
last user has let go of it. ``watch FOLDER`` is for a server that somebody else starts and stops: it only looks after what is
left when that one is gone. A user holds a shared lock on ``FOLDER/users``, which the system lets go of when it ends.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.sql.postgres import Server, kill_all

ROOT = Path(__file__).parent.parent.parent
USERS = "users"
KEEPER = "keeper"
READY = "url"


def launch(what: str, folder: Path) -> None:
    """Start a keeper; returns when its server answers. Raises ``RuntimeError`` with what it said."""
    command = [sys.executable, "-m", "tests.sql.keeper", what, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"no PostgreSQL server: {done.stderr.strip()}")


def hold(folder: Path, name: str, how: int) -> int:
    """A lock on a file of the folder, as a file descriptor. Raises ``BlockingIOError`` with ``LOCK_NB``."""
    held = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, how)
    except BlockingIOError:
        os.close(held)
        raise
    return held


@contextlib.contextmanager
def watched(made: str) -> Iterator[Path]:
    """A folder for a server of one's own, and somebody who takes both away if this process cannot."""
    folder = Path(made)
    using = hold(folder, USERS, fcntl.LOCK_SH)
    try:
        launch("watch", folder)
        yield folder
    finally:
        os.close(using)


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        said = os.read(told, 4096)
        sys.exit(0 if said == b"ready" else said.decode() or "the keeper ended")
    os.setsid()
    os.close(told)
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.close(silence)
    keep(folder, tell) if what == "keep" else watch(folder, tell)


def keep(folder: Path, tell: int) -> None:
    """The life of the keeper of a shared server."""
    hold(folder, KEEPER, fcntl.LOCK_EX)
    _kill_left(folder)
    _clear(folder)
    server = Server(folder, durable=False)
    try:
        server.start()
    except (OSError, RuntimeError) as error:
        os.write(tell, str(error).encode()[:4096])
        raise
    part = folder / "url.part"
    part.touch(0o600)
    part.write_text(server.url(), encoding="ascii")
    part.rename(folder / READY)
    os.write(tell, b"ready")
    os.close(tell)
    hold(folder, USERS, fcntl.LOCK_EX)  # who comes now waits until this process has ended, and finds nothing
    (folder / READY).unlink(missing_ok=True)
    server.stop()
    _clear(folder)


def watch(folder: Path, tell: int) -> None:
    """The life of the watcher of a private server."""
    os.write(tell, b"ready")
    os.close(tell)
    hold(folder, USERS, fcntl.LOCK_EX)
    _kill_left(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _kill_left(folder: Path) -> None:
    """Kill the server that was left running in the folder, if there is one."""
    import psutil

    with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
        postmaster = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])
        if str(folder / "data") in psutil.Process(postmaster).cmdline():
            kill_all(postmaster)


def _clear(folder: Path) -> None:
    """Remove everything but the files that are locked, which must stay the same files."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in {USERS, KEEPER, "starting"}:
            path.unlink()


if __name__ == "__main__":
    main()
