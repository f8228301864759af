"""The table of results, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.torture.schedule import Result

HEADER = ("proof", "asked", "done", "result", "seconds")
_RIGHT = {1, 2, 4}


def table(results: Iterable[Result]) -> str:
    """The results in columns, one line each, with what there is to say below each."""
    rows: list[tuple[Sequence[str], str]] = [(HEADER, "")]
    rows += [(_cells(result), result.note) for result in results]
    widths = [max(len(cells[column]) for cells, _ in rows) for column in range(len(HEADER))]
    lines: list[str] = []
    for cells, note in rows:
        placed = (
            cell.rjust(width) if column in _RIGHT else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        lines.append("  ".join(placed).rstrip())
        lines += [f"    {note}"] if note else []
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _cells(result: Result) -> Sequence[str]:
    of = f" [{result.name.partition('[')[2]}" if "[" in result.name else ""
    asked = "all" if result.asked is None else f"{result.asked:,} {result.unit}"
    return (result.proof + of, asked, f"{result.done:,}", result.status, f"{result.seconds:.0f}")
