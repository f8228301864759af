"""A whole file, as a person sees it: every entry with its state, by category."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from catmem import clock
from catmem.config.access import visible
from catmem.config.profile import limit_of
from catmem.errors import CatmemError
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.plugins.page.entries_page import EntryDraft, choices
from catmem.plugins.page.formats import bar_of, paged, title_of
from catmem.plugins.page.page_view import Page
from catmem.seeding.lockfile import copies_in
from catmem.staleness.ages import freshness_of
from catmem.staleness.freshness import dated_ahead
from catmem.text import size_of, unmerged_warnings
from catmem.workspace.profile_memory import seen_file
from catmem.workspace.seen_entry import SeenEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.model.document import Document, Entry
    from catmem.plugins.page.page_view import PageRequest
    from catmem.workspace.workspace import Workspace

_SIZE = 50


@dataclass(frozen=True, slots=True)
class Shown(SeenEntry):
    """An entry on the page.

    ``ahead`` are its tags that hold a date in the future. ``follows`` are the entities that it is a copy of: it is
    changed there.
    """

    in_sight: bool
    ahead: tuple[tuple[str, date], ...]
    follows: tuple[str, ...] = ()


def whole_file(asked: PageRequest) -> Page:
    """The entries of a file in file order; the query may name a ``category``."""
    workspace, entity = asked.workspace, asked.named
    owner, _, target = entity.partition("/")
    profile = workspace.profile(owner)
    file = seen_file(workspace, owner, target)
    document = file.document
    categories = list(dict.fromkeys(entry.category for entry in document.entries))
    wanted = asked.if_there("category", categories)
    entries = [entry for entry in document.entries if wanted in {None, entry.category}]
    some = paged(entries, asked.page_of(entries, _SIZE), _SIZE)
    follows: Mapping[str, frozenset[str]] = {}
    problems: list[CatmemError] = []
    try:
        follows = copies_in(workspace, entity, [entry.id for entry in some.rows])
    except CatmemError as error:
        problems.append(error)  # a record of seeds that cannot be read hides no entry
    limit, characters = limit_of(profile, target, workspace.config), size_of(document.text)
    draft = EntryDraft(category=wanted or "")
    groups = list(_grouped(workspace, profile, entity, document, some.rows, follows))
    return Page(
        "file.html",
        {
            "profile": profile,
            "entity": entity,
            "target": target,
            "file": file,
            "categories": {each: title_of(workspace, document, each) for each in categories},
            "category": wanted,
            "named": asked.query.get("entry"),
            "paged": some,
            "groups": groups,
            "can_tick": any(not row.follows for _, _, rows in groups for row in rows),
            "problems": problems,
            "unmerged": unmerged_warnings(entity, document.text),
            "size": characters,
            "bar": None if limit is None else bar_of(FILE_NAMES[target], characters, limit),
            "total": len(document.entries),
            "unsorted": len(document.by_category.get(UNCATEGORIZED, ())),
            "recorded": file.warning is None and workspace.store.head(entity) is not None,
            # A file whose history cannot be read cannot be written to either.
            "base": None if file.warning else file.revision or file.digest,
            "choices": choices(workspace, entity, document, draft),
            "draft": draft,
        },
    )


def _grouped(  # noqa: PLR0913, PLR0917 - a file, and what is known of it
    workspace: Workspace,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    follows: Mapping[str, frozenset[str]],
) -> Iterator[tuple[str, str, list[Shown]]]:
    """Entries of one category that stand together, with its title."""
    target = entity.partition("/")[2]
    day = clock.today()
    ages = freshness_of(workspace, profile, entity, document, entries, as_of=day, reader=None)
    in_sight = {entry.start for entry in visible(document, target, profile, workspace.config.taxonomy).entries}
    rows: list[Shown] = []
    for entry, age in zip(entries, ages, strict=True):
        line, sources = document.line(entry.start), tuple(sorted(follows.get(entry.id, ())))
        rows.append(Shown(entity, line, entry, age, entry.start in in_sight, dated_ahead(entry.tags, day), sources))
    for category, some in groupby(rows, key=lambda row: row.entry.category):
        yield category, title_of(workspace, document, category), list(some)
