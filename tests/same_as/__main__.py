"""``python -m tests.same_as --old WHEEL``: whether what a user sees of the checkout is what they saw of an older build."""

import argparse
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

from tests.same_as import commands, library, requests, tools
from tests.same_as.builds import Runner, installed, wheel_of_checkout
from tests.same_as.compare import Difference, Meant, differences
from tests.same_as.roots import ROOTS, lay, make
from tests.same_as.stage import Stage, Story, copied

MEANT = Path(__file__).with_name("meant.toml")
MEMORY = Path("/dev/shm")


class Desk:
    """A place where one story at a time is played, by one build after the other at the same path."""

    def __init__(self, top: Path, old: Runner, new: Runner) -> None:
        """``top`` has the templates; the desk's own folder is that of the runners' streams."""
        self._top = top
        self._box = old.streams.parent / "box"
        self._old = old
        self._new = new

    def make(self, name: str) -> None:
        """Make a root with each build: what a store keeps for itself may have another form in each."""
        bare = self._top / "bare" / name
        lay(name, bare)
        for runner in (self._old, self._new):
            copied(bare, self._box)
            make(name, Stage(runner, self._box))
            shutil.move(self._box, self._made(runner) / name)

    def _made(self, runner: Runner) -> Path:
        return self._top / ("made-by-old" if runner is self._old else "made-by-new")

    def play(self, story: Story) -> tuple[int, list[Difference]]:
        """How much was compared, and what differs. A story over midnight is played again: it has two days in it."""
        while True:
            day = datetime.now(UTC).date()
            old, new = (self._seen(story, runner) for runner in (self._old, self._new))
            if day == datetime.now(UTC).date():
                return len(old), differences(story.name, old, new)

    def _seen(self, story: Story, runner: Runner) -> list[tuple[str, str]]:
        made = self._made(self._old if story.is_old else runner)
        copied((self._top / "bare" if story.is_bare else made) / story.root, self._box)
        stage = Stage(runner, self._box)
        story.play(stage)
        stage.look(ROOTS[story.root].entities)
        return stage.seen


def stories() -> list[Story]:
    """All of them; the long ones first, so that no processor waits for the last."""
    return [story for part in (requests, tools, library, commands) for story in part.stories()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.same_as", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, metavar="WHEEL", help="the build to compare with")
    parser.add_argument(
        "--new", type=Path, metavar="WHEEL", help="the build to look at; by default one of the checkout"
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="only stories whose name has this in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="stories at a time")
    asked = parser.parse_args()
    begun = time.monotonic()
    old, new = installed(asked.old), installed(asked.new or wheel_of_checkout())
    chosen = [story for story in stories() if re.search(asked.only, story.name)]
    if not chosen:
        parser.error(f"no story has {asked.only!r} in its name")
    meant = [Meant(**each) for each in tomllib.loads(MEANT.read_text(encoding="utf-8")).get("meant", [])]
    compared, unmeant, used = 0, 0, Counter[Meant]()
    for count, found in played(chosen, old, new, asked.jobs):
        compared += count
        for each in found:
            fitting = next((one for one in meant if one.fits(each)), None)
            if fitting is not None:
                used[fitting] += 1
                continue
            unmeant += 1
            print(f"\n=== {each.story}\n--- {each.label}\n{each.diff}", flush=True)
    for gone in () if asked.only else [each for each in meant if not used[each]]:
        print(f"\nNo longer there, so take it out of {MEANT.name}: {gone.story} ({gone.reason})")
    kinds = Counter(story.name.partition("/")[0] for story in chosen)
    print(f"\n{len(chosen)} stories: {', '.join(f'{count} of {name}' for name, count in kinds.items())}")
    print(f"{compared} things compared in {time.monotonic() - begun:.0f} s", end="")
    print(f": {unmeant} differences, and {used.total()} that are meant")
    return 1 if unmeant else 0


def played(chosen: list[Story], old: Path, new: Path, jobs: int) -> Iterator[tuple[int, list[Difference]]]:
    """Play the stories with both builds; of each, how much was compared, and what differs."""
    with tempfile.TemporaryDirectory(prefix="same-as-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        top = Path(folder)
        for side in ("old", "new"):
            (top / f"made-by-{side}").mkdir()
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
            desks: SimpleQueue[Desk] = SimpleQueue()
            for number in range(jobs):
                runners = [
                    stack.enter_context(Runner(programs, top / f"desk{number}" / side, top / f"cache-{number}-{side}"))
                    for side, programs in (("old", old), ("new", new))
                ]
                desks.put(Desk(top, *runners))

            def at_a_desk(work, what):
                desk = desks.get()
                try:
                    return work(desk, what)
                finally:
                    desks.put(desk)

            list(pool.map(lambda name: at_a_desk(Desk.make, name), dict.fromkeys(story.root for story in chosen)))
            yield from pool.map(lambda story: at_a_desk(Desk.play, story), chosen)


if __name__ == "__main__":
    sys.exit(main())
