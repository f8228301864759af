"""Say of many entries at once that they still hold: those of a category, or those that a search finds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from catmem.config.access import Rights, visible_categories
from catmem.config.json_schema import shown
from catmem.errors import EditError, NoMatchError
from catmem.names import TARGETS
from catmem.store.contract import PERSON
from catmem.writing import gate
from catmem.writing.matching import refuse_empty
from catmem.writing.operation import Operation
from catmem.writing.terms import undeclared
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root
    from catmem.writing.written import How, Written

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
    evidence: str | None = None,
    **how: Unpack[How],
) -> list[Written]:
    """Verify every entry of a ``category`` of a profile's files, or every one that has all words of ``query``."""
    # With both, those of the category that have them. Both files, or that of `target`; one write a file and `MOST`
    # entries, none for a file without such entries.
    actor, dry_run = how.get("actor"), how.get("dry_run", False)
    with gate.checks(workspace, f"{name}/{target or '*'}", op="verify", agent=actor or PERSON, recorded=not dry_run):
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
        parts: list[tuple[str, How, list[Operation]]] = []
        for each in targets:
            own = _named(how, each if parts else None)
            rights = Rights(acting, each, workspace.config.taxonomy)
            document = _first_seen(workspace, f"{name}/{each}", own) or workspace.read(name, each).document
            entries = _entries(workspace, name, each, document, category, query, rights)
            said = Operation("verify", as_of=as_of, evidence=evidence)
            operations = [replace(said, old_text=one.id, category=one.category) for one in entries]
            parts.append((each, own, operations))
        if not any(operations for _, _, operations in parts):
            raise _nothing(workspace, name, category, query)
    written: list[Written] = []
    for each, own, operations in parts:
        written += _in_parts(workspace, name, each, operations, own)
    return written


def _in_parts(workspace: Root, name: str, target: str, operations: Sequence[Operation], how: How) -> Iterator[Written]:
    """Write to one file, each part on what the part before made."""
    expected = how.get("expected")
    for start in range(0, len(operations), MOST):
        part = _named({**how, "expected": expected}, f"from {start}" if start else None)
        written = write_operations(workspace, name, operations[start : start + MOST], target=target, **part)
        yield written
        if expected is not None and not how.get("dry_run"):
            expected = written.digest


def _named(how: How, part: str | None) -> How:
    """How a part is written: under an ``op_id`` of its own, which a retry finds again."""
    op_id = how.get("op_id")
    return how if op_id is None or part is None else {**how, "op_id": f"{op_id} {part}"}


def _entries(  # noqa: PLR0913, PLR0917 - which entries of which file, and for whom
    workspace: Root,
    name: str,
    target: str,
    document: Document,
    category: str | None,
    query: str | None,
    rights: Rights,
) -> list[Entry]:
    """The entries that are meant, among those that the actor may act on, in file order."""
    taxonomy = workspace.config.taxonomy
    entries = rights.in_sight(document)
    if category is not None:
        wanted = taxonomy.category(category)
        entries = tuple(entry for entry in entries if entry.category == wanted)
    if query is None:
        return list(entries)
    from catmem.search.index import Index
    from catmem.search.query import parse_query
    from catmem.search.ranking import SearchSource, matches

    # A search finds what has any of the words. What is verified must have them all.
    words = " ".join(f'"{" ".join(term.words)}"' for term in parse_query(query).terms)
    index = Index(document)
    source = SearchSource(index, visible_categories(index.counts, target, workspace.profile(name), taxonomy))
    found = {index.facts(match.piece).entry.start for match in matches(parse_query(words), [source])}
    return [entry for entry in entries if entry.start in found]


def _first_seen(workspace: Root, entity: str, how: How) -> Document | None:
    """For a retry, the text that the first try was made on: only that has the entries as they were named then."""
    op_id, agent = how.get("op_id"), how.get("actor") or PERSON
    if op_id is None:
        return None
    store = workspace.store
    first = next((each for each in store.log(entity) if (each.op_id, each.agent) == (op_id, agent)), None)
    if first is None:
        return None
    return workspace.parse(store.read(entity, first.parents[0] if first.parents else "0").data)


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
