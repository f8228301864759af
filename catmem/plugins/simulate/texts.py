"""Races, as people read them."""

from __future__ import annotations

from catmem.cli.output import columns, emit, say
from catmem.ops.table import Call
from catmem.plugins.simulate.operations import Raced
from catmem.text import counted


def _raced(done: Raced, _: Call) -> None:
    trial = done.trial
    raced = ", ".join((counted(trial.agents, "agent"), counted(trial.writes, "write"), counted(trial.entities, "file")))
    say(f"{raced}, in {done.store}")
    rows = [("", "without guards", f"with guards ({done.on_stale})")]
    for name, field, form in _ROWS:
        left, right = (form(getattr(each, field)) for each in (done.unguarded, done.guarded))
        rows.append((name, left, right))
    emit(columns(rows, right=[1]))


_ROWS = (
    ("writes acknowledged", "acknowledged", "{:,}".format),
    ("silent overwrites", "silent_overwrites", "{:,}".format),
    ("acknowledged, not in the log", "unrecorded", "{:,}".format),
    ("conflicts, refused and repeated", "conflicts", "{:,}".format),
    ("branches", "branches", "{:,}".format),
    ("kappa between the agents", "kappa", "{:.3f}".format),
    ("a write, median", "p50", lambda seconds: f"{seconds * 1_000:.1f} ms"),
    ("writes a second", "rate", "{:,.0f}".format),
)
TEXTS = {"Raced": _raced}
