"""What lint finds in the whole root."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.lint.diagnostic import SEVERITIES
from catmem.server.page.reading import Page
from catmem.server.page.shown import paged
from catmem.service.linting.lint import Linter

if TYPE_CHECKING:
    from catmem.policy.lint.diagnostic import Diagnostic
    from catmem.server.page.reading import Asked

_SIZE = 100

SEVERITY = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


class LintedFile(NamedTuple):
    """A file with what was found in it; ``entity`` is what it is to the page, if it is a memory file of a profile."""

    path: str
    entity: str | None
    diagnostics: list[Diagnostic]


def lint(asked: Asked) -> Page:
    """Findings by file; the query may name a ``severity`` and a ``rule``."""
    # What stands in the folder of the root counts, and nothing is kept for the next run: looking writes nothing.
    linter = Linter.open(asked.workspace.root, search=False, keep=False)
    try:
        found = linter.run()
        counted = [each for each in found.diagnostics if not each.suppressed]
        severity = asked.choice("severity", SEVERITIES)
        rule = asked.choice("rule", [each.code for each in counted])
        chosen = [each for each in counted if severity in {None, each.severity} and rule in {None, each.code}]
        some = paged(chosen, asked.number("page"), _SIZE)
        files: list[LintedFile] = []
        for each in some.rows:
            if not files or files[-1].path != each.path:
                files.append(LintedFile(each.path, _entity(linter, each.path), []))
            files[-1].diagnostics.append(each)
    finally:
        linter.close()
    names = {each.code: each.name for each in counted}
    rules = Counter(each.code for each in counted)
    return Page(
        "lint.html",
        {
            "found": found,
            "counts": Counter(each.severity for each in counted),
            "severities": SEVERITY,
            "severity": severity,
            "rule": rule,
            "rules": [(code, names[code], count) for code, count in rules.most_common()],
            "paged": some,
            "files": files,
            "suppressed": len(found.diagnostics) - len(counted),
            "total": len(counted),
        },
    )


def _entity(linter: Linter, path: str) -> str | None:
    try:
        source = linter.source(path)
    except KeyError:
        return None  # what a store keeps, or a file of settings
    return f"{source.owner}/{source.target}" if source.owner and source.target else None
