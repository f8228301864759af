"""Memory files as rows of a table, and edited rows as a memory file again.

The bytes are what counts; the rows show them. What another program made of the rows is put into the bytes as edits of
the entries that it touches, so every other byte stays.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from catmem.digest import content_digest
from catmem.errors import CatmemError, NotUtf8Error, TooLargeError
from catmem.model.document import Document, Entry, TagValue
from catmem.model.edit import Edited as EntryEdit
from catmem.model.edit import add_entry, remove_entry, replace_entry
from catmem.names import UNCATEGORIZED, is_declared, slugify
from catmem.staleness.lineage import differing_stretches
from catmem.store.table_rows import Changed, EditedRows, FoundRow, TableRow
from catmem.text import equal_ends

_CREATED = "created"

_JSON = json.JSONEncoder(ensure_ascii=False)


class RowCodec:
    """The rows of a root's memory files."""

    def __init__(self, parse: Callable[[bytes], Document], tier: Callable[[str], int | None] = lambda _: None) -> None:
        """``parse`` reads bytes as the root does; ``tier`` gives that of an entity's profile."""
        self._parse = parse
        self._tier = tier

    def rows(self, entity: str, data: bytes) -> list[TableRow]:
        """A row for each entry."""
        document = self._document(entity, data)
        if document is None:
            return []
        titles, tier = _titles(document), self._tier(entity)
        return [_row(entry, titles, tier) for entry in document.entries]

    def changed(self, entity: str, old: bytes, new: bytes) -> Changed:
        """The entries that differ, those before and behind them left out."""
        before, after = self._document(entity, old), self._document(entity, new)
        if before is None or after is None:
            return Changed(0, self.rows(entity, old), self.rows(entity, new))
        titles, old_titles = _titles(after), _titles(before)
        # Every row of a category shows its title; entries before all headers are of one that may get a header later.
        shared = (titles.keys() & old_titles.keys()) | {UNCATEGORIZED}
        if any(old_titles.get(category) != titles.get(category) for category in shared):
            return Changed(0, self.rows(entity, old), self.rows(entity, new))
        first, last = differing_stretches(before, after)
        had = before.entries_between(first, last)
        has = after.entries_between(first, last + len(after.text) - len(before.text))
        start, end = equal_ends(*([(each.raw, each.category) for each in side] for side in (had, has)))
        tier = self._tier(entity)
        gone = [_row(entry, old_titles, tier) for entry in had[start : len(had) - end]]
        rows = [_row(entry, titles, tier) for entry in has[start : len(has) - end]]
        return Changed(before.scan.entries_before(first) + start, gone, rows)

    def known(self, rows: Sequence[FoundRow]) -> list[FoundRow]:
        """The rows by the names that their categories have now; one whose category had another has no mark."""
        names = self._parse(b"").scan.categories.stands_for
        return [
            row._replace(category=names[row.category], mark=None)
            if isinstance(row.category, str) and names.get(row.category, row.category) != row.category
            else row
            for row in rows
        ]

    def edited(self, entity: str, head: bytes, rows: Sequence[FoundRow]) -> EditedRows:
        """The head with what the rows say."""
        document = self._document(entity, head)
        if document is None:
            return EditedRows(head, [(row.id, f"{entity} cannot be shown in rows") for row in rows])
        editing = _Editing(document)
        editing.apply_rows(rows)
        if editing.document is document:
            return EditedRows(head, editing.bad)
        data = editing.document.to_bytes()
        if not editing.bad and self._document(entity, data) is None:
            longest = max(rows, key=lambda row: len(str(row.content)))
            return EditedRows(head, [(longest.id, "all rows together are more than a memory file may hold")])
        return EditedRows(data, editing.bad)

    def _document(self, entity: str, data: bytes) -> Document | None:
        """The document of some bytes; ``None`` for what no row can show, such as a declared entity's content."""
        if b"\x00" in data or is_declared(entity):
            return None
        try:
            return self._parse(data)
        except (NotUtf8Error, TooLargeError):
            return None


def _titles(document: Document) -> dict[str, str]:
    """The title of the first section of each category."""
    return {header.category: header.title for header in reversed(document.scan.headers)}


def _row(entry: Entry, titles: Mapping[str, str], tier: int | None) -> TableRow:
    tags = entry.tags
    return TableRow(
        category=entry.category,
        title=titles.get(entry.category),
        tier=tier,
        content=entry.body,
        tags=_JSON.encode(tags) if tags else "{}",
        created_at=_day(tags),
        mark=_mark(entry),
    )


def _day(tags: Mapping[str, TagValue]) -> str | None:
    value = tags.get(_CREATED)
    return value if isinstance(value, str) else None


def _mark(entry: Entry) -> str:
    return content_digest([entry.category, entry.raw])


# --- from rows to bytes -------------------------------------------------------------------------------------------


class _RowParts(NamedTuple):
    row: FoundRow
    category: str
    body: str
    tags: dict[str, TagValue]
    title: str | None


class _Editing:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.bad: list[tuple[int, str]] = []

    def apply_rows(self, rows: Sequence[FoundRow]) -> None:
        """Make the document what the rows say."""
        entries = self.document.entries
        paired = _paired(entries, rows)
        every = (self._row_parts(row, entries[paired[row.id]] if row.id in paired else None) for row in rows)
        said = {each.row.id: each for each in every if each is not None}
        # Of a row that is no entry, what it was stays, until the row is mended.
        stays = set(paired.values())
        wanted = {number: said[id_] for id_, number in paired.items() if id_ in said}
        groups: dict[str, list[_RowParts]] = defaultdict(list)
        for each in said.values():
            groups[each.category].append(each)
        kept = {id_ for group in groups.values() for id_ in _in_place(group, entries, paired)}
        self._change(entries, wanted, stays, {number for number, want in wanted.items() if want.row.id not in kept})
        for group in groups.values():
            self._add(group, kept)

    def _change(
        self, entries: Sequence[Entry], wanted: Mapping[int, _RowParts], stays: set[int], moves: set[int]
    ) -> None:
        """Change and remove entries where they stand, from the last to the first, so that the others keep theirs."""
        for number, entry in reversed(list(enumerate(entries))):
            want = wanted.get(number)
            if number not in stays or number in moves:
                self.document = remove_entry(self.document, entry).document
            elif want is not None and (want.body, want.tags) != (entry.body, entry.tags):
                tags = None if want.tags == entry.tags else want.tags
                self._try(want.row.id, partial(replace_entry, self.document, entry, want.body, tags=tags))

    def _add(self, group: Sequence[_RowParts], kept: set[int]) -> None:
        """Add what is new or moved in one category, each behind the entry of the row before it."""
        places = [place for place, want in enumerate(group) if want.row.id in kept]
        added: Entry | None = None
        for place, want in enumerate(group):
            if want.row.id in kept:
                added = None
                continue
            # Behind all that stay is the end of the category; and nothing is put before the first of them.
            at_the_end = not places or not places[0] < place < places[-1]
            after = None if at_the_end else added or self._entry(group[place - 1])
            addition = partial(add_entry, self.document, want.body, category=want.category, tags=want.tags)
            added = self._try(want.row.id, partial(addition, title=want.title, after=after))

    def _entry(self, said: _RowParts) -> Entry | None:
        """The last entry that says this."""
        wanted = said.category, said.body, said.tags
        same = (entry for entry in reversed(self.document.entries) if entry.category == said.category)
        return next((entry for entry in same if (entry.category, entry.body, entry.tags) == wanted), None)

    def _try(self, row: int, edit: Callable[[], EntryEdit]) -> Entry | None:
        """Make an edit, or note why the row is none."""
        try:
            made = edit()
        except CatmemError as error:
            self.bad.append((row, error.message))
            return None
        self.document = made.document
        return made.entry

    def _row_parts(self, row: FoundRow, entry: Entry | None) -> _RowParts | None:
        """What a row says; ``None`` if it is none, which is noted."""
        fault = _fault(row)
        if fault is not None:
            self.bad.append((row.id, fault))
            return None
        tags: dict[str, TagValue] = json.loads(str(row.tags))
        if entry is not None and tags == entry.tags:
            tags = entry.tags  # in their order
        created = row.created_at
        if (
            isinstance(created, str)
            and created != (_day(entry.tags) if entry else None)
            and tags.get(_CREATED) == (entry.tags.get(_CREATED) if entry else None)
        ):
            tags = {**tags, _CREATED: created}
        category = str(row.category)
        slug = slugify(category)
        title = row.title if isinstance(row.title, str) else None if slug == category else category
        return _RowParts(row, slug, str(row.content).strip(), tags, title)


def _paired(entries: Sequence[Entry], rows: Sequence[FoundRow]) -> dict[int, int]:
    """Which entry each row is of, by its mark, or else by what it says."""
    paired: dict[int, int] = {}

    def pair(of_entry: Callable[[Entry], object], of_row: Callable[[FoundRow], object]) -> None:
        taken = {*paired.values()}
        left: dict[object, list[int]] = defaultdict(list)
        for number in reversed(range(len(entries))):
            if number not in taken:
                left[of_entry(entries[number])].append(number)
        for row in rows:
            if row.id not in paired and (numbers := left.get(of_row(row))):
                paired[row.id] = numbers.pop()

    pair(_mark, lambda row: str(row.mark))
    pair(lambda entry: (entry.category, entry.body), lambda row: (row.category, row.content))
    return paired


def _in_place(group: Sequence[_RowParts], entries: Sequence[Entry], paired: Mapping[int, int]) -> list[int]:
    """The rows of a category that stay where they are, while those in another order are put behind them."""
    kept, last = list[int](), -1
    for want in group:
        number = paired.get(want.row.id, -1)
        if number > last and entries[number].category == want.category:
            kept.append(want.row.id)
            last = number
    return kept


def _fault(row: FoundRow) -> str | None:
    """Why a row is no entry; ``None`` if it is one."""
    needed = (("category", row.category), ("content", row.content), ("tags", row.tags))
    for name, value in (*needed, ("title", row.title or ""), ("created_at", row.created_at or "")):
        if isinstance(value, bytes):
            return f"its {name} is not UTF-8"
        if not isinstance(value, str):
            return f"its {name} is no text"
        if "\x00" in value:
            return f"its {name} holds a NUL"
    category = str(row.category)
    if not slugify(category):
        return f"{category[:80]!r} is not a category"
    return _tag_fault(str(row.tags), has_content=bool(str(row.content).strip()))


def _tag_fault(text: str, *, has_content: bool) -> str | None:
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):
        return "its tags are no JSON"
    values: list[Any] = list(tags.values()) if isinstance(tags, dict) else [None]
    lists = [[value] if isinstance(value, str) else value for value in values]
    if not all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists):
        return "its tags are no JSON object of texts and lists of texts"
    said = "".join([*tags, *(text for texts in lists for text in texts)])
    if "\x00" in said or any("\ud800" <= each <= "\udfff" for each in said):
        return "its tags hold a NUL or a lone surrogate"
    return None if has_content or tags else "it has no content"
