"""``catmem status``: what waits for a person, a line a topic."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import as_of_option, common_options, open_with_store
from catmem.cli.output import columns, emit, emit_json, in_json, print_unreadable, say_all
from catmem.errors import CatmemError
from catmem.text import counted

if TYPE_CHECKING:
    from datetime import date


@click.command(cls=Command, examples=("catmem status", "catmem status --format json"))
@as_of_option
@common_options
def status(as_of: date | None) -> None:
    """Print what waits for you, a line a topic, each with the command that deals with it.

    These are proposals, facts that are due for review, entries without a category, branches, what specialists learned,
    copies that are behind their source, and files that another program changed or git left unmerged. Exit status 0,
    also if something waits; 2 if a profile or a file cannot be read.
    """
    from catmem.merging.branches import branches_of_all
    from catmem.proposals.promoting import promote_learned
    from catmem.proposals.proposal import proposals
    from catmem.workspace.overview import Overviews

    workspace = open_with_store()
    branches, proposed = branches_of_all(workspace), proposals(workspace, as_of=as_of)
    overview = Overviews(workspace).read(as_of)
    states = Counter(each.state for each in proposed.proposals)
    rough = [each.entity for each in branches.branches if each.state not in {"merges", "nothing new"}]
    smooth, settle = len(branches.branches) - len(rough), f"catmem merge {''.join(rough[:1])} --interactive"
    outside, due = overview.outside, ", ".join(f"{n:,} {state}" for state, n in sorted(overview.due.items()))
    measures = [line.measure for line in overview.lines if line.measure]
    unsorted = {name: number for each in measures for name, number in each.unsorted.items() if number}
    first, _, target = next(iter(unsorted), "").partition("/")
    marked = sum(len(each.marked) for each in measures)
    seeds = [line.seeded for line in overview.lines if line.seeded and not line.seeded.in_step]
    refused = sum(bool(each.problems) for each in seeds)
    wrong = [*overview.problems, *(error for line in overview.lines for error in line.problems)]
    learned = 0
    try:
        learned = sum(each.error is None for each in promote_learned(workspace, dry_run=True))
    except CatmemError as error:
        wrong += [] if error.code == "no_source" else [error]  # where no profile has a source, none learns for one
    clashing = any(each.conflicts for each in seeds)
    seed = f"catmem seed --all{' --interactive' if clashing else ''}"
    topics = (
        ("waiting", states["waiting"], "proposal", " for you to decide", "catmem proposals --interactive"),
        ("stale", states["stale"], "proposal", " whose entry changed since", "catmem proposals"),
        ("expired", states["expired"], "proposal", " whose day is over", "catmem proposals --expire"),
        ("due", sum(overview.due.values()), "fact", f" due for review ({due})", "catmem review"),
        (
            "unsorted",
            sum(unsorted.values()),
            "entry|entries",
            " without a category",
            f"catmem sort -p {first} -t {target}",
        ),
        ("learned", learned, "entry|entries", " that specialists learned", "catmem promote --all"),
        ("branches", smooth, "branch|branches", " to merge", "catmem merge --all"),
        ("conflicts", len(rough), "branch|branches", " with conflicts", settle),
        ("seeds", len(seeds) - refused, "profile", " behind what seeds it", seed),
        ("refused", refused, "profile", " that cannot be seeded", "catmem seed --all --dry-run"),
        ("outside", len(outside), "file", " changed by another program", f"catmem diff {''.join(outside[:1])} --adopt"),
        ("marked", marked, "file", " with git's conflict markers", "catmem lint"),
    )
    if in_json():
        said = [{"topic": topic, "count": n, "command": command if n else None} for topic, n, _, _, command in topics]
        emit_json({"as_of": overview.as_of.isoformat(), "topics": said})
    else:
        rows = [(counted(n, *thing.split("|")) + words, command) for _, n, thing, words, command in topics if n]
        emit(columns(rows))
        say_all([] if rows else ["Nothing waits for you."])
    wrong += [*branches.unreadable, *proposed.unreadable]
    sys.exit(print_unreadable(list({str(error): error for error in wrong}.values())))
