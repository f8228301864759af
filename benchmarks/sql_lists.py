"""Adding a note and listing a category, with 100, 1,000 and 5,000 notes, as people do it now and with catmem on SQLite.

- plain table: sqlite3 on one table with an index on the category, durable (WAL, synchronous FULL). Nothing guards it.
- docker-agent: sqlite3 on the table that docker-agent makes, with the settings that it has (SQLite's own). It has no
  index, and a list of a category reads the whole table.
- reference server: `@modelcontextprotocol/server-memory` from npm, asked over stdio, beside `catmem mcp` asked so.

Ours is the library, `Workspace.add` and `Workspace.list` on a SQLite store: whole, with access control, the scan for
threats, the budget, a revision, and the guard against direct clients. All take turns; wall time, medians.

A list is measured twice: by a door that lives long, and by one that has just been opened, which opens the database and
reads the whole document. Both look at every note of the category. The plain table opens its database too.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from benchmarks.mcp import Ours, Theirs, their_file
from benchmarks.measure import Result, compared, slower
from benchmarks.search import entry_texts
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

_SIZES = (100, 1_000, 5_000)
_ROUNDS = 25
_COLD = 2
"""The first rounds, which are left out."""
_AT_MOST = 1.5
_CATEGORIES = ("notes", "projects", "people", "places", "workflow-rules")
_LISTED = _CATEGORIES[0]


class _Peer(Protocol):
    """What keeps notes."""

    def add(self, text: str) -> None:
        """Keep one more in the category that is listed."""

    def list(self) -> int:
        """List the category; returns how many notes it has."""

    def open_and_list(self) -> int:
        """Do the same anew: open the database, list, and close it."""


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    results: list[Result] = []
    for size in _SIZES:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, ExitStack() as stack:
            home = Path(folder)
            texts = [text for text, _ in entry_texts(size)]
            peers: dict[str, _Peer] = {
                "ours": stack.enter_context(closing(_Catmem(_root(home, texts)))),
                "a plain table": stack.enter_context(closing(_Plain(home / "plain.db", texts))),
                "docker-agent's table": stack.enter_context(closing(_DockerAgent(home / "docker.db", texts))),
            }
            results += _compared(size, peers, options.times or _ROUNDS)
            results += _over_mcp(size, home, texts, options)
    return results


def _compared(size: int, peers: dict[str, _Peer], rounds: int) -> Iterator[Result]:
    counts = {peer.list() for peer in peers.values()}
    if counts != {size // len(_CATEGORIES)}:
        raise ValueError(f"they do not list the same: {counts}")
    added = _turns({name: peer.add for name, peer in peers.items()}, rounds)
    counts = {peer.list() for peer in peers.values()}
    if counts != {size // len(_CATEGORIES) + rounds + _COLD}:
        raise ValueError(f"not every add was kept: {counts}")
    listed = _turns({name: lambda _, peer=peer: peer.list() for name, peer in peers.items()}, rounds)  # type: ignore[misc]
    opened = _turns({name: lambda _, peer=peer: peer.open_and_list() for name, peer in peers.items()}, rounds)  # type: ignore[misc]
    for name in list(peers)[1:]:
        said = f"add, {size:,} notes, beside {name}"
        if name == "a plain table":
            yield slower(said, added["ours"], added[name], _AT_MOST)
        else:
            yield compared(said, added["ours"], added[name])
    for what, taken in (("list of a category", listed), ("first list of a new door", opened)):
        for name in list(peers)[1:]:
            yield compared(f"{what}, {size:,} notes, beside {name}", taken["ours"], taken[name])


def _turns(acts: dict[str, Callable[[str], Any]], rounds: int) -> dict[str, float]:
    """The medians, in seconds."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for number in range(-_COLD, rounds):
        for name, act in acts.items():
            text = f"A further fact, number {number}, of some length, as facts have it."
            start = time.perf_counter()
            act(text)
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds[_COLD:]) for name, seconds in taken.items()}


class _Catmem:
    """The library, on a SQLite store."""

    def __init__(self, root: Path) -> None:
        self._workspace = Workspace.open(root, search=False)

    def add(self, text: str) -> None:
        self._workspace.add("neo", text, category=_LISTED)

    def list(self) -> int:
        return len(self._workspace.list("neo", category=_LISTED, target="user"))

    def open_and_list(self) -> int:
        with closing(_Catmem(self._workspace.root)) as opened:
            return opened.list()

    def close(self) -> None:
        self._workspace.store.close()


class _Plain:
    """One table, one index, durable."""

    def __init__(self, path: Path, texts: list[str]) -> None:
        self._path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, category TEXT, content TEXT, tags TEXT, created_at TEXT)"
        )
        self._database.execute("CREATE INDEX by_category ON notes (category)")
        rows = [(category, text) for category, text in _categorized(texts)]
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO notes (category, content, tags, created_at) VALUES (?, ?, '{}', '')", rows
        )
        self._database.execute("COMMIT")

    def add(self, text: str) -> None:
        values = (_LISTED, text, "{}", "2026-11-21")
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("INSERT INTO notes (category, content, tags, created_at) VALUES (?, ?, ?, ?)", values)
        self._database.execute("COMMIT")

    def list(self) -> int:
        return self._list(self._database)

    def open_and_list(self) -> int:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as database:
            return self._list(database)

    @staticmethod
    def _list(database: sqlite3.Connection) -> int:
        return len(database.execute("SELECT * FROM notes WHERE category = ? ORDER BY id", (_LISTED,)).fetchall())

    def close(self) -> None:
        self._database.close()


class _DockerAgent:
    """docker-agent's own statements (`pkg/memory/database/sqlite`)."""

    def __init__(self, path: Path, texts: list[str]) -> None:
        self._path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, created_at TEXT, memory TEXT)")
        self._database.execute("ALTER TABLE memories ADD COLUMN category TEXT DEFAULT ''")
        self._database.execute("BEGIN")
        for category, text in _categorized(texts):
            self._add(text, category)
        self._database.execute("COMMIT")

    def _add(self, text: str, category: str) -> None:
        values = (str(uuid4()), "2026-11-21T12:00:00Z", text, category)
        self._database.execute("INSERT INTO memories (id, created_at, memory, category) VALUES (?, ?, ?, ?)", values)

    def add(self, text: str) -> None:
        self._add(text, _LISTED)

    def list(self) -> int:
        return self._list(self._database)

    def open_and_list(self) -> int:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as database:
            return self._list(database)

    @staticmethod
    def _list(database: sqlite3.Connection) -> int:
        said = "SELECT id, created_at, memory, category FROM memories WHERE category = ?"
        return len(database.execute(said, (_LISTED,)).fetchall())

    def close(self) -> None:
        self._database.close()


def _over_mcp(size: int, home: Path, texts: list[str], options: Namespace) -> Iterator[Result]:
    """Both servers over stdio. Ours answers a list in pages, so the whole list is all pages, and theirs is one answer.

    The first page, which is what a model gets from one call, is shown by itself and named so.
    """
    server: Path | None = options.server_memory
    if server is None or not server.is_file():
        return
    kinds = [(text, category) for category, text in _categorized(texts)]
    rounds = options.times or _ROUNDS
    with ExitStack() as stack:
        ours = stack.enter_context(Ours(_root(home / "mcp", texts)))
        theirs = stack.enter_context(Theirs(server, their_file(home, kinds)))
        added = _turns({"ours": ours.add, "theirs": theirs.add}, rounds)
        # A text that is there is not added again, so a count that is short is an add that wrote nothing.
        expected = size // len(_CATEGORIES) + rounds + _COLD
        counts = {_our_list(ours), _their_list(theirs)}
        if counts != {expected}:
            raise ValueError(f"not every add was kept, or a list is not whole: {counts}, and {expected} was to be")
        listed = _turns(
            {
                "ours": lambda _: _our_list(ours),
                "a page": lambda _: _our_page(ours, 0),
                "theirs": lambda _: _their_list(theirs),
            },
            rounds,
        )
    yield compared(f"add over MCP, {size:,} notes, beside the reference server", added["ours"], added["theirs"])
    yield compared(f"whole list over MCP, {size:,} notes, beside the same", listed["ours"], listed["theirs"])
    yield compared(f"  first page alone, {size:,} notes, beside its whole list", listed["a page"], listed["theirs"])


def _our_page(server: Ours, offset: int) -> tuple[int, int]:
    """How many notes a page has, and how many there are in all."""
    arguments = {"category": _LISTED, "target": "user", "offset": offset}
    said = server.ask(("memory_list", arguments))[0]["result"]["structuredContent"]
    return len(said["entries"]), int(said["total"])


def _our_list(server: Ours) -> int:
    """Read every page; returns how many notes came."""
    found, total = _our_page(server, 0)
    while found < total:
        more, total = _our_page(server, found)
        if not more:
            raise ValueError(f"the list ends at {found} of {total}")
        found += more
    return found


def _their_list(server: Theirs) -> int:
    """Read the whole list; returns how many notes came."""
    answer = server.ask(("search_nodes", {"query": _LISTED}))[0]
    return server.count(answer)


def _categorized(texts: list[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts):
        yield _CATEGORIES[number % len(_CATEGORIES)], text


def _root(home: Path, texts: list[str]) -> Path:
    """A root whose store is SQLite, with the notes in it."""
    root = home / "root"
    (root / "profiles").mkdir(parents=True)
    (root / "catmem.yaml").write_text("version: 1\nstore: sqlite:///memory.db\n", encoding="utf-8")
    (root / "profiles" / "neo.yaml").write_text(
        'user_memory_categories: ["*"]\nwritable_categories: ["*"]\n', encoding="utf-8"
    )
    sections = []
    for category in _CATEGORIES:
        bodies = (f"[created: 2026-11-02] {text}" for kind, text in _categorized(texts) if kind == category)
        sections.append(f"## {category.replace('-', ' ').title()}\n" + "\n§\n".join(bodies) + "\n")
    data = "\n".join(sections).encode()
    store = Workspace.open(root, search=False).store
    store.commit("neo/user", "0", lambda _: data, Change())
    store.close()
    return root
