"""What suppresses findings: marks in a memory file (``<!-- catmem: ignore CM203 -->``) and the baseline.

A mark stands on a line of its own. It covers the entry that it stands in; right above a section header it covers the
header, and as an entry of its own the entry after it. It belongs to the text of the entry (``docs/format.md``), so it
stands below a tag block: above one it would make the tags text.

A baseline holds findings that were there before, so that a root can begin with lint at once. It is JSON: a version, and
how many findings there were of each path, code and fingerprint. Lines are not in it, so it holds when text moves;
if you change an entry, you see its findings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import ConfigError
from catmem.linting.diagnostic import Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from catmem.linting.diagnostic import Diagnostic
    from catmem.model.document import Document, Entry

_MARK = re.compile(r"<!--[ \t]{0,8}catmem:[ \t]{0,8}ignore((?:[ \t,]{1,4}[A-Z]{2}[0-9]{3}){1,20})[ \t]{0,8}-->")
_ATTEMPT = re.compile(r"<!--[ \t]{0,8}catmem[ \t]{0,8}:", re.IGNORECASE)
_LINE = re.compile(r"(?:\A|(?<=\n))[ \t]{0,8}<!--[ \t]{0,8}catmem:[^\n>]{0,256}-->[ \t]{0,8}(?=\n|\Z)")
_SIGN = "<!--"
_WORD = re.compile(r"catmem", re.IGNORECASE)


class SuppressionMark(NamedTuple):
    """One mark: its span, the span that it covers, and the codes that it names.

    ``covers`` is empty if nothing is there to cover, ``codes`` for a mark that cannot be read.
    """

    start: int
    end: int
    region: Region
    covers: tuple[int, int]
    codes: tuple[str, ...]


def without_marks(body: str) -> str:
    """A body without its marks: they are not part of what it says."""
    return _LINE.sub("", body).strip() if _SIGN in body else body


def is_only_marks(entry: Entry) -> bool:
    """Whether an entry holds nothing but marks, which speak of the entry after it."""
    return entry.raw.startswith(_SIGN) and all(
        _MARK.fullmatch(line.strip()) for line in entry.raw.split("\n") if line.strip()
    )


def marks(document: Document) -> tuple[SuppressionMark, ...]:
    """Every mark of a document, those that cannot be read too, in file order."""
    text = document.text
    if _SIGN not in text or not _WORD.search(text):
        return ()
    entries = document.entries
    found: list[SuppressionMark] = []
    for index, entry in enumerate(entries):
        if _SIGN in entry.raw:
            after = entries[index + 1] if index + 1 < len(entries) else None
            found += _marks_of(document, entry, after)
    return tuple(found)


def _marks_of(document: Document, entry: Entry, after: Entry | None) -> Iterator[SuppressionMark]:
    alone = is_only_marks(entry)
    for line_start, line in _lines(entry):
        stripped = line.strip()
        if not _ATTEMPT.match(stripped):
            continue
        start = line_start + line.index(stripped[0])
        end = start + len(stripped)
        match = _MARK.fullmatch(stripped)
        codes = tuple(dict.fromkeys(re.findall("[A-Z]{2}[0-9]{3}", match[1]))) if match else ()
        covers = _header_below(document, end)
        if covers is None:
            covered = after if alone else entry
            covers = (covered.start, covered.end) if covered else (end, end)
        yield SuppressionMark(start, end, Region.of(document.line_index, start, end), covers, codes)


def _lines(entry: Entry) -> Iterator[tuple[int, str]]:
    start = entry.start
    for line in entry.raw.split("\n"):
        yield start, line
        start += len(line) + 1


def _header_below(document: Document, end: int) -> tuple[int, int] | None:
    """The span of the section header on the line after a mark."""
    newline = document.text.find("\n", end)
    if newline < 0:
        return None
    headers = (header for header in document.scan.headers if header.start == newline + 1)
    return next(((header.start, header.end) for header in headers), None)


def covering(found: Sequence[SuppressionMark], code: str, start: int) -> SuppressionMark | None:
    """The mark that names the code and covers what begins at ``start``; of several the first."""
    for mark in found:
        if code in mark.codes and mark.covers[0] <= start < max(mark.covers[1], mark.covers[0] + 1):
            return mark
    return None


# --- the baseline ---------------------------------------------------------------------------------------------------

BASELINE_VERSION = 1

_Key = tuple[str, str, str]
_HINT = "Write it again with 'catmem lint --write-baseline'."


def write_baseline(diagnostics: Iterable[Diagnostic]) -> str:
    """The baseline of all findings that a mark does not suppress, as text with a final newline, keys sorted."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for path, code, fingerprint in sorted(_key(each) for each in diagnostics if each.suppressed != "inline"):
        counts = found.setdefault(path, {}).setdefault(code, {})
        counts[fingerprint] = counts.get(fingerprint, 0) + 1
    return json.dumps({"version": BASELINE_VERSION, "findings": found}, indent=1, ensure_ascii=False) + "\n"


def read_baseline(data: bytes, path: str | PathLike[str]) -> Mapping[_Key, int]:
    """How many findings of each key do not count. Raises ``ConfigError`` (code ``bad_baseline``)."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"the baseline is not JSON: {error}"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT) from None
    version = said.get("version") if isinstance(said, dict) else None
    if version != BASELINE_VERSION:
        message = f"the baseline must have the version {BASELINE_VERSION}, and has {json.dumps(version)}"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT)
    try:
        return dict(_counts(said["findings"]))
    except (KeyError, AttributeError, TypeError, ValueError):
        message = "the baseline does not have the right form"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT) from None


def _counts(findings: Any) -> Iterable[tuple[_Key, int]]:  # noqa: ANN401 - any JSON value
    for path, codes in findings.items():
        for code, counts in codes.items():
            for fingerprint, count in counts.items():
                if not isinstance(count, int):
                    raise TypeError
                yield (path, code, fingerprint), count


def without_old(diagnostics: Iterable[Diagnostic], old: Mapping[_Key, int]) -> list[Diagnostic]:
    """The same diagnostics in their order; those of the baseline, no more than it counts of each, as suppressed."""
    left = Counter(old)
    result: list[Diagnostic] = []
    for diagnostic in diagnostics:
        key = _key(diagnostic)
        if not diagnostic.suppressed and left[key] > 0:
            left[key] -= 1
            result.append(replace(diagnostic, suppressed="baseline"))
        else:
            result.append(diagnostic)
    return result


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.path, diagnostic.code, diagnostic.fingerprint
