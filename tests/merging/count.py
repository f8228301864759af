"""``python -m tests.merging.count [--merges 20000] [--seed 0] [--show 1]``: merge scenes by chance, and count what is wrong."""

import argparse
import random
import sys
from collections.abc import Iterable

from tests.merging.oracle import KINDS, SILENT, Mistake, check, mistakes, shown
from tests.merging.scripts import FULL, Range, Scene, scene

SMALL = Range(entries=(1, 4), sections=(0, 2), edits=(1, 2))


def made(seed: int) -> Scene:
    """The scene of a number; every second one is small."""
    return scene(random.Random(seed), SMALL if seed % 2 else FULL)


def wrong_with(seed: int) -> list[Mistake]:
    """What is wrong with the merge of a scene."""
    drawn = made(seed)
    check(drawn)
    return mistakes(drawn)


def wrong_among(seeds: Iterable[int]) -> dict[int, list[Mistake]]:
    """The scenes with which something is wrong."""
    return {seed: wrong for seed in seeds if (wrong := wrong_with(seed))}


def of_kind(found: dict[int, list[Mistake]], kind: str) -> list[int]:
    """The scenes with a mistake of a kind, those with the least text first."""
    seeds = [seed for seed, wrong in found.items() if any(mistake.kind == kind for mistake in wrong)]
    return sorted(seeds, key=lambda seed: sum(map(len, made(seed).texts)))


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.merging.count", description=__doc__)
    parser.add_argument("--merges", type=int, default=20_000, help="how many scenes; each is merged four times")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first scene; the others follow")
    parser.add_argument("--show", type=int, default=1, metavar="N", help="show the N shortest scenes of each kind")
    parser.add_argument("--kind", action="append", choices=KINDS, help="show only these kinds")
    options = parser.parse_args(arguments)
    found = wrong_among(range(options.seed, options.seed + options.merges))
    for kind in options.kind or KINDS:
        for seed in of_kind(found, kind)[: options.show]:
            print(f"--- {kind}: python -m tests.merging.count --merges 1 --seed {seed}")
            shown(made(seed), found[seed], print)
    print(f"{options.merges:,} scenes from {options.seed}, {options.merges - len(found):,} with nothing wrong")
    for kind in KINDS:
        print(f"{len(of_kind(found, kind)):8,}  {kind}")
        if kind == "hidden":
            silent = sum(any(mistake.text.startswith(SILENT) for mistake in wrong) for wrong in found.values())
            print(f"{silent:8,}    of them silent")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
