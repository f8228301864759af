"""Kill a PostgreSQL server while several clients write, start it again, and look at what became of what they wrote."""

import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.race.kills import WRITERS, Killed, found, one_more_answer, start_writer, starter_of
from tests.sql.server import private, told

KIND = "postgresql"
LONGEST = 0.6
"""Seconds that pass at most between two kills, of which a part goes into coming up again."""


def kill_server(folder: Path, kills: int, *, seed: int = 0, more: Callable[[], bool] = lambda: True) -> Killed:
    """Have three clients write, and kill their server so many times, as long as there is ``more`` time.

    Every second time only one of its processes is killed, after which it throws out all clients and recovers by itself.
    The clients live on: each repeats its write until there is an answer. At the end each has had one more.
    """
    chance = random.Random(seed)
    done = 0
    with private() as server, told(server.url()):
        with starter_of(folder, KIND) as program:
            for name in WRITERS:
                start_writer(program, name)
            one_more_answer(folder, *([name] for name in WRITERS))
            while done < kills and more():
                time.sleep(chance.random() * LONGEST)
                if done % 2:
                    server.kill_a_client_process()
                else:
                    server.kill()
                    server.start()
                done += 1
            server.wait()
            one_more_answer(folder, *([name] for name in WRITERS))
        return found(folder, done, KIND)
