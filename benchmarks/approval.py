"""What a policy of approval costs a write that does not wait: the same writes with ``approval: others`` and without.

Two roots with the same files take turns. An agent adds a fact, and gives one of its own other words; neither waits.
Theirs is the root without a policy.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, medians, slower
from benchmarks.notes import entry
from catmem import Workspace

if TYPE_CHECKING:
    from argparse import Namespace

_TIMES = 101
_COUNTS = (14, 100, 1_000)
_LIMIT = 1.1
_PROFILE = "user_memory_categories: [dev-workflow]\nwritable_categories: [dev-workflow]\n"


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    results: list[Result] = []
    for entries in _COUNTS:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            roots = {side: _root(Path(folder, side), side, entries) for side in ("free", "asked")}
            for root in roots.values():
                stack.enter_context(closing(root.store))
            for verb in ("add", "replace"):
                ours, theirs = _measured(roots, verb, options.times or _TIMES)
                results.append(slower(f"{verb} that does not wait, {entries:,} entries", ours, theirs, _LIMIT))
    return results


def _root(folder: Path, side: str, entries: int) -> Workspace:
    profile = folder / "profiles" / "neo.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text(_PROFILE, encoding="utf-8")
    (folder / "catmem.yaml").write_text("approval: others\n" if side == "asked" else "version: 1\n", encoding="utf-8")
    path = folder / "homes" / "neo" / "USER.md"
    path.parent.mkdir(parents=True)
    facts = "\n§\n".join(entry(number) for number in range(entries))
    path.write_text(f"## Dev workflow\n{facts}\n", encoding="utf-8")
    root = Workspace.open(folder)
    root.add("neo", "The fact that gets other words: 0.", category="dev-workflow", actor="neo")
    return root


def _measured(roots: dict[str, Workspace], verb: str, times: int) -> tuple[float, float]:
    numbers = {side: count() for side in roots}
    runs = {side: lambda side=side: _write(roots[side], verb, next(numbers[side])) for side in roots}
    taken = medians(runs, times)
    return taken["asked"], taken["free"]


def _write(root: Workspace, verb: str, number: int) -> None:
    if verb == "add":
        done = root.add("neo", f"Something new, number {number}.", category="dev-workflow", actor="neo")
    else:
        done = root.replace(
            "neo", "gets other words", content=f"The fact that gets other words: {number + 1}.", actor="neo"
        )
    if not done.changed or done.waiting:
        raise RuntimeError(f"{verb} {number} was not made: {done}")
