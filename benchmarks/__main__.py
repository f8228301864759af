"""``python -m benchmarks [NAME ...]``: measure, print each figure beside its limit, and fail if one is missed."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

import catmem
from benchmarks.measure import Result, table

NAMES = (
    "startup",
    "parse",
    "linear",
    "merge",
    "prompt",
    "threats",
    "store",
    "lint",
    "search",
    "recall",
    "seed",
    "mcp",
    "hermes_store",
    "sql",
    "sql_lists",
    "server",
    "fleet",
    "sort",
    "tidy",
    "approval",
)
LONG = ("server_soak", "proposals_page")
"""Run only if they are named."""


def main() -> int:
    """Run what was asked for; 0 if every limit holds, else 1."""
    options = arguments()
    print(
        f"catmem {catmem.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
    )
    results: list[Result] = []
    for name in options.names or NAMES:
        found: list[Result] = importlib.import_module(f"benchmarks.{name}").run(options)
        if found:
            print(f"{name}\n{table(found)}\n", flush=True)
        results += found
    missed = [result.name for result in results if not result.holds]
    print(f"{len(results) - len(missed)} of {len(results)} within their limits")
    return 1 if missed else 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*NAMES, *LONG, []],
        metavar="NAME",
        help=f"of {', '.join(NAMES)}; default all; and by name only: {', '.join(LONG)}",
    )
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="a Python that has catmem as README installs it, for startup and prompt",
    )
    parser.add_argument("--hermes-python", default=".venv-hermes/bin/python", help="a Python that has Hermes Agent")
    parser.add_argument(
        "--pymarkdown-python", default=".venv-pymarkdown/bin/python", help="a Python with pymarkdownlnt"
    )
    parser.add_argument(
        "--cheetahclaws-python", default=".venv-cheetahclaws/bin/python", help="a Python with cheetahclaws 3.5.89"
    )
    parser.add_argument(
        "--server-memory", type=Path, help="index.js of @modelcontextprotocol/server-memory, for which node is needed"
    )
    parser.add_argument("--locomo", type=Path, metavar="FOLDER", help="a folder with locomo10.json, for `recall`")
    parser.add_argument("--size", type=int, help="size of the file that `parse` reads, in bytes; default 10,000,000")
    parser.add_argument("--seconds", type=int, help="how long `server_soak` runs; default 600")
    parser.add_argument("--times", type=int, help="runs of each measurement; default is set by each")
    options = parser.parse_args()
    # What runs it does so from another folder. The link stays a link, by which a virtual environment knows itself.
    options.python = Path(options.python).absolute()
    options.hermes_python = Path(options.hermes_python).absolute()
    options.pymarkdown_python = Path(options.pymarkdown_python).absolute()
    options.cheetahclaws_python = Path(options.cheetahclaws_python).absolute()
    return options


if __name__ == "__main__":
    sys.exit(main())
