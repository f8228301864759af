"""What lint finds in the whole root."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.lint.diagnostic import SEVERITIES
from catmem.server.page.reading import Page
from catmem.server.page.shown import paged
from catmem.service.linting.lint import Linter
from catmem.service.profiles import load_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catmem.model.document import Entry
    from catmem.policy.lint.diagnostic import Diagnostic
    from catmem.server.page.reading import Asked

_SIZE = 100

SEVERITY = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


class About(NamedTuple):
    """A finding, and the id of the entry that it is in, if it is in one."""

    finding: Diagnostic
    entry: str | None


class LintedFile(NamedTuple):
    """A file with what was found in it, and the page that shows it, if there is one; ``None`` for settings of the root.

    ``is_memory``: it is a memory file of a profile, whose page has a place for each entry.
    """

    path: str
    address: str | None
    is_memory: bool
    findings: list[About]


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
        entries: Sequence[Entry] = ()
        profiles = [each.name for each in load_each(asked.workspace)[0]]
        for each in some.rows:
            if not files or files[-1].path != each.path:
                entity = _entity(linter, each.path)
                address = _of_profile(each.path, profiles) if entity is None else f"/page/files/{entity}"
                files.append(LintedFile(each.path, address, entity is not None, []))
                entries = () if entity is None else _entries(linter, each.path)
            entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
            files[-1].findings.append(About(each, entry))
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


def _entries(linter: Linter, path: str) -> Sequence[Entry]:
    document = linter.linted(linter.source(path)).document
    return () if document is None else document.entries


def _of_profile(path: str, profiles: Iterable[str]) -> str | None:
    """The page of the profile that a file of settings is, if it can be read."""
    return next((f"/page/profiles/{name}" for name in profiles if path == f"profiles/{name}.yaml"), None)


def _entity(linter: Linter, path: str) -> str | None:
    try:
        source = linter.source(path)
    except KeyError:
        return None  # what a store keeps, or a file of settings
    return f"{source.owner}/{source.target}" if source.owner and source.target else None
