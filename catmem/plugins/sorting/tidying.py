"""What could be tidier in a root: entries that are alike, and the operations for it."""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import combinations
from math import log, sqrt
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import normalize

from catmem.config.profile import refuse_no_root
from catmem.errors import CatmemError
from catmem.linting.linted import LintedEntry
from catmem.model.document import Entry
from catmem.names import UNCATEGORIZED, parts_of
from catmem.plugins.sorting.sort_lines import threats_of
from catmem.search.query import DEFAULT, FUNCTION_WORDS, fold, language_of, stem
from catmem.threats import scan
from catmem.workspace.reports import list_everywhere
from catmem.workspace.root import Root, load_each
from catmem.workspace.seen_entry import preview
from catmem.writing.request import Operation
from catmem.writing.write import write_operations

WordKind: TypeAlias = Literal["word", "number", "time", "date"]

_LEAST, _WORDS = (
    0.2,
    3,
)  # what two texts have to share of what they hold, with so many words, or values that differ, or a denial
_ENOUGH = 0.3  # or so much
_COMMON = 30  # a word that more texts hold leads from none to another: so the time grows with their number alone
_SERIES = 4, 0.7  # texts that are so alike to so many others are of a series, such as a log
_UNLIKE_DAY, _UNLIKE_NUMBER, _DENIED = 1.5, 0.75, 1.0  # what a difference counts; of a number, each word beside it
_BESIDE = 2  # words on each side
_MOST_VALUES = 40
_NAMED = 4  # shared words that are named

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,:/-]\d+)*|[€$£%]")
_TWELVE_HOURS = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b\.?", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
_COUNT = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_SIGNS = {"€": "euro", "$": "dollar", "£": "pound", "%": "percent"}
_CALENDAR = {
    form: name[:3] for name in map(str.lower, (*day_name, *month_name)) if name for form in (name, name[:3], f"{name}s")
}
_DENIES = re.compile(r"no|not|never|nicht|keine?|nie|pas|jamais|nunca|.+n['\u2019]t")
_AROUND = ".,;:!\u2026()[]\"'\u201c\u201d\u201e\u2018\u2019*_`"
"""What a sentence or Markdown sets around a word. The signs of "C++", "-5" and "why?" are part of what is said."""
_DASHES = {"", "-", "\u2013", "\u2014"}


class Word(NamedTuple):
    """A word that is no mere joint: its stem, or its value in one form; ``denied``: "not" stands before it."""

    key: str
    raw: str
    kind: WordKind
    denied: bool


Values: TypeAlias = "Sequence[tuple[Word, set[str]]]"
"""The values of a text, each with the words beside it."""


class Alike(NamedTuple):
    """Two texts by their places, ``first`` < ``second``; the rarest words that both have, and values that differ."""

    first: int
    second: int
    score: float
    shared: tuple[str, ...]
    values: tuple[str, str] | None


def same_words(text: str) -> tuple[str, ...]:
    """All words of a text without the signs of a sentence; in one order, unless a word denies what follows it."""
    words = plain_words(text)
    return tuple(words if any(map(_DENIES.fullmatch, words)) else sorted(words))


def plain_words(text: str) -> list[str]:
    chunks = (chunk.strip(_AROUND) for chunk in normalize("NFC", text).casefold().split())
    return [word for word in chunks if word not in _DASHES]


def alike_pairs(texts: Sequence[str], most: int) -> list[Alike]:
    """The pairs that are most alike, best first, at most so many; a text is in one pair at most."""
    words = [words_of(text) for text in texts]
    values = [_values(some) for some in words]
    keys = [{word.key for word in some} for some in words]
    denied = [{word.key for word in some if word.denied} for some in words]
    count = Counter(key for some in keys for key in some)
    weight = {key: log((len(texts) + 1) / number) for key, number in count.items()}
    held = [sum(weight[key] for key in some) for some in keys]
    found = []
    for first, second in _candidates(keys):
        shared = keys[first] & keys[second]
        more, unlike = _unlike(values[first], values[second], shared)
        denies = denied[first] & shared != denied[second] & shared
        more += _DENIED * denies
        score = (sum(weight[key] for key in shared) + more) / sqrt(held[first] * held[second])
        if score >= (_LEAST if unlike or denies or len(shared) >= _WORDS else _ENOUGH):
            raw = {word.key: word.raw for word in words[first]}
            rarest = sorted(shared, key=lambda key: (-weight[key], key))[:_NAMED]
            found.append(Alike(first, second, score, tuple(raw[key] for key in rarest), unlike))
    taken: set[int] = set()
    chosen: list[Alike] = []
    for pair in sorted(_without_series(found), key=lambda each: (-each.score, each.first, each.second)):
        if taken.isdisjoint(pair[:2]) and len(chosen) < most:
            taken.update(pair[:2])
            chosen.append(pair)
    return chosen


def _without_series(found: Sequence[Alike]) -> Iterator[Alike]:
    """The pairs, but for those of which both texts are about as alike to several others."""
    number, share = _SERIES
    scores: defaultdict[int, list[float]] = defaultdict(list)
    for pair in found:
        scores[pair.first].append(pair.score)
        scores[pair.second].append(pair.score)
    least = {place: nlargest(number, each)[-1] if len(each) >= number else 0.0 for place, each in scores.items()}
    return (pair for pair in found if min(least[pair.first], least[pair.second]) < share * pair.score)


def _candidates(keys: Sequence[set[str]]) -> set[tuple[int, int]]:
    """The places of texts that share a word which few hold."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, some in enumerate(keys):
        for key in some:
            holders[key].append(place)
    return {pair for places in holders.values() if len(places) <= _COMMON for pair in combinations(places, 2)}


def _values(words: Sequence[Word]) -> Values:
    found = []
    for place, word in enumerate(words):
        if word.kind != "word":
            near = words[max(0, place - _BESIDE) : place + _BESIDE + 1]
            found.append((word, {each.key for each in near if each.kind == "word"}))
    return found[:_MOST_VALUES]


def _unlike(one: Values, other: Values, shared: set[str]) -> tuple[float, tuple[str, str] | None]:
    """What it counts that two texts differ in a value, and the two values."""
    best, values = 0.0, None
    for mine, near in one:
        for theirs, there in other:
            if mine.key in shared or theirs.key in shared:
                continue
            counts = _UNLIKE_NUMBER * min(len(near & there), 2)
            counts = _UNLIKE_DAY if mine.kind == theirs.kind != "number" else counts
            if counts > best:
                best, values = counts, (mine.raw, theirs.raw)
    return best, values


def words_of(text: str) -> list[Word]:
    text = _TWELVE_HOURS.sub(lambda at: f"{int(at[1]) % 12 + 12 * (at[3] in 'pP')}:{at[2] or '00'}", text)
    raws = _WORD.findall(text)
    lows = [fold(raw).removesuffix("'s").removesuffix("\u2019s") for raw in raws]
    language = language_of(lows)
    joints = FUNCTION_WORDS[DEFAULT] | FUNCTION_WORDS[language]
    found: list[Word] = []
    denied_until = -1
    for raw, low in zip(raws, lows, strict=True):
        if _DENIES.fullmatch(low):
            denied_until = len(found) + 1
        elif (value := _value(raw, low)) or (low not in joints and (len(low) > 1 or low in _SIGNS)):
            key, kind = value or (stem(_SIGNS.get(low, low), language), "word")
            found.append(Word(key, raw, kind, len(found) < denied_until))
    return found


def _value(raw: str, low: str) -> tuple[str, WordKind] | None:
    """A number, a time, a day of the week or a month in one form; ``None`` for another word."""
    if low[0].isdigit():
        plain = low.replace(grouped[1], "") if (grouped := _GROUPED.fullmatch(low)) else low.replace(",", ".")
        return plain, "time" if ":" in low else "date" if low.count("-") > 1 else "number"
    if low in _COUNT:
        return str(_COUNT.index(low) + 1), "number"
    return (_CALENDAR[low], "date") if low in _CALENDAR and raw[0].isupper() else None


# --- what is suggested for the entries of a root, and the operations that each suggestion would take -----------------


SuggestionKind: TypeAlias = Literal["same", "together"]
"""``same``: two entries say the same; ``together``: a person should look at both."""

ENTRIES_A_PAIR = 5
"""For so many entries of a profile at most one pair is listed to look at; of fewer entries one."""


class TidyEntry(LintedEntry):
    """An entry with its place. ``copied``: the profile that this one is seeded from has it too."""

    __json__ = "entity category line id tags text=body"

    def __init__(self, entity: str, line: int, entry: Entry, *, copied: bool = False) -> None:
        super().__init__(entry)
        self.entity, self.line, self.copied = entity, line, copied
        self.owner, self.id = parts_of(entity).owner, entry.id
        self.day = self.dates.get("verified_date") or self.dates.get("created")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entries that say one thing twice, or may; the first stays. Without operations they are only shown."""

    kind: SuggestionKind
    entity: str
    operations: tuple[Operation, ...]
    reason: str
    entries: tuple[TidyEntry, TidyEntry]
    __json__ = "kind entity reason operations entries"


def suggestions(entries: Iterable[TidyEntry]) -> list[Suggestion]:
    """Of each profile the entries that say the same, and then those to look at together, the most alike first."""
    by_owner: defaultdict[str, defaultdict[tuple[str, ...], list[TidyEntry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        by_owner[entry.owner][same_words(entry.body) or (entry.body,)].append(entry)
    found: list[Suggestion] = []
    for own in by_owner.values():
        groups = [sorted(some, key=_worth, reverse=True) for some in own.values()]
        same = [_same(kept, gone) for kept, *others in groups for gone in others]
        each_once = [some[0] for some in groups]
        most = max(1, sum(map(len, groups)) // ENTRIES_A_PAIR - len(same))
        alike = alike_pairs([each.body for each in each_once], most)
        found += [*same, *(_together(each_once, pair) for pair in alike)]
    shown = (each for each in found if not all(entry.copied for entry in each.entries))
    return sorted(shown, key=lambda each: each.kind != "same")


def _worth(entry: TidyEntry) -> tuple[bool, bool, str]:
    """What makes an entry stay: its source has it too, it is verified, it is newer."""
    return entry.copied, "verified_date" in entry.dates, str(entry.day or "")


def _same(kept: TidyEntry, gone: TidyEntry) -> Suggestion:
    """Two entries of which the second goes, if no reader and no tag loses by it; else both are only shown."""
    order = "" if plain_words(kept.body) == plain_words(gone.body) else ", in another order"
    reason = f"they have the same words{order}"
    places = ((each.category, None if each.category == UNCATEGORIZED else each.entity) for each in (kept, gone))
    tags = gone.tags.keys() - kept.tags.keys() - {"created"}
    why = None
    if gone.copied:
        why = "the source has the one that would go: change it there"
    elif len({*places}) > 1:
        why = "in another file or category: each may have its readers"
    elif tags or kept.tags.get("expires") != gone.tags.get("expires"):
        why = "the tags of the one that would go say more, or another day"
    if why:
        return Suggestion("same", kept.entity, (), f"{reason}; {why}", (kept, gone))
    operation = Operation("remove", old_text=gone.id, category=gone.category)
    return Suggestion("same", gone.entity, (operation,), reason, (kept, gone))


def _together(entries: Sequence[TidyEntry], pair: Alike) -> Suggestion:
    """A pair to look at, the newer one first."""
    one, other = entries[pair.first], entries[pair.second]
    values = pair.values
    if str(other.day or "") > str(one.day or ""):
        one, other, values = other, one, values and (values[1], values[0])
    reason = f"both speak of {', '.join(pair.shared)}{f': {values[0]} or {values[1]}?' if values else ''}"
    return Suggestion("together", one.entity, (), reason, (one, other))


# --- what could be tidier in a root on disk: its files read, and all that is suggested for them ----------------------


class TidyList(NamedTuple):
    """What is suggested, how many secret or hostile entries are left out, and the digests of files by entity."""

    suggestions: list[Suggestion]
    private: int
    problems: list[CatmemError]
    digests: Mapping[str, str]


def list_tidy(workspace: Root, name: str | None = None) -> TidyList:
    """What could be tidier in the files of the profile ``name``, else of all. Nothing is written."""
    refuse_no_root(workspace.config)
    if name is not None:
        workspace.profile(name)
    seen, problems, digests = list_everywhere(workspace)
    said = {(each.entity, each.entry.category, each.entry.body) for each in seen}
    sources = {profile.name: profile.seed_from for profile in load_each(workspace)[0]}
    entries = []
    for each in seen:
        owner, target = parts_of(each.entity)
        copied = (f"{sources[owner]}/{target}", each.entry.category, each.entry.body) in said
        if name in {None, owner}:
            entries.append(TidyEntry(each.entity, each.line, each.entry, copied=copied))
    threats = threats_of([each.entry for each in entries])
    harmless = [each for each, found in zip(entries, threats, strict=True) if not found]
    return TidyList(suggestions(harmless), len(entries) - len(harmless), problems, digests)


class ProposedTidying(NamedTuple):
    """A suggestion and the id under which it waits for a person; ``None`` where it was refused, with the ``error``."""

    suggestion: Suggestion
    proposal: str | None
    error: CatmemError | None = None

    @property
    def __json__(self) -> str:
        return "*suggestion proposal error"


def propose_tidy(workspace: Root, found: Sequence[Suggestion]) -> list[ProposedTidying]:
    """Have every suggestion that has operations wait as a proposal; no file changes."""
    proposed = []
    for each in found:
        owner, target = parts_of(each.entity)
        try:
            reason = _reason(each)
            written = write_operations(workspace, owner, each.operations, target=target, reason=reason, proposes=True)
            proposed.append(ProposedTidying(each, written.waiting))
        except CatmemError as error:
            proposed.append(ProposedTidying(each, None, error))
    return proposed


def _reason(found: Suggestion) -> str:
    """Why, for who sees the entry alone: with words of the one that stays, if that has no other readers."""
    kept, gone = found.entries
    if (kept.entity, kept.category) != (gone.entity, gone.category):
        return f"tidy, {found.kind}: another entry of {kept.owner} is to stay"
    why = f'tidy, {found.kind}: {found.reason}; what stays: "{preview(kept.entry, to_agent=False)}"'
    return f"tidy, {found.kind}" if scan(why) else why
