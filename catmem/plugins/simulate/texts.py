"""Races, as people read them."""

from __future__ import annotations

from catmem.cli.output import columns, emit, say
from catmem.ops.table import Call
from catmem.plugins.simulate.operations import Raced
from catmem.plugins.simulate.simulation import RaceOutcome
from catmem.text import counted

_MILLI = 1_000


def _raced(done: Raced, _: Call) -> None:
    trial = done.trial
    raced = ", ".join((counted(trial.agents, "agent"), counted(trial.writes, "write"), counted(trial.entities, "file")))
    say(f"{raced}, in {done.store}")
    rows = zip(_column(done.unguarded).items(), _column(done.guarded).values(), strict=True)
    head = ("", "without guards", f"with guards ({done.on_stale})")
    emit(columns([head, *((name, left, right) for (name, left), right in rows)], right=[1]))


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


TEXTS = {"Raced": _raced}
