"""``python -m tests.torture [--quick] [--minutes 15] [ROW ...]``: run the long proofs, and print them as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.registry import chosen, load
from tests.torture.schedule import Result, run, run_one
from tests.torture.table import table

if TYPE_CHECKING:
    from tests.torture.proofs import Proof


def main(arguments: list[str] | None = None) -> int:
    """0 if no row failed, 1 if one did, 2 for a row that nobody knows."""
    options = _options(arguments)
    rows = load()
    if options.one:
        return run_one(rows[options.one], options.seconds, options.folder, quick=options.quick)
    if options.list:
        print("\n".join(f"{name:24} {row.seconds:5.0f} s  {row.proof.text}" for name, row in rows.items()))
        return 0
    try:
        wanted, missing = chosen(rows, options.rows)
    except KeyError as unknown:
        print(f"there is no row {unknown}; there are: {', '.join(rows)}", file=sys.stderr)
        return 2
    results = run(wanted, options.minutes, quick=options.quick, told=_tell)
    results += [_not_written(proof, quick=options.quick) for proof in missing]
    print(f"\n{table(results)}")
    failed = [result for result in results if result.status == "failed"]
    for result in failed:
        print(f"\n{result.name} said last:\n{result.log[-4000:]}")
    return 1 if failed else 0


def _not_written(proof: Proof, *, quick: bool) -> Result:
    asked = proof.quick if quick else proof.asked
    return Result(proof.name, proof.text, proof.unit, asked, 0, "skipped", "its test is not written yet", 0.0)


def _tell(result: Result) -> None:
    print(f"{result.status:8} {result.name} ({result.seconds:.0f} s)", file=sys.stderr, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows or proofs; default all")
    parser.add_argument("--quick", action="store_true", help="the figures of the default suite")
    parser.add_argument("--minutes", type=float, default=15, help="for all rows together; rows scale down to fit")
    parser.add_argument("--list", action="store_true", help="name the rows, and end")
    # How the schedule runs each row in a process of its own:
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
