"""What is suggested for the entries of a root, by kind, and the operations that each suggestion would take."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from catmem.linting.linted import LintedEntry
from catmem.linting.similar import similar_pairs
from catmem.sorting.proposals import parts_of
from catmem.staleness.freshness import DATED_BY, expired_on
from catmem.tidying.wording import Wording, differences, relation, wording_of
from catmem.writing.operation import Action, Operation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from catmem.model.document import Entry

Kind: TypeAlias = Literal["expired", "duplicate", "contradiction", "split", "lift", "long", "shorter"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_ALIKE = 1 / 2  # the share of words in common from which on two entries are compared
LONG = 300  # characters from which on an entry is long
_SERIES = 3  # an entry that is otherwise than more entries is one of a list, such as a log
_SEVERAL = 2
_LEANS = re.compile(
    r"(?:and|but|or|so|then|also|otherwise|except|because|if|else|only|same|both|therefore|not|no)\b|[^\w\"'`*]"
    r"|.*\b(?:it|its|this|that|these|those|they|them|their|he|she|him|there(?! (?:is|are)\b)|here)\b"
    r"|.*\b(?:dies\w*|er|sie|ihn|ihm|ihnen|dort|dabei|davon|dafür)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A part with these words leans on the one before it."""
_OF_ONE_THING = re.compile(r"(?![-*+] )[^\n:.!?]{1,40}(?::\s|\s*\n\s*[-*+] )|\d{1,3}[.)] ")
"""What begins so is about one thing: a label, a heading over a list, or the first of some steps."""
_BULLET = re.compile(r"[-*+] +")


class TidyEntry(LintedEntry):
    """An entry with its place. ``copied``: the profile that this one is seeded from has it too."""

    def __init__(self, entity: str, line: int, entry: Entry, *, copied: bool = False) -> None:
        """``entity`` is such as ``trinity/user``; ``line`` counts from 1."""
        super().__init__(entry)
        self.entity, self.line, self.copied = entity, line, copied
        self.owner, _, self.target = entity.partition("/")
        self.verified = self.dates.get("verified_date")

    @cached_property
    def wording(self) -> Wording:
        """Its text, taken apart."""
        return wording_of(self.words)

    def asked(self, action: Action, **more: Any) -> Operation:  # noqa: ANN401 - fields of an operation
        """An operation on this entry."""
        return Operation(action, old_text=self.id, category=self.category, **more)

    def added(self, content: str) -> Operation:
        """An addition beside this entry, as old as it is."""
        return Operation("add", content=content, category=self.category, tags={"created": None, **self.entry.tags})

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data."""
        named = {"entity": self.entity, "category": self.category, "line": self.line, "id": self.id}
        return {**named, "tags": dict(self.tags), "text": self.body}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that could be tidier. ``operations`` are on ``entity``, the file; without any it is only shown.

    ``entries`` are those that it concerns, ``lost`` the words that would go.
    """

    kind: Kind
    entity: str
    operations: tuple[Operation, ...]
    reason: str
    entries: tuple[TidyEntry, ...]
    lost: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The suggestion as JSON-ready data."""
        said = {"kind": self.kind, "entity": self.entity, "reason": self.reason, "lost": list(self.lost)}
        operations = [operation.to_dict() for operation in self.operations]
        return {**said, "operations": operations, "entries": [entry.to_dict() for entry in self.entries]}


def suggestions(
    entries: Sequence[TidyEntry], as_of: date, seeded: Mapping[str, Collection[str]], over: Mapping[str, int]
) -> list[Suggestion]:
    """What could be tidier among the entries of all files, by kind; of an entry that would go nothing else is said.

    ``seeded`` are the specialists of each orchestrator, ``over`` says by how many characters files are over a limit.
    """
    found = [*expired(entries, as_of)]
    found += said_again(untouched(entries, found))
    left = untouched(entries, found)
    found += chain(split_up(left), lifted(left, seeded), long(left, over))
    return sorted(found, key=lambda each: (KINDS.index(each.kind), each.entity, each.entries[0].line))


def untouched(entries: Iterable[TidyEntry], found: Iterable[Suggestion]) -> list[TidyEntry]:
    """The entries that no operation of the suggestions is on."""
    used = {(each.entity, operation.category, operation.old_text) for each in found for operation in each.operations}
    return [each for each in entries if (each.entity, each.category, each.id) not in used]


def expired(entries: Iterable[TidyEntry], as_of: date) -> Iterator[Suggestion]:
    """Entries that are expired."""
    for each in entries:
        day = None if each.copied else expired_on(each.tags, as_of)
        if day is not None:
            yield Suggestion("expired", each.entity, (each.asked("remove"),), f"it expired on {day}", (each,))


# --- two entries ---------------------------------------------------------------------------------------------------


def said_again(entries: Iterable[TidyEntry]) -> Iterator[Suggestion]:
    """Entries of one profile that say the same, and then those that say the same with another value."""
    by_owner: defaultdict[str, list[TidyEntry]] = defaultdict(list)
    for entry in entries:
        by_owner[entry.owner].append(entry)
    for own in by_owner.values():
        keys = ([each.wording.keys(values=values) for each in own] for values in (True, False))
        near = {(pair.first, pair.second) for words in keys for pair in similar_pairs(words, _ALIKE)}
        gone: set[TidyEntry] = set()
        pairs = [(own[one], own[other]) for one, other in sorted(near)]
        found = [(relation(one.wording, other.wording), one, other) for one, other in pairs]
        series = Counter(each for what, *pair in found if what == "otherwise" for each in pair)
        for what, one, other in sorted(found, key=lambda each: each[0] != "same"):
            is_series = what == "otherwise" and max(series[one], series[other]) > _SERIES
            if what and not is_series and gone.isdisjoint({one, other}) and not (one.copied and other.copied):
                made = _joined(one, other) if what == "same" else _disputed(one, other)
                gone.update(made.entries[1:] if made.operations else ())
                yield made


def _joined(one: TidyEntry, other: TidyEntry) -> Suggestion:
    """Two entries that say the same: one goes, if they have the same readers and the same end."""
    kept, gone = (one, other) if _worth(one, other) >= _worth(other, one) else (other, one)
    places = ((each.entity, each.category, each.tags.get("expires")) for each in (one, other))
    if len({*places}) > 1:
        reason = "they say the same in another file or category, or until another day: each may have its readers"
        return Suggestion("duplicate", kept.entity, (), reason, (kept, gone))
    tags = {key: value for key, value in gone.entry.tags.items() if key not in {*kept.tags, *DATED_BY}}
    retagged = (kept.asked("replace", tags=tags),) if tags and not kept.copied else ()
    lacks = ", ".join(_lacking(kept, gone))
    if lacks or (gone.verified and not kept.verified):
        why = f"what was verified lacks {lacks}" if lacks else "the one of the source was not verified"
        return Suggestion("duplicate", kept.entity, (), f"they say the same, but {why}", (kept, gone))
    reason = f"they say the same{f'; the one that stays was verified on {kept.verified}' if kept.verified else ''}"
    return _removed("duplicate", gone, kept, reason, *retagged)


def _worth(entry: TidyEntry, against: TidyEntry) -> tuple[bool, bool, bool, int, str]:
    """What makes an entry stay: it is verified, has all values, has more words, is newer."""
    day, has_all = str(entry.day or ""), not _lacking(entry, against)
    return entry.copied, entry.verified is not None, has_all, len(entry.tokens), day


def _lacking(entry: TidyEntry, against: TidyEntry) -> list[str]:
    """The numbers and names of another entry that this one lacks."""
    return [word.raw for word in differences(against.wording, entry.wording)[0] if word.kind != "word"]


def _disputed(one: TidyEntry, other: TidyEntry) -> Suggestion:
    """Two entries of which one at most is right: the older goes only if the other was verified later."""
    values = [[word for word in words if word.kind != "word"] for words in differences(one.wording, other.wording)]
    reason = f"they say otherwise of the same: {' and '.join(' '.join(word.raw for word in words) for words in values)}"
    # Without a word such as "is", each may be true: a person speaks two languages.
    is_one = all(word.stated for word in chain(*values))
    for newer, older in ((one, other), (other, one)):
        later = newer.verified and (older.day is None or newer.verified > older.day)
        if later and is_one and not older.copied:
            return _removed("contradiction", older, newer, f"{reason}; the newer was verified on {newer.verified}")
    return Suggestion("contradiction", one.entity, (), reason, (one, other))


def _removed(kind: Kind, gone: TidyEntry, kept: TidyEntry, reason: str, *more: Operation) -> Suggestion:
    lost = tuple(word for word in gone.tokens if word not in kept.tokens)
    return Suggestion(kind, gone.entity, (gone.asked("remove"), *more), reason, (kept, gone), lost)


# --- one entry -----------------------------------------------------------------------------------------------------


def split_up(entries: Iterable[TidyEntry]) -> Iterator[Suggestion]:
    """Entries of several facts."""
    for each in entries:
        parts = facts_in(each.body)
        if len(parts) > 1 and not each.copied:
            operations = (each.asked("remove"), *map(each.added, parts))
            yield Suggestion("split", each.entity, operations, f"it holds {len(parts)} facts", (each,))


def facts_in(body: str) -> list[str]:
    """The paragraphs or list items of a text, if each is a fact by itself: no part leans on another; else the text.

    Sentences that follow each other stay together: no word says whether the second still speaks of the first.
    """
    parts = [_BULLET.sub("", part, count=1) for part in parts_of(body)]
    leans = any(map(_LEANS.match, parts[1:])) or any(part.endswith(":") for part in parts)
    if len(parts) == 1 or "\n" not in body or leans or _OF_ONE_THING.match(body):
        return [body]
    words = [wording_of(part).words for part in parts]
    # What begins several of them is their subject; a word that is said again elsewhere leads from one to the next.
    held = Counter(key for some in words for key in {word.key for word in some if word.kind != "number"})
    subjects = Counter(some[0].key for some in words if some)
    leads = any(count > max(1, subjects[key]) for key, count in held.items())
    return [body] if leads or min(map(len, words)) < _SEVERAL else parts


def long(entries: Iterable[TidyEntry], over: Mapping[str, int]) -> Iterator[Suggestion]:
    """Long entries of the files that are over what they may have."""
    for each in entries:
        if each.entity in over and len(each.body) > LONG and not each.copied:
            reason = f"it has {len(each.body):,} characters, and the file {over[each.entity]:,} more than it may have"
            yield Suggestion("long", each.entity, (), reason, (each,))


# --- all specialists -----------------------------------------------------------------------------------------------


def lifted(entries: Sequence[TidyEntry], seeded: Mapping[str, Collection[str]]) -> Iterator[Suggestion]:
    """Facts that all specialists of an orchestrator hold, and it does not."""
    held: defaultdict[tuple[Any, ...], list[TidyEntry]] = defaultdict(list)
    for each in (each for each in entries if not each.copied):
        said = each.wording
        held[each.target, each.category, frozenset(said.keys()), said.denies, said.turns].append(each)
    for (target, _, keys, *_), same in held.items():
        for source, specialists in seeded.items():
            holders = tuple(each for each in same if each.owner in specialists)
            if not keys or len(specialists) < _SEVERAL or len({each.owner for each in holders}) < len(specialists):
                continue
            best = max(holders, key=lambda each: (str(each.verified or ""), len(each.body)))
            if not any(relation(each.wording, best.wording) for each in entries if each.owner == source):
                reason = f"all {len(specialists)} specialists hold it, and {source} does not"
                yield Suggestion("lift", f"{source}/{target}", (best.added(best.body),), reason, holders)
