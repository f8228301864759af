"""The long runs on databases: killed clients, a killed server, direct clients beside tools."""

import shutil
from collections import Counter
from functools import partial
from pathlib import Path

from tests.race.kills import Killed, kill_writers
from tests.race.rows import killed
from tests.sql.drift import REFUSALS, race
from tests.sql.server_kills import kill_server
from tests.store.stores import Kind, named
from tests.torture import Outcome, Skip, Task, row
from tests.torture.proofs import Proof

CLIENT_KILLS = Proof("sql-kills", "random SIGKILL of clients of a database", 1_000, "kills")
SERVER_KILLS = Proof("server-kills", "SIGKILL of a PostgreSQL server under load", 50, "kills")
DRIFT = Proof("sql-drift", "direct SQL clients beside tools", 10_000, "changes")

CLIENT_KILLS_EACH = 250
SERVER_KILLS_EACH = 25
CHANGES_EACH, CHANGES_AT_LEAST = 600, 60


def _client_kills(kind: Kind, task: Task) -> Outcome:
    """Three clients of one database, one of them killed and started again every few hundredths of a second."""
    if kind.missing:
        raise Skip(kind.missing)

    def one(folder: Path, kills: int, seed: int) -> Killed:
        return kill_writers(folder, kills, kind=kind.name, seed=seed, more=lambda: task.left() > 0)

    return killed(task, CLIENT_KILLS_EACH, one)


@row(SERVER_KILLS, seconds=60, cores=2, on_disk=True)
def server_kills(task: Task) -> Outcome:
    """The whole server, or one of its processes, in turn, while three clients write; every wait for the disk is real."""
    if named("postgresql").missing:
        raise Skip(named("postgresql").missing)

    def one(folder: Path, kills: int, seed: int) -> Killed:
        return kill_server(folder, kills, seed=seed, more=lambda: task.left() > 0)

    return killed(task, SERVER_KILLS_EACH, one)


def _drift(kind: Kind, task: Task) -> Outcome:
    """Clients that insert, update, replace, move and delete rows while two tools commit."""
    if kind.missing:
        raise Skip(kind.missing)
    commits = adopted = 0
    wrong: list[str] = []
    refused: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    for turn, size in enumerate(task.rounds(CHANGES_EACH, CHANGES_AT_LEAST)):
        folder = task.folder / str(turn)
        folder.mkdir()
        ended = race(kind.name, folder, size, seed=turn)
        shutil.rmtree(folder)
        task.add(ended.ways.total())
        commits, adopted = commits + ended.commits, adopted + ended.adopted
        wrong += [f"run {turn}: {each}" for each in (*ended.lost, *ended.dropped, *ended.wrong)]
        refused += ended.refused
        ways += ended.ways
    wrong += [f"a tool was told {code!r}" for code in sorted(set(refused) - REFUSALS)]
    said = ", ".join(f"{count:,} {way}" for way, count in (ways + refused).most_common())
    note = f"{len(wrong)} lost, dropped or wrong; {adopted:,} adoptions, {commits:,} commits; {said}"
    return task.outcome(failed="; ".join(wrong[:5]), note=note)


for name, seconds in {"sqlite": 70, "postgresql": 100}.items():
    row(CLIENT_KILLS, of=name, seconds=60, cores=2)(partial(_client_kills, named(name)))
    row(DRIFT, of=name, seconds=seconds, cores=2)(partial(_drift, named(name)))
