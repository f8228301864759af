"""Search over what each profile of a root sees. What cannot be read is told beside what was found, and hides none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Unpack

from catmem.errors import CatmemError, QueryError, UnreadableError
from catmem.policy.profile import TARGETS
from catmem.policy.search import parse_query
from catmem.service.profiles import load_each
from catmem.service.searching.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.service.searching.search import Found, Narrowing, Searched
    from catmem.service.workspace import Workspace


class FoundOf(NamedTuple):
    """An entry that a search found, and the profile that sees it."""

    profile: str
    found: Found


class Everywhere(NamedTuple):
    """What a search over all profiles shows, the best first, and how many entries it found in all.

    ``unreadable`` are the profiles and files that could not be searched.
    """

    found: list[FoundOf]
    total: int
    unreadable: tuple[CatmemError, ...]


def search_everywhere(workspace: Workspace, query: str, **narrowing: Unpack[Narrowing]) -> Everywhere:
    """What the profiles of a root find in their own files; ``Narrowing`` holds for each, ``limit`` for all together.

    Raises ``QueryError``, and ``UnreadableError`` if the folder of profiles cannot be listed.
    """
    parse_query(query)  # also where nothing can be searched
    profiles, unreadable = load_each(workspace)
    rows: list[FoundOf] = []
    total = 0
    for profile in profiles:
        for searched in _parts(workspace, profile.name, query, narrowing, unreadable):
            total += searched.total
            rows += [FoundOf(profile.name, each) for each in searched.found]
    rows.sort(key=lambda row: -row.found.score)
    return Everywhere(rows[: narrowing.get("limit")], total, tuple(unreadable))


def _parts(
    workspace: Workspace, name: str, query: str, narrowing: Narrowing, unreadable: list[CatmemError]
) -> Iterator[Searched]:
    """What a profile finds in all of its files, or, where one of them cannot be read, in the others."""
    try:
        yield search(workspace, name, query, **narrowing)
    except QueryError:
        raise
    except UnreadableError as error:
        if narrowing.get("target") is not None:
            unreadable.append(error)
            return
        for target in TARGETS:
            yield from _parts(workspace, name, query, {**narrowing, "target": target}, unreadable)
    except CatmemError as error:
        unreadable.append(error)
