"""``python -m tests.guard [DOOR …] [--sessions 1000] [--seed 0] [--show 3]``: play sessions at doors, and count what is wrong.

With ``--steps`` it plays some steps of one session, as a failing one is printed.
"""

import argparse
import logging
import os
import sys
import time

from tests import places
from tests.guard.doors import DOORS
from tests.guard.oracle import Tally, alarms, losses, script_of, shown
from tests.guard.sessions import play


def main(arguments: list[str] | None = None) -> int:
    """0 if no text was lost, and no agent that was alone was refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard", description=__doc__)
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"default all: {', '.join(DOORS)}")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first session; the others follow")
    parser.add_argument("--steps", help="play only these steps of the session of that seed")
    parser.add_argument("--show", type=int, default=3, help="how many kinds of failing scripts to show, shortened")
    options = parser.parse_args(arguments)
    places.use_memory()
    logging.disable()
    wrong = 0
    for door in [DOORS[name] for name in options.doors or DOORS]:
        tally, began = Tally(door), time.monotonic()
        if options.steps is not None:
            story = play(script_of(door, options.seed).of(options.steps), door)
            print(shown(story, [*losses(story, strict=door.strict), *alarms(story)]))
            continue
        tally.take(range(options.seed, options.seed + options.sessions), os.cpu_count() or 1)
        print(f"{tally}; {1_000 * (time.monotonic() - began) / options.sessions:.1f} s for 1,000")
        print(tally.examples(options.show, 10 * options.show), flush=True)
        wrong += len(tally.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
