"""What a person does with one entry: the forms that change one or add one, what they write, and Undo.

The answers of a review (``reviewing.operations``) and the operations of the command line, as one write each. An entry
is meant as it was shown, so that the same form is the same write however often it is sent.

An untouched field changes nothing. Browsers send back something else than what a file holds: a field of one
line has no line ends, and a text has one kind of them. So ``EntryDraft.from_entry`` is an entry as a browser sends it
back, and only what differs from that was changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from catmem import clock
from catmem.clock import read_date
from catmem.config.access import visible_categories
from catmem.errors import RequestError
from catmem.jsonable import jsonable
from catmem.model.document import Document, Entry, TagValue
from catmem.names import UNCATEGORIZED, parts_of
from catmem.plugins.page.page_view import (
    TICK,
    Page,
    PageRequest,
    Redirect,
    SentForm,
    bad_form,
    can_be_undone,
    done,
    nothing_ticked,
    of_entity,
    put,
    record_of,
    seen_text,
)
from catmem.plugins.page.rendering import own_address, reference, title_of, with_query
from catmem.staleness.lineage import entry_in
from catmem.staleness.review import answering_to, corrections, day_of
from catmem.store.contract import stale, unknown_revision
from catmem.text import unify_newlines
from catmem.workspace.history import parent_of, restore
from catmem.workspace.profile_memory import seen_file
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation

# --- forms -----------------------------------------------------------------------------------------------------------


class Choices(NamedTuple):
    """What a form of a file of ``owner`` offers; a category is a slug, a title, and whether that profile reads it."""

    owner: str
    categories: list[tuple[str, str, bool]]
    may_be_new: bool
    domains: list[str]


def edit_form(asked: PageRequest) -> Page:
    """The form of an entry as it is now; the query names it by its id, and ``where`` its category."""
    entity = asked.named
    file = seen_file(asked.workspace, *parts_of(entity))
    entry = entry_in(file.document, asked.query.get("entry", ""), asked.query.get("where"))
    if entry is None:
        raise RequestError(
            f"{entity} has no such entry any more",
            code="no_entry",
            hint="It was changed or removed since then. The page of the file shows what it holds now.",
        )
    # It is not verified unless the person says so: a typo that is put right makes nothing true.
    draft = EntryDraft.from_entry(entry)
    return Page(
        "edit.html",
        {
            **of_entity(entity),
            "choices": choices(asked.workspace, entity, file.document, draft),
            "watched": [(entity, file.digest)],
            "draft": draft,
            "base": file.revision or file.digest,
            "entry": entry,
            "next": asked.query.get("next", ""),
            "back": own_address(asked.query.get("back", f"/page/files/{entity}")),
        },
    )


def choices(workspace: Workspace, entity: str, document: Document, draft: EntryDraft) -> Choices:
    """The categories that an entry of this file can go to, as far as they are known, and the domains."""
    owner, target = parts_of(entity)
    taxonomy = workspace.config.taxonomy
    there = [section.category for section in document.sections]
    if taxonomy.closed:
        there = [each for each in there if each == UNCATEGORIZED]
    slugs = dict.fromkeys([*taxonomy.categories, *there, *([draft.category] if draft.category else [])])
    categories = [(slug, title_of(workspace, document, slug)) for slug in slugs]
    if not document.scan.headers and UNCATEGORIZED not in slugs:
        without = [("", "Without a category")]
        # What is offered first is what most want: where a file has entries and no sections, it is meant to have none.
        categories = [*without, *categories] if document.entries else [*categories, *without]
    profile, slugs_of = workspace.profile(owner), [slug or UNCATEGORIZED for slug, _ in categories]
    seen = visible_categories(slugs_of, target, profile, taxonomy)
    offered = [(slug, title, (slug or UNCATEGORIZED) in seen) for slug, title in categories]
    domains = {*workspace.config.domains, *(each.domain for each in taxonomy.categories.values() if each.domain)}
    return Choices(owner, offered, not (taxonomy.closed or taxonomy.card_titles), sorted(domains))


# --- an entry as a form has it ---------------------------------------------------------------------------------------

TagFields: TypeAlias = dict[str, "str | list[str] | None"]


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry as the fields of a form say it: every value is a text. ``verified``: the person knows that it holds.

    ``category`` is empty for an entry without one; ``new_category`` goes before it.
    """

    content: str = ""
    category: str = ""
    new_category: str = ""
    expires: str = ""
    domain: str = ""
    verified: bool = False

    @classmethod
    def sent(cls, fields: Mapping[str, str]) -> EntryDraft:
        texts = {name: fields.get(name, "") for name in ("content", "category", "new_category", "expires", "domain")}
        return cls(**texts, verified="verified" in fields)

    @classmethod
    def from_entry(cls, entry: Entry) -> EntryDraft:
        """An entry as it is, with every text as the field of a form gives it back."""
        tags = entry.tags
        return cls(
            content=in_field(entry.body),
            category=entry.category,
            expires=_in_line(_listed(tags.get("expires"))),
            domain=_in_line(_listed(tags.get("domain"))),
        )

    @property
    def has_date_field(self) -> bool:
        """Whether a date field can show ``expires``; browsers leave one empty that is given anything else."""
        return not self.expires or read_date(self.expires) is not None

    @property
    def goes_to(self) -> str:
        return self.new_category.strip() or self.category

    def addition(self) -> Operation:
        tags: TagFields = {}
        if self.expires.strip():
            tags["expires"] = self.expires.strip()
        if domain := _domain(self.domain):
            tags["domain"] = domain
        return Operation("add", content=self.content, category=self.goes_to or None, tags=tags or None)


def operations_for(entry: Entry, draft: EntryDraft, as_of: date) -> list[Operation]:
    """What makes an entry what a draft of it says; nothing for what it says already."""
    was = EntryDraft.from_entry(entry)
    content = None if draft.content == was.content else draft.content
    tags: TagFields = {}
    if draft.expires.strip() != was.expires.strip():
        tags["expires"] = draft.expires.strip() or None
    if _domain(draft.domain) != _domain(was.domain):
        tags["domain"] = _domain(draft.domain)
    operations: list[Operation] = []
    category = entry.category
    if draft.goes_to and draft.goes_to != category:
        operations.append(Operation("move", old_text=entry.id, category=category, to_category=draft.goes_to))
        category = draft.goes_to
    if draft.verified:
        if content is None and not tags and not operations:
            verified = answering_to("keep", entry, as_of)[0]
            return [] if verified is None else [verified]
        # What the person said of a date goes before what follows from its being true today.
        tags = {"verified_date": day_of(as_of).isoformat(), **corrections(entry.tags, as_of)[0], **tags}
    if content is not None or tags:
        operations.append(Operation("replace", content, entry.id, category, tags=tags or None))
    return operations


def in_field(text: str) -> str:
    """A text as the field of a form gives it back: one kind of line end, and no NUL."""
    return unify_newlines(text).replace("\r", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _in_line(text: str) -> str:
    return in_field(text).replace("\n", "")


def _listed(value: TagValue | None) -> str:
    return "" if value is None else value if isinstance(value, str) else ", ".join(value)


def _domain(text: str) -> str | list[str] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return None if not parts else parts[0] if len(parts) == 1 else parts


# --- changes ---------------------------------------------------------------------------------------------------------


def answer(name: str, sent: SentForm) -> Redirect:
    """Make the write of a button on one entry: ``verify``, ``expire`` or ``remove``."""
    operation = _operation(name, sent, _meant(sent))
    return _put(sent, [] if operation is None else [operation])


def edit(sent: SentForm) -> Redirect:
    """The entry as the form has it: words, category, and the tags that a person sets."""
    return _put(sent, operations_for(_meant(sent), EntryDraft.sent(sent.fields), clock.today()))


def add(sent: SentForm) -> Redirect:
    return _put(sent, [EntryDraft.sent(sent.fields).addition()])


def undo(sent: SentForm) -> Redirect:
    """The text before the revision that the form names becomes a revision of its own, if nothing came after it."""
    entity, revision = sent.named, sent.seen
    record = record_of(sent.workspace, entity, revision)
    if record is None:
        raise unknown_revision(entity, revision[:20])
    if not can_be_undone(record):
        raise bad_form(f"revision {revision} did more than change the text, so a text alone does not take it back")
    return done(sent, restore(sent.workspace, entity, parent_of(record), expected=revision, op_id=sent.op_id))


def _meant(sent: SentForm) -> Entry:
    """The entry that a form is on, as it was shown."""
    return entry_meant(seen_document(sent), sent.get("entry"), sent.get("where"))


def seen_document(sent: SentForm) -> Document:
    """The file as the person saw it. Raises ``StaleError`` where that is no longer known."""
    entity, expected = sent.named, sent.seen
    data = seen_text(sent.workspace, entity, expected)
    if data is None:
        now = sent.workspace.store.read(entity)
        raise stale(entity, expected, now.revision or now.digest)
    return sent.workspace.parse(data)


def entry_meant(document: Document, entry_id: str, where: str) -> Entry:
    """The entry that a form names, in the file as it was shown. Raises ``RequestError`` 400."""
    entry = entry_in(document, entry_id, where)
    if entry is None:
        raise bad_form("the form is on an entry that the file did not have")
    return entry


def _put(sent: SentForm, operations: Sequence[Operation]) -> Redirect:
    if not operations:
        return Redirect(_way_back(sent, None))
    written = put(sent, [jsonable(operation) for operation in operations])
    # Several operations on one entry touch one; a removed one is nowhere to be shown.
    entry = None if operations[-1].action == "remove" or not written.entries else written.entries[-1]
    return done(sent, written, _way_back(sent, entry))


def _way_back(sent: SentForm, entry: Entry | None) -> str:
    """The page that the form was sent from, open at the entry that comes next there; on that of a file, at this one."""
    named = sent.get("next")
    if not named and entry is not None and urlsplit(sent.back).path.startswith("/page/files/"):
        named = entry.id
    address = with_query(sent.back, entry=named or None)
    return f"{address}#{reference(named)}" if named else address


# --- what a person does with several entries of a file: all that are ticked, in one revision or not at all -----------


SAYS = {"verify": "Verify", "expire": "Expire", "move": "Move", "remove": "Remove"}
"""What can be done with ticked entries, and what the button says."""


def answer_ticked(name: str, sent: SentForm) -> Redirect | Page:
    """Make the write of one of the buttons: ``verify``, ``expire``, ``move`` or ``remove``."""
    entries = _ticked(sent)
    if not entries:
        raise nothing_ticked()
    if name == "move" and "category" not in sent.fields:
        document, draft = seen_document(sent), EntryDraft()
        offered = choices(sent.workspace, sent.named, document, draft)
        context = {"sent": sent, "ticks": entries, "base": sent.expected, "draft": draft, "choices": offered}
        return Page("ticked.html", {**of_entity(sent.named), **context})
    made = [operation for each in entries if (operation := _operation(name, sent, each)) is not None]
    back = with_query(sent.back, entry=None)
    return done(sent, put(sent, [jsonable(each) for each in made]), back) if made else Redirect(back)


def _operation(name: str, sent: SentForm, entry: Entry) -> Operation | None:
    """What the answer does to one entry; ``None`` for what is so already."""
    if name == "move":
        to = EntryDraft.sent(sent.fields).goes_to
        is_there = not to or to == entry.category
        return None if is_there else Operation("move", old_text=entry.id, category=entry.category, to_category=to)
    return answering_to("keep" if name == "verify" else name, entry, clock.today())[0]


def _ticked(sent: SentForm) -> list[Entry]:
    """The entries as they were shown, in the order of the page. Raises as ``seen_document`` and ``entry_meant`` do."""
    named = [value.partition(" ") for field, value in sent.fields.items() if field.startswith(TICK)]
    if not named:
        return []
    document = seen_document(sent)
    return [entry_meant(document, entry_id, where) for entry_id, _, where in named]
