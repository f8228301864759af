"""The forms in which findings are shown: for people (text), programs (JSON), GitHub and code scanners (SARIF 2.1.0).

Nothing reaches a terminal raw: what acts on one, or shows as nothing, is written as an escape. No form shows a secret,
since logs of lint have many readers: asterisks stand for what a detector or a private rule found, in messages too, and
a fix that would write one loses its edits in what is printed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from catmem import text as plain
from catmem.jsonable import jsonable
from catmem.linting.rule import Diagnostic, LintResult, all_rules, rank
from catmem.text import printable_json
from catmem.threats import scan_secrets

WIDTH = 100
_BEFORE = 30
_CUT = "…"

Format = Literal["text", "json", "github", "sarif"]


def render(result: LintResult, form: Format, version: str = "") -> str:
    """The result in one ``form``, with no secret of a file in it; ``version`` is that of catmem, for SARIF."""
    result = _without_secrets(result)
    return _sarif(result, version) if form == "sarif" else _RENDERERS[form](result)


# --- text ----------------------------------------------------------------------------------------------------------


def _text(result: LintResult) -> str:
    lines = cache(lambda path: (result.source(path) or "").split("\n"))
    worst_first = sorted(result.shown, key=lambda diagnostic: rank(diagnostic.severity))
    paragraphs = (_paragraph(diagnostic, lines(diagnostic.path)) for diagnostic in worst_first)
    return "".join(f"{line}\n" for paragraph in paragraphs for line in paragraph)


def _paragraph(diagnostic: Diagnostic, lines: Sequence[str]) -> Iterator[str]:
    place = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    message = printable(diagnostic.message)
    yield f"{printable(place)}: {diagnostic.severity} {diagnostic.code} {message} ({diagnostic.name})"
    number, region = diagnostic.line, diagnostic.region
    if number <= len(lines) and any(lines):
        line = lines[number - 1].removesuffix("\r")
        shown, marks = excerpt(
            line, region.column - 1, region.end_column - 1 if region.end_line == number else len(line)
        )
        yield f"{number:>6} | {shown}".rstrip()
        yield f"       | {marks}"
    for other in diagnostic.related:
        yield f"  see {printable(f'{other.path or diagnostic.path}:{other.line}:{other.column}: {other.message}')}"
    if diagnostic.hint:
        yield f"  hint: {printable(diagnostic.hint)}"
    if diagnostic.fix is not None:
        option = "--fix" if diagnostic.fix.safe else "--fix --unsafe-fixes"
        yield f"  fix ({option}): {printable(diagnostic.fix.message)}"


def printable(text: str) -> str:
    """The text on one line, with what a terminal would act on, or not show, written as escapes."""
    return plain.printable(text).replace("\n", "\\n").replace("\t", " ")


def excerpt(line: str, start: int, end: int) -> tuple[str, str]:
    """One line, cut to ``WIDTH`` characters, and marks below it, from ``start`` to ``end`` (offsets in it)."""
    first = max(start - _BEFORE, 0) if len(line) > WIDTH else 0
    last = min(len(line), first + WIDTH)
    end = min(max(end, start + 1), last)
    before, marked, behind = map(printable, (line[first:start], line[start:end], line[end:last]))
    before = (_CUT if first else "") + before
    shown = before + marked + behind + (_CUT if last < len(line) else "")
    return shown, " " * _columns(before) + "^" * max(1, _columns(marked))


def _columns(text: str) -> int:
    """In how many columns a terminal shows a text."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


# --- JSON ----------------------------------------------------------------------------------------------------------


def _json(result: LintResult) -> str:
    value: dict[str, Any] = {
        "version": 1,
        "files": result.files,
        "counts": result.severities(),
        "diagnostics": jsonable(result.shown),
    }
    return printable_json(value, indent=2) + "\n"


# --- GitHub --------------------------------------------------------------------------------------------------------

_GITHUB_LEVELS = {"error": "error", "warning": "warning", "hint": "notice"}


def _command(diagnostic: Diagnostic) -> str:
    region, title = diagnostic.region, f"{diagnostic.code} {diagnostic.name}"
    said = {"file": diagnostic.path, "line": region.line, "endLine": region.end_line, "title": title}
    if region.line == region.end_line:  # GitHub takes columns for one line only
        said |= {"col": region.column, "endColumn": region.end_column}
    escaped = {name: _data(str(value)).replace(":", "%3A").replace(",", "%2C") for name, value in said.items()}
    properties = ",".join(f"{name}={value}" for name, value in escaped.items())
    words = "\n".join(filter(None, (diagnostic.message, diagnostic.hint)))
    return f"::{_GITHUB_LEVELS[diagnostic.severity]} {properties}::{_data(words)}"


def _data(text: str) -> str:
    # The log of a run is read in a terminal, or as one.
    return plain.printable(text).replace("%", "%25").replace("\n", "%0A")


# --- SARIF ---------------------------------------------------------------------------------------------------------

_SARIF_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def _sarif(result: LintResult, version: str) -> str:
    rules = {diagnostic.code: all_rules()[diagnostic.code] for diagnostic in result.shown}
    codes = sorted(rules)

    driver = {
        "name": "catmem",
        "version": version,
        "rules": [
            {
                "id": code,
                "name": rules[code].name,
                "shortDescription": {"text": rules[code].summary},
                "help": {"text": rules[code].page, "markdown": rules[code].page},
                "defaultConfiguration": {"level": _SARIF_LEVELS[rules[code].severity]},
            }
            for code in codes
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, codes.index(each.code)) for each in result.shown],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return printable_json(log, indent=1) + "\n"


def _result(diagnostic: Diagnostic, place: int) -> dict[str, Any]:
    path, start, region = diagnostic.path, diagnostic.start, diagnostic.region
    places = {"startLine": region.line, "startColumn": region.column}
    places |= {"endLine": region.end_line, "endColumn": region.end_column}
    places |= {"charOffset": start, "charLength": diagnostic.end - start}
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": place,
        "level": _SARIF_LEVELS[diagnostic.severity],
        "message": {"text": ". ".join(filter(None, (diagnostic.message, diagnostic.hint)))},
        "locations": [_location(path, places)],
        "partialFingerprints": {"catmemEntry/v1": diagnostic.fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": other.message},
                **_location(other.path or path, {"startLine": other.line, "startColumn": other.column}),
            }
            for number, other in enumerate(diagnostic.related, 1)
        ]
    return result


def _location(path: str, region: dict[str, int]) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": region}}


def _artifact(path: str) -> dict[str, str]:
    uri = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in path.encode(errors="replace"))
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": "%SRCROOT%"}


_RENDERERS: dict[str, Callable[[LintResult], str]] = {
    "text": _text,
    "json": _json,
    "github": lambda result: "".join(f"{_command(each)}\n" for each in result.shown),
}


# --- secrets -------------------------------------------------------------------------------------------------------

_VISIBLE = re.compile(r"[^\r\n]")
_BEGINNING = 8
"""Messages cut long words short, so so many characters of a secret are enough to mask what follows of it."""


def _without_secrets(result: LintResult) -> LintResult:
    """The same diagnostics and the same source, by path, with asterisks in the place of every secret."""
    private = {code for code, rule in all_rules().items() if rule.private}
    spans: dict[str, list[tuple[int, int]]] = {}
    for diagnostic in result.diagnostics:
        found = spans.setdefault(diagnostic.path, [])
        if diagnostic.code in private:
            found.append((diagnostic.start, diagnostic.end))
    texts = {path: result.source(path) for path in spans}
    secrets: list[str] = []
    for path, text in texts.items():
        if text is not None:
            texts[path], said = _covered(text, spans[path])
            secrets += said
    if not secrets:
        return result
    words = _words(secrets)
    return replace(
        result,
        diagnostics=[each if each.code in private else _masked(each, words) for each in result.diagnostics],
        source=lambda path: texts[path] if path in texts else result.source(path),
    )


def mask_secrets(text: str) -> str:
    """The text with asterisks for its secrets."""
    return _covered(text)[0]


def mask_both(old: str, new: str) -> tuple[str, str]:
    """Two texts of one file, such as before and after a fix, with asterisks for the secrets of either."""
    (old, secrets), (new, more) = _covered(old), _covered(new)
    words = _words([*secrets, *more])
    return mask(old, words), mask(new, words)


def mask(text: str, words: Iterable[str]) -> str:
    """The text with asterisks for each of the words, and for what begins like one of them."""
    for word in words:
        text = text.replace(word, "*" * len(word))
        text = re.sub(re.escape(word[:_BEGINNING]) + r"[^\s…]*", lambda found: "*" * len(found[0]), text)
    return text


def _words(secrets: Iterable[str]) -> list[str]:
    lines = {line.strip() for secret in secrets for line in secret.splitlines()}
    return sorted((line for line in lines if line.strip("*")), key=lambda line: (-len(line), line))


def _covered(text: str, spans: Iterable[tuple[int, int]] = ()) -> tuple[str, list[str]]:
    """The text with asterisks in these spans and where the detectors find a secret, and what stood there."""
    parts, done = [], 0
    spans = [*spans, *((found.start, found.end) for found in scan_secrets(text))]
    for start, end in sorted(spans):
        first = max(start, done)
        parts += [text[done:first], _VISIBLE.sub("*", text[first : max(end, first)])]
        done = max(end, first)
    return "".join((*parts, text[done:])), [text[start:end] for start, end in spans]


def _masked(diagnostic: Diagnostic, words: Sequence[str]) -> Diagnostic:
    fix = diagnostic.fix
    if fix is not None:
        shows = any(mask(edit.text, words) != edit.text for edit in fix.edits)
        fix = replace(fix, edits=() if shows else fix.edits, message=mask(fix.message, words))
    related = tuple(replace(other, message=mask(other.message, words)) for other in diagnostic.related)
    return replace(
        diagnostic,
        message=mask(diagnostic.message, words),
        hint=mask(diagnostic.hint, words),
        fix=fix,
        related=related,
    )
