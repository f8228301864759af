"""A tool for contrast, as most are written: ``python -m tests.race.programs.naive HOW FILE NAME SEED``.

``check-then-rename``: reads, makes the new text beside the file, looks whether the file is still as it was, renames.
``append``: only ever adds a line at the end of the file, so that it can lose nothing; it shows that the judge is fair.

Prints every text that it saw or wrote, which is all that it could ever give back, as one JSON object.
"""

import json
import os
import random
import select
import sys
import time
from pathlib import Path

from tests.race.texts import line, shortened

REST = 0.002


def read(path: Path) -> bytes:
    """The file; nothing where there is none at the moment, as while vim puts its own in place."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def check_then_rename(path: Path, beside: Path, token: str) -> list[bytes]:
    """One edit; the texts that were seen and written."""
    before = read(path)
    after = shortened(before) + line(token)
    with beside.open("wb") as file:
        file.write(after)
        file.flush()
        os.fsync(file.fileno())
    if read(path) != before:
        return [before]
    beside.rename(path)
    return [before, after]


def append(path: Path, beside: Path, token: str) -> list[bytes]:
    with path.open("ab", buffering=0) as file:
        file.write(line(token))
    return []


def main() -> None:
    how, file, name, seed = sys.argv[1:]
    path = Path(file)
    chance = random.Random(f"{seed} {name}")
    way = {"check-then-rename": check_then_rename, "append": append}[how]
    texts: list[bytes] = []
    print("ready", flush=True)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        number += 1
        texts += way(path, path.with_name(f".{name}.new"), f"{name}-{number:06d}")
        if chance.random() < 0.5:
            time.sleep(chance.random() * REST)
    print(json.dumps({"texts": [text.decode("latin-1") for text in texts]}))


if __name__ == "__main__":
    main()
