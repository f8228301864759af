"""A tool that commits through a store: ``python -m tests.race.programs.tool KIND FOLDER NAME SEED``.

Says ``ready`` and commits until its standard input ends; then once more to each entity, which takes in what came late. Prints
what was acknowledged, and how often it was refused, as one JSON object.
"""

import json
import random
import select
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from catmem.errors import CatmemError, RefusedError
from catmem.store.contract import Change, OnDrift
from tests.race.texts import with_line
from tests.sql.texts import ENTITIES, with_entry
from tests.store.stores import named

FINAL_TRIES = 200


class Way(NamedTuple):
    """What it writes to, what it makes of a text, what it says of drift, and the seconds that it rests at most."""

    entities: tuple[str, ...]
    edit: Callable[[bytes, str], bytes]
    on_drift: tuple[OnDrift, ...]
    rest: float


FILE = Way(("trinity/user",), with_line, ("adopt",), 0.002)
ROWS = Way(ENTITIES, with_entry, ("adopt", "adopt", "refuse", "merge"), 0.004)


def main() -> None:
    kind, folder, name, seed = sys.argv[1:]
    way = FILE if kind == "files" else ROWS
    chance = random.Random(f"{seed} {name}")
    store = named(kind).make(Path(folder))
    acknowledged: list[str] = []
    refused: Counter[str] = Counter()
    print("ready", flush=True)
    number, left, late = 0, FINAL_TRIES, list(way.entities)
    while left and late:
        ending = bool(select.select([sys.stdin], [], [], 0)[0])
        number += 1
        token = f"{name}-{number:06d}"
        entity = late[0] if ending else chance.choice(way.entities)
        change = Change(agent="tool", op_id=token, request=token, on_drift=chance.choice(way.on_drift))
        try:
            expected = store.read(entity).digest if chance.random() < 0.3 else None
            store.commit(entity, expected, lambda current, token=token: way.edit(current.data, token), change)  # type: ignore[misc]
        except CatmemError as error:
            refused[error.code if isinstance(error, RefusedError) else str(error)] += 1
            left -= ending
        else:
            acknowledged.append(token)
            if ending:
                late.pop(0)
        if chance.random() < 0.5:
            time.sleep(chance.random() * way.rest)
    store.close()
    print(json.dumps({"acknowledged": acknowledged, "refused": refused}))


if __name__ == "__main__":
    main()
