"""What lint finds in the whole root."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.linting.diagnostic import SEVERITIES
from catmem.linting.linted import LintedFile
from catmem.linting.root_lint import Linter
from catmem.plugins.page.formats import paged, reference, with_query
from catmem.plugins.page.page_view import Page
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.linting.diagnostic import Diagnostic
    from catmem.model.document import Entry
    from catmem.plugins.page.page_view import PageRequest

_SIZE = 100

SEVERITY = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


REVIEWED = frozenset({"CM307", "CM308"})
"""The rules whose findings a review asks about."""


class About(NamedTuple):
    """A finding, with the entity and the entry that it is in, if it is in one, and the files whose copies have it too.

    ``address`` is the page where a person can do what it asks for, if there is one.
    """

    finding: Diagnostic
    entity: str | None
    entry: str | None
    address: str | None
    copies: tuple[str, ...] = ()


class FileFindings(NamedTuple):
    """A file with what was found in it, and the page that shows it, if there is one; ``None`` for settings of the root.

    ``is_memory``: it is a memory file of a profile, whose page has a place for each entry.
    """

    path: str
    address: str | None
    is_memory: bool
    findings: list[About]


def lint(asked: PageRequest) -> Page:
    """Findings by file, those of copies with what they follow; the query may name a ``severity`` and a ``rule``."""
    linter = Linter.open(asked.workspace.root, search=False)
    try:
        found = linter.run()
        counted = found.diagnostics
        severity = asked.choice("severity", SEVERITIES)
        rule = asked.if_there("rule", [each.code for each in counted])
        chosen = [each for each in counted if severity in {None, each.severity} and rule in {None, each.code}]
        listed = list(_located(linter, chosen))
    finally:
        linter.close()
    some = paged(listed, asked.page, _SIZE)
    files: list[FileFindings] = []
    profiles = [each.name for each in load_each(asked.workspace)[0]]
    for each in some.rows:
        path = each.finding.path
        if not files or files[-1].path != path:
            of_profile = (f"/page/profiles/{name}" for name in profiles if path == f"profiles/{name}.yaml")
            address = next(of_profile, None) if each.entity is None else f"/page/files/{each.entity}"
            files.append(FileFindings(path, address, each.entity is not None, []))
        files[-1].findings.append(each)
    names = {each.code: each.name for each in counted}
    rules = Counter(each.code for each in counted)
    return Page(
        "lint.html",
        {
            "found": found,
            "problems": found.errors,
            "severity_counts": Counter(each.severity for each in counted),
            "rule_counts": rules,
            "severities": SEVERITY,
            "severity": severity,
            "rule": rule,
            "rules": {code: f"{code} {names[code]}" for code, _ in rules.most_common()},
            "paged": some,
            "files": files,
            "total": len(counted),
            "in_copies": len(chosen) - len(listed),
        },
    )


def _located(linter: Linter, findings: Sequence[Diagnostic]) -> Iterator[About]:
    entity: str | None = None
    entries: Sequence[Entry] = ()
    path: str | None = None
    for each, copies in linter.once(findings):
        if each.path != path:
            path, entity, file = each.path, linter.entity(each.path), linter.file(each.path)
            entries = file.document.entries if entity is not None and isinstance(file, LintedFile) else ()
        entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
        address = "/page/branches" if each.code == "CM903" else None
        if each.code in REVIEWED and entity is not None and entry is not None:
            queue = with_query("/page/queue", profile=entity.partition("/")[0], entry=entry)
            address = f"{queue}#{reference(entry)}"
        followers = sorted({linter.entity(copy.path) or copy.path for copy in copies})
        yield About(each, entity, entry, address, tuple(followers))
