"""Lint of one document, as a function of values: ``catmem.lint``."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from catmem.policy.config import NO_ROOT
from catmem.policy.lint.engine import finished, lint_file, lint_root
from catmem.policy.lint.linted import Context, LintedFile, LintedRoot, LintedYaml
from catmem.policy.lint.rule import all_rules
from catmem.policy.lint.settings import read_settings

if TYPE_CHECKING:
    from catmem.model.document import Document
    from catmem.policy.config import Config
    from catmem.policy.lint.diagnostic import Diagnostic


def lint(document: Document, *, config: Config | None = None, as_of: date | None = None) -> list[Diagnostic]:
    """What the rules find in a document by itself, in order of the places; its ``path`` is empty.

    ``config`` is that of a root: its categories, tags, and ``lint`` settings count. Without ``as_of`` the rules that
    look at the day (stale, expired, a date in the future) are left out. What needs other files, profiles or a store is
    left out too: ``catmem lint`` looks at those. What an inline mark suppresses is in the list and says so
    (``suppressed``). Raises ``ConfigError`` for ``lint`` settings that are not right.
    """
    config = config or NO_ROOT
    settings = read_settings(config.lint, path=config.path)
    if as_of is None:
        settings = settings.narrowed(ignore=[code for code, rule in all_rules().items() if rule.dated])
    context = Context(config, as_of or date.min, rule_options=settings.options)
    file = LintedFile("", document.to_bytes(), document=document)
    result = lint_file(file, context, settings)
    across = lint_root(LintedRoot({"": file}), context, settings, lambda path: LintedYaml(path) if path else file)
    return finished({"": result}, [each for each in across if not each.path], settings)
