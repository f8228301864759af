"""Rules that only tests have, and short ways to lint a text with them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from operator import attrgetter
from pathlib import Path

from catmem.config.config import Config
from catmem.linting import rule as registry
from catmem.linting.linted import Context, LintedFile, lint_file
from catmem.linting.rule import Diagnostic, Finding, Fix, LintSettings
from catmem.model.edit import TextEdit

CONTEXT = Context(Config(Path()), date(2026, 11, 21))


@contextmanager
def registered(*rules: Callable[[], object]) -> Iterator[None]:
    """Only these rules and those of the package, while the block runs; each of ``rules`` registers some."""
    registry.all_rules()  # those of the package first
    before = dict(registry._REGISTERED)
    try:
        for register in rules:
            register()
        registry.all_rules.cache_clear()
        yield
    finally:
        registry._REGISTERED.clear()
        registry._REGISTERED.update(before)
        registry.all_rules.cache_clear()


def word_rule(
    code: str, word: str, becomes: str | None = None, *, safe: bool = True, name: str = "", **choices
) -> Callable[[], object]:
    """A rule that finds a word, and perhaps puts another in its place."""

    def check(file: LintedFile, context: Context) -> Iterator[Finding]:
        """Find a word."""
        del context
        for found in re.finditer(rf"\b{word}\b", file.text):
            fix = None
            if becomes is not None:
                fix = Fix((TextEdit(*found.span(), becomes),), safe, f"Write {becomes!r}")
            yield Finding(*found.span(), f"{word} stands here", f"Not {word}", fix)

    return lambda: registry.rule(code, name or f"no-{word}", **choices)(check)


def lint(text: str | bytes, settings: LintSettings | None = None, path: str = "USER.md") -> list[Diagnostic]:
    """The diagnostics of one text, as it would stand at ``path``."""
    data = text if isinstance(text, bytes) else text.encode()
    settings = settings or LintSettings()
    file = LintedFile.from_bytes(path, data, CONTEXT.config)
    return sorted(lint_file(file, CONTEXT, settings), key=attrgetter("sort_key"))


def only(*codes: str) -> LintSettings:
    """Settings with just these rules."""
    return LintSettings(select=codes)
