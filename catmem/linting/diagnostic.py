"""What lint says: a ``Finding`` is what a rule yields, a ``Diagnostic`` a finding with its rule and its place.

Offsets are in code points of the text of the file (a BOM is its first character); lines and columns count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from catmem.errors import CatmemError
from catmem.model.edit import TextEdit
from catmem.text import LineIndex

Severity = Literal["error", "warning", "hint"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""From the worst to the mildest."""


def rank(severity: Severity) -> int:
    """How mild a severity is: 0 for an error."""
    return SEVERITIES.index(severity)


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of the file of the finding, in file order and without overlap, that take the finding away.

    A *safe* fix changes no words and loses nothing; an unsafe one is a good guess that a person looks at.
    """

    edits: tuple[TextEdit, ...]
    safe: bool
    message: str
    __json__ = "message safe edits"


class Region(NamedTuple):
    """Where a span begins and ends, in lines and columns from 1; the end is behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def from_span(cls, index: LineIndex, start: int, end: int) -> Region:
        """The region of a span."""
        return cls(*index.position(start), *index.position(end))


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding speaks of, such as the first of two duplicates. ``path`` is from the root.

    A rule gives path and span; the engine fills in line and column.
    """

    path: str
    start: int
    end: int
    message: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields: a span of the file that the rule looks at, and what is wrong there.

    ``message`` is one sentence without a final full stop; ``hint`` says what to do. ``path`` (from the root) names the
    file where a rule looks at several; otherwise it stays empty.
    """

    start: int
    end: int
    message: str
    hint: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with its rule, its severity and its place; ``path`` is from the root, with ``/``.

    ``fingerprint`` names what the finding is about (an entry's id, else a digest of the words), so that a code scanner
    knows it again after lines have moved.
    """

    path: str
    start: int
    end: int
    region: Region
    code: str
    name: str
    severity: Severity
    message: str
    hint: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    fingerprint: str = ""
    __json__ = "path *region start end code name severity message hint fix related fingerprint"

    @property
    def line(self) -> int:
        """The line, from 1, where it begins."""
        return self.region.line

    @property
    def column(self) -> int:
        """The column, in code points from 1, where it begins."""
        return self.region.column

    @property
    def sort_key(self) -> tuple[str, int, str, int, str]:
        """The order of all output: by path, place and code."""
        return self.path, self.start, self.code, self.end, self.message

    def with_copies(self, copies: Iterable[Diagnostic]) -> Diagnostic:
        """The same, with the places of its copies."""
        same = (Related(one.path, one.start, one.end, "the same in a copy", one.line, one.column) for one in copies)
        return replace(self, related=(*self.related, *same))

    def __str__(self) -> str:
        """``path:line:column: CODE message``."""
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class LintResult:
    """What a run found, in order. ``source`` gives the text of a path that is in a diagnostic, ``None`` without one.

    ``errors`` are what was wrong in the configuration. Findings milder than ``min_severity`` are counted and not shown,
    and do not make a run fail.
    """

    diagnostics: Sequence[Diagnostic]
    files: int
    source: Callable[[str], str | None]
    errors: tuple[CatmemError, ...] = ()
    min_severity: Severity = "hint"

    @property
    def exit_status(self) -> int:
        """2 where the configuration is not right, 1 with an error or warning that is shown, else 0."""
        return 2 if self.errors else int(any(each.severity != "hint" for each in self.shown))

    @property
    def shown(self) -> list[Diagnostic]:
        """All that are severe enough to be shown, in order."""
        return [each for each in self.diagnostics if rank(each.severity) <= rank(self.min_severity)]

    def severities(self) -> dict[Severity, int]:
        """How many there are, by severity, from the worst to the mildest."""
        found = Counter(diagnostic.severity for diagnostic in self.diagnostics)
        return {severity: found[severity] for severity in SEVERITIES}

    def statistics(self) -> dict[str, int]:
        """How many there are, by code, the most frequent first."""
        found = Counter(diagnostic.code for diagnostic in self.diagnostics)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
