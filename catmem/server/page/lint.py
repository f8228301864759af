"""What lint finds in the whole root."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from catmem.errors import CatmemError
from catmem.policy.lint.diagnostic import SEVERITIES
from catmem.server.page.formats import paged, reference, with_query
from catmem.server.page.reading import Page
from catmem.service.linting import Linter
from catmem.service.profiles import load_each
from catmem.service.seeding.lockfile import seeded_copies

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from catmem.model.document import Entry
    from catmem.policy.lint.diagnostic import Diagnostic
    from catmem.server.page.reading import Asked
    from catmem.service.workspace import Workspace

    Copies: TypeAlias = Mapping[tuple[str, str], frozenset[str]]

_SIZE = 100

SEVERITY = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


REVIEWED = frozenset({"CM307", "CM308"})
"""The rules whose findings a review asks about."""


class About(NamedTuple):
    """A finding, the id of the entry that it is in, if it is in one, and the files whose copies of that have it too.

    ``address`` is the page where somebody can do what it asks for, if there is one.
    """

    finding: Diagnostic
    entry: str | None = None
    copies: tuple[str, ...] = ()
    address: str | None = None


class LintedFile(NamedTuple):
    """A file with what was found in it, and the page that shows it, if there is one; ``None`` for settings of the root.

    ``is_memory``: it is a memory file of a profile, whose page has a place for each entry.
    """

    path: str
    address: str | None
    is_memory: bool
    findings: list[About]


def lint(asked: Asked) -> Page:
    """Findings by file, those of copies with what they follow; the query may name a ``severity`` and a ``rule``."""
    linter = Linter.open(asked.workspace.root, search=False)
    try:
        found = linter.run()
        counted = [each for each in found.diagnostics if not each.suppressed]
        severity = asked.choice("severity", SEVERITIES)
        rule = asked.if_there("rule", [each.code for each in counted])
        chosen = [each for each in counted if severity in {None, each.severity} and rule in {None, each.code}]
        problems = list(found.errors)
        told = _with_copies(_located(linter, chosen), _copies(asked.workspace, problems))
        entities = {path: _entity(linter, path) for path in {each.finding.path for each in told}}
    finally:
        linter.close()
    some = paged(told, asked.number("page"), _SIZE)
    files: list[LintedFile] = []
    profiles = [each.name for each in load_each(asked.workspace)[0]]
    for each in some.rows:
        path = each.finding.path
        if not files or files[-1].path != path:
            entity = entities[path]
            address = _of_profile(path, profiles) if entity is None else f"/page/files/{entity}"
            files.append(LintedFile(path, address, entity is not None, []))
        files[-1].findings.append(each)
    names = {each.code: each.name for each in counted}
    rules = Counter(each.code for each in counted)
    return Page(
        "lint.html",
        {
            "found": found,
            "problems": problems,
            "counts": Counter(each.severity for each in counted),
            "severities": SEVERITY,
            "severity": severity,
            "rule": rule,
            "rules": [(code, names[code], count) for code, count in rules.most_common()],
            "paged": some,
            "files": files,
            "suppressed": len(found.diagnostics) - len(counted),
            "total": len(counted),
            "in_copies": len(chosen) - len(told),
        },
    )


def _located(linter: Linter, findings: Sequence[Diagnostic]) -> Iterator[tuple[About, str | None]]:
    entity: str | None = None
    entries: Sequence[Entry] = ()
    path: str | None = None
    for each in findings:
        if each.path != path:
            path = each.path
            entity = _entity(linter, path)
            entries = () if entity is None else _entries(linter, path)
        entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
        yield About(each, entry, address=_answered_at(each, entity, entry)), entity


def _answered_at(finding: Diagnostic, entity: str | None, entry: str | None) -> str | None:
    if finding.code == "CM903":
        return "/page/branches"
    if finding.code in REVIEWED and entity is not None and entry is not None:
        address = with_query("/page/queue", profile=entity.partition("/")[0], entry=entry)
        return f"{address}#{reference(entry)}"
    return None


def _copies(workspace: Workspace, problems: list[CatmemError]) -> Copies:
    """Which entries are copies, and of what. A record of seeds that cannot be read hides no finding."""
    try:
        return seeded_copies(workspace)
    except CatmemError as error:
        problems.append(error)
        return {}


def _with_copies(located: Iterable[tuple[About, str | None]], copies: Copies) -> list[About]:
    """The findings, without those of copies of which the same is found where they come from: that names them."""
    findings = [(each, _Same(entity, each.entry, each.finding.code, each.finding.message)) for each, entity in located]
    known = {key for _, key in findings}
    followed: dict[_Same, set[str]] = {}
    told: list[tuple[About, _Same]] = []
    for each, key in findings:
        source = _first_of(key, known, copies)
        if source == key:
            told.append((each, key))
        else:
            followed.setdefault(source, set()).add(str(key.entity))
    return [each._replace(copies=tuple(sorted(followed.get(key, ())))) for each, key in told]


class _Same(NamedTuple):
    """What a finding and that of a copy have in common but for the entity."""

    entity: str | None
    entry: str | None
    code: str
    message: str


def _first_of(key: _Same, known: Collection[_Same], copies: Copies) -> _Same:
    """The finding at the source of the sources; the same one for what is no copy, or follows itself."""
    seen = [key]
    while True:
        sources = sorted(copies.get((seen[-1].entity or "", seen[-1].entry or ""), ()))
        above = next((each for source in sources if (each := seen[-1]._replace(entity=source)) in known), None)
        if above is None:
            return seen[-1]
        if above in seen:
            return key
        seen.append(above)


def _entries(linter: Linter, path: str) -> Sequence[Entry]:
    return linter.linted(linter.source(path)).document.entries


def _of_profile(path: str, profiles: Iterable[str]) -> str | None:
    """The page of the profile that a file of settings is, if it can be read."""
    return next((f"/page/profiles/{name}" for name in profiles if path == f"profiles/{name}.yaml"), None)


def _entity(linter: Linter, path: str) -> str | None:
    try:
        source = linter.source(path)
    except KeyError:
        return None  # what a store keeps, or a file of settings
    return f"{source.owner}/{source.target}" if source.owner and source.target else None
