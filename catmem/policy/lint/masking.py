"""Keeping secrets out of what lint prints: its output stands in logs that many can read.

A secret is what a detector of ``catmem.policy.threats.secrets`` finds in the file, whether its rule is on or not, and
what a private rule found. In the text of the file asterisks stand for it, as many as it has characters, so that every
place stays where it was; the same words in a message are masked too. A fix that would write one keeps its message and
loses its edits, in what is printed alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.policy.lint.rule import all_rules
from catmem.policy.threats.secrets import find_logins, find_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from catmem.policy.lint.diagnostic import Diagnostic

_VISIBLE = re.compile(r"[^\r\n]")
_BEGINNING = 8
"""Messages cut long words short, so so many characters of a secret are enough to mask what follows of it."""


def without_secrets(
    diagnostics: Sequence[Diagnostic], source: Callable[[str], str | None]
) -> tuple[list[Diagnostic], Callable[[str], str | None]]:
    """The same diagnostics and the same source, by path, with asterisks in the place of every secret."""
    known = all_rules()
    spans: dict[str, list[tuple[int, int]]] = {}
    for diagnostic in diagnostics:
        found = spans.setdefault(diagnostic.path, [])
        if known[diagnostic.code].private:
            found.append((diagnostic.start, diagnostic.end))
    texts = {path: source(path) for path in spans}
    secrets: list[str] = []
    for path, text in texts.items():
        if text is not None:
            spans[path] += secret_spans(text)
            secrets += (text[start:end] for start, end in spans[path])
            texts[path] = _covered(text, spans[path])
    if not secrets:
        return list(diagnostics), source
    words = _words(secrets)
    return [
        _masked(diagnostic, words) for diagnostic in diagnostics
    ], lambda path: texts[path] if path in texts else source(path)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where the detectors find a secret in a text."""
    return [(found.start, found.end) for found in (*find_secrets(text), *find_logins(text))]


def mask_both(old: str, new: str) -> tuple[str, str]:
    """Two texts of one file, such as before and after a fix, with asterisks for the secrets of either."""
    spans = secret_spans(old), secret_spans(new)
    secrets = [text[start:end] for text, found in zip((old, new), spans, strict=True) for start, end in found]
    words = _words(secrets)
    return mask(_covered(old, spans[0]), words), mask(_covered(new, spans[1]), words)


def mask(text: str, words: Iterable[str]) -> str:
    """The text with asterisks for each of the words, and for what begins like one of them."""
    for word in words:
        beginning = word[:_BEGINNING]
        start = text.find(beginning)
        while start >= 0:
            end = start + len(beginning)
            while end - start < len(word) and text[end : end + 1] == word[end - start]:
                end += 1
            text = f"{text[:start]}{'*' * (end - start)}{text[end:]}"
            start = text.find(beginning, end)
    return text


def _words(secrets: Iterable[str]) -> list[str]:
    lines = {line.strip() for secret in secrets for line in secret.splitlines()}
    return sorted((line for line in lines if line.strip("*")), key=lambda line: (-len(line), line))


def _covered(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in sorted(spans):
        first = max(start, done)
        parts += [text[done:first], _VISIBLE.sub("*", text[first : max(end, first)])]
        done = max(end, first)
    return "".join((*parts, text[done:]))


def _masked(diagnostic: Diagnostic, words: Sequence[str]) -> Diagnostic:
    fix = diagnostic.fix
    if fix is not None:
        shows = any(mask(edit.text, words) != edit.text for edit in fix.edits)
        fix = replace(fix, edits=() if shows else fix.edits, message=mask(fix.message, words))
    related = tuple(replace(other, message=mask(other.message, words)) for other in diagnostic.related)
    return replace(
        diagnostic,
        message=mask(diagnostic.message, words),
        hint=mask(diagnostic.hint, words),
        fix=fix,
        related=related,
    )
