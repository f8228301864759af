"""What becomes of a file whose entries say their categories in their text: sections and tags (``catmem migrate``).

Only entries without a category are looked at. What their labels say (``catmem.config.labels``) decides where they go;
an entry whose labels say nothing, or too much, stays where it is. Nothing of an entry's words changes but its labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from catmem.config.config import Config, Taxonomy
from catmem.config.json_schema import nearest
from catmem.config.labels import Labels, LabelVocabulary, read_labels
from catmem.errors import EditError
from catmem.model.document import Document, Entry, TagValue, Version
from catmem.model.edit import TextEdit, apply_edits
from catmem.model.layout import formatted, is_shared
from catmem.model.splice import Slot, spliced, titled
from catmem.names import UNCATEGORIZED, slugify
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import scan

MigrationAction = Literal["moved", "tagged", "stayed"]
_ACTIONS: tuple[MigrationAction, ...] = ("moved", "tagged", "stayed")
_TICKET = re.compile(r"[ _/-][0-9]+\Z")
"""What a ticket ends with (``OPS-112``): it names no category."""


_LEAST = 3
"""So many letters of a label at least stand for the category whose name they begin."""


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """One entry without a category, and what is done with it."""

    entry: Entry
    line: int
    category: str
    body: str
    tags: Mapping[str, TagValue]
    label: str
    why: str
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
    """What the labels of a document make of it by the root's taxonomy; ``shared`` as in ``tidied``."""
    meanings = LabelVocabulary.from_config(config)
    # With the first section a leading level-1 heading becomes the title: what stands below it is the first entry.
    read = titled(document)
    planned = _planned(read, meanings)
    if not any(each.action == "moved" for each in planned):
        read, planned = document, _planned(document, meanings)
    if all(each.action == "stayed" for each in planned):
        return Migration(document.text, document.text, planned, None)
    titles = {slug: category.title for slug, category in config.taxonomy.categories.items()}
    made = regrouped(with_one_title(read, planned), ([_made(each)] for each in planned), titles)
    text = tidied(document, made, shared=shared)
    return Migration(document.text, text, planned, read.title if document.title is None else None)


def _planned(document: Document, meanings: LabelVocabulary) -> tuple[PlannedEntry, ...]:
    return tuple(_plan(document, entry, meanings) for entry in document.entries if entry.category == UNCATEGORIZED)


def _plan(document: Document, entry: Entry, meanings: LabelVocabulary) -> PlannedEntry:
    body, tags = entry.body, entry.tags
    labels = read_labels(body, tags, meanings, entry.tag_limit)
    if not _can_be_stored(entry, labels, tags):
        labels = Labels(body, stays="its tags cannot be written with those of its labels")
    return PlannedEntry(
        entry,
        document.line(entry.start),
        labels.category or UNCATEGORIZED,
        labels.rest,
        {**tags, **labels.tags},
        labels.gone,
        "; ".join(labels.why) or labels.stays,
        labels.unknown,
    )


def _can_be_stored(entry: Entry, labels: Labels, tags: Mapping[str, TagValue]) -> bool:
    """Whether tag block and body come back as they are meant; a tag that is given twice would lose its second value."""
    if labels.tags and entry.repeated_tags:
        return False
    try:
        text = _text(entry, labels.rest, labels.tags)
    except EditError:
        return False
    pairs = tag_blocks.read(text, entry.tag_limit)[0]
    found = {key: value if isinstance(value, str) else list(value) for key, value in reversed(pairs)}
    return tag_blocks.read(text, entry.tag_limit)[1] == labels.rest and found == {**tags, **labels.tags}


def _text(entry: Entry, body: str, added: Mapping[str, TagValue]) -> str:
    """An entry's whole text with another body; a tag block that gets no more tags stays as it was written."""
    if added:
        return tag_blocks.write({**entry.tags, **added}, body)
    return tag_blocks.write_body(entry.text, body, entry.tag_limit)


def with_one_title(document: Document, planned: Sequence[PlannedEntry]) -> Document:
    """The document with an escape for an entry that would become its title once those before it have moved away."""
    stays = next((each.entry for each in planned if each.action != "moved"), None)
    if document.title is not None or stays is None or not stays.raw.startswith(("# ", "#\t")):
        return document
    text = apply_edits(document.text, [TextEdit(stays.start, stays.start, "\\")])
    return Document(scan(text, document.scan.categories, always_titled=document.scan.always_titled), document.limits)


def _made(plan: PlannedEntry) -> Version:
    """The entry as it is to be; what stays is as it was."""
    if plan.action == "stayed":
        return Version.from_entry(plan.entry)
    added = {key: value for key, value in plan.tags.items() if key not in plan.entry.tags}
    return Version(plan.category, plan.body, dict(plan.tags), _text(plan.entry, plan.body, added))


def regrouped(document: Document, made: Iterable[Sequence[Version]], titles: Mapping[str, str]) -> str:
    """The text in which each entry without a category is what is ``made`` of it, in the order in which they stand.

    What has a category goes to its end; new sections come in the order of ``titles``.
    """
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


def tidied(old: Document, text: str, *, shared: bool) -> str:
    """A text in the layout that the file had; one that gets its first sections is put into the plain one."""
    document = Document(scan(text, old.scan.categories), old.limits)
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
