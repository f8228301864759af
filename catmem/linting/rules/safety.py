"""Rules on text that must not reach a prompt, and on who may see what. The scanner is the one that prompts use."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import lru_cache

from catmem.linting.linted import Context, LintedFile
from catmem.linting.rule import Finding, Fix, rule
from catmem.model.edit import TextEdit
from catmem.syntax.scan import closed_spans
from catmem.threats import RULES, SECRETS, Threat, scan, scan_each

_INVISIBLE = ("hidden-character", "control-character", "tag-character", "variation-selector")
_NO_PATTERN = frozenset({"too-large-to-scan", "bidi-control", "mixed-script", *_INVISIBLE, *SECRETS})

_COMMENT = re.compile(r"<!--(?!>|->).*?(?:-->|\Z)", re.DOTALL)
_SHOWN = 8


@rule("CM601", "threat-pattern", severity="error")
def threat_pattern(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find text that tries to steer a model: orders, false frames, links that carry data away."""
    for threat in _threats(file):
        if threat.rule not in _NO_PATTERN:
            yield Finding(threat.start, threat.end, f"{_what(threat)} ({threat.rule})", threat.hint)


@rule("CM602", "invisible-character", severity="error", fixes="unsafe")
def invisible_character(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find characters that do not show where no script or emoji needs them."""
    yield from _characters(file, _INVISIBLE)


@rule("CM603", "bidi-control", severity="error", fixes="unsafe")
def bidi_control(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find characters that turn the direction of text."""
    yield from _characters(file, ("bidi-control",))


@rule("CM604", "mixed-script", severity="error")
def mixed_script(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find words that mix Latin letters with letters of another script that look the same."""
    for threat in _of(file, ("mixed-script",)):
        yield Finding(threat.start, threat.end, _what(threat), "Type the word again.")


@rule("CM605", "secret", severity="error", private=True)
def secret(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find keys, tokens and passwords."""
    for threat in _of(file, SECRETS):
        yield Finding(threat.start, threat.end, f"{_what(threat)} ({threat.rule})", threat.hint)


@rule("CM606", "hidden-comment")
def hidden_comment(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find HTML comments in entries."""
    for entry in file.entries:
        for start, end in _comments(entry.raw):
            message = "a comment, which people who view the file do not see and models do"
            yield Finding(entry.start + start, entry.start + end, message, "Say it in the open, or remove it.")


@rule("CM609", "not-scanned")
def not_scanned(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find entries that are too long to be scanned."""
    for threat in _of(file, ("too-large-to-scan",)):
        message = f"this entry has {threat.end - threat.start:,} characters and was not scanned"
        yield Finding(threat.start, threat.end, message, "Split the entry.")


# Five rules ask one after the other, and a scan costs more than all the rest of them.
@lru_cache(maxsize=1)
def _threats(file: LintedFile) -> tuple[Threat, ...]:
    """What the scanner finds in entries and headers, with offsets in the file, in file order."""
    pieces = [(entry.start, entry.raw) for entry in file.entries]
    pieces += [(section.start, file.text[section.start : section.header_end]) for section in file.document.sections]
    pieces.sort()
    found = [
        type(threat)(threat.rule, start + threat.start, start + threat.end)
        for (start, _), threats in zip(pieces, scan_each([text for _, text in pieces]), strict=True)
        for threat in threats
    ]
    seen = list(found)
    for entry in file.entries:
        if "\\" in entry.raw:
            # What shows only once escapes are undone, as in a prompt, is reported for the whole entry.
            said = {threat.rule for threat in seen if entry.start <= threat.start < entry.end}
            behind = {threat.rule: threat for threat in scan(entry.body) if threat.rule not in said}
            found += [type(each)(each.rule, entry.start, entry.end) for each in behind.values()]
    return tuple(sorted(found, key=lambda threat: (threat.start, threat.end, threat.rule)))


def _of(file: LintedFile, rules: Container[str]) -> Iterator[Threat]:
    return (threat for threat in _threats(file) if threat.rule in rules)


def _characters(file: LintedFile, rules: Container[str]) -> Iterator[Finding]:
    for threat in _of(file, rules):
        text = file.text[threat.start : threat.end]
        names = " ".join(f"U+{ord(char):04X}" for char in text[:_SHOWN])
        more = f" and {len(text) - _SHOWN} more" if len(text) > _SHOWN else ""
        fix = Fix((TextEdit(threat.start, threat.end, ""),), safe=False, message="Delete the characters")
        yield Finding(threat.start, threat.end, f"{_what(threat)}: {names}{more}", threat.hint, fix)


def _what(threat: Threat) -> str:
    """The sentence of a rule as the beginning of a message."""
    sentence = RULES.get(threat.rule, threat.rule).removesuffix(".")
    return sentence[:1].lower() + sentence[1:]


def _comments(raw: str) -> Iterator[tuple[int, int]]:
    """The comments of an entry, but for those in a code fence or a code span."""
    if "<!--" not in raw:
        return
    fences = [span for span in closed_spans(raw) if not raw[slice(*span)].lstrip(" ").startswith("<")]
    for found in _COMMENT.finditer(raw):
        start = found.start()
        in_code_span = raw.count("`", raw.rfind("\n", 0, start) + 1, start) % 2 == 1
        if not in_code_span and not any(first <= start < last for first, last in fences):
            yield found.span()
