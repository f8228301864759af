"""Search over what one profile sees, or each of them: the entries that a query finds, the best first, with a snippet.

Filters come first, then everything that is left is ranked, then the best are shown. Nothing is written, and nothing but
the words of entries in sight and the names of their categories has a part in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack, get_args

from catmem import clock
from catmem.clock import read_date
from catmem.config.access import visible_categories
from catmem.config.json_schema import suggestion
from catmem.errors import CatmemError, QueryError, UnknownNameError, UnreadableError, wrong_type
from catmem.model.document import Entry, TagValue
from catmem.names import TARGETS, known_target
from catmem.search.index import Match, SearchSource, Snippet, matches, ranked, snippet
from catmem.search.query import Query, parse_query
from catmem.staleness.freshness import DATED_BY, Freshness, State
from catmem.staleness.lineage import freshness_of
from catmem.threats import scan_each
from catmem.workspace.root import Root, load_each
from catmem.workspace.seen_entry import SeenEntry, texts_of
from catmem.workspace.stores import places

STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class SearchHit(SeenEntry):
    """One entry that a search found, with its score, over 0, and the query that found it."""

    score: float
    query: Query = field(repr=False)
    __json__ = f"{SeenEntry.__json__} basis=freshness.basis score snippet"

    @property
    def snippet(self) -> Snippet:
        """The piece of its body that shows why; made when it is asked for."""
        return snippet(self.entry.body, self.query)


class Searched(NamedTuple):
    """What a search shows, the best first, and how many entries it found in all.

    ``unreadable`` are the profiles and files that could not be searched, where all were.
    """

    found: list[SearchHit]
    total: int
    unreadable: tuple[CatmemError, ...] = ()


class Narrowing(TypedDict, total=False):
    """What narrows a search; each may be left out.

    ``target`` is one of the two files, ``category`` a slug or an alias. ``tags`` are those that an entry must have
    (with ``None``: must not have), ``state`` some states of facts on the day ``as_of``, today by default. ``source`` is
    the profile whose files are searched. ``limit`` is how many are shown, after the ranking. ``whole`` searches, for a
    person, also what the profile does not see.
    """

    target: str | None
    category: str | None
    tags: Mapping[str, str | Sequence[str] | None] | None
    state: Collection[State] | None
    limit: int | None
    as_of: date | None
    source: str | None
    whole: bool


def search(
    workspace: Root,
    profile: str,
    query: str,
    *,
    offset: int = 0,
    to_agent: bool = False,
    **narrowing: Unpack[Narrowing],
) -> Searched:
    """What a profile finds, the best first, from the one at ``offset`` on; and how many that are in all."""
    # `to_agent` leaves out what a prompt would withhold, as if it were not there: an answer that only said that such a
    # text has a word would tell it piece by piece.
    limit = narrowing.get("limit")
    for name, count in (("offset", offset), ("limit", limit)):
        if count is not None and (type(count) is not int or count < 0):
            raise QueryError(
                f"the {name} of a search cannot be {count!r}",
                code="bad_limit",
                hint="Give 0 or more; without a limit all are shown.",
            )
    wanted, state = parse_query(query), narrowing.get("state")
    states = None if state is None else _checked_states(state)
    looked = _Search(workspace, profile, wanted, narrowing)
    found = looked.found(to_agent=to_agent)
    category, tags = narrowing.get("category"), narrowing.get("tags")
    if category is not None:
        slug = workspace.config.taxonomy.category(category)
        found = [each for each in found if looked.entry(each).category == slug]
    if not isinstance(tags, Mapping | None):
        raise wrong_type("tags", tags, "a mapping")
    if tags:
        found = [each for each in found if has_tags(looked.entry(each).tags, tags)]
    if states is not None:
        ages = looked.freshness(found)
        found = [each for each in found if ages[each].state in states]
    best = ranked(looked.dated(found), as_of=looked.as_of.toordinal())
    best = best[offset : None if limit is None else offset + limit]
    return Searched(looked.shown(best), len(found))


def search_everywhere(workspace: Root, query: str, **narrowing: Unpack[Narrowing]) -> Searched:
    """What the profiles of a root find in their own files; ``Narrowing`` holds for each, ``limit`` for all together."""
    # What cannot be read is reported beside what was found, and hides none.
    parse_query(query)  # also where nothing can be searched
    profiles, unreadable = load_each(workspace)
    found: list[SearchHit] = []
    total = 0
    for profile in profiles:
        for searched in _parts(workspace, profile.name, query, narrowing, unreadable):
            total += searched.total
            found += searched.found
    found.sort(key=lambda hit: -hit.score)
    return Searched(found[: narrowing.get("limit")], total, tuple(unreadable))


def _parts(
    workspace: Root, name: str, query: str, narrowing: Narrowing, unreadable: list[CatmemError]
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


def has_tags(tags: Mapping[str, TagValue], wanted: Mapping[str, str | Sequence[str] | None]) -> bool:
    """Whether an entry with these tags has all that are wanted; ``None`` wants that it has none of that name."""

    def texts(value: TagValue | Sequence[str] | None) -> set[str]:
        return {value} if isinstance(value, str) else set(value or ())

    return all(
        key not in tags if value is None else key in tags and texts(tags[key]) >= texts(value)
        for key, value in wanted.items()
    )


def _checked_states(given: Collection[State]) -> frozenset[str]:
    """The states that are wanted. Raises ``UnknownNameError`` (``unknown_state``)."""
    if not isinstance(given, Collection):
        raise wrong_type("state", given, "a text or a list of texts")
    states = frozenset([given] if isinstance(given, str) else given)
    for state in sorted(states.difference(STATES)):
        raise UnknownNameError(
            f"{state!r} is not a state", code="unknown_state", hint=suggestion(state, STATES, "states")
        )
    return states


class _Search:
    """One question to the files of a profile."""

    def __init__(self, workspace: Root, reader: str, query: Query, narrowing: Narrowing) -> None:
        target, source = narrowing.get("target"), narrowing.get("source")
        self.workspace = workspace
        self.query = query
        self.reader = workspace.profile(reader)
        self.owner = self.reader if source is None else workspace.profile(source)
        self.as_of = clock.day(narrowing.get("as_of"))
        self.whole = narrowing.get("whole", False)
        self.targets = TARGETS if target is None else (known_target(target),)
        paths = places(workspace.config, self.owner)
        self.sources = [self._source(each, paths[each]) for each in self.targets]
        self.entities = [f"{self.owner.name}/{each}" for each in self.targets]
        self._ages: dict[Match, Freshness] = {}

    def _source(self, target: str, path: Path) -> SearchSource:
        try:
            data = self.workspace.bytes_of(self.owner, target, path)
            index = self.workspace._cache.text(data).index  # noqa: SLF001 - the workspace keeps it
        except CatmemError as error:
            error.path = error.path or str(path)
            raise
        taxonomy = self.workspace.config.taxonomy
        seen = index.counts if self.whole else visible_categories(index.counts, target, self.reader, taxonomy)
        return SearchSource(index, seen)

    def found(self, *, to_agent: bool) -> list[Match]:
        """Every entry in sight that the query finds, in no order; to an agent as if what is hostile were not there."""
        found = matches(self.query, self.sources)
        hostile = [match for match in found if to_agent and self._is_hostile(match)]
        for match in hostile:
            self.sources[match.source].hidden.add(match.number)
        # How rare a word is depends on all that have it.
        return matches(self.query, self.sources) if hostile else found

    def _is_hostile(self, match: Match) -> bool:
        known = self.sources[match.source].index.hostile
        if match.number not in known:
            known[match.number] = any(scan_each(texts_of(self.entry(match))))
        return known[match.number]

    def entry(self, match: Match) -> Entry:
        return self.sources[match.source].index.document.entries[match.number]

    def freshness(self, found: Iterable[Match]) -> dict[Match, Freshness]:
        new = [match for match in found if match not in self._ages]
        for number, source in enumerate(self.sources):
            group = [match for match in new if match.source == number]
            known = freshness_of(
                self.workspace,
                self.reader,
                self.entities[number],
                source.index.document,
                [self.entry(match) for match in group],
                as_of=self.as_of,
                reader=None if self.whole else self.reader,
            )
            self._ages |= zip(group, known, strict=True)
        return self._ages

    def shown(self, best: Sequence[tuple[Match, float]]) -> list[SearchHit]:
        ages = self.freshness(match for match, _ in best)
        shown: list[SearchHit] = []
        for match, score in best:
            entry = self.entry(match)
            line = self.sources[match.source].index.document.line(entry.start)
            shown.append(SearchHit(self.entities[match.source], line, entry, ages[match], score, self.query))
        return shown

    def dated(self, found: Sequence[Match]) -> list[tuple[Match, int]]:
        """Each with the day that dates it, as an ordinal: its own, else that on which catmem wrote it; else 0."""
        as_of = self.as_of.toordinal()
        days: dict[Match, int] = {}
        for match in found:
            tags = self.entry(match).tags
            own = [day.toordinal() for key in DATED_BY if (day := read_date(tags.get(key)))]
            days |= [(match, day) for day in own if day <= as_of][:1]
        undated = [match for match in found if match not in days]
        ages = self.freshness(undated)
        for match in undated:
            # That a fact has had its day does not say how old it is.
            if (day := ages[match].day) is not None and ages[match].basis == "first_seen":
                days[match] = day.toordinal()
        return [(match, days.get(match, 0)) for match in found]
