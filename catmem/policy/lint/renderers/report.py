"""What every renderer gets, and the choice of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from catmem.policy.lint.diagnostic import SEVERITIES
from catmem.policy.lint.masking import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.policy.lint.diagnostic import Diagnostic

Format = Literal["text", "json", "github", "sarif"]
FORMATS: tuple[Format, ...] = ("text", "json", "github", "sarif")


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found, in order. ``source`` gives the text of a path that is in a diagnostic, ``None`` without one."""

    diagnostics: Sequence[Diagnostic]
    files: int
    source: Callable[[str], str | None]
    version: str = ""
    """Of catmem, for formats that name their tool."""

    @property
    def counting(self) -> list[Diagnostic]:
        """The diagnostics that no mark and no baseline suppresses."""
        return [diagnostic for diagnostic in self.diagnostics if not diagnostic.suppressed]

    def severities(self) -> dict[str, int]:
        """How many count, by severity, from the worst to the mildest."""
        found = Counter(diagnostic.severity for diagnostic in self.counting)
        return {severity: found[severity] for severity in SEVERITIES}

    def statistics(self) -> dict[str, int]:
        """How many count, by code, the most frequent first."""
        found = Counter(diagnostic.code for diagnostic in self.counting)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def render(report: Report, form: Format, *, statistics: bool = False) -> str:
    """The report in one of ``FORMATS``, ending in a newline unless it is empty. ``statistics`` are for ``text``.

    No secret of a file is in it.
    """
    diagnostics, source = without_secrets(report.diagnostics, report.source)
    report = replace(report, diagnostics=diagnostics, source=source)
    rendered: str = import_module(f"catmem.policy.lint.renderers.{form}").render(report)
    if statistics and form == "text":
        rendered += "".join(f"{count:>6}  {code}\n" for code, count in report.statistics().items())
    return rendered
