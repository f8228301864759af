"""The MCP server beside the reference server for memory, `@modelcontextprotocol/server-memory` from npm.

Both hold the same notes, 100, 1,000 and 5,000 of them, and are asked over stdio by the same client: to add one, and
to search for a word that a few have. The two take turns, and the time is that of the clock on the wall, from the
request to its answer: what a model waits. The first search after an add takes in what is new, and is shown by itself.
In the end each gets 20 adds at once, and what it keeps of them is counted.

Ours makes every write durable before it answers (two calls of fsync and a record in the journal); theirs does not.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.measure import Result, compared, slower
from benchmarks.search import entry_texts

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

_SIZES = (100, 1_000, 5_000)
_AT_MOST = 0.5
_ROUNDS = 25
_AT_ONCE = 20
_WORD = "zeppelin"
"""Ten notes have it."""


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    server: Path | None = options.server_memory
    if server is None or not server.is_file():
        print(f"mcp: not measured, for want of {server or 'a server to compare with: --server-memory'}")
        return []
    results = []
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as open_servers:
            home = Path(folder)
            texts = _texts(size)
            ours = open_servers.enter_context(Ours(_our_root(home, texts)))
            theirs = open_servers.enter_context(Theirs(server, their_file(home, [(text, "notes") for text in texts])))
            results += _compared(size, ours, theirs, options.times or _ROUNDS)
            if size == _SIZES[-1]:
                results += _at_once(ours, theirs)
    return results


def _compared(size: int, ours: _Peer, theirs: _Peer, rounds: int) -> list[Result]:
    for peer in (ours, theirs):
        peer.add("A first one, which is not counted.")
        peer.search(_WORD)
    found = {peer.search(_WORD) for peer in (ours, theirs)}
    if found != {len(range(0, size, size // 10))}:
        raise ValueError(f"the two do not find the same: {found}")
    after_add: dict[_Peer, list[float]] = {ours: [], theirs: []}
    added: dict[_Peer, list[float]] = {ours: [], theirs: []}
    searched: dict[_Peer, list[float]] = {ours: [], theirs: []}
    for number in range(rounds):
        for peer in (ours, theirs):
            added[peer].append(_seconds(peer, peer.add_call(f"A further fact, number {number}.")))
            after_add[peer].append(_seconds(peer, peer.search_call(_WORD)))
    for _ in range(rounds):
        for peer in (ours, theirs):
            searched[peer].append(_seconds(peer, peer.search_call(_WORD)))
    return [
        _result(f"mcp add, {size:,} entries", added, ours, theirs, limited=size == _SIZES[-1]),
        _result(f"mcp search, {size:,} entries", searched, ours, theirs, limited=size == _SIZES[-1]),
        _result(f"  the first search after an add, {size:,}", after_add, ours, theirs, limited=False),
    ]


def _result(name: str, taken: dict[_Peer, list[float]], ours: _Peer, theirs: _Peer, *, limited: bool) -> Result:
    middle = {peer: statistics.median(seconds) for peer, seconds in taken.items()}
    if limited:
        return slower(name, middle[ours], middle[theirs], _AT_MOST)
    return compared(name, middle[ours], middle[theirs])


def _at_once(ours: _Peer, theirs: _Peer) -> list[Result]:
    kept = []
    for peer in (ours, theirs):
        peer.ask(*(peer.add_call(f"Said at once: parallel{number}x") for number in range(_AT_ONCE)))
        kept.append(sum(peer.search(f"parallel{number}x") for number in range(_AT_ONCE)))
    print(f"mcp: of {_AT_ONCE} adds at once ours keeps {kept[0]}, theirs {kept[1]}")
    share = kept[0] / _AT_ONCE
    return [Result(f"mcp, share kept of {_AT_ONCE} adds at once", 0.0, None, share, 1.0, at_least=True)]


def _seconds(peer: _Peer, call: _Call) -> float:
    start = time.perf_counter()
    peer.ask(call)
    return time.perf_counter() - start


_Call = tuple[str, dict[str, Any]]


class _Peer:
    """A server on pipes, and a client that asks and waits."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        self._last = 0

    def __enter__(self) -> Self:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._send("initialize", client)
        self._answers(1)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, *calls: _Call) -> list[dict[str, Any]]:
        """The results of some calls, all sent before the first answer is read. ValueError for one that failed."""
        for name, arguments in calls:
            self._send("tools/call", {"name": name, "arguments": arguments})
        answers = self._answers(len(calls))
        for answer in answers:
            if len(calls) == 1 and answer.get("result", {"isError": True}).get("isError"):
                raise ValueError(f"a call failed: {answer}")
        return answers

    def add_call(self, text: str) -> _Call:
        """What adds a note."""
        raise NotImplementedError

    def search_call(self, word: str) -> _Call:
        """What looks for a word."""
        raise NotImplementedError

    def count(self, answer: dict[str, Any]) -> int:
        """How many notes an answer to a search shows."""
        raise NotImplementedError

    def add(self, text: str) -> None:
        """Add a note."""
        self.ask(self.add_call(text))

    def search(self, word: str) -> int:
        """How many notes have a word."""
        return self.count(self.ask(self.search_call(word))[0])

    def _send(self, method: str, params: dict[str, Any]) -> None:
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _answers(self, count: int) -> list[dict[str, Any]]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        found: list[dict[str, Any]] = []
        while len(found) < count:
            message = json.loads(self._process.stdout.readline())
            if "id" in message:  # else it is told of something that was not asked
                found.append(message)
        return found


class Ours(_Peer):
    """``catmem mcp``."""

    def __init__(self, root: Path) -> None:
        """Serve ``neo`` of a root."""
        super().__init__([sys.executable, "-m", "catmem", "mcp", "-p", "neo", "--root", str(root)], {})

    def add_call(self, text: str) -> _Call:
        """What adds a note."""
        return "memory_add", {"content": text, "category": "notes"}

    def search_call(self, word: str) -> _Call:
        """What looks for a word."""
        return "memory_search", {"query": word}

    def count(self, answer: dict[str, Any]) -> int:
        """How many notes an answer to a search shows."""
        return int(answer["result"]["structuredContent"]["total"])


class Theirs(_Peer):
    """The reference server; an entity with one observation is what comes nearest to an entry."""

    def __init__(self, server: Path, file: Path) -> None:
        """Serve a file; ``server`` is the server's index.js."""
        super().__init__(["node", str(server)], {"MEMORY_FILE_PATH": str(file)})

    def add_call(self, text: str) -> _Call:
        """What adds a note."""
        return "create_entities", {"entities": [{"name": text, "entityType": "notes", "observations": [text]}]}

    def search_call(self, word: str) -> _Call:
        """What looks for a word."""
        return "search_nodes", {"query": word}

    def count(self, answer: dict[str, Any]) -> int:
        """How many notes an answer to a search shows."""
        return len(json.loads(answer["result"]["content"][0]["text"])["entities"])


def _texts(size: int) -> list[str]:
    every = size // 10
    return [f"{text} {_WORD}." if number % every == 0 else text for number, (text, _) in enumerate(entry_texts(size))]


def _our_root(home: Path, texts: list[str]) -> Path:
    root = home / "root"
    (root / "profiles").mkdir(parents=True)
    (root / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
    (root / "profiles" / "neo.yaml").write_text(
        'user_memory_categories: ["*"]\nwritable_categories: ["*"]\n', encoding="utf-8"
    )
    file = root / "homes" / "neo" / "USER.md"
    file.parent.mkdir(parents=True)
    file.write_text("## Notes\n" + "\n§\n".join(f"[created: 2026-11-02] {text}" for text in texts) + "\n", "utf-8")
    return root


def their_file(home: Path, texts: Sequence[tuple[str, str]]) -> Path:
    """The file of the reference server with some texts, each with the type of its entity."""
    file = home / "memory.jsonl"
    rows = ({"type": "entity", "name": text, "entityType": kind, "observations": [text]} for text, kind in texts)
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file
