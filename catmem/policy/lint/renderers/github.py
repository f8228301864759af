"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.text import printable

if TYPE_CHECKING:
    from catmem.policy.lint.diagnostic import Diagnostic
    from catmem.policy.lint.renderers.report import Report

_LEVELS = {"error": "error", "warning": "warning", "hint": "notice"}


def render(report: Report) -> str:
    """One line a finding; those that are suppressed are left out."""
    return "".join(f"{_command(diagnostic)}\n" for diagnostic in report.counting)


def _command(diagnostic: Diagnostic) -> str:
    region = diagnostic.region
    properties = {
        "file": diagnostic.path,
        "line": region.line,
        "endLine": region.end_line,
        "title": f"{diagnostic.code} {diagnostic.name}",
    }
    if region.line == region.end_line:  # GitHub takes columns for one line only
        properties |= {"col": region.column, "endColumn": region.end_column}
    said = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    words = "\n".join(part for part in (diagnostic.message, diagnostic.hint) if part)
    return f"::{_LEVELS[diagnostic.severity]} {said}::{_data(words)}"


def _data(text: str) -> str:
    # Whoever reads the log of a run reads it in a terminal, or as one.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
