"""A whole file, as a person sees it: every entry with its state, by category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.errors import CatmemError
from catmem.policy.access import visible
from catmem.policy.profile import limit_of
from catmem.policy.staleness import dated_ahead
from catmem.server.page.changes.draft import Draft
from catmem.server.page.reading import Page
from catmem.server.page.shown import bar_of, paged, title_of
from catmem.server.page.views.entry import choices
from catmem.service.ages import freshness_of
from catmem.service.history import entity_of
from catmem.service.profile_memory import seen_file
from catmem.service.seeding.copies import copies_in
from catmem.service.seen_entry import SeenEntry
from catmem.text import size_of, unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from catmem.model.document import Document, Entry
    from catmem.policy.profile import Profile
    from catmem.server.page.reading import Asked
    from catmem.service.workspace import Workspace

_SIZE = 100


@dataclass(frozen=True, slots=True)
class Shown(SeenEntry):
    """An entry on the page.

    ``ahead`` are its tags that hold a date in the future. ``follows`` are the entities that it is a copy of: it is
    changed there.
    """

    in_sight: bool
    ahead: tuple[tuple[str, date], ...]
    follows: tuple[str, ...] = ()


class Group(NamedTuple):
    """Entries of one category that stand together."""

    category: str
    title: str
    rows: list[Shown]


def whole_file(asked: Asked) -> Page:
    """The entries of a file in file order; the query may name a ``category``."""
    workspace = asked.workspace
    entity = entity_of(workspace, f"{asked.path['name']}/{asked.path['target']}")
    owner, _, target = entity.partition("/")
    profile = workspace.profile(owner)
    file = seen_file(workspace, owner, target)
    document = file.document
    categories = list(dict.fromkeys(entry.category for entry in document.entries))
    wanted = asked.if_there("category", categories)
    entries = [entry for entry in document.entries if wanted in {None, entry.category}]
    # An entry that a link names is on the page that holds it.
    named = asked.query.get("entry")
    place = next((index for index, entry in enumerate(entries) if entry.id == named), None) if named else None
    page = asked.number("page") if place is None else place // _SIZE + 1
    some = paged(entries, page, _SIZE)
    follows, problems = _follows(workspace, entity, some.rows)
    limit, size = limit_of(profile, target, workspace.config), size_of(document.text)
    draft = Draft(category=wanted or "")
    return Page(
        "file.html",
        {
            "profile": profile,
            "entity": entity,
            "target": target,
            "file": file,
            "categories": [(each, title_of(workspace, document, each)) for each in categories],
            "category": wanted,
            "named": named,
            "paged": some,
            "groups": _grouped(workspace, profile, entity, document, some.rows, follows),
            "problems": problems,
            "unmerged": unmerged_warnings(entity, document.text),
            "size": size,
            "bar": None if limit is None else bar_of(target, size, limit),
            "total": len(document.entries),
            "recorded": file.warning is None and workspace.store.head(entity) is not None,
            # A file whose history cannot be read cannot be written to either.
            "base": None if file.warning else file.revision or file.digest,
            "choices": choices(workspace, entity, document, draft),
            "draft": draft,
        },
    )


def _follows(
    workspace: Workspace, entity: str, entries: Sequence[Entry]
) -> tuple[Mapping[str, frozenset[str]], list[CatmemError]]:
    """Which entries are copies, and of what. A record of seeds that cannot be read hides no entry."""
    try:
        return copies_in(workspace, entity, [entry.id for entry in entries]), []
    except CatmemError as error:
        return {}, [error]


def _grouped(  # noqa: PLR0913, PLR0917 - a file, and what is known of it
    workspace: Workspace,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    follows: Mapping[str, frozenset[str]],
) -> list[Group]:
    target = entity.partition("/")[2]
    day = clock.today()
    ages = freshness_of(workspace, profile, entity, document, entries, as_of=day, reader=None)
    in_sight = {entry.start for entry in visible(document, target, profile, workspace.config.taxonomy).entries}
    groups: list[Group] = []
    for entry, age in zip(entries, ages, strict=True):
        if not groups or groups[-1].category != entry.category:
            groups.append(Group(entry.category, title_of(workspace, document, entry.category), []))
        line, sources = document.line(entry.start), tuple(sorted(follows.get(entry.id, ())))
        row = Shown(entity, line, entry, age, entry.start in in_sight, dated_ahead(entry.tags, day), sources)
        groups[-1].rows.append(row)
    return groups
