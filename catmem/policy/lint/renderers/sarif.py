"""Findings as SARIF 2.1.0 (OASIS), for code scanners. Columns and offsets count code points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.policy.lint.rule import all_rules
from catmem.text import LineIndex, printable_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.policy.lint.diagnostic import Diagnostic, Fix
    from catmem.policy.lint.renderers.report import Report
    from catmem.policy.lint.rule import Rule

_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}
_KINDS = {"inline": "inSource", "baseline": "external"}
_BASE = "%SRCROOT%"
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def render(report: Report) -> str:
    """The log, with every rule that found something; suppressed findings are in it and say so."""
    known = all_rules()
    codes = sorted({diagnostic.code for diagnostic in report.diagnostics})
    places = {code: index for index, code in enumerate(codes)}
    texts = _Texts(report)
    run = {
        "tool": {
            "driver": {
                "name": "catmem",
                "version": report.version,
                "rules": [_rule(known[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, places, texts) for diagnostic in report.diagnostics],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return printable_json(log, indent=1) + "\n"


class _Texts:
    """Lines and columns of fixes, worked out once a file."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._known: dict[str, LineIndex | None] = {}

    def region(self, path: str, start: int, end: int) -> dict[str, int]:
        if path not in self._known:
            text = self._report.source(path)
            self._known[path] = None if text is None else LineIndex(text)
        index = self._known[path]
        offsets = {"charOffset": start, "charLength": end - start}
        if index is None:
            return offsets
        (line, column), (end_line, end_column) = index.position(start), index.position(end)
        return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column, **offsets}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(diagnostic: Diagnostic, places: Mapping[str, int], texts: _Texts) -> dict[str, Any]:
    region = diagnostic.region
    words = ". ".join(part for part in (diagnostic.message, diagnostic.hint) if part)
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": places[diagnostic.code],
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": words},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(diagnostic.path),
                    "region": {
                        "startLine": region.line,
                        "startColumn": region.column,
                        "endLine": region.end_line,
                        "endColumn": region.end_column,
                        "charOffset": diagnostic.start,
                        "charLength": diagnostic.end - diagnostic.start,
                    },
                }
            }
        ],
        "partialFingerprints": {"catmemEntry/v1": diagnostic.fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": other.message},
                "physicalLocation": {
                    "artifactLocation": _artifact(other.path or diagnostic.path),
                    "region": {"startLine": other.line, "startColumn": other.column},
                },
            }
            for number, other in enumerate(diagnostic.related, 1)
        ]
    if diagnostic.fix is not None and diagnostic.fix.edits:
        result["fixes"] = [_fix(diagnostic.path, diagnostic.fix, texts)]
    # Every result says so once one does; an empty list is a result that counts.
    result["suppressions"] = [{"kind": _KINDS[diagnostic.suppressed]}] if diagnostic.suppressed else []
    return result


def _fix(path: str, fix: Fix, texts: _Texts) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": texts.region(path, edit.start, edit.end), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.message},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _artifact(path: str) -> dict[str, str]:
    uri = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in path.encode(errors="replace"))
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": _BASE}
