"""Findings for programs: one JSON object with stable fields (``docs/lint.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.text import printable_json

if TYPE_CHECKING:
    from catmem.policy.lint.renderers.report import Report


def render(report: Report) -> str:
    """The object; findings that are suppressed are only counted."""
    counting = report.counting
    value: dict[str, Any] = {
        "version": 1,
        "files": report.files,
        "counts": {**report.severities(), "suppressed": len(report.diagnostics) - len(counting)},
        "statistics": report.statistics(),
        "diagnostics": [diagnostic.to_dict() for diagnostic in counting],
    }
    return printable_json(value, indent=2) + "\n"
