"""``catmem stats``: how long the prompts are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.options import as_of_option, format_option, open_to_read, root_option
from catmem.cli.output import columns, emit, emit_json, print_error, printable, say, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from catmem.policy.sizes import Sizes, Use
    from catmem.service.fleet import Measured, Stats

_HEAD = ("profile", "entries", "prompt", "unfiltered", "files", "% of files", "")
_NUMBERS = range(1, 6)
_LEFT_OUT = {
    "expired": "expired",
    "stale": "stale",
    "no_text": "without text",
    "blocked": "blocked",
    "over_budget": "over budget",
}


@click.command(
    epilog="Examples: catmem stats   catmem stats --from orchestrator   catmem stats -p trinity --as-of 2026-11-21"
)
@click.option("-p", "--profile", "names", multiple=True, metavar="NAME", help="Only this profile; may be repeated.")
@click.option("--from", "source", metavar="NAME", help="Read the files of this profile instead of their own.")
@as_of_option
@root_option
@format_option
def command(
    names: tuple[str, ...], source: str | None, as_of: date | None, root_folder: str | None, *, as_json: bool
) -> None:
    """Print how long each profile's prompt is beside what it would be unfiltered, in characters.

    prompt is what 'catmem prompt' prints; unfiltered the same, in the same style, with every entry of the same files,
    whatever its category, date or text; files the files themselves, which is what an agent without catmem loads
    (without the newlines at their ends, as limits count). entries are those that the profile sees, of those in the
    files. The words behind tell what of the seen the prompt leaves out, what is stale or unverified, and how much of
    budgets and limits is used. In the total a file counts once for each profile that reads it.

    Exit status 2 if a profile or a file could not be looked at; all others are there.
    """
    from catmem.service.fleet import read_stats

    workspace = open_to_read(root_folder)
    stats = read_stats(workspace, names, source=source, as_of=as_of)
    if as_json:
        emit_json(stats.to_dict())
    elif stats.profiles:
        emit(printable("".join(_table(stats))))
    elif not stats.problems:
        say(f"There are no profiles in {printable(shown_path(workspace.config.profiles_dir))}.")
    for problem in stats.problems:
        print_error(problem, as_json=as_json)
    if stats.problems:
        sys.exit(2)


def _table(stats: Stats) -> Iterator[str]:
    files = f"from the files of {stats.source}" if stats.source else "each from its own files"
    yield f"Characters of each prompt, {files}, as of {stats.as_of}\n\n"
    rows = [_row(each.profile, each.sizes, "; ".join(_notes(each))) for each in stats.profiles]
    rows.append(_row("total", stats.total, ""))
    # Numbers stand at the right of their columns.
    widths = [max(len(row[index]) for row in (_HEAD, *rows)) for index in _NUMBERS]
    yield columns(
        [
            (row[0], *(row[index].rjust(width) for index, width in zip(_NUMBERS, widths, strict=True)), row[-1])
            for row in (_HEAD, *rows)
        ]
    )


def _row(name: str, sizes: Sizes, notes: str) -> tuple[str, ...]:
    percent = "-" if sizes.percent is None else f"{sizes.percent}%"
    seen = f"{sizes.seen:,} of {sizes.entries:,}"
    return name, seen, f"{sizes.prompt:,}", f"{sizes.unfiltered:,}", f"{sizes.files:,}", percent, notes


def _notes(measured: Measured) -> Iterator[str]:
    sizes = measured.sizes
    if measured.missing == ("user", "memory"):
        yield "no files yet"
    out = [f"{sizes.left_out[key]:,} {said}" for key, said in _LEFT_OUT.items() if sizes.left_out.get(key)]
    if out:
        yield f"out: {', '.join(out)}"
    doubtful = [f"{sizes.states[key]:,} {key}" for key in ("stale", "unverified") if sizes.states.get(key)]
    if doubtful:
        yield ", ".join(doubtful)
    yield from (_use("budget", use) for use in sizes.budgets)
    yield from (_use("limit", use) for use in sizes.limits)


def _use(what: str, use: Use) -> str:
    share = f"{100 * use.used / use.of:.0f}%" if use.of else f"{use.used:,} of 0"
    return f"{what} {use.name} {share}"
