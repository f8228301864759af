"""``catmem simulate``: agents that race on shared memory, once without guards and once with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import format_option
from catmem.cli.output import columns, emit, emit_json, in_json, say
from catmem.text import counted

if TYPE_CHECKING:
    from catmem.plugins.simulate.simulation import RaceOutcome
    from catmem.store.contract import OnStale

_MILLI = 1_000


@click.command(
    cls=Command,
    examples=(
        "catmem simulate --agents 8 --writes 1000",
        "catmem simulate --store sqlite:///race.db --on-stale branch",
        "catmem simulate --store postgresql://localhost/scratch --agents 16",
    ),
)
@click.option(
    "--agents", type=click.IntRange(1, 1_000), default=8, show_default=True, metavar="N", help="How many agents write."
)
@click.option(
    "--writes",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many writes they make together.",
)
@click.option(
    "--store",
    default="files",
    show_default=True,
    metavar="STORE",
    help="What `store` in catmem.yaml may be, as in the examples above.",
)
@click.option(
    "--entities",
    type=click.IntRange(1, 10_000),
    default=4,
    show_default=True,
    metavar="N",
    help="How many memory files they share.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same plan for the same number.")
@click.option(
    "--on-stale",
    type=click.Choice(["refuse", "branch"]),
    default="refuse",
    show_default=True,
    help="With guards, what becomes of a write on an older view: refused, and made again on what is there; or kept as "
    "a branch, all of which are merged in the end.",
)
@click.option(
    "--think", type=float, default=5, show_default=True, metavar="MS", help="Milliseconds between reading and writing."
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    metavar="N",
    help="In how many processes the agents run, each agent in a thread. By default a process each, 16 at most.",
)
@format_option
def simulate(  # noqa: PLR0913 - one parameter an option
    *,
    agents: int,
    writes: int,
    store: str,
    entities: int,
    seed: int,
    on_stale: OnStale,
    think: float,
    processes: int | None,
) -> None:
    """Let agents read, think and write facts into memory files that they share, at once, and count what is lost.

    The same plan is raced twice: without guards, where an agent writes its copy of the file back whole, and with them.
    All happens in a root, and a database, that are made for it and removed: a SQLite database must not exist, and a
    PostgreSQL database must hold no entities. Exit status 1 if the guards let anything be lost, else 0.
    """
    from catmem.plugins.simulate.simulation import Trial, race
    from catmem.workspace.stores import shown_store

    if not 0 <= think <= _MILLI:
        raise click.BadParameter("it is from 0 to 1,000.", param_hint="--think")
    trial = Trial(agents, writes, entities, seed, think / _MILLI, min(agents, 16) if processes is None else processes)
    unguarded, guarded = race(trial, "none", store), race(trial, on_stale, store)
    if in_json():
        said = {**trial._asdict(), "stores": [shown_store(store)], "on_stale": on_stale}
        emit_json({**said, "unguarded": unguarded._asdict(), "guarded": guarded._asdict()})
    else:
        raced = ", ".join((counted(agents, "agent"), counted(writes, "write"), counted(entities, "file")))
        say(f"{raced}, in {shown_store(store)}")
        rows = zip(_column(unguarded).items(), _column(guarded).values(), strict=True)
        head = ("", "without guards", f"with guards ({on_stale})")
        emit(columns([head, *((name, left, right) for (name, left), right in rows)], right=[1]))
    raise SystemExit(1 if guarded.silent_overwrites or guarded.unrecorded or not guarded.rebuilt else 0)


def _column(outcome: RaceOutcome) -> dict[str, str]:
    return {
        "writes acknowledged": f"{outcome.acknowledged:,}",
        "silent overwrites": f"{outcome.silent_overwrites:,}",
        "acknowledged, not in the log": f"{outcome.unrecorded:,}",
        "conflicts, refused and repeated": f"{outcome.conflicts:,}",
        "branches": f"{outcome.branches:,}",
        "merges": f"{outcome.merges:,}",
        "subjects with both sides kept": f"{outcome.merge_conflicts:,}",
        "the log gives the same heads": "yes" if outcome.rebuilt else "NO",
        "kappa between the agents": f"{outcome.kappa:.3f}",
        "a write, median": f"{outcome.p50 * _MILLI:.1f} ms",
        "a write, 99 of 100": f"{outcome.p99 * _MILLI:.1f} ms",
        "writes a second": f"{outcome.rate:,.0f}",
    }
