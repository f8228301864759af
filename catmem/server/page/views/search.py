"""Search over what profiles see."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import QueryError
from catmem.server.page.reading import Page
from catmem.service.searching.search import search as search_one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.search_snippet import Snippet
    from catmem.policy.staleness import State
    from catmem.server.page.reading import Asked
    from catmem.service.searching.search import Found

_MOST = 50
_LONGEST = 400
"""Characters of a query that are looked for."""

STATES: dict[State, str] = {"fresh": "Fresh", "stale": "Stale", "expired": "Expired", "unverified": "Unverified"}


class Hit(NamedTuple):
    """An entry that was found, and the piece that shows why: texts, each looked for or not."""

    name: str
    found: Found
    pieces: tuple[tuple[str, bool], ...]


def search(asked: Asked) -> Page:
    """The entries that a query finds, the best first; the query may name a ``profile`` and a ``state``."""
    profiles = asked.workspace.profiles()
    query = asked.query.get("q", "").strip()[:_LONGEST]
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    hits: list[Hit] = []
    total, problem = 0, None
    if query:
        try:
            for each in [name] if name else profiles:
                found = search_one(asked.workspace, each, query, limit=_MOST, state=[state] if state else None)
                total += found.total
                hits += [Hit(each, one, tuple(_pieces(one.snippet))) for one in found.found]
        except QueryError as error:
            problem = error
    hits.sort(key=lambda hit: -hit.found.score)
    return Page(
        "search.html",
        {
            "q": query,
            "profiles": list(profiles),
            "profile": name,
            "states": STATES,
            "state": state,
            "hits": hits[:_MOST],
            "total": total,
            "problem": problem,
        },
        422 if problem else 200,
    )


def _pieces(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    place = 0
    for start, end in snippet.hits:
        if start > place:
            yield snippet.text[place:start], False
        yield snippet.text[start:end], True
        place = end
    if place < len(snippet.text):
        yield snippet.text[place:], False
