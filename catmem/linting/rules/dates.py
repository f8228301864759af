"""Rules on tags: their form, and what the dates of facts say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from catmem.clock import read_date
from catmem.config.json_schema import SLIPS, known_tags, meant_tag, tag_faults
from catmem.config.profile import Profile
from catmem.errors import EditError
from catmem.linting.diagnostic import Finding, Fix
from catmem.linting.linted import DATES, Context, LintedEntry, LintedFile, first_line, key_span, value_span
from catmem.linting.rule import rule
from catmem.model.edit import TextEdit
from catmem.names import slugify
from catmem.staleness.freshness import freshness
from catmem.syntax import tags as tag_blocks

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
        state = freshness(entry, profile, context.config, as_of=context.as_of) if entry.dates else None
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


_BRACKETS = re.compile(r"((?:[-*+] )?)\[([^\[\]\n]{1,400}+)\]")
_LOOSE_PAIR = re.compile(r"\s*([^\W\d_][\w -]{0,40}?)\s*[:=]\s*(.{0,200}?)\s*", re.DOTALL)
_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ]\d{2}:\d{2}.{0,20})?")


@rule("CM301", "malformed-tags", fixes="safe")
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
            yield Finding(*first_line(entry), problem.message, hint, fix)


def _reshaped(entry: LintedEntry, context: Context) -> Fix | None:
    block = _BRACKETS.match(entry.raw)
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
    if dict(tag_blocks.read_pairs(text.strip(), entry.entry.tag_limit)) != tags:
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
            yield Finding(*first_line(entry), message, hint)


@rule("CM320", "repeated-tag", fixes="safe")
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
