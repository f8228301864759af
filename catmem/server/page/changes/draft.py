"""An entry as a form has it, and what has to be done to make it so.

A field that nobody touched changes nothing. Browsers send back something else than what a file holds: a field of one
line has no line ends, and a text has one kind of them. So ``Draft.of`` is an entry as a browser sends it back, and only
what differs from that was changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from catmem.policy.staleness import read_date
from catmem.service.due import corrections, day_of, keeping
from catmem.service.writing.operation import Operation
from catmem.text import unify_newlines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from catmem.model.document import Entry, TagValue

Tags: TypeAlias = dict[str, "str | list[str] | None"]

_FIELDS = ("content", "expires", "domain")


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
        """An entry as it is, with every text as the field of a form gives it back."""
        tags = entry.tags
        return cls(
            content=in_field(entry.body),
            category=entry.category,
            expires=_in_line(_listed(tags.get("expires"))),
            domain=_in_line(_listed(tags.get("domain"))),
        )

    def on(self, was: Draft, now: Draft) -> Draft:
        """The same changes on ``now``, where the person saw ``was``: what they left alone is as it is now."""
        texts = {name: getattr(now, name) for name in _FIELDS if getattr(self, name) == getattr(was, name)}
        if not self.new_category.strip() and self.category == was.category:
            texts["category"] = now.category
        return replace(self, **texts)

    @property
    def has_date_field(self) -> bool:
        """Whether a date field can show ``expires``; browsers leave one empty that is given anything else."""
        return not self.expires or read_date(self.expires) is not None

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
            verified = keeping(entry, as_of).operation
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
    """The same of a field of one line, which has no line ends."""
    return in_field(text).replace("\n", "")


def _listed(value: TagValue | None) -> str:
    return "" if value is None else value if isinstance(value, str) else ", ".join(value)


def _domain(text: str) -> str | list[str] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return None if not parts else parts[0] if len(parts) == 1 else parts
