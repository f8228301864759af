"""The table of results, as text for a terminal and as Markdown."""

from collections.abc import Iterable, Sequence

from tests.torture.schedule import Result

HEADER = ("row", "wanted", "done", "share", "seconds", "result")
_RIGHT = {1, 2, 3, 4}


def table(results: Iterable[Result]) -> str:
    rows = [HEADER, *map(_cells, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    lines = (
        "  ".join(
            cell.rjust(width) if column in _RIGHT else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    )
    return "\n".join(lines)


def markdown(results: Iterable[Result]) -> str:
    """The same as a table in Markdown, which says too what each row proves."""
    rows = [HEADER, ["--:" if column in _RIGHT else "---" for column in range(len(HEADER))]]
    texts = ["proof", "---"]
    for result in results:
        rows.append(_cells(result))
        texts.append(result.row.proof.text)
    return "".join(f"| {' | '.join((cells[0], text, *cells[1:]))} |\n" for cells, text in zip(rows, texts, strict=True))


def _cells(result: Result) -> Sequence[str]:
    wanted = "all" if result.whole is None else f"{result.whole:,} {result.row.proof.unit}"
    # Down, so that 100 % is all of it.
    share = f"{int(1000 * min(1.0, result.done / result.whole)) / 10:.1f} %" if result.whole else "-"
    return (result.row.name, wanted, f"{result.done:,}", share, f"{result.seconds:.0f}", result.status)
