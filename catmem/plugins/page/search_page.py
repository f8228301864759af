"""Search over all files: what no prompt shows is found by a person, too."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.config.access import visible
from catmem.errors import QueryError
from catmem.plugins.page.page_view import Page
from catmem.search.search import Everywhere, search_everywhere
from catmem.search.search import search as search_one
from catmem.staleness.freshness import dated_ahead
from catmem.workspace.root import agent_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from catmem.plugins.page.page_view import PageRequest
    from catmem.search.ranking import Snippet
    from catmem.search.search import SearchHit
    from catmem.staleness.freshness import State

_MOST = 50
_LONGEST = 400
"""Characters of a query that are looked for."""

STATES: dict[State, str] = {"fresh": "Fresh", "stale": "Stale", "expired": "Expired", "unverified": "Unverified"}


class PageHit(NamedTuple):
    """An entry that was found, and the piece that shows why: texts, each looked for or not.

    ``ahead`` are its tags that hold a date in the future, ``in_sight`` says whether its profile sees it.
    """

    name: str
    found: SearchHit
    pieces: tuple[tuple[str, bool], ...]
    ahead: tuple[tuple[str, date], ...]
    in_sight: bool


def search(asked: PageRequest) -> Page:
    """The entries that a query finds, the best first; the query may name a ``profile`` and a ``state``."""
    profiles = agent_names(asked.workspace)
    query = asked.query.get("q", "").strip()[:_LONGEST]
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    searched, problem = Everywhere([], 0, ()), None
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
        PageHit(
            owner := hit.entity.partition("/")[0],
            hit,
            tuple(_pieces(hit.snippet)),
            dated_ahead(hit.entry.tags, clock.today()),
            hit.entry.category in seen(owner, hit.target),
        )
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


def _searched(asked: PageRequest, name: str | None, query: str, state: State | None) -> Everywhere:
    states = [state] if state else None
    if name is None:
        return search_everywhere(asked.workspace, query, limit=_MOST, state=states, whole=True)
    found = search_one(asked.workspace, name, query, limit=_MOST, state=states, whole=True)
    return Everywhere(found.found, found.total, ())


def _pieces(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    place = 0
    for start, end in snippet.hits:
        if start > place:
            yield snippet.text[place:start], False
        yield snippet.text[start:end], True
        place = end
    if place < len(snippet.text):
        yield snippet.text[place:], False
