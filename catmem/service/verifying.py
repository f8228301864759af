"""Say of many entries at once that they still hold: those of a category, or those that a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from catmem.errors import EditError, NoMatchError
from catmem.names import TARGETS
from catmem.policy.access import Rights
from catmem.policy.schema import shown
from catmem.service import gate
from catmem.service.writing.matching import refuse_empty
from catmem.service.writing.operation import Operation
from catmem.service.writing.terms import undeclared
from catmem.service.writing.write import write_operations

if TYPE_CHECKING:
    from datetime import date

    from catmem.model.document import Entry
    from catmem.policy.profile import Profile
    from catmem.service.root import Root
    from catmem.service.writing.written import How, Written

MOST = 1_000
"""Entries of one file that one revision verifies; more need several."""


def verify_all(  # noqa: PLR0913 - which entries, and how, by keyword
    workspace: Root,
    name: str,
    *,
    category: str | None = None,
    query: str | None = None,
    target: str | None = None,
    as_of: date | None = None,
    **how: Unpack[How],
) -> list[Written]:
    """Verify every entry of a ``category`` of a profile's files, or every one that has all words of ``query``.

    With both, those of the category that have them. Both files, or that of ``target``; one write a file, none
    for a file without such entries. Raises ``NoMatchError`` if there are none at all, and what ``Workspace.verify``
    raises; files that were written before stay so.
    """
    actor, dry_run = how.get("actor"), how.get("dry_run", False)
    with gate.checks(workspace, f"{name}/{target or '*'}", op="verify", agent=actor or "person", recorded=not dry_run):
        if category is None and query is None:
            raise EditError("name a category or what to search for", code="bad_operation", hint="Give one of the two.")
        if target is None and how.get("expected") is not None:
            raise EditError(
                "expected is what one file was, and two may be written",
                code="bad_operation",
                hint="Name the target too, user or memory.",
            )
        acting = None if actor is None else workspace.profile(actor)
        # Before anything is looked for: what is found must tell nothing to who may not verify.
        rights = Rights(acting, "user", workspace.config.taxonomy)
        rights.refuse_other_owner(name)
        rights.refuse_unverified()
        targets = TARGETS if target is None else (target,)
        entries = {each: _entries(workspace, name, each, category, query, acting) for each in targets}
        if not any(entries.values()):
            raise _nothing(workspace, name, category, query)
    written: list[Written] = []
    for each, found in entries.items():
        for start in range(0, len(found), MOST):
            operations = [
                Operation("verify", old_text=entry.id, category=entry.category, as_of=as_of)
                for entry in found[start : start + MOST]
            ]
            written.append(write_operations(workspace, name, operations, target=each, **how))
    return written


def _entries(  # noqa: PLR0913, PLR0917 - which entries of which file, and for whom
    workspace: Root, name: str, target: str, category: str | None, query: str | None, acting: Profile | None
) -> list[Entry]:
    """The entries that are meant, among those that the actor may act on, in file order."""
    taxonomy = workspace.config.taxonomy
    entries = Rights(acting, target, taxonomy).in_sight(workspace.read(name, target).document)
    if category is not None:
        wanted = taxonomy.category(category)
        entries = tuple(entry for entry in entries if entry.category == wanted)
    if query is None:
        return list(entries)
    from catmem.policy.search_query import parse_query
    from catmem.service.search import search

    # A search finds what has any of the words. What is verified must have them all.
    words = " ".join(f'"{" ".join(term.words)}"' for term in parse_query(query).terms)
    hits = search(workspace, name, words, target=target, category=category).found
    found = {(hit.entry.category, hit.entry.raw) for hit in hits}
    return [entry for entry in entries if (entry.category, entry.raw) in found]


def _nothing(workspace: Root, name: str, category: str | None, query: str | None) -> NoMatchError:
    if query is not None:
        refuse_empty(query)
        where = "" if category is None else f" in the category {shown(category)}"
        return NoMatchError(
            f"no entry of {name} that this profile sees matches {shown(query)}{where}",
            hint="Nothing was verified. 'catmem search' shows what matches.",
        )
    hint = undeclared(category or "", workspace.config.taxonomy)
    return NoMatchError(
        f"no entry of {name} is in the category {shown(category)}",
        hint=f"Nothing was verified. {hint or 'catmem list shows the entries with their categories.'}",
    )
