"""What a whole document in an envelope makes of the one that is there: rights, structure, threats and size.

A content in JSON form is laid into the text that is there, so entries that stay keep their bytes. A text takes its
place whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from catmem.config.access import all_problems, visible_categories
from catmem.errors import (
    EditError,
    ForbiddenError,
    TooLargeError,
)
from catmem.model.document import Document, Entry
from catmem.model.layout import is_shared
from catmem.model.pairing import pair_entries
from catmem.model.splice import Slot, spliced, titled
from catmem.model.version import Version
from catmem.names import UNCATEGORIZED
from catmem.syntax import tags as tag_blocks
from catmem.text import equal_ends
from catmem.workspace.seen_entry import tag_texts
from catmem.writing.planning import Plan, ended
from catmem.writing.policy import WritePolicy, body_of
from catmem.writing.written import on_title, refuse_over_budget

_PASSED_OVER = frozenset({"bad-tag"})
"""Problems that were looked at with the tags, entry by entry."""


class Part(NamedTuple):
    """What a content is about: the categories, ``None`` for all, what their entries are to say, and its title."""

    categories: frozenset[str] | None
    entries: tuple[Version, ...]
    title: tuple[str | None, ...] = ()

    def covers(self, category: str) -> bool:
        """Whether the content says what becomes of a category."""
        return self.categories is None or category in self.categories


class EntryChange(NamedTuple):
    """An entry before and after; one of the two is ``None`` for an addition or a removal."""

    old: Version | None
    new: Version | None


def plan_document(
    document: Document, content: str | dict[str, Any], policy: WritePolicy, parse: Callable[[bytes], Document]
) -> Plan:
    """The document that a content makes of this one."""
    new: Document | None = None
    if isinstance(content, str) or not content.get("partial"):
        _refuse_unseen(document, policy)
    if isinstance(content, str):
        new = _parsed(content, parse)
        part = Part(None, tuple(map(Version.from_entry, new.entries)))
    else:
        part = _part(content, policy)
    is_text = new is not None
    old = [Version.from_entry(entry) for entry in document.entries if part.covers(entry.category)]
    pairs = pair_entries(old, part.entries)
    changes = _changes(old, part.entries, pairs)
    fault = _first_fault(changes, policy, is_text=is_text)
    if fault is not None:
        raise fault
    if new is None:
        part = _dated(part, old, pairs, policy, dated=not is_shared(document))
        changes = _changes(old, part.entries, pairs)
        new = _laid_in(document, part, policy, parse)
    _check_structure(document, new, policy, lines=is_text)
    warning = policy.check_threats(_new_texts(document, new, changes))
    made = {(change.new.category, change.new.body) for change in changes if change.new is not None}
    refuse_over_budget(document, new, policy, lambda entry: (entry.category, entry.body) in made)
    return _plan(document, new, changes, [warning] if warning else [])


def words_replaced(content: str | dict[str, Any], document: Document, policy: WritePolicy) -> tuple[str, str]:
    """The bodies that a content is about, as they are and as they are to be.

    Of those that are there only what the writer sees: or it could guess at the words of the others.
    """
    now: Sequence[Entry] = policy.visible_entries(document)
    if isinstance(content, str):
        new = [content]
    else:
        names = {policy.category(name) for name in content["categories"]} if content.get("partial") else None
        now = [entry for entry in now if names is None or entry.category in names]
        new = [entry["body"] for entries in content["categories"].values() for entry in entries]
    return "\n".join(entry.body for entry in now), "\n".join(new)


# --- what is asked -------------------------------------------------------------------------------------------------


def _parsed(text: str, parse: Callable[[bytes], Document]) -> Document:
    try:
        return parse(text.encode())
    except TooLargeError as error:
        raise EditError(error.message, code="structure", hint=error.hint) from error


def _part(content: Mapping[str, Any], policy: WritePolicy) -> Part:
    grouped: dict[str, list[Version]] = {}
    for name, given in content["categories"].items():
        category = policy.category(name)
        if category in grouped:
            raise EditError(
                f"the category {category} is given twice, under two names",
                code="structure",
                hint="Name each category once.",
            )
        grouped[category] = [
            Version(category, body_of(fields["body"]), dict(fields.get("tags", {})), "") for fields in given
        ]
    entries = tuple(entry for each in grouped.values() for entry in each)
    title = (content["title"],) if "title" in content else ()
    return Part(frozenset(grouped) if content.get("partial") else None, entries, title)


def _dated(part: Part, old: Sequence[Version], pairs: Mapping[int, int], policy: WritePolicy, *, dated: bool) -> Part:
    """The part with a day for each entry that is new, as an addition gets one; words that come back are no younger."""
    day = policy.today.isoformat() if dated else None
    before = {there: old[here] for here, there in pairs.items()}
    entries: list[Version] = []
    for index, entry in enumerate(part.entries):
        tags, was = entry.tags, before.get(index)
        if was is None:
            tags = policy.dated(tags, entry.body, day)
        elif was.body != entry.body:
            tags = policy.reworded(tags, was.tags, entry.body)
        entries.append(entry._replace(tags=tags))
    return part._replace(entries=tuple(entries))


def _changes(old: Sequence[Version], new: Sequence[Version], pairs: Mapping[int, int]) -> list[EntryChange]:
    """What differs, in the order of the old entries; additions come last."""
    changed: list[EntryChange] = []
    for index, entry in enumerate(old):
        partner = new[pairs[index]] if index in pairs else None
        if partner is None or not partner.says(entry):
            changed.append(EntryChange(entry, partner))
    added = sorted(set(range(len(new))) - set(pairs.values()))
    return changed + [EntryChange(None, new[index]) for index in added]


# --- who may -------------------------------------------------------------------------------------------------------


def _refuse_unseen(document: Document, policy: WritePolicy) -> None:
    """Raise ``ForbiddenError`` if the document has entries that its writer does not see."""
    actor, present = policy.actor, {entry.category for entry in document.entries}
    if actor is not None and present > visible_categories(present, policy.target, actor, policy.taxonomy).keys():
        hint = "Send operations instead, or the JSON form with partial: true."
        raise ForbiddenError(f"{actor.name} may not write a whole document: it does not see all of it", hint=hint)


def _first_fault(changes: Iterable[EntryChange], policy: WritePolicy, *, is_text: bool) -> EditError | None:
    """The first thing that is wrong with the tags of what changes; what is forbidden is raised at once."""
    # New words go without the verification of the old ones. A text is taken as it is, so it must not keep it.
    first: EditError | None = None
    for change in changes:
        if change.new is None:
            continue
        old = None if change.old is None else change.old.tags
        given: dict[str, Any] = {**dict.fromkeys(old or {}), **change.new.tags}
        changed = {key: value for key, value in given.items() if (old or {}).get(key) != value}
        if change.old is not None and change.old.body != change.new.body:
            if "verified_date" not in change.new.tags:
                changed.pop("verified_date", None)
            elif is_text:
                policy.refuse_unverified("verified_date")
        try:
            if change.old is not None:
                policy.check_domain(change.old.category, change.old.tags, change.new.tags)
            policy.check_tags(changed, old)
        except EditError as error:
            first = first or error
        known = None if change.old is not None else policy.day_before(change.new.tags, change.new.body)
        if known is not None and first is None:
            first = EditError(
                f"these words were there before, since {known}, and are no younger now",
                code="bad_date",
                hint=f"Give created: {known}, or leave it out.",
            )
    return first


# --- the new text --------------------------------------------------------------------------------------------------


def _laid_in(document: Document, part: Part, policy: WritePolicy, parse: Callable[[bytes], Document]) -> Document:
    """The document with the entries of a JSON form in the places of its own."""
    wanted: dict[str, list[Version]] = {}
    for entry in part.entries:
        wanted.setdefault(entry.category, []).append(entry)
    for category in wanted:
        policy.writable_category(category)
    sectioned = bool(document.scan.headers) or set(wanted) > {UNCATEGORIZED}
    base = titled(document) if sectioned else document
    slots = [Slot(entry, [Version.from_entry(entry)]) for entry in base.entries]
    by_category: dict[str, list[Slot]] = {}
    for slot in slots:
        if part.covers(slot.entry.category):
            by_category.setdefault(slot.entry.category, []).append(slot)
    # What comes first in its category, before all slots.
    first: dict[str, list[Version]] = {}
    for category in dict.fromkeys((*by_category, *wanted)):
        if early := _fill(by_category.get(category, []), wanted.get(category, ())):
            first[category] = early
    titles = {category: title for category in wanted if (title := policy.title(category)) is not None}
    title = part.title[0] if part.title and sectioned else base.title
    # Where nothing is left to be changed the bytes stay as they are.
    text = spliced(base, slots, first, titles, title)
    return document if text == document.text else ended(parse(text.encode()))


def _fill(slots: Sequence[Slot], entries: Sequence[Version]) -> list[Version]:
    """Give the slots of one category what is to stand there, in order; what comes before all of them is returned."""
    # Equal entries at both ends stay where they are, and the rest is filled in between.
    kept = {(version.body, str(version.tags)): version for slot in slots for version in slot.versions}
    versions = [
        kept.get((entry.body, str(entry.tags))) or entry._replace(text=tag_blocks.write(entry.tags, entry.body))
        for entry in entries
    ]
    there = [slot.versions[0] for slot in slots]
    start, end = equal_ends([each[:3] for each in there], [each[:3] for each in versions])
    middle, new = slots[start : len(slots) - end], versions[start : len(versions) - end]
    for index, slot in enumerate(middle):
        slot.versions = list(new[index : index + 1])
    rest = new[len(middle) :]
    if middle:
        middle[-1].behind = rest
    elif start:
        slots[start - 1].behind = rest
    else:
        return rest
    return []


# --- the content itself --------------------------------------------------------------------------------------------


def _check_structure(old: Document, new: Document, policy: WritePolicy, *, lines: bool) -> None:
    """Raise ``EditError`` (``structure``) for a problem that the old document has not: no tool is to write it."""
    # `lines` says where; not to a writer who does not see what stands above.
    most = new.limits.file_bytes
    if 4 * len(new.text) > most and len(new.to_bytes()) > most:
        raise EditError(f"a file may have {most:,} bytes, and this would have more", code="structure", hint=_SHORTER)
    before = all_problems(old, policy.config)
    there = Counter((problem.rule, old.text[problem.start : problem.end]) for problem in before)
    for problem in all_problems(new, policy.config):
        key = problem.rule, new.text[problem.start : problem.end]
        there[key] -= 1
        if there[key] < 0 and problem.rule not in _PASSED_OVER:
            where = f"line {new.line(problem.start)}: " if lines else ""
            raise EditError(f"{where}{problem.message} ({problem.rule})", code="structure", hint=_MEND)


_SHORTER = "Nothing was written. Send less."
_MEND = "Nothing was written. Mend that in the content; docs/format.md tells what each problem is."


def _new_texts(old: Document, new: Document, changes: Iterable[EntryChange]) -> list[str]:
    """The words that were not here before: of entries, tags, and headings."""
    texts: list[str] = []
    for change in changes:
        if change.new is None:
            continue
        before = change.old or Version("", "", {}, "")
        if change.new.body != before.body:
            texts.append(change.new.body)
        tags = {key: value for key, value in change.new.tags.items() if before.tags.get(key) != value}
        texts += tag_texts(tags)
    headings = {section.title for section in old.sections} | {old.title}
    return texts + [title for title in (new.title, *(s.title for s in new.sections)) if title and title not in headings]


def _plan(old: Document, new: Document, changes: Sequence[EntryChange], warnings: Sequence[str]) -> Plan:
    if new.text == old.text:
        return Plan(old, (), (), ("it says that already",), ())
    entries: list[Entry] = []
    actions: list[dict[str, Any]] = []
    was, now = ({_said(entry): entry for entry in document.entries} for document in (old, new))
    for before, after in changes:
        name = "add" if before is None else "remove" if after is None else "replace"
        found = now.get(_said(after)) if after is not None else was.get(_said(before)) if before is not None else None
        if found is not None:
            entries.append(found)
            actions.append({"action": name, "category": found.category, "id": found.id})
    title = on_title(old, new)
    return Plan(new, tuple(entries), tuple(actions), () if title is None else (title,), tuple(warnings))


def _said(entry: Entry | Version) -> tuple[str, str, str]:
    return entry.category, entry.body, str(entry.tags)
