"""In-band labels: what an entry says of its category and tags first: ``[COMM] …``, ``[project:x] …``, ``Label: …``.

What a label means is what ``catmem.yaml`` declares. A migration looks at entries without a category only; one whose
labels say nothing, or too much, stays where it is, and nothing of an entry's words changes but its labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from catmem.config.config import Config, Taxonomy
from catmem.config.json_schema import known_tags, nearest, tag_faults
from catmem.errors import EditError
from catmem.linting.linted import Context, LintedFile, span_of_first_line
from catmem.linting.rule import Finding, rule
from catmem.model.document import Document, Entry, TagValue, Version
from catmem.model.edit import TextEdit, apply_edits
from catmem.model.layout import formatted, is_shared
from catmem.model.splice import Slot, spliced, titled
from catmem.names import UNCATEGORIZED, slugify
from catmem.syntax import tags as tag_blocks
from catmem.text import MAX_TAG_CHARS

PROJECT = "project"
"""The tag that flat files give most, which needs no declaration."""

_MOST = 16
"""Labels in front of one entry; with more it is no entry that a person or an agent labelled."""

_MARKER = re.compile(r"[-*+] ")
# A link, a reference to one, a footnote's text and a box to tick are no labels; `[COMM][project:x]` are two.
_BRACKETS = re.compile(r"\[([^\[\]\n]{2,64}+)\](?![(:])(?!\[(?![a-z][a-z0-9_-]*:))")
_WORDS = re.compile(r"(?:\*\*([^\W\d_][^\n:*\[\]]{1,63}+)(?:\*\*:|:\*\*)|([^\W\d_][^\n:*\[\]]{1,63}+):)(?=[ \t\n]|\Z)")
# A value that begins like this makes an address or a path of it: `[https://…]`, `[c:\…]`.
_PAIR = re.compile(r"([a-z][a-z0-9_-]*):([^\s:/\\][^\n]*)")
# What is written like a label and may mean an undeclared category.
_LIKE_A_CATEGORY = re.compile(r"[A-Z][A-Z0-9]+(?:[ _&/-][A-Z0-9]+){0,4}")
_NOT_LABELS = frozenset(("TODO", "FIXME", "TBD", "BLOCKED", "NOTE", "WARNING", "IMPORTANT", "TIP", "CAUTION"))
"""Words in brackets that name no category."""


def _category_of(name: str, config: Config) -> str | None:
    """The category that a label names."""
    category = config.taxonomy.named(name)
    return None if category == UNCATEGORIZED else category


@dataclass(slots=True)
class Labels:
    """What the labels in front of a text say: which are ``gone`` from it, ``why``, and why the reading ended."""

    rest: str
    gone: str = ""
    category: str | None = None
    tags: dict[str, TagValue] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)
    stays: str = "it begins with no label"
    unknown: str | None = None


class _Mark(NamedTuple):
    """One label as it stands: how it is shown, what it names, and where it ends in the text."""

    shown: str
    name: str
    end: int
    brackets: bool


class _LabelParts(NamedTuple):
    """What one label says: a category or tags; or neither, and why it stays in the text."""

    category: str | None = None
    tags: Mapping[str, TagValue] | None = None
    why: str = ""


def read_labels(body: str, tags: Mapping[str, TagValue], config: Config) -> Labels:
    """The labels in front of an entry's body; one that cannot be understood ends the reading, and stays."""
    marker = match.group() if (match := _MARKER.match(body)) else ""
    whole = text = body[len(marker) :]
    labels = Labels(body)
    while mark := _mark_at(text, config, is_first=not labels.gone):
        if len(labels.why) == _MOST:
            return Labels(body, stays=f"it begins with more than {_MOST} labels")
        said = _understood(mark, text, {**tags, **labels.tags}, config)
        behind = text[mark.end :].lstrip()
        if said.category is None and said.tags is None:
            looks_like_one = mark.brackets and _LIKE_A_CATEGORY.fullmatch(mark.name) and mark.name not in _NOT_LABELS
            labels.stays, labels.unknown = said.why, mark.name if looks_like_one else None
            break
        if not behind:
            return Labels(body, stays="it holds nothing but labels")
        if said.category is not None and labels.category not in {None, said.category}:
            return _between(body, labels, said.category)
        removable = _may_leave(text[mark.end :], marker)
        if said.category is not None:
            other = _on_further_lines(behind, config)
            if other - {said.category}:
                return _between(body, labels, *sorted(other | {said.category}))
            labels.category = said.category
            if other or not removable:
                labels.why.append(f"{_meaning(mark, said.category, config)}; it stays in the text, {_reason(other)}")
                break
            labels.why.append(_meaning(mark, said.category, config))
        elif not removable or (not marker and _is_labelled_list(behind, config)):
            labels.stays = f"{mark.shown} stays, {_reason(set())}"
            break
        else:
            labels.tags.update(said.tags or {})
            labels.why.append(f"{mark.shown} {'becomes a tag' if said.tags else 'says what a tag says already'}")
        text = behind
        labels.rest, labels.gone = marker + text, whole[: len(whole) - len(text)].rstrip()
    return labels


def _between(body: str, labels: Labels, *categories: str) -> Labels:
    """Nothing is done to a text that more than one category has a claim to: no reader is to get another's facts."""
    named = sorted({*categories, *([labels.category] if labels.category else [])})
    return Labels(body, stays=f"it has labels of {' and '.join(named)}; part it first, with a § line between")


def _mark_at(text: str, config: Config, *, is_first: bool) -> _Mark | None:
    if not text.startswith("["):
        found = _WORDS.match(text)
        return _Mark(found.group(), found[1] or found[2], found.end(), brackets=False) if found else None
    found = _BRACKETS.match(text)
    names_category = found is not None and _category_of(found[1], config) is not None
    # Behind a label, what would be tags in front of the entry is meant to be; in front of it, it is escaped.
    size = 0 if is_first or names_category else tag_blocks.block_size(text)
    if 0 < size <= MAX_TAG_CHARS:
        return _Mark(text[:size].strip(), "", size, brackets=True)
    return _Mark(found.group(), found[1], found.end(), brackets=True) if found else None


def _understood(mark: _Mark, text: str, has: Mapping[str, TagValue], config: Config) -> _LabelParts:
    category = _category_of(mark.name, config)
    if category is not None:
        return _LabelParts(category)
    if not mark.brackets:
        return _LabelParts(why="it begins with no label")
    pair = _PAIR.fullmatch(mark.name)
    if pair:
        pairs: list[tuple[str, TagValue]] = [(pair[1], pair[2].strip())]
    elif not mark.name:
        read = tag_blocks.read(text)[0]
        pairs = [(key, value if isinstance(value, str) else list(value)) for key, value in read]
    else:
        near = nearest(slugify(mark.name), config.taxonomy.declared().keys() - {UNCATEGORIZED})
        return _LabelParts(why=f"{mark.shown} names no declared category{f'; did you mean {near}?' if near else ''}")
    return _as_tags(mark, pairs, has, config)


def _as_tags(
    mark: _Mark, pairs: list[tuple[str, TagValue]], has: Mapping[str, TagValue], config: Config
) -> _LabelParts:
    tags: dict[str, TagValue] = {}
    for named, value in pairs:
        key, given = named, value
        domains = {*config.domains, *(each.domain for each in config.taxonomy.categories.values())}
        if key == PROJECT and isinstance(value, str) and slugify(value) in domains:
            key, given = "domain", slugify(value)  # a project that has the name of a domain is that domain
        if key not in {PROJECT, *known_tags(config.tag_schemas)}:
            return _LabelParts(why=f"{mark.shown} names no declared tag")
        there = tags.get(key, has.get(key))
        if there is None:
            tags[key] = given
        elif given != there and given not in (there if isinstance(there, list) else ()):
            return _LabelParts(why=f"{mark.shown} says other than the tag {key} that the entry has")
    faults = tag_faults(tags, config.tag_schemas)
    if faults:
        key, message = faults[0]
        return _LabelParts(why=f"{mark.shown} is no tag: {key} {message}")
    return _LabelParts(tags=tags)


def _meaning(mark: _Mark, category: str, config: Config) -> str:
    slug = slugify(mark.name)
    kind = "an alias" if slug in config.taxonomy.aliases else "the slug" if mark.name == category else "the title"
    return f"{mark.shown} is {kind} of {category}"


def _may_leave(behind: str, marker: str) -> bool:
    """Whether what follows a label keeps its shape without it: further lines may be indented to stand below it."""
    gap = behind[: len(behind) - len(behind.lstrip())]
    return "\n" not in gap or (gap.endswith("\n") and not marker)


def _is_labelled_list(text: str, config: Config) -> bool:
    """Whether a list begins here whose first line has a label: that of the line, and not of the entry."""
    marker = _MARKER.match(text)
    if marker is None:
        return False
    if _BRACKETS.match(text, marker.end()):
        return True
    words = _WORDS.match(text, marker.end())
    return words is not None and _category_of(words[1] or words[2], config) is not None


def _on_further_lines(text: str, config: Config) -> set[str]:
    """The categories that labels at the beginning of later lines name."""
    found: set[str] = set()
    for line in text.split("\n")[1:]:
        stripped = line.strip()
        marker = _MARKER.match(stripped)
        start = marker.end() if marker else 0
        mark = _BRACKETS.match(stripped, start) or _WORDS.match(stripped, start)
        category = _category_of(next(filter(None, mark.groups())), config) if mark else None
        if category is not None:
            found.add(category)
    return found


def _reason(others: set[str]) -> str:
    return "as further lines have it too" if others else "as what stands below it is set off from it"


MigrationAction = Literal["moved", "tagged", "stayed"]
_ACTIONS: tuple[MigrationAction, ...] = ("moved", "tagged", "stayed")
_TICKET = re.compile(r"[ _/-][0-9]+\Z")
"""What a ticket ends with (``OPS-112``): it names no category."""


_LEAST = 3
"""So many letters of a label at least stand for the category whose name they begin."""


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """One entry without a category, or a part of one, and what is done with it; ``text`` has its tags and body."""

    entry: Entry
    line: int
    category: str
    body: str
    text: str
    tags: Mapping[str, TagValue]
    label: str = ""
    why: str = ""
    unknown: str | None = None
    __json__ = "line action category label tags body why"

    @property
    def action(self) -> MigrationAction:
        """``moved`` into a section (perhaps with tags too), ``tagged`` only, or ``stayed`` as it was."""
        if self.category != UNCATEGORIZED:
            return "moved"
        return "tagged" if self.label else "stayed"


@dataclass(frozen=True, slots=True)
class Migration:
    """The text of a file before and after, and every entry without a category, in file order."""

    old: str
    new: str
    entries: tuple[PlannedEntry, ...]
    title: str | None

    def __json__(self) -> dict[str, Any]:
        unknown = [{"label": label, "entries": number} for label, number in self.unknown.items()]
        return {"title": self.title, "counts": self.counts, "unknown": unknown, "entries": self.entries}

    @property
    def changes(self) -> bool:
        """Whether there is something to do."""
        return self.old != self.new

    @property
    def counts(self) -> dict[str, int]:
        """How many entries are ``moved``, ``tagged`` and ``stayed``."""
        found = Counter(each.action for each in self.entries)
        return {action: found[action] for action in _ACTIONS}

    @property
    def sections(self) -> dict[str, int]:
        """Each category that gets entries, with their number."""
        return dict(Counter(each.category for each in self.entries if each.action == "moved"))

    @property
    def unknown(self) -> dict[str, int]:
        """Undeclared labels, with the number of entries that begin with them, the most frequent first."""
        return dict(Counter(each.unknown for each in self.entries if each.unknown is not None).most_common())


class Proposed(NamedTuple):
    """A category for ``labels``: a known one if they begin its name alone, else a new one; ``may_be`` are several."""

    slug: str
    title: str
    labels: tuple[str, ...] = ()
    entries: int = 0
    near: str | None = None
    may_be: tuple[str, ...] = ()


def propose(migrations: Iterable[Migration], taxonomy: Taxonomy, named: Iterable[str]) -> tuple[Proposed, ...]:
    """The categories for the labels that are ``unknown``, the most frequent first; ``named`` are those of profiles."""
    found: Counter[str] = Counter()
    for each in migrations:
        found.update(each.unknown)
    known = {**{slug: slug for slug in named}, **taxonomy.declared()}
    known.pop(UNCATEGORIZED, None)
    labels: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for label in found:
        if not _TICKET.search(label):
            slug = slugify(label)
            begun = {known[each] for each in known if each.startswith(slug)} if len(slug) >= _LEAST else set()
            meant = (slug,) if slug in known else tuple(sorted(begun)) or (slug,)
            labels.setdefault((meant[0], ()) if len(meant) == 1 else (slug, meant), []).append(label)
    proposed = []
    for (slug, may_be), same in labels.items():
        near = None if may_be or slug in known else nearest(slug, known)
        is_named = slugify(same[0]) == slug
        said = (same[0] if is_named else slug).replace("-", " ").title()
        title = "" if slug in taxonomy.categories else said
        proposed.append(Proposed(slug, title, tuple(same), sum(found[each] for each in same), near, may_be))
    return tuple(sorted(proposed, key=lambda each: -each.entries))


def plan_migration(document: Document, config: Config, *, shared: bool = False) -> Migration:
    """What the labels of a document make of it by the root's taxonomy; ``shared`` as in ``_tidied``."""
    # With the first section a leading level-1 heading becomes the title: what stands below it is the first entry.
    read = titled(document)
    planned = _planned(read, config)
    if not any(each.action == "moved" for each in planned):
        read, planned = document, _planned(document, config)
    if all(each.action == "stayed" for each in planned):
        return Migration(document.text, document.text, planned, None)
    titles = {slug: category.title for slug, category in config.taxonomy.categories.items()}
    return migrated(document, read, planned, titles, shared=shared)


def migrated(
    document: Document, read: Document, planned: tuple[PlannedEntry, ...], titles: Mapping[str, str], *, shared: bool
) -> Migration:
    """What becomes of a document: an entry without a category that ``read`` has becomes what is planned for it."""
    made: dict[int, list[Version]] = {entry.start: [] for entry in read.entries if entry.category == UNCATEGORIZED}
    for each in planned:
        made[each.entry.start].append(Version(each.category, each.body, dict(each.tags), each.text))
    text = _tidied(document, _regrouped(_with_one_title(read, planned), made.values(), titles), shared=shared)
    return Migration(document.text, text, planned, read.title if document.title is None else None)


def _planned(document: Document, config: Config) -> tuple[PlannedEntry, ...]:
    return tuple(_plan(document, entry, config) for entry in document.entries if entry.category == UNCATEGORIZED)


def _plan(document: Document, entry: Entry, config: Config) -> PlannedEntry:
    body, tags = entry.body, entry.tags
    labels = read_labels(body, tags, config)
    text = _text(entry, labels)
    if text is None:
        text = entry.text
        labels = Labels(body, stays="its tags cannot be written with those of its labels")
    return PlannedEntry(
        entry,
        document.line(entry.start),
        labels.category or UNCATEGORIZED,
        labels.rest,
        text,
        {**tags, **labels.tags},
        labels.gone,
        "; ".join(labels.why) or labels.stays,
        labels.unknown,
    )


def _text(entry: Entry, labels: Labels) -> str | None:
    """An entry's text without labels; a tag block that gets no more tags stays as it was written.

    ``None`` if it would not be read as it is meant; of a tag that is given twice the second value would be lost.
    """
    if labels.tags and entry.repeated_tags:
        return None
    tags = {**entry.tags, **labels.tags}
    try:
        text = tag_blocks.write(tags, labels.rest) if labels.tags else tag_blocks.write_body(entry.text, labels.rest)
    except EditError:
        return None
    pairs, body = tag_blocks.read(text)
    found = {key: value if isinstance(value, str) else list(value) for key, value in reversed(pairs)}
    if body != labels.rest or found != tags:
        return None
    return text if labels.gone else entry.text


def _with_one_title(document: Document, planned: Sequence[PlannedEntry]) -> Document:
    """The document with an escape for an entry that would become its title once those before it have moved away."""
    stays = next((each.entry for each in planned if each.action != "moved"), None)
    if document.title is not None or stays is None or not stays.raw.startswith(("# ", "#\t")):
        return document
    text = apply_edits(document.text, [TextEdit(stays.start, stays.start, "\\")])
    return document.reread(text)


def _regrouped(document: Document, made: Iterable[Sequence[Version]], titles: Mapping[str, str]) -> str:
    """The text with what is ``made`` of each entry without a category; new sections come in the order of ``titles``."""
    versions = iter(made)
    slots = [Slot(entry, [Version.from_entry(entry)]) for entry in document.entries]
    last = {slot.entry.category: slot for slot in slots}
    first: dict[str, list[Version]] = {category: [] for category in titles}
    for slot in slots:
        if slot.entry.category != UNCATEGORIZED:
            continue
        slot.versions = []
        for version in next(versions):
            if version.category == UNCATEGORIZED:
                slot.versions.append(version)
            else:
                (last[version.category].behind if version.category in last else first[version.category]).append(version)
    headed = {category: some for category, some in first.items() if some}
    return spliced(document, slots, headed, titles, document.title)


def _tidied(old: Document, text: str, *, shared: bool) -> str:
    """A text in the layout that the file had; one that gets its first sections is put into the plain one."""
    document = old.reread(text, titled=False)
    if not document.scan.headers:
        return text
    layout: Literal["plain", "shared"] = "shared" if shared or is_shared(old) else "plain"
    if not shared and old.scan.headers:
        try:
            if formatted(old, layout) != old.text:
                return text
        except EditError:
            return text  # it has no such layout, and keeps what it has
    return formatted(document, layout)


@rule("CM108", "in-band-label")
def in_band_label(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find labels in the text of an entry that belong into a section header or a tag."""
    for entry in file.entries:
        labels = read_labels(entry.body, entry.tags, context.config)
        if labels.category == entry.category and not labels.gone.startswith("["):
            continue  # the name of its section and a colon read well
        if labels.why:
            label, message = labels.gone, f"a label: {labels.why[0]}"
        elif labels.unknown is not None and entry.category == UNCATEGORIZED:
            label = f"[{labels.unknown}]"
            message = f"the label {label} does what a section or a tag is for"
        else:
            continue
        start = entry.raw.find(label) if label else -1
        span = (entry.start + start, entry.start + start + len(label)) if start >= 0 else span_of_first_line(entry)
        hint = "Put the entry into a section (catmem move); catmem migrate does that for a whole file."
        yield Finding(*span, message, hint)
