"""Search over what one profile sees: which entries a query finds, the best first, with the piece that shows why.

Filters come first, then everything that is left is ranked, then the best are shown. Nothing is written, and nothing but
the words of entries in sight and the names of their categories has a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from catmem import clock
from catmem.errors import CatmemError, QueryError
from catmem.names import FILE_NAMES, TARGETS
from catmem.policy.access import visible_categories
from catmem.policy.search import parse_query
from catmem.policy.search_rank import Match, Ranked, Source, matches, ranked
from catmem.policy.search_snippet import Snippet, snippet
from catmem.service.ages.known import freshness_of
from catmem.service.listing import ListedEntry
from catmem.service.searching.filters import checked_states, has_tags, texts_of, threats_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from catmem.model.document import Entry
    from catmem.policy.profile import Profile
    from catmem.policy.search import Query
    from catmem.policy.search_index import Index
    from catmem.policy.staleness import Freshness, State
    from catmem.service.workspace import Workspace

LIMIT = 20
"""Entries that a search shows where nobody says how many."""


@dataclass(frozen=True, slots=True)
class Found(ListedEntry):
    """One entry that a search found, with its score, over 0, and the piece of it that shows why."""

    score: float
    snippet: Snippet

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data."""
        return {
            **ListedEntry.to_dict(self),
            "basis": self.freshness.basis,
            "score": self.score,
            "snippet": {"text": self.snippet.text, "hits": [list(hit) for hit in self.snippet.hits]},
        }


class Searched(NamedTuple):
    """What a search shows, and how many entries it found in all."""

    found: list[Found]
    total: int


class Hit(NamedTuple):
    """An entry that a search found for an agent. What a prompt would withhold is never one."""

    target: str
    entry: Entry
    freshness: Freshness


class Hits(NamedTuple):
    """What a search has to show an agent, and how many entries it found in all."""

    hits: list[Hit]
    total: int


class Narrowing(TypedDict, total=False):
    """What narrows a search; each may be left out.

    ``target`` is one of the two files, ``category`` a slug or an alias, ``tags`` what an entry must be tagged with
    (``None``: not at all with that one), ``state`` some states of facts on the day ``as_of``, today by default.
    ``source`` is the profile whose files are searched. ``limit`` is how many are shown, after the ranking. ``whole``
    searches all that stands in the files, for a person: what the profile does not see, too.
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
    workspace: Workspace,
    profile: str,
    query: str,
    *,
    offset: int = 0,
    to_agent: bool = False,
    **narrowing: Unpack[Narrowing],
) -> Searched:
    """What a profile finds, the best first, from the one at ``offset`` on; and how many that are in all.

    ``to_agent`` leaves out what a prompt would withhold, as if it were not there: an answer that only said that such a
    text has a word would tell it piece by piece. Raises ``QueryError`` (of the query, and
    ``bad_limit`` for an offset or a limit below 0) and ``UnknownNameError``.
    """
    _refuse_negative(offset=offset, limit=narrowing.get("limit"))
    looked, found = _found(workspace, profile, query, narrowing, to_agent=to_agent)
    return Searched(looked.best(found, offset, narrowing.get("limit")), len(found))


def hits(
    workspace: Workspace,
    profile: str,
    query: str,
    *,
    offset: int,
    fit: Callable[[Iterator[Entry]], int],
    **narrowing: Unpack[Narrowing],
) -> Hits:
    """What ``search`` finds ``to_agent``, without snippets, lines and scores, which no agent is shown.

    ``fit`` says of the best entries how many may have room in the answer; of others the age is not looked up.
    """
    _refuse_negative(offset=offset, limit=narrowing.get("limit"))
    looked, found = _found(workspace, profile, query, narrowing, to_agent=True)
    return Hits(looked.hits(found, offset, narrowing.get("limit"), fit), len(found))


def _refuse_negative(**counts: int | None) -> None:
    """Raise ``QueryError`` (``bad_limit``) for a number of entries below 0."""
    for name, count in counts.items():
        if count is not None and count < 0:
            raise QueryError(
                f"the {name} of a search cannot be {count}",
                code="bad_limit",
                hint="Give 0 or more; without a limit all are shown.",
            )


def _found(
    workspace: Workspace, profile: str, query: str, narrowing: Narrowing, *, to_agent: bool
) -> tuple[_Search, list[tuple[Match, int]]]:
    """All that a search finds, each with the day that dates it, in no order; and the search itself."""
    target, category, source = narrowing.get("target"), narrowing.get("category"), narrowing.get("source")
    tags = narrowing.get("tags")
    wanted = parse_query(query)
    states = checked_states(narrowing.get("state"))
    reader = workspace.profile(profile)
    owner = reader if source is None else workspace.profile(source)
    day = narrowing.get("as_of") or clock.today()
    whole = narrowing.get("whole", False)
    looked = _Search(workspace, reader, owner, TARGETS if target is None else (target,), wanted, day, whole=whole)
    # All days first, whatever is kept: the oldest of them counts for those that have none.
    found = looked.dated(looked.shareable() if to_agent else looked.found())
    if category is not None:
        wanted_category = workspace.config.taxonomy.category(category)
        found = [each for each in found if looked.category(each[0]) == wanted_category]
    if tags:
        found = [each for each in found if has_tags(looked.entry(each[0]).tags, tags)]
    if states is not None:
        ages = looked.freshness(match for match, _ in found)
        found = [each for each in found if ages[each[0]].state in states]
    return looked, found


def _index_of(workspace: Workspace, owner: Profile, target: str, path: Path) -> Index:
    """The index of a profile's whole document as it is now; who searches it keeps to the categories in sight."""
    try:
        return workspace._index(workspace.bytes_of(owner, target, path))  # noqa: SLF001
    except CatmemError as error:
        error.path = error.path or str(path)
        raise


class _Search:
    """One search: its sources, and what is read of the entries that it finds."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is searched, for whom, and when
        self,
        workspace: Workspace,
        reader: Profile,
        owner: Profile,
        targets: Sequence[str],
        query: Query,
        as_of: date,
        *,
        whole: bool = False,
    ) -> None:
        self.workspace = workspace
        self.reader = reader
        self.owner = owner
        self.targets = targets
        self.query = query
        self.as_of = as_of
        self.whole = whole
        # Both files stand in one folder, which is looked up once.
        first = workspace._path(owner, targets[0])  # noqa: SLF001
        self.paths = [first, *(first.with_name(FILE_NAMES[target]) for target in targets[1:])]
        self._ages: dict[Match, Freshness] = {}
        self.sources = [self._source(target, path) for target, path in zip(targets, self.paths, strict=True)]

    def _source(self, target: str, path: Path) -> Source:
        index = _index_of(self.workspace, self.owner, target, path)
        present = dict.fromkeys(stretch.category for stretch in index.stretches)
        if self.whole:
            return Source.of(index, {category: place for place, category in enumerate(present)})
        taxonomy = self.workspace.config.taxonomy
        return Source.of(index, visible_categories(index.document, present, target, self.reader, taxonomy))

    def found(self) -> list[Match]:
        """Every entry in sight that the query finds, in no order."""
        return matches(self.query, self.sources)

    def shareable(self) -> list[Match]:
        """Every entry that the query finds once what the threat scan finds something in was taken out of sight."""
        found = self.found()
        new = [match for match in found if match.piece not in self.sources[match.source].index.hostile]
        for match, rules in zip(new, threats_in([texts_of(self.entry(match)) for match in new]), strict=True):
            self.sources[match.source].index.hostile[match.piece] = bool(rules)
        hostile = [match for match in found if self.sources[match.source].index.hostile[match.piece]]
        for match in hostile:
            self.sources[match.source].seen[match.piece] = 0
        # How rare a word is depends on all that have it.
        return self.found() if hostile else found

    def entry(self, match: Match) -> Entry:
        """The entry that was found."""
        return self.sources[match.source].index.entry(match.piece)

    def category(self, match: Match) -> str:
        """Its category."""
        return self.sources[match.source].index.category(match.piece)

    def freshness(self, found: Iterable[Match]) -> dict[Match, Freshness]:
        """How old each is, by all clocks."""
        ages = self._ages
        by_source: dict[int, list[Match]] = {}
        for match in found:
            if match not in ages:
                by_source.setdefault(match.source, []).append(match)
        for number, group in by_source.items():
            entity = f"{self.owner.name}/{self.targets[number]}"
            document = self.sources[number].index.document
            entries = [self.entry(match) for match in group]
            reader = None if self.whole else self.reader
            known = freshness_of(
                self.workspace, self.reader, entity, document, entries, as_of=self.as_of, reader=reader
            )
            ages |= zip(group, known, strict=True)
        return ages

    def best(self, found: Sequence[tuple[Match, int]], offset: int, limit: int | None) -> list[Found]:
        """Those at ``offset`` and after, at most ``limit``, after all of them were ranked."""
        rows = self._ranked(found, offset, limit)
        ages = self.freshness(row.match for row in rows)
        entries = [self.entry(row.match) for row in rows]
        bodies = [entry.body for entry in entries]
        lines = self._lines(rows, entries)
        return [
            Found(
                target=self.targets[row.match.source],
                path=self.paths[row.match.source],
                line=line,
                entry=entry,
                freshness=ages[row.match],
                score=row.score,
                snippet=snippet(body, self.query),
                threats=rules,
            )
            for row, entry, body, line, rules in zip(
                rows, entries, bodies, lines, self._threats(rows, bodies), strict=True
            )
        ]

    def hits(
        self,
        found: Sequence[tuple[Match, int]],
        offset: int,
        limit: int | None,
        fit: Callable[[Iterator[Entry]], int],
    ) -> list[Hit]:
        """Those of the ``best`` that fit."""
        rows = self._ranked(found, offset, limit)
        shown = [row.match for row in rows[: fit(self.entry(row.match) for row in rows)]]
        ages = self.freshness(shown)
        return [Hit(self.targets[match.source], self.entry(match), ages[match]) for match in shown]

    def _ranked(self, found: Sequence[tuple[Match, int]], offset: int, limit: int | None) -> list[Ranked]:
        """The best from ``offset`` on, at most ``limit``, after all were ranked."""
        return ranked(
            found,
            as_of=self.as_of.toordinal(),
            recency_days=self.workspace.config.recency_days,
            limit=None if limit is None else offset + limit,
        )[offset:]

    def _threats(self, rows: Sequence[Ranked], bodies: Sequence[str]) -> list[tuple[str, ...]]:
        known = [self.sources[row.match.source].index.threats for row in rows]
        new = [n for n, row in enumerate(rows) if row.match.piece not in known[n]]
        for n, rules in zip(new, threats_in([[bodies[n]] for n in new]), strict=True):
            known[n][rows[n].match.piece] = rules
        return [known[n][row.match.piece] for n, row in enumerate(rows)]

    def _lines(self, rows: Sequence[Ranked], entries: Sequence[Entry]) -> list[int]:
        starts: dict[int, list[int]] = {}
        for row, entry in zip(rows, entries, strict=True):
            starts.setdefault(row.match.source, []).append(entry.start)
        lines = {number: self.sources[number].index.lines(offsets) for number, offsets in starts.items()}
        return [lines[row.match.source][entry.start] for row, entry in zip(rows, entries, strict=True)]

    def dated(self, found: Sequence[Match]) -> list[tuple[Match, int]]:
        """Each with the day that dates it, as an ordinal: its own, else the one that the journal or the file gives.

        What has none at all is as old as the oldest of the others.
        """
        as_of = self.as_of.toordinal()
        facts = [source.index.facts for source in self.sources]
        days = [next((day for day in facts[number](piece).days if day <= as_of), None) for number, piece, _ in found]
        if None in days:
            undated = [match for match, day in zip(found, days, strict=True) if day is None]
            # That a fact has had its day does not say how old it is.
            ages = {
                match: age.day.toordinal()
                for match, age in self.freshness(undated).items()
                if age.day is not None and age.basis != "expires"
            }
            days = [ages.get(match) if day is None else day for match, day in zip(found, days, strict=True)]
        oldest = min((day for day in days if day is not None), default=as_of)
        return [(match, oldest if day is None else day) for match, day in zip(found, days, strict=True)]
