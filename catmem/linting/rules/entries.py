"""Rules on what entries say (nothing, too much, a thing more than once), and on how much fits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from catmem.config.access import visible_categories
from catmem.config.profile import HERMES_LIMITS, Profile, limit_of
from catmem.linting.diagnostic import Finding, Fix, Related
from catmem.linting.linted import Context, LintedEntry, LintedFile, first_line, removal
from catmem.linting.rule import rule
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.text import size_of

if TYPE_CHECKING:
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


# --- rules on how much fits: into a file, and into a profile's prompt ------------------------------------------------


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


@rule("CM503", "prompt-over-budget", scope="root", dated=True)
def prompt_over_budget(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find profiles whose own files say more than the budget of their prompt holds."""
    owned: dict[str, dict[str, LintedFile]] = {}
    for file in files.values():
        if file.owner is not None and file.target is not None:
            owned.setdefault(file.owner, {})[file.target] = file
    for name, own in owned.items():
        profile = context.profiles.get(name)
        if profile is None or not profile.prompt.budget:
            continue
        shown = {target: _shown(file, target, profile, context) for target, file in own.items()}
        for target, budget in profile.prompt.budget.items():
            among = [(own[each].path, entry) for each in sorted(shown, reverse=True) for entry in shown[each]]
            if target != "total":
                among = [(own[target].path, entry) for entry in shown.get(target, ())]
            size, over = 0, None
            for place in among:
                size += len(place[1].body)
                over = place if over is None and size > budget else over
            if over is not None:
                path, first = over
                message = (
                    f"the entries that {name} selects have {size:,} characters, {size - budget:,} over the {target} "
                    f"budget of {budget:,} of its prompt, so some are left out"
                )
                hint = f"catmem prompt {name} --explain shows which; shorten some, or raise prompt.budget.{target}."
                yield Finding(first.start, first.end, message, hint, path=path)


def _shown(file: LintedFile, target: str, profile: Profile, context: Context) -> list[LintedEntry]:
    """What the profile selects of its own file, in the profile's order, but what has expired and is not shown then."""
    present = dict.fromkeys(entry.category for entry in file.entries)
    places = visible_categories(present, target, profile, context.taxonomy)
    drops = profile.prompt.expired == "drop"
    shown = [
        entry
        for entry in file.entries
        if entry.category in places and not (drops and context.as_of > entry.dates.get("expires", date.max))
    ]
    return sorted(shown, key=lambda each: (each.category == UNCATEGORIZED, places[each.category], each.start))
