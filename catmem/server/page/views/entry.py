"""The forms of one entry: to change one that is there, and to add one; also again, when they were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.access import visible_categories
from catmem.server.errors import ServerError
from catmem.server.page.addresses import own_address
from catmem.server.page.changes.draft import Draft
from catmem.server.page.reading import Page
from catmem.server.page.refused import seen_text
from catmem.server.page.shown import title_of
from catmem.service.history import entity_of
from catmem.service.profile_memory import seen_file
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from catmem.model.document import Document, Entry
    from catmem.server.page.reading import Asked
    from catmem.server.page.refused import Refusal
    from catmem.server.page.writing import Sent
    from catmem.service.profile_memory import Reading
    from catmem.service.workspace import Workspace

EDIT, ADD = "/page/change/edit", "/page/change/add"
"""Where the forms go."""


class Choice(NamedTuple):
    """A category that an entry can go to. ``seen``: the profile of the file reads it there."""

    slug: str
    title: str
    seen: bool


class Choices(NamedTuple):
    """What a form of a file of ``owner`` offers: categories, whether there may be new ones, and known domains."""

    owner: str
    categories: list[Choice]
    may_be_new: bool
    domains: list[str]


def edit_form(asked: Asked) -> Page:
    """The form of an entry as it is now; the query names it by its id, and ``where`` its category."""
    entity = entity_of(asked.workspace, f"{asked.path['name']}/{asked.path['target']}")
    owner, _, target = entity.partition("/")
    file = seen_file(asked.workspace, owner, target)
    entry = _found(file.document, asked.query.get("entry", ""), asked.query.get("where"))
    if entry is None:
        raise ServerError(
            404,
            f"{entity} has no such entry any more",
            code="no_entry",
            hint="It was changed or removed since that link was made. The page of the file shows what there is.",
        )
    # Not verified unless the person says so: a typo that is put right makes nothing true.
    draft = Draft.of(entry)
    return Page(
        "edit.html",
        {
            **_of_file(asked.workspace, entity, file, draft),
            "base": file.revision or file.digest,
            "entry": entry,
            "where": entry.category,
            "draft": draft,
            "next": asked.query.get("next", ""),
            "back": own_address(asked.query.get("back", f"/page/files/{entity}")),
            "op_id": None,
            "refusal": None,
        },
    )


def edit_again(sent: Sent, refusal: Refusal) -> Page:
    """The same with what the person typed; the rest is as it is now. One that is gone can be added with these words."""
    entity = entity_of(sent.workspace, sent.named)
    file = seen_file(sent.workspace, *entity.split("/"))
    since = refusal.since
    is_gone = since is not None and since.fate == "gone"
    entry = since.entry if since is not None else _found(file.document, sent.get("entry"), sent.get("where"))
    draft = Draft.sent(sent.fields)
    was = None if since is None or entry is None else _as_seen(sent)
    if entry is not None and was is not None:
        draft = draft.on(Draft.of(was), Draft.of(entry))
    return Page(
        "add.html" if is_gone else "edit.html",
        {
            **_of_file(sent.workspace, entity, file, draft),
            "base": refusal.expected,
            "entry": entry,
            "where": sent.get("where") if entry is None else entry.category,
            "draft": draft,
            "next": sent.get("next"),
            # The words go to another address then, so it is another write than the one that was refused.
            "op_id": refusal.op_id,
            "refusal": refusal,
        },
    )


def add_again(sent: Sent, refusal: Refusal) -> Page:
    """The form of a new entry with what the person typed."""
    entity = entity_of(sent.workspace, sent.named)
    file = seen_file(sent.workspace, *entity.split("/"))
    draft = Draft.sent(sent.fields)
    return Page(
        "add.html",
        {
            **_of_file(sent.workspace, entity, file, draft),
            "base": refusal.expected,
            "draft": draft,
            "op_id": refusal.op_id,
            "refusal": refusal,
        },
    )


def choices(workspace: Workspace, entity: str, document: Document, draft: Draft) -> Choices:
    """The categories that an entry of this file can go to, as far as they are known, and the domains.

    That of the draft is always among them: a browser chooses the first where it finds none that is chosen.
    """
    owner, _, target = entity.partition("/")
    taxonomy = workspace.config.taxonomy
    there = [section.category for section in document.sections]
    slugs = dict.fromkeys([*taxonomy.categories, *there])
    if taxonomy.closed:
        slugs = dict.fromkeys([*taxonomy.categories, *(each for each in there if each == UNCATEGORIZED)])
    if draft.category:
        slugs.setdefault(draft.category)
    categories = [(slug, title_of(workspace, document, slug)) for slug in slugs]
    if not document.scan.headers and UNCATEGORIZED not in slugs:
        without = [("", "Without a category")]
        # What is offered first is what most want: where a file has entries and no sections, it is meant to have none.
        categories = [*without, *categories] if document.entries else [*categories, *without]
    profile, slugs_of = workspace.profile(owner), [slug or UNCATEGORIZED for slug, _ in categories]
    seen = visible_categories(document, slugs_of, target, profile, taxonomy)
    offered = [Choice(slug, title, (slug or UNCATEGORIZED) in seen) for slug, title in categories]
    domains = {*workspace.config.domains, *(each.domain for each in taxonomy.categories.values() if each.domain)}
    return Choices(owner, offered, not (taxonomy.closed or taxonomy.card_titles), sorted(domains))


def _of_file(workspace: Workspace, entity: str, file: Reading, draft: Draft) -> dict[str, object]:
    owner, _, target = entity.partition("/")
    return {
        "entity": entity,
        "name": owner,
        "target": target,
        "choices": choices(workspace, entity, file.document, draft),
        "watched": [(entity, file.digest)],
    }


def _as_seen(sent: Sent) -> Entry | None:
    """The entry as the person saw it; ``None`` where nobody knows any more what that was."""
    data = seen_text(sent.workspace, sent.named, sent.expected)
    return None if data is None else _found(sent.workspace.parse(data), sent.get("entry"), sent.get("where"))


def _found(document: Document, named: str, where: str | None) -> Entry | None:
    same = [each for each in document.entries if each.id == named]
    return next((each for each in same if each.category == where), same[0] if same else None)
