"""One outsider process: ``python -m tests.race.programs.outsider KIND FOLDER FILE NAME WRITES REST SEED``.

Says ``ready``, starts when its standard input ends, writes so often with a rest of up to REST seconds between, and leaves
what it did in ``FOLDER/NAME.log``, a JSON array a line.
"""

import json
import sys
import time
from pathlib import Path

from tests.race.outsiders import KINDS, Outsider


def main() -> None:
    kind, folder, path, name, writes, rest, seed = sys.argv[1:]
    one = Outsider(Path(folder), Path(path), name, int(seed))
    print("ready", flush=True)
    sys.stdin.read()
    with Path(folder, f"{name}.log").open("w", encoding="utf-8") as log:
        for _ in range(int(writes)):
            write = KINDS[kind](one)
            told = [part.decode("latin-1") if isinstance(part, bytes) else part for part in write]
            print(json.dumps(told), file=log)
            time.sleep(one.random.random() * float(rest))
    one.close()


if __name__ == "__main__":
    main()
