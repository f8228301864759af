"""The page over a large root: 100 profiles with 20,000 entries at a glance, and what a browser fetches for it."""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, limited
from benchmarks.serving import catmem, make_root, text_of
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.serving import Server

_PROFILES = 100
_ENTRIES = 20_000
_AT_MOST = 0.2
_MOST_KILOBYTES = 200.0
_STORES = {"files": "files", "SQLite": "sqlite:///memory.db"}


def page(rounds: int) -> list[Result]:
    """The figures of the page."""
    return [each for store in _STORES for each in _overview(store, rounds)]


def _overview(store: str, rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder) / "root"
        text = text_of(_ENTRIES // _PROFILES)
        # No two alike, so that nothing is told of one by another.
        texts = {f"neo-{number}": text.replace(". ", f" ({number}). ") for number in range(_PROFILES)}
        make_root(root, texts, _STORES[store])
        with catmem(root) as server:
            html, first = _fetched(server)
            again = [_fetched(server)[1] for _ in range(rounds)]
            after = []
            workspace = Workspace.open(root, search=False)
            for number in range(rounds):
                workspace.add(f"neo-{number}", f"Written meanwhile, number {number}.", category="notes")
                after.append(_fetched(server)[1])
            workspace.store.close()
            sizes = len(html) + sum(len(server.get(path)[0]) for path in _fetched_with(html))
    said = f"overview of {_PROFILES} profiles with {_ENTRIES:,} entries, {store}"
    yield Result(f"{said}: first", first, None, first, None, unit="ms")
    yield limited(f"{said}: again", statistics.median(again), _AT_MOST)
    yield limited(f"{said}: after a write", statistics.median(after), _AT_MOST)
    yield Result(f"{said}: all that is sent", 0.0, None, sizes / 1000, _MOST_KILOBYTES, unit="kB")


def _fetched(server: Server) -> tuple[bytes, float]:
    start = time.perf_counter()
    html, _ = server.get("/", {"Accept": "text/html"})
    return html, time.perf_counter() - start


def _fetched_with(html: bytes) -> list[str]:
    """The files that a browser fetches for a page."""
    found = re.findall(r'(?:src|href)="(/static/[^"]+)"', html.decode())
    return list(dict.fromkeys(found))
