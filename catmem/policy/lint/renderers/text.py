"""Findings for people: place, code and message, the line with carets, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.lint.renderers.excerpt import excerpt, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.diagnostic import Diagnostic, Region
    from catmem.policy.lint.renderers.report import Report


def render(report: Report) -> str:
    """One paragraph a finding, in order; those that are suppressed are left out."""
    lines: dict[str, list[str] | None] = {}
    parts: list[str] = []
    for diagnostic in report.counting:
        path = diagnostic.path
        if path not in lines:
            text = report.source(path)
            lines[path] = None if text is None else text.split("\n")
        parts += (f"{line}\n" for line in _paragraph(diagnostic, lines[path]))
    return "".join(parts)


def _paragraph(diagnostic: Diagnostic, lines: list[str] | None) -> Iterator[str]:
    place = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    message = printable(diagnostic.message)
    yield f"{printable(place)}: {diagnostic.severity} {diagnostic.code} {message} ({diagnostic.name})"
    number = diagnostic.line
    if lines is not None and number <= len(lines) and any(lines):
        line = lines[number - 1].removesuffix("\r")
        shown = excerpt(line, *_in_line(diagnostic.region, number, len(line)))
        yield f"{number:>6} | {shown.line}".rstrip()
        yield f"       | {shown.marks}"
    for other in diagnostic.related:
        yield f"  see {printable(f'{other.path or diagnostic.path}:{other.line}:{other.column}: {other.message}')}"
    if diagnostic.hint:
        yield f"  hint: {printable(diagnostic.hint)}"
    if diagnostic.fix is not None:
        option = "--fix" if diagnostic.fix.safe else "--fix --unsafe-fixes"
        yield f"  fix ({option}): {printable(diagnostic.fix.message)}"


def _in_line(region: Region, number: int, length: int) -> tuple[int, int]:
    """What a region covers of a line of this number and length, as offsets in it."""
    if not region.line <= number <= region.end_line:
        return 0, 0
    start = region.column - 1 if region.line == number else 0
    return start, region.end_column - 1 if region.end_line == number else length
