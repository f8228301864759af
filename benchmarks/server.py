"""`catmem serve` beside a bare Starlette application, and beside the library; and its page over a large root.

Reading: `wrk` with eight clients on loopback asks both sides for the same bytes, in turns, a second each. The bare
application has a route and ready bytes in a dictionary, no middleware and no check of anything, on the same event loop,
protocol (uvicorn's, in pure Python) and one process. The store is SQLite. Asked for is the same again and again, so
ours reads each time what the answer is made of, and finds that it is the same.

Writing: one entry of 20 is replaced on the revision that was written last, by `wrk`, with one client and with eight,
each on an entity of its own; and by the library in one process, with as many threads, in turns. The same envelopes are
posted and submitted (`Workspace.submit`); a plain write, of which the server has to make an envelope, stands beside
`Workspace.replace`, which makes none.

The figures are ratios of medians over rounds. Rows that begin with spaces are there to be known: quantiles of latency
as `wrk` gives them, and processor time of the server for one answer, which other programs on the machine change least.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from benchmarks.measure import Result, compared, faster
from benchmarks.server_page import page
from benchmarks.serving import WRK, Load, asked, bare, catmem, make_root, text_of
from catmem.envelopes.envelope import Envelope, content_hash
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.serving import Server

_ROUNDS = 5
_SIZES = (20, 200, 1_000)
_MIDDLE = 200
_READS_AT_LEAST = 0.15
_WRITES_AT_LEAST = 0.7
_CLIENTS = 8


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    rounds = options.times or _ROUNDS
    if WRK is None:
        print("server: reading and writing not measured, for want of wrk")
        return page(rounds)
    return [*_reads(rounds), *_writes(rounds), *page(rounds)]


# --- reading --------------------------------------------------------------------------------------------------------


def _paths(size: int) -> dict[str, str]:
    return {"read": f"/mem/read?entity_id=neo-{size}/user", "prompt": f"/prompt/neo-{size}"}


def _reads(rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        home = Path(folder)
        make_root(home / "root", {f"neo-{size}": text_of(size) for size in _SIZES})
        for size in _SIZES:
            yield from _beside_bare(home, size, rounds, f"{size:,} entries")
        # No file of tokens may lie in the working tree, where git would carry it.
        with tempfile.TemporaryDirectory() as elsewhere:
            tokens = Path(elsewhere) / "tokens.json"
            yield from _beside_bare(home, _MIDDLE, rounds, f"{_MIDDLE} entries, an agent's token", tokens=tokens)


def _new_token(root: Path, agent: str, file: Path) -> str:
    command = [sys.executable, "-m", "catmem", "token", "new", agent, "--root", str(root), "--tokens", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _beside_bare(home: Path, size: int, rounds: int, what: str, *, tokens: Path | None = None) -> Iterator[Result]:
    root, own, options = home / "root", {}, []
    if tokens is not None:
        own["Authorization"] = f"Bearer {_new_token(root, f'neo-{size}', tokens)}"
        options = ["--tokens", str(tokens)]
    with ExitStack() as stack:
        ours = stack.enter_context(catmem(root, *options))
        answers = {path: ours.get(path, own) for path in _paths(size).values()}
        lower = {
            path: (body, {key.lower(): value for key, value in said.items()}) for path, (body, said) in answers.items()
        }
        theirs = stack.enter_context(bare(Path(tempfile.mkdtemp(dir=home)) / "bare", lower))
        for name, path in _paths(size).items():
            sides = {
                "ours": lambda path=path: _second(ours, path, own),
                "theirs": lambda path=path: _second(theirs, path, own),
            }
            yield from _rows(f"{name}, {what}", _turns(sides, rounds), _READS_AT_LEAST)


def _second(server: Server, path: str, headers: Mapping[str, str]) -> Load:
    load = asked(server, path, seconds=1, clients=_CLIENTS, headers=headers)
    if load.errors:
        raise ValueError(f"{load.errors} requests for {path} failed")
    return load


def _turns(sides: Mapping[str, Callable[[], Load]], rounds: int) -> dict[str, list[Load]]:
    loads: dict[str, list[Load]] = {name: [] for name in sides}
    for each in range(rounds + 1):
        for name, load in sides.items():
            found = load()
            if each:  # the first one finds everything cold
                loads[name].append(found)
    return loads


def _rows(name: str, loads: Mapping[str, list[Load]], at_least: float) -> Iterator[Result]:
    middle = {
        side: Load(*(statistics.median(values) for values in zip(*each, strict=True))) for side, each in loads.items()
    }
    ours, theirs = middle["ours"], middle["theirs"]
    yield faster(name, ours.seconds, theirs.seconds, at_least)
    yield compared("  half were answered in", ours.middle, theirs.middle)
    yield compared("  99 of 100 were answered in", ours.worst, theirs.worst)
    yield compared("  processor time for each", ours.processor, theirs.processor)


# --- writing --------------------------------------------------------------------------------------------------------

_PLAIN = """
local count = 0
function setup(thread)
  thread:set("number", count)
  count = count + 1
end
function init(arguments)
  revision = tonumber(arguments[number + 1])
  wrk.headers["Content-Type"] = "application/json"
end
function request()
  return wrk.format("POST", "/mem/write", nil, string.format(
    '{"entity_id":"neo-%d/user","prev_rev":%d,"content":[{"action":"replace","old_text":"The count is",' ..
    '"content":"The count is %d."}]}', number, revision, revision))
end
function response(status, headers, body)
  revision = tonumber(body:match('"mem_rev":(%d+)') or body:match('"found":"(%d+)"') or revision)
end
"""
"""Plain writes, each on the revision that the last answer named."""

_ENVELOPES = """
local count = 0
function setup(thread)
  thread:set("number", count)
  count = count + 1
end
function init(arguments)
  lines = io.lines(arguments[1] .. "/" .. number)
  is_tried = number > 0  -- wrk looks at one request of its first thread beforehand, and does not send it
  wrk.headers["Content-Type"] = "application/json"
end
function request()
  if not is_tried then
    is_tried = true
    return wrk.format("POST", "/mem/write", nil, "{}")
  end
  return wrk.format("POST", "/mem/write", nil, lines())
end
"""
"""Envelopes that were made beforehand, one on the revision of the other."""

_LIBRARY = """
import json, sys, threading, time
from pathlib import Path
from catmem.workspace.workspace import Workspace
workspace = Workspace.open(sys.argv[1], search=False)
store, clients, folder = workspace.store, int(sys.argv[2]), sys.argv[3]

def plain(number, revision):
    name, text = f"neo-{number}", f"The count is {revision}."
    while True:
        yield
        revision = workspace.replace(name, "The count is", text, expected=revision).revision
        text = f"The count is {revision}."

def submitted(number, revision):
    with (Path(folder) / str(number)).open() as lines:
        for line in lines:
            yield
            workspace.submit(line)

def write(writes, until, taken):
    while (start := time.perf_counter()) < until:
        next(writes)
        taken.append(time.perf_counter() - start)

for line in sys.stdin:
    start = submitted if folder else plain
    writers = [start(number, store.head(f"neo-{number}/user").revision) for number in range(clients)]
    for each in writers: next(each)
    taken, began, busy = [], time.perf_counter(), time.process_time()
    threads = [threading.Thread(target=write, args=(each, began + 1, taken)) for each in writers]
    for each in threads: each.start()
    for each in threads: each.join()
    took, busy = time.perf_counter() - began, time.process_time() - busy
    taken.sort()
    worst = taken[min(len(taken) - 1, int(0.99 * len(taken)))]
    print(json.dumps([took / len(taken), taken[len(taken) // 2], worst, busy / len(taken), 0]), flush=True)
"""


def _writes(rounds: int) -> Iterator[Result]:
    for clients in (1, _CLIENTS):
        for kind, at_least in (("envelope", _WRITES_AT_LEAST), ("plain write", _WRITES_AT_LEAST)):
            with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
                loads = _written_in_turns(Path(folder), clients, rounds, enveloped=kind == "envelope")
            named = "1 client" if clients == 1 else f"{clients} clients"
            yield from _rows(f"{kind}, {named}, beside the library", loads, at_least)


def _written_in_turns(home: Path, clients: int, rounds: int, *, enveloped: bool) -> dict[str, list[Load]]:
    script = home / "write.lua"
    script.write_text(_ENVELOPES if enveloped else _PLAIN, encoding="utf-8")
    text = f"## Notes\n{_WRITTEN}nothing yet.\n§\n{text_of(_SIZES[0])}"
    for side in ("ours", "theirs"):
        make_root(home / side, {f"neo-{number}": text for number in range(clients)})
    made = home / "envelopes" if enveloped else None
    with catmem(home / "ours") as server, _library(home / "theirs", clients, made) as library:

        def theirs() -> Load:
            if made is not None:
                _make_envelopes(home / "theirs", clients, made)
            return library()

        def ours() -> Load:
            if made is not None:
                _make_envelopes(home / "ours", clients, made)
            return _written(server, script, clients, made)

        return _turns({"ours": ours, "theirs": theirs}, rounds)


_WRITTEN = "The count is "
_MOST_A_SECOND = 1200
"""Writes that are made ready for a second."""


def _make_envelopes(root: Path, clients: int, folder: Path) -> None:
    """Envelopes that replace an entry again and again, for each entity a file, one a line."""
    folder.mkdir(exist_ok=True)
    time.sleep(0.1)  # what was on its way when the last round ended is written by then
    with closing(Workspace.open(root, search=False).store) as store:
        for number in range(clients):
            head = store.head(f"neo-{number}/user")
            first = 0 if head is None else int(head.revision)
            lines = (json.dumps(jsonable(_envelope(number, first + each))) for each in range(_MOST_A_SECOND // clients))
            (folder / str(number)).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _envelope(number: int, revision: int) -> Envelope:
    content = [{"action": "replace", "old_text": _WRITTEN, "content": f"{_WRITTEN}{revision}."}]
    return Envelope(
        entity_id=f"neo-{number}/user",
        agent_id="person",
        op_id=uuid4().hex,
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        prev_rev=revision,
        content=content,
        mem_hash=content_hash(content),
    )


def _written(server: Server, script: Path, clients: int, envelopes: Path | None) -> Load:
    time.sleep(0.1)
    heads = [server.head(f"neo-{number}/user") for number in range(clients)]
    said = map(str, heads) if envelopes is None else [str(envelopes)]
    load = asked(
        server, "/mem/write", seconds=1, clients=clients, threads=clients, script=script, arguments=tuple(said)
    )
    if load.errors:
        raise ValueError(f"{load.errors} writes were refused")
    made = sum(server.head(f"neo-{number}/user") - head for number, head in enumerate(heads))
    if made < 1 / load.seconds / 2:
        raise ValueError(f"only {made} writes were made")
    return load


@contextmanager
def _library(root: Path, clients: int, envelopes: Path | None) -> Iterator[Callable[[], Load]]:
    """The library in a process of its own, which writes for a second each time it is called."""
    command = [sys.executable, "-c", _LIBRARY, str(root), str(clients), "" if envelopes is None else str(envelopes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pipes: tuple[IO[str] | None, IO[str] | None] = process.stdin, process.stdout
    try:
        yield lambda: _asked_of(*pipes)
    finally:
        process.communicate()


def _asked_of(into: IO[str] | None, out: IO[str] | None) -> Load:
    assert into is not None  # noqa: S101 - they are pipes
    assert out is not None  # noqa: S101
    into.write("go\n")
    into.flush()
    return Load(*json.loads(out.readline()))
