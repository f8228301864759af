"""What is refused whatever is in the file: looked at before a store is asked, so that such a write leaves no trace.

A commit takes in what others wrote to the file, and may keep a copy of it. Who has no right to write causes neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.policy.yamlfile import key_text
from catmem.service.writing.matching import no_match
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.service.writing.operation import Operation
    from catmem.service.writing.terms import Terms


def check_beforehand(operations: Sequence[Operation], terms: Terms) -> None:
    """Raise what each operation is refused with whatever the file holds.

    These are ``EditError`` and its kinds, ``ForbiddenError`` and ``UnknownNameError``. For a profile nothing depends on
    what it does not see, neither here nor in the plan.
    """
    each_of(operations, lambda operation: _check(operation, terms))


def each_of(operations: Sequence[Operation], act: Callable[[Operation], None]) -> None:
    """Do something with one after the other; of several, the ``key`` of an error says with which it failed."""
    for index, operation in enumerate(operations):
        try:
            act(operation)
        except CatmemError as error:
            if len(operations) > 1:
                error.key = key_text(("operations", index, *([error.key] if error.key else [])))
            raise


def _check(operation: Operation, terms: Terms) -> None:
    operation.check()
    if operation.action == "add":
        _check_addition(operation, terms)
        return
    rights = terms.rights
    if operation.action == "verify":
        rights.refuse_unverified()
        terms.refuse_future(operation.as_of, "verified")
    else:
        rights.refuse_without_any_category()
    if operation.to_category is not None:
        terms.writable_category(operation.to_category)
    if operation.category is None:
        return
    category = terms.category(operation.category)
    if operation.action != "verify":
        rights.refuse_unwritable(category, operation.category)
    if not rights.may_see(category):
        raise no_match(operation.old_text or "", (), terms.entity, to_agent=terms.to_agent)


def _check_addition(operation: Operation, terms: Terms) -> None:
    rights = terms.rights
    if operation.category is not None:
        terms.writable_category(operation.category)
    elif not (rights.unbounded or rights.only_category() or rights.may_write(UNCATEGORIZED)):
        raise terms.no_category(rights.writable_names())
    terms.check_tags(operation.tags or {}, None)
    terms.refuse_future(operation.as_of, "written")
