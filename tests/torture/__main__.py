"""``python -m tests.torture [--minutes 15] [--share 1] [--markdown FILE] [ROW ...]``: run the long proofs; print a table."""

import argparse
import sys
from pathlib import Path

from tests import places
from tests.sql import server
from tests.torture.registry import chosen, load
from tests.torture.schedule import Result, run, run_one
from tests.torture.table import markdown, table


def main(arguments: list[str] | None = None) -> int:
    """0 if no row failed, 1 if one did or did nothing, 2 for a row that nobody knows."""
    options = _options(arguments)
    rows = load()
    if options.one:
        return run_one(rows[options.one], options.seconds, options.folder, options.share)
    if options.list:
        print("\n".join(f"{name:28} {row.seconds:5.0f} s  {row.proof.text}" for name, row in rows.items()))
        return 0
    try:
        wanted = chosen(rows, options.rows)
    except KeyError as unknown:
        print(f"there is no row {unknown}; there are: {', '.join(rows)}", file=sys.stderr)
        return 2
    places.use_memory()
    if not server.MISSING and any("postgresql" in row.name for row in wanted):
        server.server()  # one for all rows
    results = run(wanted, options.minutes, share=options.share, told=_tell)
    for result in results:
        if result.status == "failed":
            print(f"\n{result.row.name} failed. It said last:\n{result.log[-4000:]}\n{result.note}")
    if options.markdown:
        options.markdown.write_text(markdown(results), encoding="utf-8")
    print(f"\n{table(results)}")
    return int(not all(result.is_proof for result in results))


def _tell(result: Result) -> None:
    print(f"{result.status}: {result.row.name} ({result.seconds:.0f} s): {result.note}", file=sys.stderr, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows or proofs; default all")
    parser.add_argument("--minutes", type=float, default=15, help="for all rows together; each gets its part of them")
    parser.add_argument("--share", type=float, default=1, help="which part of each figure to reach, such as 0.01")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to a file too")
    parser.add_argument("--list", action="store_true", help="name the rows, and end")
    # How the schedule runs each row in a process of its own:
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
