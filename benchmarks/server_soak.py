"""`python -m benchmarks server_soak --seconds 600`: `catmem serve` under 200 requests a second, for long.

One process on SQLite with eight profiles of 20 to 200 entries. Eight clients keep to the rate together, whatever the
answers take: of 100 requests 50 read, 36 ask for a prompt, 5 for a head, 8 write and one looks at the page. Every tenth
read brings an old tag. Told are errors, quantiles of latency, and the memory that the server has: the least of each
tenth of the time, since caches of SQLite come and go. In the first half they fill. What comes on top in the second half
is growth, and there may be no more of it than `_GROWTH`: the last three tenths are compared with the three before them.
The threads share one store of free memory (`MALLOC_ARENA_MAX`), so that what is measured is what the server keeps.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.measure import Result, limited
from benchmarks.serving import catmem, make_root, text_of

if TYPE_CHECKING:
    from argparse import Namespace

    from benchmarks.serving import Server

_SECONDS = 600
_RATE = 200
_CLIENTS = 8
_SIZES = (20, 20, 50, 50, 100, 100, 200, 200)
_MIX = {"read": 50, "prompt": 36, "head": 5, "write": 8, "page": 1}
_GROWTH = 1.02
_LOOKS = 20
"""How often in a tenth of the time it is asked how much memory the server has."""
_KEPT = 0.95


@dataclass(slots=True)
class _Client:
    """One client with a connection of its own, and an entity that only it writes to."""

    server: Server
    number: int
    until: float
    taken: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    asked: int = 0
    late: float = 0.0
    """Seconds by which it could not keep to the rate, at the worst."""

    def run(self) -> None:
        """Ask until it is time to end."""
        chance = random.Random(self.number)  # noqa: S311 - the same mixture each time
        place = urlsplit(self.server.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        kinds, weights = list(_MIX), list(_MIX.values())
        due = time.perf_counter() + self.number / _RATE
        while max(due, time.perf_counter()) < self.until:
            time.sleep(max(0.0, due - time.perf_counter()))
            self.late = max(self.late, time.perf_counter() - due)
            (kind,) = chance.choices(kinds, weights)
            self._ask(connection, kind, chance)
            self.asked += 1
            due += _CLIENTS / _RATE
        connection.close()

    def _ask(self, connection: http.client.HTTPConnection, kind: str, chance: random.Random) -> None:
        name = f"neo-{chance.choice(range(_CLIENTS))}"
        path = {
            "read": f"/mem/read?entity_id={name}/user",
            "prompt": f"/prompt/{name}",
            "head": f"/mem/head?entity_id={name}/user",
            "page": "/",
            "write": f"/mem/head?entity_id=neo-{self.number}/user",
        }[kind]
        answer = self._answer(connection, "GET", path, None, {})
        if kind == "write" and answer is not None:
            said = json.dumps(
                {
                    "entity_id": f"neo-{self.number}/user",
                    "prev_rev": json.loads(answer)["mem_rev"],
                    "content": [
                        {"action": "replace", "old_text": "The count is", "content": f"The count is {len(self.taken)}."}
                    ],
                }
            )
            self._answer(connection, "POST", "/mem/write", said, {"Content-Type": "application/json"})

    def _answer(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> bytes | None:
        start = time.perf_counter()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.errors.append(f"{method} {path}: {error!r}")
            connection.close()
            return None
        self.taken.append(time.perf_counter() - start)
        if answer.status != HTTPStatus.OK:
            self.errors.append(f"{method} {path}: {answer.status} {data[:200]!r}")
            return None
        return data


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    os.environ["MALLOC_ARENA_MAX"] = "1"
    seconds = options.seconds or _SECONDS
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder) / "root"
        texts = {
            f"neo-{number}": f"## Notes\nThe count is nothing yet.\n§\n{text_of(size)}"
            for number, size in enumerate(_SIZES)
        }
        make_root(root, texts)
        with catmem(root) as server:
            clients, memory = _soaked(server, seconds)
    taken = sorted(each for client in clients for each in client.taken)
    errors = [error for client in clients for error in client.errors]
    for error in errors[:10]:
        print(f"server_soak: {error}")
    late = max(client.late for client in clients)
    megabytes = ", ".join(f"{each / 1e6:.1f}" for each in memory)
    print(
        f"server_soak: {len(taken):,} requests in {seconds:,} s ({len(taken) / seconds:.0f} a second; the latest came "
        f"{late:.2f} s late); memory of the server in MB, the least by tenths: {megabytes}"
    )
    half, worst = taken[len(taken) // 2], taken[int(0.99 * len(taken))]
    grown = min(memory[7:]) / min(memory[4:7])
    made = sum(client.asked for client in clients) / seconds / _RATE
    return [
        Result(f"of {_RATE} requests a second, so many were sent", 0.0, None, made, _KEPT, at_least=True),
        Result("requests that failed", 0.0, None, len(errors), 0.0, unit=""),
        Result("memory in the last three tenths, beside the three before", 0.0, None, grown, _GROWTH),
        Result("  in the last tenth, beside the first", 0.0, None, memory[-1] / memory[0], None),
        Result("  half were answered in", half, None, half, None, unit="ms"),
        Result("  99 of 100 were answered in", worst, None, worst, None, unit="ms"),
        limited("  the slowest answer", taken[-1], 30.0),
    ]


def _soaked(server: Server, seconds: int) -> tuple[list[_Client], list[int]]:
    """Who asked, and the bytes of memory that the server had in each tenth of the time, at the least."""
    start = time.perf_counter()
    clients = [_Client(server, number, start + seconds) for number in range(_CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    memory: list[int] = []
    for tenth in range(10):
        seen: list[int] = []
        for look in range(1, _LOOKS + 1):
            time.sleep(max(0.0, start + seconds * (tenth + look / _LOOKS) / 10 - time.perf_counter()))
            seen.append(server.memory())
        memory.append(min(seen))
    for thread in threads:
        thread.join()
    return clients, memory
