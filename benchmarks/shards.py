"""How many guarded writes a second several PostgreSQL servers take together, entities being sharded over them by hash.

All servers and all clients share the cores of this machine, so what is seen is where the time goes, and not what four
machines would do; ``docs/scaling.md`` draws the conclusions. For each number of shards: a simulation of 16 agents in 8
processes on 64 entities, without thinking, in a throw-away place; one of servers (each with a disk log of its own) and
one of databases on a single server. Beside the rate stands the processor time that a write took, clients and servers
together: two cores can do no more than two seconds of that a second.
"""

from __future__ import annotations

import importlib
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result
from catmem.service.simulating.plan import Trial
from catmem.service.simulating.race import race

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

_SHARDS = (1, 2, 4)
_TRIAL = Trial(agents=16, writes=800, entities=64, think=0, processes=8)


def run(options: Namespace) -> list[Result]:
    """The figures of this module; none has a limit."""
    del options
    postgres = importlib.import_module("tests.sql.postgres")
    server_of = importlib.import_module("tests.sql.server")
    if postgres.MISSING:
        print(f"shards: not measured: {postgres.MISSING}")
        return []
    with ExitStack() as stack:
        servers = [stack.enter_context(postgres.private()) for _ in range(max(_SHARDS))]
        databases = [server_of.fresh_on(servers[0].url(), "shard") for _ in range(max(_SHARDS))]
        results: list[Result] = []
        everybody = [server.process.pid for server in servers]
        for what, places in (("servers", [server.url() for server in servers]), ("databases of one server", databases)):
            for count in _SHARDS:
                results.append(_measured(f"{count} {what}", places[:count], everybody, results))
    return results


def _measured(name: str, places: Sequence[str], processes: Sequence[int], before: Sequence[Result]) -> Result:
    """One race; its value is how many times as many writes a second it makes as the first one."""
    served = sum(map(_processor_time, processes))
    outcome = race(_TRIAL, "refuse", places)
    served = sum(map(_processor_time, processes)) - served
    a_write, server = 1 / outcome.rate, served / outcome.acknowledged
    times = f"p50 {outcome.p50 * 1000:.1f} ms, p99 {outcome.p99 * 1000:.1f} ms"
    costs = f"agents {outcome.cpu * 1000:.2f} ms, servers {server * 1000:.2f} ms"
    print(
        f"shards: {name}: {outcome.rate:,.0f} writes a second, {times}; {outcome.conflicts} conflicts, "
        f"{outcome.silent_overwrites} lost; processor time of a write: {costs}; "
        f"{os.getloadavg()[0]:.1f} wanted a core of {os.cpu_count()}",
        flush=True,
    )
    first = before[0].ours if before else a_write
    return Result(f"a write, {name}, beside 1 server", a_write, first, first / a_write, None)


def _processor_time(process: int) -> float:
    """The seconds that a process has worked, and all that it started, those that ended too."""
    ticks = 0
    for each in (process, *_children(process)):
        with suppress(FileNotFoundError, ProcessLookupError):
            said = Path(f"/proc/{each}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += sum(map(int, said[11:15] if each == process else said[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()]
