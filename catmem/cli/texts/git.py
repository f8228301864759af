"""What became of a merge that git asked for, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from catmem.cli.output import CONFLICT_REASONS, first_line, say_all, side_lines
from catmem.model.version import Conflict, Version
from catmem.ops.git import FileMerged

_WIDTH = 100


def _lines(name: str, conflicts: Sequence[Conflict]) -> Iterator[str]:
    if not conflicts:
        return
    count = "1 conflict" if len(conflicts) == 1 else f"{len(conflicts)} conflicts"
    yield f"{name}: {count} between entries"
    for conflict in conflicts:
        yield f"  {CONFLICT_REASONS[conflict.reason]}:"
        sides = ("base", "ours", "theirs")
        yield from side_lines([(side, _shown(conflict, getattr(conflict, side))) for side in sides], "    ")
    yield f"Keep one of each, take the marks out, then: git add {name}"


def _shown(conflict: Conflict, version: Version | None) -> str | None:
    if version is None:
        return None
    if conflict.reason == "title":
        return first_line(version.text, _WIDTH)
    return f"{version.category}: {first_line(version.text, _WIDTH)}"


TEXTS = {FileMerged: lambda value, _: say_all(_lines(value.path, value.conflicts))}
