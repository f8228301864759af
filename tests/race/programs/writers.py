"""Writers that may be killed at any moment: ``python -m tests.race.programs.writers KIND FOLDER``.

Reads names on standard input, one a line. For each it forks a writer, and prints the writer's name and process id. A
writer commits, one line after the other, until it is killed; it appends to ``FOLDER/NAME.said`` the token of each line
before the commit (``?``) and after it has returned (``!``). Started again, a writer first repeats its last commit if no
answer to that is noted, under the same ``op_id``, as a client does that lost its connection.

Forking, since starting Python anew takes longer than most writers live. At the end of standard input all writers end.
"""

import os
import signal
import sys
import time
from pathlib import Path

from catmem.errors import BusyError, StoreError
from catmem.store.contract import Change, Current, Store
from tests.race.texts import line, shortened
from tests.store.stores import Kind, named

ENTITY = "trinity/user"
FIRST = "first"
GONE = {"connection_lost", "not_available"}
REST = 0.02
"""Seconds before a server that is gone is asked again."""


def main() -> None:
    kind, folder = named(sys.argv[1]), Path(sys.argv[2])
    store = kind.make(folder)
    commit(store, FIRST)  # everything is imported before the first fork
    store.close()
    children: set[int] = set()
    for name in map(str.strip, sys.stdin):
        child = os.fork()
        if not child:
            write(kind, folder, name)
        children.add(child)
        print(name, child, flush=True)
        children -= ended(children)
    for child in children - ended(children):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def ended(children: set[int]) -> set[int]:
    return {child for child in children if os.waitpid(child, os.WNOHANG)[0]}


def write(kind: Kind, folder: Path, name: str) -> None:
    said = os.open(folder / f"{name}.said", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    words = os.pread(said, 1 << 24, 0).decode().split()
    number = int(words[-1].rsplit("-", 1)[1]) if words else 0
    if words and words[-1].startswith("!"):
        number += 1
    store = kind.make(folder)
    while True:
        token = f"{name}-{number:06d}"
        os.write(said, f"?{token}\n".encode())
        if commit(store, token):
            os.write(said, f"!{token}\n".encode())
            number += 1


def commit(store: Store, token: str) -> bool:
    """Add one line; ``False`` if another writer kept the lock too long, or the server of a database was gone."""

    def update(current: Current) -> bytes:
        return shortened(current.data) + line(token)

    try:
        store.commit(ENTITY, None, update, Change(agent="writer", op_id=token, request=token))
    except BusyError:
        return False
    except StoreError as error:
        if error.code not in GONE:
            raise
        time.sleep(REST)
        return False
    return True


if __name__ == "__main__":
    main()
