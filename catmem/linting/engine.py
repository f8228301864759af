"""Running the rules: on one file, across files, on what a store said, or all of them on one document (``lint``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from operator import attrgetter
from typing import TYPE_CHECKING

from catmem.config.config import NO_ROOT
from catmem.digest import content_digest
from catmem.linting.diagnostic import Diagnostic
from catmem.linting.linted import Context, LintedFile, LintedYaml
from catmem.linting.rule import all_rules
from catmem.linting.settings import read_settings
from catmem.linting.spans import entry_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catmem.config.config import Config
    from catmem.linting.diagnostic import Finding
    from catmem.linting.linted import StoreFault
    from catmem.linting.rule import Rule
    from catmem.linting.settings import LintSettings
    from catmem.model.document import Document

_DIGESTED = 4096


def lint(document: Document, *, config: Config | None = None, as_of: date | None = None) -> list[Diagnostic]:
    """What the rules find in a document by itself, in order of the places; its ``path`` is empty.

    ``config`` is that of a root: its categories, tags, and ``lint`` settings count. Without ``as_of`` the rules that
    look at the day (stale, expired, a date in the future) are left out. What needs other files, profiles or a store is
    left out too: ``catmem lint`` looks at those. Raises ``ConfigError`` for ``lint`` settings that are not right.
    """
    config = config or NO_ROOT
    settings = read_settings(config.lint, path=config.path)
    if as_of is None:
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
    begins: Callable[[str], None] = lambda _: None,
) -> list[Diagnostic]:
    """Run the rules that look across files; ``source`` gives a file that one of them found something in.

    ``begins`` is called with the code and name of each before it runs.
    """
    found: list[Diagnostic] = []
    for rule in all_rules().values():
        if rule.scope == "root":
            begins(f"{rule.code} {rule.name}")
            found += [
                _diagnostic(source(finding.path), rule, finding, settings, source)
                for finding in rule.check(files, context)
                if rule in settings.rules(finding.path)
            ]
    return found


def lint_store(faults: Sequence[StoreFault], context: Context, settings: LintSettings) -> list[Diagnostic]:
    """Run the rules of scope ``store`` on what was found in a store. Such findings have a file and no place in it."""
    return [
        _diagnostic(LintedYaml(finding.path), rule, finding, settings)
        for rule in all_rules().values()
        if rule.scope == "store"
        for finding in rule.check(faults, context)
        if rule in settings.rules(finding.path)
    ]


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
