"""A tool that commits through the file store: ``python -m tests.race.programs.tool FOLDER NAME SEED``.

Says ``ready`` and commits until its standard input ends; then once more, which takes in what came late. Prints what was
acknowledged, and how often it was refused, as one JSON object.
"""

import json
import random
import select
import sys
import time
from collections import Counter
from pathlib import Path

from catmem.errors import CatmemError, RefusedError
from catmem.store.contract import Change, Current, Store
from tests.race.texts import line, shortened
from tests.store.stores import named

ENTITY = "trinity/user"
REST = 0.002
FINAL_TRIES = 200


def commit(store: Store, token: str, expected: str | None) -> None:
    """Shorten the text and add a line to it."""

    def update(current: Current) -> bytes:
        short = shortened(current.data)
        return short + (b"\n" if short and not short.endswith(b"\n") else b"") + line(token)

    store.commit(ENTITY, expected, update, Change(agent="tool", op_id=token, request=token))


def main() -> None:
    folder, name, seed = sys.argv[1:]
    chance = random.Random(f"{seed} {name}")
    store = named("files").make(Path(folder))
    acknowledged: list[str] = []
    refused: Counter[str] = Counter()
    print("ready", flush=True)
    number, left = 0, FINAL_TRIES
    while left:
        ending = bool(select.select([sys.stdin], [], [], 0)[0])
        number += 1
        token = f"{name}-{number:06d}"
        try:
            expected = store.read(ENTITY).digest if chance.random() < 0.3 else None
            commit(store, token, expected)
        except CatmemError as error:
            refused[error.code if isinstance(error, RefusedError) else error.message] += 1
            left -= ending
        else:
            acknowledged.append(token)
            if ending:
                break
        if chance.random() < 0.5:
            time.sleep(chance.random() * REST)
    store.close()
    print(json.dumps({"acknowledged": acknowledged, "refused": refused}))


if __name__ == "__main__":
    main()
