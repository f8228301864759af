"""A build of catmem: a wheel in an environment of its own, and how its commands are run there."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build" / "same-as"
EXTRAS = "mcp,server,sql,anthropic"
WORKER = Path(__file__).with_name("worker.py")


class Done(NamedTuple):
    """What a command left: its exit status, and what it printed."""

    status: int
    stdout: str
    stderr: str


def wheel_of_checkout() -> Path:
    """A wheel of the checkout as it is now."""
    target = FOLDER / "new"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, CHECKOUT]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = target.glob("*.whl")
    return wheel


def installed(wheel: Path) -> Path:
    """The folder ``bin`` of an environment with this wheel. The same bytes are installed once."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]
    place = FOLDER / f"venv-{digest}"
    if not (place / ".whole").exists():
        print(f"Installing {wheel} into {place} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "-qqq", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{wheel}[{EXTRAS}]"], check=True)
        (place / ".whole").touch()
    return place / "bin"


def environment(programs: Path, home: Path, cache: Path) -> dict[str, str]:
    """The environment of every process of a build: nothing of the caller's, so that a run can be repeated."""
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(cache),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "CATMEM_PERSON": "",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


class Runner:
    """Runs commands of one build, with the streams in files of the folder ``streams``."""

    def __init__(self, programs: Path, streams: Path, cache: Path) -> None:
        """``programs`` is the folder ``bin`` of the build."""
        streams.mkdir(parents=True)
        self.programs = programs
        self.streams = streams
        self.cache = cache
        self._paths = {name: streams / name for name in ("stdin", "stdout", "stderr")}
        for path in self._paths.values():
            path.touch()
        python = [programs / "python", "-P", WORKER]
        # The cache is where the build looks when it is imported.
        given = environment(programs, streams, cache)
        self._worker = subprocess.Popen(python, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._worker.stdin is not None
        self._worker.stdin.close()
        self._worker.wait()

    def run(self, arguments: list[str], folder: Path, home: Path, said: bytes = b"", *, fork: bool = True) -> Done:
        """Run ``catmem`` with the arguments in a folder; ``fork`` is quicker than a process of its own."""
        given = environment(self.programs, home, self.cache)
        if not fork:
            command = [self.programs / "catmem", *arguments]
            done = subprocess.run(command, cwd=folder, env=given, input=said, capture_output=True, check=False)
            return Done(done.returncode, _text(done.stdout), _text(done.stderr))
        self._paths["stdin"].write_bytes(said)
        request = {"arguments": arguments, "folder": str(folder), "environment": given}
        request |= {name: str(path) for name, path in self._paths.items()}
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(json.dumps(request).encode() + b"\n")
        self._worker.stdin.flush()
        status = int(self._worker.stdout.readline())
        return Done(status, *(_text(self._paths[name].read_bytes()) for name in ("stdout", "stderr")))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
