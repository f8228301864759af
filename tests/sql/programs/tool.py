"""A tool that commits through a store: ``python -m tests.sql.programs.tool KIND FOLDER NAME SEED``.

Says ``ready`` and commits until its standard input ends; then once more to each entity, which takes in what came late. Prints
what was acknowledged, and how often it was refused, as one JSON object.
"""

import json
import random
import select
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError, RefusedError
from catmem.store.contract import Change, Store
from tests.sql.texts import ENTITIES, with_entry
from tests.store.stores import named

REST = 0.004
FINAL_TRIES = 200


def commit(store: Store, entity: str, token: str, expected: str | None, on_drift: Any) -> None:
    """Shorten the text and add an entry to it."""
    change = Change(agent="tool", op_id=token, request=token, on_drift=on_drift)
    store.commit(entity, expected, lambda current: with_entry(current.data, token), change)


def main() -> None:
    kind, folder, name, seed = sys.argv[1:]
    chance = random.Random(f"{seed} {name}")
    store = named(kind).make(Path(folder))
    acknowledged: list[str] = []
    refused: Counter[str] = Counter()
    print("ready", flush=True)
    number, left, late = 0, FINAL_TRIES, list(ENTITIES)
    while left and late:
        ending = bool(select.select([sys.stdin], [], [], 0)[0])
        number += 1
        token = f"{name}-{number:06d}"
        entity = late[0] if ending else chance.choice(ENTITIES)
        try:
            expected = store.read(entity).digest if chance.random() < 0.3 else None
            commit(store, entity, token, expected, chance.choice(["adopt", "adopt", "refuse", "merge"]))
        except CatmemError as error:
            refused[error.code if isinstance(error, RefusedError) else str(error)] += 1
            left -= ending
        else:
            acknowledged.append(token)
            if ending:
                late.pop(0)
        if chance.random() < 0.5:
            time.sleep(chance.random() * REST)
    store.close()
    print(json.dumps({"acknowledged": acknowledged, "refused": refused}))


if __name__ == "__main__":
    main()
