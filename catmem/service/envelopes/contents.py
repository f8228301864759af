"""What the content of an envelope asks for, before anything is looked at: operations, and whose business they are."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError, EditError, EnvelopeError, ForbiddenError
from catmem.policy.profile import ORCHESTRATOR_TIER
from catmem.policy.yamlfile import key_text
from catmem.service.writing.operation import Operation
from catmem.service.writing.terms import check_beforehand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.policy.rights import Rights
    from catmem.service.writing.terms import Terms
    from catmem.store.envelope import Content

_PARTLY = "Send operations instead, or the JSON form with partial: true and the categories that it sees and may write."


def operations_of(content: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations in a content that fits the schema. Raises ``EnvelopeError`` (``schema``) for parts missing."""
    found: list[Operation] = []
    for index, fields in enumerate(content):
        moves = fields["action"] == "move" and "to_category" not in fields
        operation = Operation(
            action=fields["action"],
            content=fields.get("content"),
            old_text=fields.get("old_text"),
            category=None if moves else fields.get("category"),
            to_category=fields.get("category") if moves else fields.get("to_category"),
            tags=fields.get("tags"),
            as_of=date.fromisoformat(fields["as_of"]) if "as_of" in fields else None,
        )
        try:
            operation.check()
        except EditError as error:
            key = key_text(("content", index))
            raise EnvelopeError(error.message, key=key, hint=error.hint) from error
        found.append(operation)
    return tuple(found)


def refuse_out_of_scope(content: Content, operations: Sequence[Operation], terms: Terms) -> None:
    """Raise ``ForbiddenError`` for what the writer may not send, whatever is in the file.

    A whole document from a writer who does not see all of the old one would tell, by what becomes of it, whether it is
    equal to what is hidden; so would the whole of a category that it does not see.
    """
    rights = terms.rights
    if isinstance(content, list):
        for operation in operations:
            try:
                check_beforehand([operation], terms)
            except ForbiddenError:
                raise
            except CatmemError:  # what is wrong with the content itself is told after what is there was looked at
                continue
    elif isinstance(content, str) or not content.get("partial"):
        if not may_send_whole(rights):
            name = "" if rights.actor is None else rights.actor.name
            raise ForbiddenError(f"{name} may not write a whole document: it does not see all of it", hint=_PARTLY)
    else:
        _refuse_partial(content, terms)


def may_send_whole(rights: Rights) -> bool:
    """Whether a whole document may come from this writer; of tier 1 it is looked at what the file holds, too."""
    actor = rights.actor
    if actor is None or actor.tier == ORCHESTRATOR_TIER:
        return True
    if rights.taxonomy.closed:  # a section that nobody declared is seen by nobody but people
        return False
    everything = all(
        "*" in selectors.patterns and not any(pattern.startswith("!") for pattern in selectors.patterns)
        for selectors in (actor.selectors(rights.target, rights.taxonomy), actor.writable(rights.taxonomy))
    )
    return everything and actor.include_uncategorized is True and rights.may_write("__uncategorized__")


def _refuse_partial(content: Mapping[str, Any], terms: Terms) -> None:
    rights = terms.rights
    name = "" if rights.actor is None else rights.actor.name
    for named in content["categories"]:
        category = terms.category(named)
        rights.refuse_unwritable(category, named)
        refuse_unseen_category(terms, category, seen=rights.may_see(category))
    if "title" in content and not rights.unbounded:
        raise ForbiddenError(f"{name} may not write the title of the document", hint="Leave title out.")


def refuse_unseen_category(terms: Terms, category: str, *, seen: bool) -> None:
    """Raise ``ForbiddenError`` for the whole of a category that the writer does not see."""
    actor = terms.rights.actor
    if actor is not None and not seen:
        raise ForbiddenError(
            f"{actor.name} may not write the whole of the category {category!r}, which it does not see",
            hint="Add to it by operations.",
        )
