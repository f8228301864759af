"""A worker process: ``python -m tests.linearizability.worker WORK KIND FOLDER NAME OPERATIONS SEED``.

Says ``ready`` on standard output, starts when its standard input ends, and prints its history, a JSON array a line.
"""

import json
import sys
from pathlib import Path

from tests.linearizability.branching import Brancher
from tests.linearizability.work import Worker
from tests.store.stores import named

PAUSE = 0.0005
"""Seconds. A process that never rests keeps the lock nearly all the time, and nobody meets anybody."""


WORK = {"swap": Worker, "branch": Brancher}


def main() -> None:
    work, kind, folder, name, operations, seed = sys.argv[1:]
    store = named(kind).make(Path(folder))
    worker = WORK[work](store, name, int(seed), pause=PAUSE)
    print("ready", flush=True)
    sys.stdin.read()
    for each in worker.run(int(operations)):
        print(json.dumps(each))
    store.close()


if __name__ == "__main__":
    main()
