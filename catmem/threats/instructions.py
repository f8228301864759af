"""Phrases that give a model orders: the search for those of the tables beside.

A phrase is tried only where one of its *stems* stands, so ordinary text costs one substring search a stem. Patterns run
over folded letters (``fold``): no blanks, no case, ``l`` written ``i`` (``fold_word`` does it). Every gap is bounded
and none holds another, so the work at one stem is bounded too. What is found is checked against the original text: word
starts, sentence ends, negation.

The fold keeps Latin letters only, so the few phrases in other scripts run over the text in lower case, with hidden
characters taken out when there are any. First version of these: one attack class, seven languages, and no disguise but
hidden characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from catmem.threats.finding import Threat, pattern, places, read_table
from catmem.threats.fold import fold_word, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catmem.threats.fold import Folded


# What a phrase must not be followed by depends on where its text ends.
_MUST_NOT_FOLLOW = re.compile(r"\(\?![^()]*\)")


class Phrase:
    """One row of ``phrases.txt``, which says what its fields mean, or of ``native.txt``."""

    def __init__(self, row: Mapping[str, str]) -> None:
        """Patterns and words are written in plain letters there, and folded here."""
        self.rule = row["rule"]
        self.stems = fold_word(row["stems"]).split()
        self.gates = fold_word(row.get("gates", "")).split()
        self.before, self.after = int(row.get("before", 0)), int(row.get("after", 120))
        self.negatable = "negatable" in row
        self.near = pattern(row["near"], re.IGNORECASE) if "near" in row else None
        self._needs = fold_word(row.get("needs", "")).split()
        written = fold_word(row["pattern"])
        self._pattern, self._loose = pattern(written), pattern(_MUST_NOT_FOLLOW.sub("", written))

    def match(self, letters: str, place: int, *, loose: bool = False) -> re.Match[str] | None:
        """The phrase around a stem at ``place``; ``loose`` is whatever follows it."""
        first, last = max(0, place - self.before), place + self.after
        if self._needs and not any(map(letters[first:last].__contains__, self._needs)):
            return None
        looked_for = self._loose if loose else self._pattern
        return (looked_for.search if self.before else looked_for.match)(letters, first, last)


@cache
def _by_stem() -> dict[str, list[Phrase]]:
    phrases: dict[str, list[Phrase]] = {}
    for phrase in map(Phrase, read_table("phrases.txt")):
        for stem in phrase.stems:
            phrases.setdefault(stem, []).append(phrase)
    return phrases


def stems() -> Iterable[str]:
    """The words in the folded letters that all phrases start from."""
    return _by_stem()


# A sentence end between two words of a phrase: "what we ignore. All previous instructions ..." is no order.
_SENTENCE_END = pattern(r"(?<=\w\w)[.!?\u3002\uff01\uff1f][\"')\]*_]{0,3}\s")
_WORD = re.compile(r"\w{2,}")
_NEGATION = pattern(
    r"\b(?:do not|don['\u2019]?t|does not|doesn['\u2019]?t|never|must not|mustn['\u2019]?t|should not|"
    r"shouldn['\u2019]?t|cannot|can['\u2019]?t|may not)\s{1,2}(?:ever\s)?\Z",
    re.IGNORECASE,
)
_NEGATION_REACH = 20
_BEHIND = 240
_WORD_REACH = 24


class Start(NamedTuple):
    """A phrase that may stand around ``place`` in the folded letters, where its ``stem`` is."""

    phrase: Phrase
    stem: str
    place: int


def instruction_starts(letters: str, found: Mapping[str, Sequence[int]]) -> list[Start]:
    """Where phrases may stand, by the places of ``stems``; no part of the text has any elsewhere."""
    starts: list[Start] = []
    phrases = _by_stem()
    for stem in found.keys() & phrases.keys():
        for phrase in phrases[stem]:
            places = [place for place in found[stem] if phrase.match(letters, place, loose=True)]
            if places and (not phrase.gates or any(map(letters.__contains__, phrase.gates))):
                starts += [Start(phrase, stem, place) for place in places]
    return starts


def find_instructions(folded: Folded, starts: Iterable[Start]) -> Iterator[Threat]:
    """The findings of all phrases."""
    done: Start | None = None
    step = 0
    for start in starts:
        phrase, stem, place = start
        if done is None or done.phrase is not phrase or done.stem != stem:
            done, step = start, 0
        if place < step:
            continue
        match = phrase.match(folded.letters, place)
        if match and (finding := _confirmed(phrase, folded, *folded.span(match.start(), match.end()))):
            yield finding
            # On from the end of what fitted: nothing is read twice for one stem.
            step = max(place + len(stem), match.end())


def _confirmed(phrase: Phrase, folded: Folded, start: int, end: int) -> Threat | None:
    text = folded.text
    if start and text[start - 1].isalnum():
        return None
    found = text[start:end]
    ends = len(_SENTENCE_END.findall(found))
    # Stops between nearly all the words are a disguise, one stop is the end of a sentence.
    if ends and ends * 2 < len(_WORD.findall(found)):
        return None
    if phrase.negatable and _NEGATION.search(text, max(0, start - _NEGATION_REACH), start):
        return None
    if phrase.near and not phrase.near.match(text, start, end + _BEHIND):
        return None
    last = min(len(text), end + _WORD_REACH)
    while end < last and text[end].isalnum():
        end += 1
    return Threat(phrase.rule, start, end)


@cache
def _natives() -> list[Phrase]:
    return list(map(Phrase, read_table("native.txt")))


_NATIVE_WORD_REACH = 16
# The one script of these that has capitals.
_CAPITALS = frozenset(map(chr, range(0x400, 0x430)))


def native_starts(folded: Folded) -> list[int]:
    """Where in the text a phrase outside Latin letters has its stem, or the line of one with hidden characters begins.

    No phrase goes over the end of a line, so hidden characters are taken out of the lines that have them alone.
    """
    small = folded.unusual
    if not small.isdisjoint(_CAPITALS):
        small = frozenset(char.lower() for char in small)
    rows = [row for row in _natives() if small.issuperset(row.stems[0])]
    if not rows:
        return []
    text = _small(folded, rows)
    starts = _stems(rows, text)
    end = 0
    for place in folded.suspect_places:
        if place >= end:
            start = text.rfind("\n", 0, place) + 1
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            starts += [start] if _stems(rows, without(folded.suspects, text[start:end])) else []
    return starts


def _stems(rows: Iterable[Phrase], text: str) -> list[int]:
    return [place for row in rows for place in places(row.stems[0], text) if row.match(text, place)]


def find_native(folded: Folded) -> list[Threat]:
    """The findings of ``instruction-override`` outside Latin letters; called for text that has ``native_starts``."""
    text, bare = folded.text, without(folded.suspects, _small(folded, _natives()))
    findings: list[Threat] = []
    for row in _natives():
        step = 0
        for place in places(row.stems[0], bare):
            if place < step:
                continue
            match = row.match(bare, place)
            if match:
                start, last = _place_in_text(folded, match.start()), _place_in_text(folded, match.end() - 1)
                end = last + 1
                while end < min(len(text), last + _NATIVE_WORD_REACH) and text[end].isalpha():
                    end += 1
                findings.append(Threat("instruction-override", start, end))
                step = match.end()
    return findings


def _small(folded: Folded, rows: Iterable[Phrase]) -> str:
    """The text, in small letters if a stem has such and the text has others."""
    if any(row.stems[0][0].upper() in _CAPITALS for row in rows) and not folded.unusual.isdisjoint(_CAPITALS):
        return folded.text.replace("\u0130", "I").lower()
    return folded.text


def _place_in_text(folded: Folded, place: int) -> int:
    # The n-th hidden character stood in front of what is now n characters nearer to the beginning.
    return place + bisect_right(folded.hidden_before, place)
