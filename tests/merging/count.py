"""``python -m tests.merging.count [--merges 20000] [--seed 0] [--show 1]``: merge scenes by chance, and count what is wrong."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from tests.merging.oracle import KINDS, Mistake, check, mistakes, shown
from tests.merging.scripts import FULL, Range, Scene, scene

SMALL = Range(entries=(1, 4), sections=(0, 2), edits=(1, 2))


def made(seed: int) -> Scene:
    """The scene of a number; every second one is small."""
    return scene(random.Random(seed), SMALL if seed % 2 else FULL)


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.merging.count", description=__doc__)
    parser.add_argument("--merges", type=int, default=20_000, help="how many scenes; each is merged four times")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first scene; the others follow")
    parser.add_argument("--show", type=int, default=1, metavar="N", help="show the first N scenes of each kind")
    parser.add_argument("--kind", action="append", choices=KINDS, help="show only these kinds")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    found: dict[str, list[tuple[int, list[Mistake]]]] = {}
    clean = 0
    for seed in range(options.seed, options.seed + options.merges):
        drawn = made(seed)
        check(drawn)
        wrong = mistakes(drawn)
        clean += not wrong
        for kind in {mistake.kind for mistake in wrong}:
            counts[kind] += 1
            found.setdefault(kind, []).append((seed, wrong))
        counts["silent"] += any(mistake.kind == "hidden" and mistake.text.startswith("silent") for mistake in wrong)
    for kind in options.kind or KINDS:
        # The smallest scene is the quickest to read.
        for seed, wrong in sorted(found.get(kind, []), key=lambda one: sum(map(len, made(one[0]).texts)))[: options.show]:
            print(f"--- {kind}: python -m tests.merging.count --merges 1 --seed {seed}")
            shown(made(seed), wrong, print)
    print(f"{options.merges:,} scenes from {options.seed}, {clean:,} with nothing wrong")
    for kind in (*KINDS[:1], "silent", *KINDS[1:]):
        print(f"{counts[kind]:8,}  {kind}")
    return 0 if clean == options.merges else 1


if __name__ == "__main__":
    sys.exit(main())
