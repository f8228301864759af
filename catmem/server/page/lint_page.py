"""What lint finds in the whole root."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from catmem.errors import CatmemError
from catmem.linting.diagnostic import SEVERITIES
from catmem.linting.root_lint import Linter
from catmem.seeding.lockfile import seeded_copies
from catmem.server.page.formats import paged, reference, with_query
from catmem.server.page.page_view import Page
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from catmem.linting.diagnostic import Diagnostic
    from catmem.model.document import Entry
    from catmem.server.page.page_view import PageRequest

    Copies: TypeAlias = Mapping[tuple[str, str], frozenset[str]]
    Same: TypeAlias = tuple[str | None, str | None, str, str]

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

    def same(self, entity: str | None) -> Same:
        """What it has in common with the same finding of a copy, or of what it is a copy of."""
        return entity, self.entry, self.finding.code, self.finding.message


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
        problems = list(found.errors)
        copies: Copies = {}
        try:
            copies = seeded_copies(asked.workspace)
        except CatmemError as error:
            problems.append(error)  # a record of seeds that cannot be read hides no finding
        listed = _with_copies(list(_located(linter, chosen)), copies)
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
            "problems": problems,
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
    for each in findings:
        if each.path != path:
            path, entity = each.path, _entity(linter, each.path)
            entries = () if entity is None else _entries(linter, path)
        entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
        address = "/page/branches" if each.code == "CM903" else None
        if each.code in REVIEWED and entity is not None and entry is not None:
            queue = with_query("/page/queue", profile=entity.partition("/")[0], entry=entry)
            address = f"{queue}#{reference(entry)}"
        yield About(each, entity, entry, address)


def _with_copies(located: Sequence[About], copies: Copies) -> list[About]:
    """The findings, without those of copies of which the same is found where they come from: that names them."""
    known = {each.same(each.entity) for each in located}
    sources = [_first_of(each, known, copies) for each in located]
    followed: dict[Same, set[str]] = {}
    for each, source in zip(located, sources, strict=True):
        if source != each.entity:
            followed.setdefault(each.same(source), set()).add(str(each.entity))
    return [
        each._replace(copies=tuple(sorted(followed.get(each.same(each.entity), ()))))
        for each, source in zip(located, sources, strict=True)
        if source == each.entity
    ]


def _first_of(finding: About, known: Collection[Same], copies: Copies) -> str | None:
    """The entity at the source of the sources that has the finding too; its own where it is no copy, or in a circle."""
    seen = [finding.entity]
    while True:
        sources = sorted(copies.get((seen[-1] or "", finding.entry or ""), ()))
        above = next((source for source in sources if finding.same(source) in known), None)
        if above is None:
            return seen[-1]
        if above in seen:
            return finding.entity
        seen.append(above)


def _entries(linter: Linter, path: str) -> Sequence[Entry]:
    return linter.linted(linter.source(path)).document.entries


def _entity(linter: Linter, path: str) -> str | None:
    try:
        source = linter.source(path)
    except KeyError:
        return None  # what a store keeps, or a file of settings
    return f"{source.owner}/{source.target}" if source.owner and source.target else None
