"""What the figures of the server need: a root to serve, `catmem serve`, a bare application beside it, and `wrk`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from benchmarks.search import entry_texts
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WRK = shutil.which("wrk")
_TITLES = ("Notes", "Projects", "People", "Places", "Workflow Rules")
_PROFILE = 'user_memory_categories: ["*"]\nwritable_categories: ["*"]\n'

_BARE = """
import json, socket, sys
from pathlib import Path
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

known = {}
for line in Path(sys.argv[1]).read_text().splitlines():
    said = json.loads(line)
    known[said["url"]] = Path(said["file"]).read_bytes(), said["type"]

async def answer(request):
    path = request.url.path
    entity = request.query_params.get("entity_id")
    body, kind = known[path if entity is None else f"{path}?entity_id={entity}"]
    return Response(body, media_type=kind)

app = Starlette(routes=[Route("/mem/read", answer), Route("/prompt/{profile}", answer)])
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so that asyncio sets TCP_NODELAY
listening.bind(("127.0.0.1", 0))
print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
uvicorn.Server(
    uvicorn.Config(app, loop="asyncio", http="h11", access_log=False, log_level="warning")
).run(sockets=[listening])
"""
"""A route and a dictionary of ready bytes, on the loop, the protocol and the one process that catmem has."""


class Load(NamedTuple):
    """What came of asking for a while: seconds from one answer to the next, quantiles, and processor time of each."""

    seconds: float
    middle: float
    worst: float
    processor: float
    errors: int


class Server(NamedTuple):
    """A server that runs in a process of its own."""

    url: str
    process: int

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[bytes, Mapping[str, str]]:
        """An answer and its headers."""
        request = urllib.request.Request(self.url + path, headers=dict(headers or {}))  # noqa: S310 - our own address
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.read(), dict(answer.headers)

    def processor_time(self) -> float:
        """Seconds of processor time that it has taken since it began."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of memory that it has at the moment."""
        fields = Path(f"/proc/{self.process}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def head(self, entity: str) -> int:
        """The revision that an entity is at."""
        return int(json.loads(self.get(f"/mem/head?entity_id={entity}")[0])["mem_rev"])


def text_of(count: int) -> str:
    """A memory file with so many entries, in five categories."""
    texts, each = [text for text, _ in entry_texts(count)], count // len(_TITLES)
    parts = (
        f"## {title}\n" + "\n§\n".join(f"[created: 2026-11-02] {text}" for text in texts[each * at : each * (at + 1)])
        for at, title in enumerate(_TITLES)
    )
    return "\n\n".join(parts) + "\n"


def make_root(root: Path, texts: Mapping[str, str], store: str = "sqlite:///memory.db") -> None:
    """A root with a profile for each text, which reads and writes everything of its own."""
    (root / "profiles").mkdir(parents=True)
    config = f"version: 1\nstore: {store}\n"
    (root / "catmem.yaml").write_text(config, encoding="utf-8")
    for name in texts:
        (root / "profiles" / f"{name}.yaml").write_text(_PROFILE, encoding="utf-8")
    with closing(Workspace.open(root, search=False).store) as opened:
        for name, text in texts.items():
            opened.commit(f"{name}/user", "0", lambda _, text=text: text.encode(), Change())  # type: ignore[misc]


@contextmanager
def catmem(root: Path, *options: str) -> Iterator[Server]:
    """`catmem serve` on a root."""
    command = ["-m", "catmem", "serve", "--root", str(root), "--port", "0", "--format", "json", "--no-access-log"]
    with _running([sys.executable, *command, *options]) as server:
        yield server


@contextmanager
def bare(folder: Path, answers: Mapping[str, tuple[bytes, Mapping[str, str]]]) -> Iterator[Server]:
    """A bare Starlette application that gives these answers, by path."""
    folder.mkdir()
    lines = []
    for number, (path, (body, headers)) in enumerate(answers.items()):
        file = folder / str(number)
        file.write_bytes(body)
        said = {"url": path, "file": str(file), "type": headers["content-type"]}
        lines.append(json.dumps(said))
    (folder / "answers").write_text("\n".join(lines), encoding="utf-8")
    with _running([sys.executable, "-c", _BARE, str(folder / "answers")]) as server:
        yield server


@contextmanager
def _running(command: list[str]) -> Iterator[Server]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": "0"})
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        yield Server(_url(process.stdout), process.pid)
    finally:
        process.terminate()
        process.communicate()


def _url(out: IO[bytes]) -> str:
    """Where a server listens: the first that it prints is an object, on one line or on several."""
    said = b""
    while not said.rstrip().endswith(b"}"):
        said += out.readline()
    return str(json.loads(said)["url"])


def asked(  # noqa: PLR0913 - how it is asked, by keyword
    server: Server,
    path: str,
    *,
    seconds: float,
    clients: int,
    threads: int = 1,
    headers: Mapping[str, str] | None = None,
    script: Path | None = None,
    arguments: tuple[str, ...] = (),
) -> Load:
    """What `wrk` says of so many clients, each of which asks again as soon as it has its answer."""
    assert WRK is not None  # noqa: S101 - the caller has looked
    command = [WRK, "--latency", f"-t{threads}", f"-c{clients}", f"-d{seconds:g}s"]
    for name, value in (headers or {}).items():
        command += ["-H", f"{name}: {value}"]
    command += [] if script is None else ["-s", str(script)]
    before = server.processor_time()
    said = subprocess.run(
        [*command, server.url + path, "--", *arguments], capture_output=True, text=True, check=True
    ).stdout
    took = server.processor_time() - before
    count = int(_found(r"(\d+) requests in", said))
    errors = sum(
        int(each) for each in re.findall(r"(?:Non-2xx or 3xx responses:|connect|read|write|timeout) (\d+)", said)
    )
    return Load(
        1 / float(_found(r"Requests/sec:\s+([\d.]+)", said)),
        _seconds(_found(r"\n\s+50%\s+(\S+)", said)),
        _seconds(_found(r"\n\s+99%\s+(\S+)", said)),
        took / max(count, 1),
        errors,
    )


def _found(pattern: str, said: str) -> str:
    found = re.search(pattern, said)
    if found is None:
        raise ValueError(f"wrk says something else: {said}")
    return found[1]


def _seconds(said: str) -> float:
    """A time as wrk writes it: 12.50us, 1.23ms, 2.00s."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", said).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}[unit]
