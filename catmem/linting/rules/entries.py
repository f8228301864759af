"""Rules on entries: what they say, how much fits, their tags and dates, and what must not reach a prompt.

What they say may be nothing, too much, or a thing more than once. What must not reach a prompt is found by the scanner
that prompts use, in headers of sections too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from catmem.clock import read_date
from catmem.config.json_schema import SLIPS, known_tags, meant_tag, tag_faults
from catmem.config.profile import HERMES_LIMITS, Profile, limit_of
from catmem.errors import EditError
from catmem.linting.linted import DATES, Context, LintedEntry, LintedFile, key_span, span_of_first_line, value_span
from catmem.linting.rule import Finding, Fix, Related, rule
from catmem.model.edit import TextEdit, removal
from catmem.names import FILE_NAMES, slugify
from catmem.staleness.freshness import freshness
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import closed_spans
from catmem.text import size_of
from catmem.threats import RULES, SECRETS, Threat, scan, scan_each

_NOTHING = (
    *("test", "testing", "todo", "tbd", "fixme", "asdf", "foo", "bar", "foobar", "hello", "hello world"),
    *("placeholder", "none", "null", "nil", "n/a", "na", "nothing", "empty", "unknown", "example", "sample", "dummy"),
    *("delete me", "remove me", "ok", "okay", "yes", "no", "memory", "note", "notes"),
)


@rule("CM203", "garbage-entry", options={"words": _NOTHING}, fixes="unsafe")
def garbage_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries that say nothing: a test, a placeholder, a lone word, tags without a text."""
    words = context.options("CM203")["words"]
    for entry in file.entries:
        if len(entry.body) > _SHORT and not entry.body.startswith(("Lorem", "lorem")):
            continue
        what = _garbage(entry.body, words)
        if what:
            fix = _removed(file, entry, safe=False)
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
        return "tags without a text"
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
            yield Finding(*span_of_first_line(entry), message, "Cut it into several, or shorten it.")


def _removed(file: LintedFile, entry: LintedEntry, *, safe: bool) -> Fix:
    """The fix that takes an entry out."""
    return Fix((removal(file.document, entry.entry),), safe, "Remove the entry")


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
            fix = _removed(file, entry, safe=True)
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


def _line_at(place: int, file: LintedFile, message: str, hint: str) -> Finding:
    end = file.text.find("\n", place)
    return Finding(file.text.rfind("\n", 0, place) + 1, size_of(file.text) if end < 0 else end, message, hint)


@rule("CM501", "file-over-limit", severity="error")
def file_over_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are longer than they may be."""
    limit, who = _limit(file, context) or (None, "")
    if limit is not None and (size := size_of(file.text)) > limit:
        message = f"the file has {size:,} characters, {size - limit:,} over its limit of {limit:,} ({who})"
        expired = any((day := entry.dates.get("expires")) and day < context.as_of for entry in file.tagged)
        hint = f"Remove or shorten entries{', first expired ones' if expired else ''}, or raise the limit."
        yield _line_at(limit, file, message, hint)


@rule("CM502", "near-limit", severity="hint", options={"percent": 90})
def near_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are nearly full."""
    limit, who = _limit(file, context) or (None, "")
    if limit is None:
        return
    size, percent = size_of(file.text), context.options("CM502")["percent"]
    if size <= limit and 100 * size >= percent * limit:
        message = f"the file has {size:,} of {limit:,} characters ({100 * size // limit} %; {who})"
        yield _line_at(size, file, message, "Remove what is stale, expired or repeated.")


# --- rules on what the dates of facts say ---------------------------------------------------------------------------


_UNNAMED = Profile("unnamed")
_FROM = ("verified_date", "created")


@rule("CM304", "date-in-future", dated=True)
def date_in_future(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts that were verified or created on a day that is yet to come."""
    for entry in file.tagged:
        for key in _FROM:
            day = entry.dates.get(key)
            if day is not None and day > context.as_of:
                message = f"{key} is {day}, which is after {context.as_of}"
                yield Finding(*value_span(entry, key, day), message, "Write the day on which it was so.")


@rule("CM305", "expires-before-verified")
def expires_before_verified(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find facts whose last day lies before the day on which they were verified or created."""
    for entry in file.tagged:
        expires = entry.dates.get("expires")
        if expires is None:
            continue
        for key in _FROM:
            day = entry.dates.get(key)
            if day is not None and expires < day:
                message = f"expires is {expires}, before {key}, {day}"
                yield Finding(*value_span(entry, "expires", expires), message, "Correct one of the two dates.")
                break


@rule("CM307", "stale", severity="hint", dated=True)
def stale(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts that were not verified, nor written, for longer than they may go."""
    profile = context.profiles.get(file.owner or "", _UNNAMED)
    for entry in file.tagged:
        state = freshness(entry.entry, profile, context.config, as_of=context.as_of) if entry.dates else None
        if state is not None and state.state == "stale":
            hint = "Look whether it still holds, then catmem verify."
            span = value_span(entry, state.basis or "", state.day)
            said = "last verified" if state.basis == "verified_date" else "created"
            yield Finding(*span, f"this fact is stale: it was {said} on {state.day}", hint)


@rule("CM308", "expired", dated=True)
def expired(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts whose last day has passed."""
    for entry in file.tagged:
        day = entry.dates.get("expires")
        if day is not None and context.as_of > day:
            span = value_span(entry, "expires", day)
            yield Finding(*span, f"this fact expired on {day}", "Remove it, or give it a new date.")


# --- rules on the form of tag blocks, and on which tags there are ----------------------------------------------------


_TAG_BRACKETS = re.compile(r"((?:[-*+] )?)\[([^\[\]\n]{1,400}+)\]")
_LOOSE_PAIR = re.compile(r"\s*([^\W\d_][\w -]{0,40}?)\s*[:=]\s*(.{0,200}?)\s*", re.DOTALL)
_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ]\d{2}:\d{2}.{0,20})?")


@rule("CM301", "malformed-tags", fixes="both")
def malformed_tags(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find what looks like a tag block and is none."""
    if not any(entry.raw[0] in "[-*+" and not entry.tags for entry in file.entries):
        return
    starts = {entry.start: entry for entry in file.entries}
    for problem in file.document.problems:
        if problem.rule in {"malformed-tags", "tag-block-too-large"}:
            entry = starts[problem.start]
            hint = "Write [key: value, key: value] first in the entry, keys in small letters, a blank after each colon."
            fix = _reshaped(entry, context) if problem.rule == "malformed-tags" else None
            yield Finding(*span_of_first_line(entry), problem.message, hint, fix)


def _reshaped(entry: LintedEntry, context: Context) -> Fix | None:
    block = _TAG_BRACKETS.match(entry.raw)
    parts = block[2].split(",") if block else []
    pairs = [pair for pair in map(_LOOSE_PAIR.fullmatch, parts) if pair]
    if block is None or len(pairs) < len(parts):
        return None
    names = [re.sub(r"[ -]+", "_", pair[1].strip().lower()) for pair in pairs]
    names = [SLIPS.get(name, name) for name in names]
    tags = {name: pair[2] for name, pair in zip(names, pairs, strict=True)}
    schemas = context.config.tag_schemas
    if len(tags) < len(names) or not tags.keys() <= known_tags(schemas).keys() or tag_faults(tags, schemas):
        return None
    try:
        written = tag_blocks.write_block(tags)
    except EditError:
        return None
    end = block.end()
    text = written + ("" if entry.raw[end : end + 1] in {"", " ", "\t", "\r", "\n"} else " ")
    if dict(tag_blocks.read(text.strip())[0]) != tags:
        return None
    edit = TextEdit(entry.start + block.end(1), entry.start + end, text)
    return Fix((edit,), safe=names == [pair[1] for pair in pairs], message="Write it as a tag block")


@rule("CM302", "unknown-tag", fixes="unsafe")
def unknown_tag(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find tags that neither the format nor the root declares."""
    known = None
    for entry in file.tagged:
        known = known or known_tags(context.config.tag_schemas)
        for key in entry.tags:
            if key in known:
                continue
            near = meant_tag(key, known)
            span = key_span(entry, key)
            fix = None
            if near and near not in entry.tags and span[1] - span[0] == len(key):
                fix = Fix((TextEdit(*span, near),), safe=False, message=f"Call it {near}")
            hint = f"Did you mean {near}?" if near else "Declare it under tags in catmem.yaml, or remove it."
            yield Finding(*span, f"the tag {key[:80]} is not declared, so it has no effect", hint, fix)


@rule("CM303", "bad-tag-value", severity="error", fixes="safe")
def bad_tag_value(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find tags whose value does not fit their schema."""
    for entry in file.tagged:
        for key, message in tag_faults(entry.tags, context.config.tag_schemas):
            value = entry.tags[key]
            span = value_span(entry, key, value)
            better = _better(key, value)
            fix = None
            if better and file.text[slice(*span)] == value:
                fix = Fix((TextEdit(*span, better),), safe=True, message=f"Write {better}")
            hint = f"Write {better}." if better else ""
            yield Finding(*span, f"{key} {message}, so it does not count", hint, fix)


def _better(key: str, value: str | list[str]) -> str | None:
    """The right form of a value, if it can mean one thing only."""
    if not isinstance(value, str):
        return None
    if key == "domain":
        return slugify(value) or None
    day = _DAY.fullmatch(value) if key in DATES else None
    written = f"{day[1]}-{day[3]:>02}-{day[4]:>02}" if day else None
    return written if read_date(written) else None


@rule("CM306", "missing-required-tag", severity="error")
def missing_required_tag(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries without a tag that their category requires."""
    categories = context.taxonomy.categories
    if not any(category.require_tags for category in categories.values()):
        return
    for entry in file.entries:
        declared = categories.get(entry.category)
        missing = [tag for tag in declared.require_tags if not entry.tags.get(tag)] if declared else []
        if missing:
            names = " and ".join((", ".join(missing[:-1]), missing[-1])) if len(missing) > 1 else missing[0]
            message = f"entries of {entry.category} need the tag{'s' * (len(missing) > 1)} {names}"
            hint = "catmem verify sets verified_date; catmem replace --tag sets any tag."
            yield Finding(*span_of_first_line(entry), message, hint)


@rule("CM320", "repeated-tag", fixes="both")
def repeated_tag(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find tags that an entry gives twice."""
    for entry in file.tagged:
        pairs = entry.pairs
        if len(pairs) == len(entry.tags):
            continue
        keys = [key for key, _ in pairs]
        repeated = dict.fromkeys(key for index, key in enumerate(keys) if key in keys[:index])
        read = {key: value if isinstance(value, str) else tuple(value) for key, value in entry.tags.items()}
        fix = None
        if not entry.raw.startswith("---"):  # frontmatter stays
            end = entry.start + tag_blocks.block_size(entry.entry.text)
            edit = TextEdit(entry.start + entry.raw.index("["), end, tag_blocks.write_block(entry.tags))
            is_safe = all(value == read[key] for key, value in pairs)
            fix = Fix((edit,), safe=is_safe, message="Keep the first value")
        for key in repeated:
            yield Finding(*key_span(entry, key), f"the tag {key} is given twice; the first counts", "Keep one.", fix)
            fix = None  # it takes every repeated tag away


# --- rules on safety: what must not reach a prompt -------------------------------------------------------------------


_INVISIBLE = frozenset({"hidden-character", "control-character", "bidi-control", "tag-character", "variation-selector"})

_COMMENT = re.compile(r"<!--(?!>|->).*?(?:-->|\Z)", re.DOTALL)
_SHOWN = 8


@rule("CM601", "threat-pattern", severity="error")
def threat_pattern(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find what a prompt withholds: orders, false frames, links that carry data away, text too long to scan."""
    for threat in _threats(file):
        if threat.rule not in _INVISIBLE and threat.rule not in SECRETS:
            yield Finding(threat.start, threat.end, f"{_what(threat)} ({threat.rule})", threat.hint)


@rule("CM602", "invisible-character", severity="error", fixes="unsafe")
def invisible_character(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find characters that do not show, or turn the direction of text, where no script or emoji needs them."""
    for threat in _threats(file):
        if threat.rule in _INVISIBLE:
            text = file.text[threat.start : threat.end]
            names = " ".join(f"U+{ord(char):04X}" for char in text[:_SHOWN])
            more = f" and {len(text) - _SHOWN} more" if len(text) > _SHOWN else ""
            fix = Fix((TextEdit(threat.start, threat.end, ""),), safe=False, message="Delete the characters")
            yield Finding(threat.start, threat.end, f"{_what(threat)}: {names}{more}", threat.hint, fix)


@rule("CM605", "secret", severity="error", private=True)
def secret(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find keys, tokens and passwords."""
    for threat in _threats(file):
        if threat.rule in SECRETS:
            yield Finding(threat.start, threat.end, f"{_what(threat)} ({threat.rule})", threat.hint)


@rule("CM606", "hidden-comment")
def hidden_comment(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find HTML comments in entries."""
    for entry in file.entries:
        for start, end in _comments(entry.raw):
            message = "a comment, which people who view the file do not see and models do"
            yield Finding(entry.start + start, entry.start + end, message, "Say it in the open, or remove it.")


# Three rules ask one after the other, and a scan costs more than all the rest of them.
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
