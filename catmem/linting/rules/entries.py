"""Rules on what entries say (nothing, too much, a thing more than once), and on how much fits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from catmem.config.profile import HERMES_LIMITS, limit_of
from catmem.linting.diagnostic import Finding, Fix, Related
from catmem.linting.linted import Context, LintedEntry, LintedFile, first_line, removal
from catmem.linting.rule import rule
from catmem.names import FILE_NAMES
from catmem.text import size_of

_NOTHING = (
    *("test", "testing", "todo", "tbd", "fixme", "asdf", "foo", "bar", "foobar", "hello", "hello world"),
    *("placeholder", "none", "null", "nil", "n/a", "na", "nothing", "empty", "unknown", "example", "sample", "dummy"),
    *("delete me", "remove me", "ok", "okay", "yes", "no", "memory", "note", "notes"),
)


@rule("CM203", "garbage-entry", options={"words": _NOTHING}, fixes="unsafe")
def garbage_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries that say nothing: a test, a placeholder, a lone word."""
    words = context.options("CM203")["words"]
    for entry in file.entries:
        if len(entry.body) > _SHORT and not entry.body.startswith(("Lorem", "lorem")):
            continue
        what = _garbage(entry.body, words)
        if what:
            fix = Fix((removal(file.document, entry),), safe=False, message="Remove the entry")
            yield Finding(entry.start, entry.end, f"this entry is {what}", "Say what is meant, or remove it.", fix)


_SHORT = 120
_FRAME = " \t\r\n.,;:!?…-\u2013\u2014*_~`'\"()[]{}<>#|/\\=+"
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{1,80}>|\{\{[^{}\n]{1,80}\}\}|\[(?:insert|your|enter|add|describe|fill)\b[^\[\]\n]{0,80}\]|x{3,}|_{3,}"
    r"|(?:insert|enter|add|put) [^\n]{1,40} here\.?|lorem ipsum\b.*",
    re.IGNORECASE | re.DOTALL,
)
_LONE_WORD = re.compile(r"[^\W\d_]{1,40}")
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def _garbage(body: str, words: Collection[str]) -> str:
    """What kind of nothing a body is; empty for one that says something."""
    if not body:
        return ""  # a rule of its own
    if _PLACEHOLDER.fullmatch(body):
        return "a placeholder"
    bare = body.strip(_FRAME)
    if not bare:
        return "only punctuation"
    if " ".join(bare.casefold().split()) in words:
        return "a test or a placeholder"
    if _LONE_WORD.fullmatch(bare) and not _NO_BLANKS.search(bare):
        return "a lone word"
    return ""


@rule("CM204", "long-entry", options={"limit": 1000})
def long_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries over a length."""
    limit = context.options("CM204")["limit"]
    for entry in file.entries:
        size = len(entry.raw)
        if size > limit:
            message = f"this entry has {size:,} characters, {size - limit:,} over the limit of {limit:,}"
            yield Finding(*first_line(entry), message, "Cut it into several, or shorten it.")


@rule("CM207", "entry-without-text", fixes="unsafe")
def entry_without_text(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find entries that hold tags and no text."""
    for entry in file.entries:
        if not entry.body:
            fix = Fix((removal(file.document, entry),), safe=False, message="Remove the entry")
            message = "this entry has tags and no text"
            yield Finding(entry.start, entry.end, message, "Give it a text, or remove it.", fix)


@rule("CM201", "duplicate-entry", fixes="safe")
def duplicate_entry(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find entries that stand twice in a file, in one category or in two."""
    first: dict[str, LintedEntry] = {}
    for entry in file.entries:
        before = first.setdefault(entry.words, entry)
        if before is entry or not entry.words:
            continue
        fix, where = None, ""
        if before.category != entry.category:
            where = f", in the category {before.category}"
        elif before.body == entry.body and entry.tags in ({}, before.tags):
            fix = Fix((removal(file.document, entry),), safe=True, message="Remove this one")
        message = f"this entry stands on line {file.line(before.start)} already{where}"
        related = Related(file.path, before.start, before.end, "the first of the two")
        yield Finding(entry.start, entry.end, message, "Keep one of the two.", fix, related=(related,))


# --- rules on how much fits into a file ------------------------------------------------


_TARGETS = {name: target for target, name in FILE_NAMES.items()}


def _limit(file: LintedFile, context: Context) -> tuple[int, str] | None:
    """The limit of a file in characters, and who sets it: its profile, the root, or Hermes Agent in its home."""
    target = file.target or _TARGETS.get(file.path.rpartition("/")[2])
    if target is None or file.error is not None:
        return None
    owner = context.profiles.get(file.owner or "")
    limit = context.config.limits.get(target) if owner is None else limit_of(owner, target, context.config)
    if limit is not None:
        return limit, "catmem.yaml" if owner is None or target not in owner.limits else f"the profile {owner.name}"
    # As written: where a profile's files are, its own folder, or the template for all, or else the path says.
    folder = (owner.memory_dir or context.config.homes) if owner is not None else file.path
    parts = (*context.config.root.parts, *folder.split("/"))
    return (HERMES_LIMITS[target], "Hermes Agent") if ".hermes" in parts else None


def _last_line(file: LintedFile, message: str, hint: str) -> Finding:
    end = size_of(file.text)
    return Finding(file.text.rfind("\n", 0, end) + 1, end, message, hint)


@rule("CM501", "file-over-limit", severity="error")
def file_over_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are longer than they may be."""
    limit, who = _limit(file, context) or (None, "")
    if limit is not None and (size := size_of(file.text)) > limit:
        message = f"the file has {size:,} characters, {size - limit:,} over its limit of {limit:,} ({who})"
        yield _last_line(file, message, "Remove or shorten entries; the first to go are expired ones.")


@rule("CM502", "near-limit", severity="hint", options={"percent": 90})
def near_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are nearly full."""
    limit, who = _limit(file, context) or (None, "")
    if limit is None:
        return
    size, percent = size_of(file.text), context.options("CM502")["percent"]
    if size <= limit and 100 * size >= percent * limit:
        message = f"the file has {size:,} of {limit:,} characters ({100 * size // limit} %; {who})"
        yield _last_line(file, message, "Remove what is stale, expired or repeated.")
