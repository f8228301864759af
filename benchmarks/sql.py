"""The SQL stores: a guarded commit beside a bare loop that does the same inserts and updates; and long histories.

The bare loop is the driver alone (sqlite3, psycopg) on the same tables, triggers included, with the same durability
(SQLite: WAL with synchronous FULL; PostgreSQL: synchronous_commit on, fsync on). In one transaction it makes the writes
of a guarded commit, no less and no more: it updates all columns of one row of ``user_memories`` (whose trigger counts
that in ``memory_meta``), inserts one row into ``mem_log``, with a splice of the same size and every 32nd time a packed
whole, and updates the same columns of ``memory_meta``. It uses the cheapest calls that the driver has. It compares
nothing, reads nothing, locks nothing beforehand, and makes no text and no digest: that is what the guard adds.

Both sides take turns, a commit each, and the figure is the ratio of the medians of wall time, since waiting for the
disk is the point. With eight clients each is a process with an entity of its own; the clients of one side run
together, then those of the other.
"""

from __future__ import annotations

import hashlib
import importlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Result, faster, slower
from benchmarks.notes import entry
from catmem.digest import bytes_digest
from catmem.store.changes import splice, whole
from catmem.store.contract import Change, Revision
from catmem.workspace.copying import store_at
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from catmem.store.contract import Snapshot, Store

_ROUNDS = 200
_COLD = 10
_ENTRIES = 14
_CLIENTS = 8
_AT_LEAST = 0.5
_HISTORIES = (100, 1_000, 10_000, 100_000)
_GROWTH = 1.2
_IMMEDIATE = "BEGIN IMMEDIATE"
_NOTE = {"target": "user"}
_EACH_WHOLE = 32
"""Commits, of which one puts a whole text into ``mem_log``."""


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    rounds = options.times or _ROUNDS
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder)
        _make_root(root)
        results = [_sqlite(root, rounds), *_histories(root, rounds)]
        postgres = importlib.import_module("tests.sql.postgres")
        if postgres.MISSING:
            print(f"sql: PostgreSQL not measured: {postgres.MISSING}")
            return results
        with postgres.private() as server:
            return [*results, *_postgresql(root, server.url(), rounds)]


def _make_root(root: Path) -> None:
    (root / "profiles").mkdir()
    (root / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
    for number in range(_CLIENTS):
        (root / "profiles" / f"neo-{number}.yaml").write_text("{}\n", encoding="utf-8")


def _open(root: Path, where: str) -> Store:
    return store_at(Workspace.open(root, search=False), where)


_OTHERS = "".join(f"{entry(each)}\n§\n" for each in range(_ENTRIES - 1))


def _text(number: int) -> bytes:
    """A memory file of which one entry differs from one commit to the next."""
    return f"{_OTHERS}{_entry(number)}\n".encode()


def _entry(number: int) -> str:
    """An entry of which most is new each time."""
    return f"{hashlib.sha512(number.to_bytes(8, 'big')).hexdigest()} is the count."


def _committing(store: Store, entity: str) -> Callable[[int], None]:
    """What makes one guarded commit."""
    seen = store.commit(entity, "0", lambda _: _text(0), Change())

    def commit(number: int) -> None:
        nonlocal seen
        data = _text(number)
        seen = _next(seen, store.commit(entity, seen.revision, lambda _: data, Change(agent="neo", note=dict(_NOTE))))

    return commit


def _next(before: Snapshot, after: Snapshot) -> Snapshot:
    """The snapshot of a commit that has made a revision. ``ValueError`` for one that has not."""
    if str(after.revision) != str(int(str(before.revision)) + 1):
        raise ValueError(f"a commit on {before.revision} gave {after.revision}")
    return after


def _turns(ours: Callable[[int], None], theirs: Callable[[int], None], rounds: int) -> tuple[float, float]:
    """The medians, in seconds."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(1, _COLD + rounds + 1):
        for side, act in zip(taken, (ours, theirs), strict=True):
            start = time.perf_counter()
            act(number)
            side.append(time.perf_counter() - start)
    return statistics.median(taken[0][_COLD:]), statistics.median(taken[1][_COLD:])


# --- SQLite ---------------------------------------------------------------------------------------------------------


def _sqlite(root: Path, rounds: int) -> Result:
    with closing(_open(root, "sqlite:///bare.db")) as made:
        made.commit("neo-0/user", "0", lambda _: _text(0), Change())
    bare = sqlite3.connect(root / "bare.db", isolation_level=None)
    with closing(bare), closing(_open(root, "sqlite:///ours.db")) as store:
        bare.execute("PRAGMA journal_mode=WAL")
        bare.execute("PRAGMA synchronous=FULL")
        theirs = _bare(bare.execute, lambda: bare.execute("COMMIT"), "neo-0/user", _IMMEDIATE, "?")
        ours, plain = _turns(_committing(store, "neo-0/user"), theirs, rounds)
    return faster("sqlite: a commit, beside a bare loop", ours, plain, _AT_LEAST)


_BARE_ROW = (
    "UPDATE user_memories SET category = %s, title = %s, tier = %s, content = %s, tags = %s, created_at = %s, "
    "mark = %s WHERE id = %s"
)
_BARE_LOG = (
    "INSERT INTO mem_log (entity, sequence, revision, parents, timestamp, op, agent, op_id, digest, size, "
    'note, base, depth, "offset", removed, data, chain) '
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_BARE_META = (
    "UPDATE memory_meta SET recorded = generation, revision = %s, sequence = %s, head = %s, depth = %s, "
    "digest = %s, chain = %s, updated_at = %s WHERE entity = %s AND sequence = %s"
)


def _bare(
    execute: Callable[[str, tuple[Any, ...]], Any], end: Callable[[], Any], entity: str, begin: str, mark: str = "%s"
) -> Callable[[int], None]:
    """What makes one bare commit: the same rows of the same tables. It follows revision ``number``."""
    said_row, said_log, said_meta = (said.replace("%s", mark) for said in (_BARE_ROW, _BARE_LOG, _BARE_META))
    (row,) = execute("SELECT max(id) FROM user_memories WHERE entity = %s".replace("%s", mark), (entity,)).fetchone()
    size, removed = len(_text(1)), splice(_text(1), _text(2)).removed
    payload, packed = _entry(1).encode()[:removed], whole(_text(1)).packed

    def commit(number: int) -> None:
        revision, digest, link = number + 1, f"sha256:{number:064x}", f"{number:064x}"
        now = f"2026-11-21T12:00:00.{number:06}Z"
        as_splice = number % _EACH_WHOLE
        execute(begin, ())
        execute(
            said_row,
            ("__uncategorized__", None, 2, f"{number:0128x} is the count.", "{}", None, f"b2:{number:032x}", row),
        )
        execute(
            said_log,
            (entity, revision, str(revision), f'["{number}"]', now, "put", "neo", f"{number:032x}", digest, size,
             '{"target":"user"}', number if as_splice else None, as_splice, size - removed if as_splice else None,
             removed if as_splice else None, payload if as_splice else packed, link),
        )  # fmt: skip
        done = execute(
            said_meta,
            (revision, revision, revision, as_splice, digest, link, now, entity, number),
        )
        if done.rowcount != 1:
            raise ValueError("the bare loop did not write what it should")
        end()

    return commit


def _histories(root: Path, rounds: int) -> list[Result]:
    """A commit behind histories of several lengths, beside one behind the shortest; both take turns."""
    with ExitStack() as stack:
        commits = {}
        for history in _HISTORIES:
            store = stack.enter_context(closing(_open(root, f"sqlite:///history-{history}.db")))
            store.import_history("neo-0/user", _history(history))
            commits[history] = _continuing(store, "neo-0/user")
        shortest = _HISTORIES[0]
        results = []
        for history in _HISTORIES[1:]:
            long, short = _turns(commits[history], commits[shortest], rounds)
            results.append(
                slower(f"sqlite: a commit behind {history:,} revisions, beside {shortest}", long, short, _GROWTH)
            )
        return results


def _continuing(store: Store, entity: str) -> Callable[[int], None]:
    seen = store.read(entity)
    count = 10**9

    def commit(_: int) -> None:
        nonlocal seen, count
        count += 1
        data = _text(count)
        seen = _next(seen, store.commit(entity, seen.revision, lambda _: data, Change(agent="neo", note=dict(_NOTE))))

    return commit


def _history(length: int) -> Iterator[tuple[Revision, bytes]]:
    for number in range(1, length + 1):
        data = _text(number)
        yield (
            Revision(
                entity="neo-0/user",
                revision=str(number),
                parents=(str(number - 1),) if number > 1 else (),
                sequence=number,
                timestamp="2026-11-21T12:00:00.000000Z",
                op="put",
                agent="neo",
                op_id=f"{number:032x}",
                digest=bytes_digest(data),
                size=len(data),
            ),
            data,
        )


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


def _postgresql(root: Path, url: str, rounds: int) -> list[Result]:
    with closing(_open(root, url)) as store:
        for number in range(_CLIENTS):
            for side in ("ours", "bare"):
                store.commit(f"{side}-{number}/user", "0", lambda _: _text(0), Change())
    one, eight = (_clients(root, url, count, rounds) for count in (1, _CLIENTS))
    return [
        faster("postgresql: a commit, beside a bare loop, 1 client", *one, _AT_LEAST),
        faster(f"postgresql: a commit, beside a bare loop, {_CLIENTS} clients", *eight, _AT_LEAST),
    ]


def _clients(root: Path, url: str, count: int, rounds: int) -> tuple[float, float]:
    """The medians over all clients of each side, which take turns: one side, then the other, three times."""
    taken: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(3):
        for side, seconds in taken.items():
            seconds.extend(_together(root, url, side, count, rounds))
    return statistics.median(taken["ours"]), statistics.median(taken["bare"])


def _together(root: Path, url: str, side: str, count: int, rounds: int) -> list[float]:
    with ExitStack() as stack:
        clients = []
        for number in range(count):
            command = [sys.executable, "-m", "benchmarks.sql", str(root), side, str(number), str(rounds)]
            pipe = subprocess.PIPE
            client = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
            stack.callback(client.kill)
            print(url, file=client.stdin, flush=True)
            clients.append(client)
        for client in clients:
            if client.stdout is None or client.stdout.readline() != "ready\n":
                raise RuntimeError("a client did not start")
        for client in clients:
            if client.stdin is not None:
                client.stdin.close()
                client.stdin = None
        return [float(line) for client in clients for line in client.communicate()[0].splitlines()]


def _client() -> None:
    """One client process: ``python -m benchmarks.sql ROOT SIDE NUMBER ROUNDS``, the URL on standard input."""
    import psycopg

    root, side, number, rounds = sys.argv[1:]
    url, entity = sys.stdin.readline().strip(), f"{side}-{number}/user"
    with ExitStack() as stack:
        if side == "ours":
            store = stack.enter_context(closing(_open(Path(root), url)))
            commit = _continuing(store, entity)
        else:
            connection = stack.enter_context(psycopg.connect(url, autocommit=True))
            said = "SELECT sequence FROM memory_meta WHERE entity = %s"
            (start,) = connection.execute(said, (entity,)).fetchone() or (0,)
            bare = _bare(connection.cursor().execute, connection.commit, entity, "BEGIN")

            def commit(count: int) -> None:
                bare(start + count - 1)

        commit(1)
        print("ready", flush=True)
        sys.stdin.read()
        for count in range(2, int(rounds) + 2):
            begin = time.perf_counter()
            commit(count)
            print(time.perf_counter() - begin)


if __name__ == "__main__":
    _client()
