"""Rules on what entries say: nothing, too much, or a thing more than once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from catmem.linting.diagnostic import Finding, Fix, Related
from catmem.linting.rule import rule
from catmem.linting.spans import first_line, removal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from catmem.config.profile import Profile
    from catmem.linting.linted import Context, LintedEntry, LintedFile

    _Place: TypeAlias = tuple[LintedFile, LintedEntry]

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


_FEW_OWNERS = 8
_FEW_IN_COMMON = 3
"""So many entries that two files share get a finding each."""


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


@rule("CM206", "duplicate-elsewhere", severity="hint", scope="root")
def duplicate_elsewhere(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find entries that stand in another file as well: the other one of the profile, or one of another profile."""
    first: dict[str, list[_Place]] = {}
    for path, file in files.items():
        found: dict[str, list[tuple[LintedEntry, _Place]]] = {}
        for entry in file.entries if file.owner is not None else ():
            known = first.setdefault(entry.words, []) if entry.words else []
            in_others = [place for place in known if place[0].path != path]
            for before in in_others:
                if not _seeded(before[0].owner, file.owner, context.profiles):
                    found.setdefault(before[0].path, []).append((entry, before))
                    break
            if len(in_others) == len(known) < _FEW_OWNERS:
                known.append((file, entry))
        for other_path, pairs in found.items():
            many = len(pairs) > _FEW_IN_COMMON
            said = f"{len(pairs):,} entries stand in" if many else "this entry stands in"
            for entry, (other_file, other) in pairs[: 1 if many else None]:
                line = f"{'the first ' if many else ''}on line {other_file.line(other.start)}"
                related = Related(other_path, other.start, other.end, "the other of the two")
                advice = "Keep each in one place." if many else "Keep it in one place."
                message = f"{said} {other_path} too, {line}"
                yield Finding(entry.start, entry.end, message, advice, related=(related,), path=path)


def _seeded(one: str | None, other: str | None, profiles: Mapping[str, Profile]) -> bool:
    """Whether two different profiles are tied by seeding: one from the other, or both from a third."""
    if one is None or other is None or one == other:
        return False
    mine, theirs = (profiles[name].seed_from if name in profiles else None for name in (one, other))
    return one == theirs or other == mine or (mine is not None and mine == theirs)
