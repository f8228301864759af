"""An entry as a form has it, and what has to be done to make it so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from catmem.service.reviewing.operations import corrections, day_of, keeping
from catmem.service.writing.operation import Operation
from catmem.text import unify_newlines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from catmem.model.document import Entry, TagValue

Tags: TypeAlias = dict[str, "str | list[str] | None"]


@dataclass(frozen=True, slots=True)
class Draft:
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
    def sent(cls, fields: Mapping[str, str]) -> Draft:
        """What a person sent."""
        texts = {name: fields.get(name, "") for name in ("content", "category", "new_category", "expires", "domain")}
        return cls(**texts, verified="verified" in fields)

    @classmethod
    def of(cls, entry: Entry) -> Draft:
        """An entry as it is."""
        tags = entry.tags
        return cls(
            content=in_field(entry.body),
            category=entry.category,
            expires=_one(tags.get("expires")),
            domain=_listed(tags.get("domain")),
        )

    @property
    def goes_to(self) -> str:
        """The category that the person chose."""
        return self.new_category.strip() or self.category

    def addition(self) -> Operation:
        """The operation that adds it."""
        tags: Tags = {}
        if self.expires.strip():
            tags["expires"] = self.expires.strip()
        if domain := _domain(self.domain):
            tags["domain"] = domain
        return Operation("add", content=self.content, category=self.goes_to or None, tags=tags or None)


def operations_for(entry: Entry, draft: Draft, as_of: date) -> list[Operation]:
    """What makes an entry what a draft of it says; nothing for what it says already."""
    was = Draft.of(entry)
    content = None if draft.content == was.content else draft.content
    tags: Tags = {}
    if draft.expires.strip() != was.expires:
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
            verified = keeping(entry, as_of).operation
            return [] if verified is None else [verified]
        # What the person said of a date goes before what follows from its being true today.
        tags = {"verified_date": day_of(as_of).isoformat(), **corrections(entry.tags, as_of)[0], **tags}
    if content is not None or tags:
        operations.append(Operation("replace", content, entry.id, category, tags=tags or None))
    return operations


def in_field(text: str) -> str:
    """A text as the field of a form gives it back: one kind of line end, and no NUL."""
    return unify_newlines(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _one(value: TagValue | None) -> str:
    return value if isinstance(value, str) else ""


def _listed(value: TagValue | None) -> str:
    return "" if value is None else value if isinstance(value, str) else ", ".join(value)


def _domain(text: str) -> str | list[str] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return None if not parts else parts[0] if len(parts) == 1 else parts
