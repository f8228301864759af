"""The conflicts of a seed, as ``catmem seed`` and ``catmem hermes sync`` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import columns, first_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.model.conflict import Conflict
    from catmem.model.version import Version
    from catmem.policy.seed import FilePlan

_WIDTH = 60


def conflict_lines(plan: FilePlan) -> str:
    """The conflicts of one file, with both sides; empty if none is open."""
    return "".join(
        printable(f"  {plan.target}: conflict in {_named(conflict)}: {_REASONS[conflict.reason]}\n")
        + columns(
            [
                ("   ", side, "(not there)" if version is None else first_line(_text(version, conflict.reason), _WIDTH))
                for side, version in (("target", conflict.ours), ("source", conflict.theirs))
            ]
        )
        for conflict in plan.conflicts
    )


_REASONS = {
    "body": "both sides reworded it",
    "removed": "one side changed what the other removed",
    "tags": "both sides changed one tag",
    "category": "it stands in two categories",
    "title": "two titles",
}


def _named(conflict: Conflict) -> str:
    version = conflict.ours or conflict.theirs
    return "" if version is None else version.category


def _text(version: Version, reason: str) -> str:
    if reason == "category":
        return f"{version.category}: {version.body}"
    return version.text if reason == "tags" else version.body


def next_steps(plans: Iterable[FilePlan]) -> list[str]:
    """How to settle the conflicts that are open, a line for each source."""
    names: dict[str, dict[str, None]] = {}
    for plan in plans:
        if plan.conflicts:
            source, target = (each.partition("/")[0] for each in (plan.source, plan.target))
            names.setdefault(source, {})[target] = None
    return [
        f"Conflicts are left to you: 'catmem seed {source} {' '.join(targets)} --resolve target' keeps what is there "
        "for good, '--resolve source' takes the source's."
        for source, targets in names.items()
    ]
