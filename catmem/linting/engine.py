"""Running the rules on one document and across files (``lint``), and applying fixes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from catmem.clock import checked_day
from catmem.config.config import NO_ROOT, Config
from catmem.digest import content_digest
from catmem.errors import wrong_type
from catmem.linting.linted import Context, LintedFile, LintedYaml, entry_at
from catmem.linting.rule import Diagnostic, Finding, LintSettings, Rule, all_rules, read_settings
from catmem.model.document import Document, Entry
from catmem.model.edit import TextEdit, apply_edits

_DIGESTED = 4096


def lint(document: Document, *, config: Config | None = None, as_of: date | None = None) -> list[Diagnostic]:
    """What the rules find in a document by itself, in order of the places; its ``path`` is empty.

    ``config`` is that of a root: its categories, tags, and ``lint`` settings count. Without ``as_of`` the rules that
    look at the day (stale, expired, a date in the future) are left out. What needs other files or profiles is left
    out too: ``catmem lint`` looks at those. Raises ``ConfigError`` for ``lint`` settings that are not right, and
    ``EditError`` (``wrong_type``) for a text that was not parsed.
    """
    if not isinstance(document, Document):
        raise wrong_type("the document", document, "a Document (parse makes one)")
    config = config or NO_ROOT
    settings = read_settings(config.lint, path=config.path)
    if as_of is not None:
        checked_day(as_of)
    else:
        settings = settings.narrowed(ignore=[code for code, rule in all_rules().items() if rule.dated])
    context = Context(config, as_of or date.min, rule_options=settings.options)
    file = LintedFile("", document.to_bytes(), document=document)
    across = lint_root({"": file}, context, settings, lambda path: LintedYaml(path) if path else file)
    found = (*lint_file(file, context, settings), *(each for each in across if not each.path))
    return sorted(found, key=attrgetter("sort_key"))


def lint_file(file: LintedFile | LintedYaml, context: Context, settings: LintSettings) -> list[Diagnostic]:
    """Run the rules of one file: a memory file (scope ``file``), a profile, the configuration or a schema."""
    scope = "file" if isinstance(file, LintedFile) else "profile" if file.kind == "profile" else "config"
    return [
        _diagnostic(file, rule, finding, settings)
        for rule in settings.rules(file.path)
        if rule.scope == scope
        for finding in rule.check(file, context)
    ]


def lint_root(
    files: Mapping[str, LintedFile],
    context: Context,
    settings: LintSettings,
    source: Callable[[str], LintedFile | LintedYaml],
) -> list[Diagnostic]:
    """Run the rules that look across files; ``source`` gives a file that one of them found something in."""
    found: list[Diagnostic] = []
    for rule in all_rules().values():
        if rule.scope == "root":
            found += [
                _diagnostic(source(finding.path), rule, finding, settings, source)
                for finding in rule.check(files, context)
                if rule in settings.rules(finding.path)
            ]
    return found


def _diagnostic(
    file: LintedFile | LintedYaml,
    rule: Rule,
    finding: Finding,
    settings: LintSettings,
    source: Callable[[str], LintedFile | LintedYaml] | None = None,
) -> Diagnostic:
    related = []
    for other in finding.related:
        there = source(other.path) if source and other.path not in {"", file.path} else file
        region = there.region(other.start, other.end)
        related.append(replace(other, line=region.line, column=region.column))
    region, severity = file.region(finding.start, finding.end), settings.severity_of(rule)
    return Diagnostic(
        *(file.path, finding.start, finding.end, region, rule.code, rule.name, severity, finding.message),
        hint=finding.hint,
        fix=finding.fix,
        related=tuple(related),
        fingerprint=_fingerprint(file, finding),
    )


def _fingerprint(file: LintedFile | LintedYaml, finding: Finding) -> str:
    """The id of the entry that the finding is about, else a digest of the words that it spans, else of its message."""
    if isinstance(file, LintedFile):
        entry = entry_at(file.entries, finding.start)
        if entry is not None and entry.start <= finding.start:
            return entry.id
    words = file.text[finding.start : min(finding.end, finding.start + _DIGESTED)]
    return content_digest([words or finding.message])


# --- applying fixes: those that do not get in each other's way, round after round, until nothing changes -------------


_ROUNDS = 10
"""Some fixes lead to others; after so many rounds the findings that are left stay for a person."""


class Fixed(NamedTuple):
    """What fixing came to: the new text of each file that changes, by its path, and the findings that are fixed."""

    texts: Mapping[str, str]
    applied: Sequence[Diagnostic]


def fix_all(
    texts: Callable[[str], str],
    lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]],
    parse: Callable[[str], Document],
    *,
    unsafe: bool = False,
) -> Fixed:
    """Fix until nothing changes.

    ``lint`` gives the diagnostics of memory files when those of the mapping have the texts in it; ``texts`` the text of
    a file as it is.
    """
    now: dict[str, str] = {}
    done: list[Diagnostic] = []
    for _ in range(_ROUNDS):
        before = now.copy()
        found = [each for each in lint(before) if each.fix and each.fix.edits and (each.fix.safe or unsafe)]
        for path, fixable in groupby(sorted(found, key=attrgetter("sort_key")), key=attrgetter("path")):
            old = now[path] if path in now else texts(path)
            new, fixed = fix_once(old, fixable, parse)
            if new != old:
                now[path] = new
                done += fixed
        if now == before:
            break
    return Fixed(dict(sorted(now.items())), done)


def fix_once(
    text: str, diagnostics: Iterable[Diagnostic], parse: Callable[[str], Document]
) -> tuple[str, list[Diagnostic]]:
    """One round on one file: the text after as many of the fixes as go together, and the findings they belong to."""
    before = parse(text)

    def together(some: Iterable[Diagnostic], *, checked: bool) -> tuple[list[Diagnostic], list[TextEdit]]:
        chosen: list[Diagnostic] = []
        edits: list[TextEdit] = []
        for diagnostic in some:
            more = diagnostic.fix.edits if diagnostic.fix is not None else ()
            fits = _fits(more, edits, len(text))
            if fits and (not checked or _others_stay(before, sorted([*edits, *more]), parse)):
                chosen.append(diagnostic)
                for edit in more:
                    insort(edits, edit)
        return chosen, edits

    chosen, edits = together(diagnostics, checked=False)
    if edits and not _others_stay(before, edits, parse):
        # One of them reaches further than it should: each is tried by itself on top of those that were fine.
        chosen, edits = together(chosen, checked=True)
    return (apply_edits(text, edits), chosen) if edits else (text, [])


def _fits(edits: Sequence[TextEdit], taken: Sequence[TextEdit], length: int) -> bool:
    """Whether edits lie in the text, in order, and clear of those that are taken: not even touching them."""
    inside = all(0 <= edit.start <= edit.end <= length for edit in edits)
    in_order = all(one.end <= other.start for one, other in pairwise(edits))
    return inside and in_order and not any(_touches(taken, edit.start, edit.end) for edit in edits)


def _others_stay(before: Document, edits: Sequence[TextEdit], parse: Callable[[str], Document]) -> bool:
    """Whether every entry that no edit touches is still there, byte for byte, in a category that was not edited."""
    renames = any(_touches(edits, header.start, header.end) for header in before.scan.headers)
    renames = renames or any("##" in edit.text for edit in edits)

    def counted(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
        return Counter(("" if renames else entry.category, entry.raw) for entry in entries)

    untouched = (entry for entry in before.entries if not _touches(edits, entry.start, entry.end))
    return not counted(untouched) - counted(parse(apply_edits(before.text, edits)).entries)


def _touches(edits: Sequence[TextEdit], start: int, end: int) -> bool:
    """Whether an edit, of some in file order that do not overlap, overlaps a span or stands at one of its ends."""
    index = bisect_left(edits, start, key=lambda edit: edit.end)
    return index < len(edits) and edits[index].start <= end
