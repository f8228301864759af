"""Direct SQL clients and tools at the same time in one database, and what became of every row."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catmem.store.contract import EXTERNAL, Change
from tests.race.running import end_input, running, told_by
from tests.sql.server import url_of
from tests.sql.texts import ENTITIES, tokens
from tests.store.stores import named

CLIENTS, TOOLS = 3, 2
REST = 0.01
"""Seconds that a client rests at most after each write."""

REFUSALS = {"drift", "stale_prev", "busy", "locked"}
"""What a tool may be told; nothing else."""


@dataclass
class Drift:
    """What came of it: tokens of clients that are nowhere, of tools that are in no revision, and what else is wrong."""

    made: int
    commits: int
    adopted: int
    lost: list[str]
    dropped: list[str]
    wrong: list[str]
    ways: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def race(kind: str, folder: Path, writes: int, *, seed: int = 0, rest: float = REST) -> Drift:
    """``writes`` changes of rows by some clients beside two tools, in the database of a ``kind`` in ``folder``."""
    database = str(folder / "catmem.db") if kind == "sqlite" else url_of(folder)
    store = named(kind).make(folder)
    store.commit(ENTITIES[0], None, lambda _: b"the first entry\n", Change(op_id="first"))
    store.close()
    tools = [("tests.race.programs.tool", kind, folder, f"tool-{number}", seed) for number in range(TOOLS)]
    client = "tests.sql.programs.client"
    clients = [(client, database, f"client-{number}", -(-writes // CLIENTS), rest, seed) for number in range(CLIENTS)]
    with running([*tools, *clients]) as started:
        for process in started[TOOLS:]:
            end_input(process)
        by_clients = [json.loads(told_by(process)) for process in started[TOOLS:]]
        for process in started[:TOOLS]:
            end_input(process)
        by_tools = [json.loads(told_by(process)) for process in started[:TOOLS]]
    return _judged(kind, folder, by_clients, by_tools)


def _judged(
    kind: str, folder: Path, by_clients: Sequence[Mapping[str, Any]], by_tools: Sequence[Mapping[str, Any]]
) -> Drift:
    store = named(kind).make(folder)
    wrong = [f"verify: {fault.message}" for fault in store.verify() if fault.damage]
    revisions = {entity: list(store.replay(entity)) for entity in ENTITIES}
    for entity, replay in revisions.items():
        if store.peek(entity) != replay[-1][1]:
            wrong.append(f"{entity} is not what its replay ends with")
    store.close()
    texts = [data for replay in revisions.values() for _, data in replay]
    made = [token for each in by_clients for token in each["made"]]
    deleted = [token for each in by_clients for token in each["deleted"]]
    acknowledged = [token for each in by_tools for token in each["acknowledged"]]
    operations = Counter(revision.op_id for replay in revisions.values() for revision, _ in replay)
    return Drift(
        len(made),
        len(acknowledged),
        sum(revision.agent == EXTERNAL for replay in revisions.values() for revision, _ in replay),
        lost(made, deleted, texts),
        [token for token in acknowledged if operations[token] != 1],
        wrong,
        sum((Counter(each["ways"]) for each in by_clients), Counter()),
        sum((Counter(each["refused"]) for each in by_tools), Counter()),
    )


def lost(made: Iterable[str], deleted: Iterable[str], texts: Iterable[bytes]) -> list[str]:
    """The tokens that were made, and that nobody deleted, and that are in none of the texts."""
    there = {*deleted}.union(*map(tokens, texts))
    return [token for token in made if token not in there]
