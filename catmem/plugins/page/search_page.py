"""Search over all files, and all that lint finds: what no prompt shows is found by a person, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from catmem import clock
from catmem.config.access import visible
from catmem.errors import QueryError
from catmem.linting.linted import LintedFile
from catmem.linting.root_lint import Linter
from catmem.linting.rule import SEVERITIES, Diagnostic
from catmem.model.document import Entry
from catmem.names import parts_of
from catmem.plugins.page.page_view import Page, PageRequest
from catmem.plugins.page.rendering import paged, reference, with_query
from catmem.search.index import Snippet
from catmem.search.search import Searched, search_everywhere
from catmem.search.search import search as search_one
from catmem.staleness.freshness import State, dated_ahead
from catmem.workspace.root import agent_names, load_each

_MOST = 50
_LONGEST = 400
"""Characters of a query that are looked for."""

STATES: dict[State, str] = {"fresh": "Fresh", "stale": "Stale", "expired": "Expired", "unverified": "Unverified"}


def search(asked: PageRequest) -> Page:
    """The entries that a query finds, the best first; the query may name a ``profile`` and a ``state``."""
    profiles = agent_names(asked.workspace)
    query = asked.query.get("q", "").strip()[:_LONGEST]
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    searched, problem = Searched([], 0), None
    if query:
        try:
            searched = _searched(asked, name, query, state)
        except QueryError as error:
            problem = error

    @cache
    def seen(name: str, target: str) -> frozenset[str]:
        document, profile = asked.workspace.read(name, target).document, asked.workspace.profile(name)
        return frozenset(visible(document, target, profile, asked.workspace.config.taxonomy).categories)

    hits = [
        {
            "name": (owner := parts_of(hit.entity).owner),
            "found": hit,
            "pieces": tuple(_pieces(hit.snippet)),
            "ahead": dated_ahead(hit.entry.tags, clock.today()),
            "in_sight": hit.entry.category in seen(owner, hit.target),
        }
        for hit in searched.found
    ]
    return Page(
        "search.html",
        {
            "q": query,
            "profiles": profiles,
            "profile": name,
            "states": STATES,
            "state": state,
            "hits": hits,
            "total": searched.total,
            "unreadable": searched.unreadable,
            "problem": problem,
        },
        422 if problem else 200,
    )


def _searched(asked: PageRequest, name: str | None, query: str, state: State | None) -> Searched:
    states = [state] if state else None
    if name is None:
        return search_everywhere(asked.workspace, query, limit=_MOST, state=states, whole=True)
    return search_one(asked.workspace, name, query, limit=_MOST, state=states, whole=True)


def _pieces(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    place = 0
    for start, end in snippet.hits:
        if start > place:
            yield snippet.text[place:start], False
        yield snippet.text[start:end], True
        place = end
    if place < len(snippet.text):
        yield snippet.text[place:], False


# --- what lint finds in the whole root -------------------------------------------------------------------------------


_SIZE = 100

SEVERITY = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


REVIEWED = frozenset({"CM307", "CM308"})
"""The rules whose findings a review asks about."""


def lint(asked: PageRequest) -> Page:
    """Findings by file, those of copies with what they follow; the query may name a ``severity`` and a ``rule``."""
    linter = Linter.open(asked.workspace.root)
    try:
        found = linter.run()
        counted = found.diagnostics
        severity = asked.choice("severity", SEVERITIES)
        rule = asked.if_there("rule", [each.code for each in counted])
        chosen = [each for each in counted if severity in {None, each.severity} and rule in {None, each.code}]
        listed = list(_located(linter, chosen))
    finally:
        linter.close()
    some = paged(listed, asked.page, _SIZE)
    files: list[dict[str, Any]] = []
    profiles = [each.name for each in load_each(asked.workspace)[0]]
    for each in some.rows:
        path, entity = each["finding"].path, each["entity"]
        if not files or files[-1]["path"] != path:
            of_profile = (f"/page/profiles/{name}" for name in profiles if path == f"profiles/{name}.yaml")
            address = next(of_profile, None) if entity is None else f"/page/files/{entity}"
            files.append({"path": path, "address": address, "is_memory": entity is not None, "findings": []})
        files[-1]["findings"].append(each)
    names = {each.code: each.name for each in counted}
    rules = Counter(each.code for each in counted)
    return Page(
        "lint.html",
        {
            "found": found,
            "problems": found.errors,
            "severity_counts": Counter(each.severity for each in counted),
            "rule_counts": rules,
            "severities": SEVERITY,
            "severity": severity,
            "rule": rule,
            "rules": {code: f"{code} {names[code]}" for code, _ in rules.most_common()},
            "paged": some,
            "files": files,
            "total": len(counted),
            "in_copies": len(chosen) - len(listed),
        },
    )


def _located(linter: Linter, findings: Sequence[Diagnostic]) -> Iterator[dict[str, Any]]:
    """Each finding with where it is, the page that does what it asks for, and the files whose copies have it too."""
    entity: str | None = None
    entries: Sequence[Entry] = ()
    path: str | None = None
    for each, copies in linter.once(findings):
        if each.path != path:
            path, entity, file = each.path, linter.entity(each.path), linter.file(each.path)
            entries = file.document.entries if entity is not None and isinstance(file, LintedFile) else ()
        entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
        address = None
        if each.code in REVIEWED and entity is not None and entry is not None:
            queue = with_query("/page/queue", profile=parts_of(entity).owner, entry=entry)
            address = f"{queue}#{reference(entry)}"
        followers = sorted({linter.entity(copy.path) or copy.path for copy in copies})
        yield {"finding": each, "entity": entity, "entry": entry, "address": address, "copies": followers}
