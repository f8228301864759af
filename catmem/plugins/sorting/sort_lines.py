"""The lines of a sort: what is proposed for each entry without a category, by labels first, then by its words.

Each category has words: those of its names, everyday ones of its kit, and those of the entries that it has. A word of
a text, or a pair of neighbours, counts the more, the fewer categories and the fewer of the texts have it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

from catmem.config.config import Config
from catmem.config.labels import LabelVocabulary, read_labels
from catmem.model.document import Document, Entry
from catmem.names import DROP, SECRET, SPLIT, STAYS, UNCATEGORIZED
from catmem.search.query import DEFAULT, FUNCTION_WORDS, fold, language_of, stem
from catmem.threats import SECRETS, Threat, scan_each
from catmem.workspace.init import kits

_WORD = re.compile(r"[^\W\d_][^\W_]*|[€$£%]|\d{1,2}:\d\d")
_NO_PROSE = re.compile(r"(?s:(```|~~~).*?(?:\1|\Z))|`[^`\n]*`|\S*(?:://|@|\bwww\.)\S*")
"""Code, addresses and names of accounts: their words teach nothing."""
_NAME = 2.0
"""How often a word of a category's names counts; one of its kit counts once."""
_LEARNED = 2.0
"""How often a word counts that all entries with it have in this category."""
_OF_KIND = 0.7
"""What the words of a kit count for a category that bears the name of its specialist, such as "finance"."""
_SELDOM, _LEAST = 0.7, 0.5
"""What is left of a word of a category that the file seldom has, and of a word that most texts have."""
_SLUG_AND_TITLE = 2
_USUAL_SIZE, _SIZE_TELLS = 130, 0.1
"""A category with many words finds one of them in more texts, so each counts a little less."""
_SURE, _SURE_FOR_ALL, _ONE_WORD = 2.9, 4.5, 3.5
"""A guess so far ahead is sure, if more speaks for it than one word of a kit, such as a currency or a percent sign."""
_NEAR = 1.5
"""A category that all read comes behind others that score nearly as much: a slip there would be read by all."""
_FEW = 5
"""Entries of a category of which fewer make no guess sure."""
_FAIR = 1.0
"""A guess that is less ahead is weak: it is wrong as often as not, so the entry stays where no person looks."""
_BESIDE_WORDLESS = 1.5
"""So much farther it has to be beside a category without words: that one is never guessed, right as it may be."""


class Guess(NamedTuple):
    """The likeliest categories; whether the first is ``sure``, or at least ``fair``: more likely than the others."""

    categories: Sequence[str]
    sure: bool
    fair: bool


class Guesser:
    """What the categories of a root are like."""

    def __init__(
        self,
        names: Mapping[str, Sequence[str]],
        known: Iterable[tuple[str, str]] = (),
        texts: Sequence[str] = (),
        *,
        readers: Mapping[str, Collection[str]] | None = None,
        seldom: Collection[str] = (),
    ) -> None:
        """``names`` are the slug, title and aliases of each category, ``known`` pairs of a category and a text of it.

        ``texts`` are those without a category: a word that many of them have says little. ``readers`` are the
        specialists that read each category, and ``seldom`` the categories that such texts are seldom of.
        """
        self._readers = {category: frozenset(some) for category, some in (readers or {}).items()}
        self._everybody = frozenset[str]().union(*self._readers.values())
        self._seldom, self._order = frozenset(seldom), {category: at for at, category in enumerate(names)}
        self._named = {each: {*terms(" ".join(own[:_SLUG_AND_TITLE]).replace("-", " "))} for each, own in names.items()}
        self._worth: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for category, own in names.items():
            made = _terms_of(own)
            for term, worth in made.items():
                self._worth[term][category] = worth * (_USUAL_SIZE / len(made)) ** _SIZE_TELLS
        known = [each for each in known if each[0] in names]
        self.wordless = _wordless(names, {category for category, _ in known})
        """The categories of which no more is known than their names."""
        usual = Counter(term for each in _usual_terms().values() for term in each)
        taught: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for category, text in known:
            for term in terms(_NO_PROSE.sub(" ", text)):
                taught[term][category] += 1
        sizes = Counter(category for category, _ in known)
        self._few = {category for category in names if sizes[category] < _FEW}
        self._learned: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for term, counts in taught.items():
            for category, count in counts.items():
                self._learned[category][term] = learned = _LEARNED * count / (counts.total() + 1)
                self._worth[term][category] = self._worth[term].get(category, 0) + learned
        said, number = Counter(term for text in texts for term in terms(text)), len(texts) + 1
        for term, worths in self._worth.items():
            rare = log(1 + len(_usual_terms()) / (1 + max(1, usual[term], len(taught.get(term, ())))))
            if said[term] > 1:
                rare *= max(_LEAST, log(number / said[term]) / log(number))
            self._worth[term] = {category: worth * rare for category, worth in worths.items()}
            for category in taught.get(term, ()):
                self._learned[category][term] *= rare

    def guess(self, text: str) -> Guess:
        """The categories that share a word with the text, the likeliest first."""
        scores: defaultdict[str, float] = defaultdict(float)
        said = terms(text)
        held = {each: self._worth.get(each, {}) for each in said & _usual_phrases()}
        for term in sorted(said):
            phrases = [worths for each, worths in held.items() if term in each.split()]
            for category, worth in self._worth.get(term, {}).items():
                # A name within a phrase of others says nothing: the "error budget" is no budget.
                if phrases and term in self._named[category] and not any(category in each for each in phrases):
                    continue
                scores[category] += worth * (_SELDOM if category in self._seldom else 1)
        found = sorted(scores, key=lambda each: (-scores[each], self._order[each]))
        if not found:
            return Guess([], sure=False, fair=False)
        readers = self._readers.get(found[0], self._everybody)
        others = [scores[each] for each in found[1:] if not readers or self._readers.get(each) != readers]
        ahead = scores[found[0]] - max(others, default=0.0)
        for_all = {each for each in found if self._readers.get(each, self._everybody) == self._everybody}
        wanted = _SURE_FOR_ALL if found[0] in for_all else _SURE
        learned = self._learned.get(found[0], {})
        hints = sum(learned[each] for each in said & learned.keys()) if found[0] in self._few else 0.0
        wanted *= _BESIDE_WORDLESS if self.wordless else 1
        sure = scores[found[0]] - hints > _ONE_WORD and ahead - hints > wanted
        if not sure:
            near = _NEAR * max((scores[each] for each in found if each not in for_all), default=0.0)
            found.sort(key=lambda each: each in for_all and scores[each] < near)
        return Guess(found, sure, ahead >= _FAIR)


def terms(text: str, language: str | None = None) -> set[str]:
    """The stems of a text's words without those that only join, and the pairs of neighbours that are not both such."""
    words = ["0:00" if word[0].isdigit() else word for word in _WORD.findall(fold(text))]
    language = language or language_of(words)
    stems = [(stem(word, language), word not in FUNCTION_WORDS[language]) for word in words]
    pairs = {f"{one} {other}" for (one, tells), (other, also) in pairwise(stems) if tells or also}
    return pairs.union(each for each, tells in stems if tells)


def _terms_of(names: Sequence[str]) -> dict[str, float]:
    """The terms of a category with these names, and how often each counts: its own, and those of usual categories.

    Of another name than a usual one it has the words of all usual categories with a word of its names in theirs, or in
    the names of their specialists, by the share of such words.
    """
    own = [terms(name.replace("-", " ")) for name in names]
    # Those that all read have general words in their names, such as "work" and "user".
    made = {} if names[0] in kits()["shared"] else dict.fromkeys((term for each in own for term in each), _NAME)
    said = {term for each in own for term in each if " " not in term}
    usual = _usual_terms()
    for slug, (heads, kinds) in {names[0]: (said, said)}.items() if names[0] in usual else _heads().items():
        shared = max(len(heads & said), _OF_KIND * len(kinds & said)) / sqrt(len(said) or 1)
        for term in usual[slug] if shared else ():
            made[term] = max(made.get(term, 0), min(1.0, shared))
    return made


def _wordless(names: Mapping[str, Sequence[str]], taught: Collection[str]) -> list[str]:
    return [
        category
        for category, own in names.items()
        if category not in {*kits()["shared"], *taught}
        if len(own) <= _SLUG_AND_TITLE and set(_terms_of(own).values()) == {_NAME}
    ]


@cache
def _usual_terms() -> Mapping[str, frozenset[str]]:
    """The terms of each usual category."""
    # A short German text may not show that it is one, and is stemmed as English: German words have both stems.
    return {
        slug: frozenset(_phrases(each["words"])).union(
            *(terms(word, language) for word in each.get("german", "").split() for language in (DEFAULT, "german"))
        )
        for slug, each in kits()["categories"].items()
    }


@cache
def _usual_phrases() -> frozenset[str]:
    """The terms of usual categories that are two words."""
    return frozenset(term for own in _usual_terms().values() for term in own if " " in term)


@cache
def _heads() -> Mapping[str, tuple[set[str], set[str]]]:
    """The stems of each usual category's slug, and those of the names of the specialists that write it."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for kit in kits()["kits"].values():
        for slug in kit["own"]:
            kinds[slug].update(term for name in kit["names"] if "-" not in name for term in terms(name))
    return {slug: (set(terms(slug.replace("-", " "))), kinds[slug]) for slug in kits()["categories"]}


def _phrases(words: str) -> Iterator[str]:
    for phrase in words.split():
        yield from (term for term in terms(phrase.replace("-", " ")) if "-" not in phrase or " " in term)


ACTIONS = {
    STAYS: "stays without a category",
    DROP: "is removed; the history keeps it",
    SECRET: "is removed, and catmem says how to erase it from the history",
    SPLIT: "is cut into its parts, and each goes where a sure guess says",
}
"""What may be chosen in the place of a category."""
SEVERAL = "several facts"
"""The mark of an entry that may be cut."""
LABELLED = "has a label: 'catmem migrate' first, which takes it off"
"""The mark of an entry that migrate would move."""

_OTHERS = 3


class Described(NamedTuple):
    """A category that may be chosen: its title, what belongs there if that is known, and who reads it."""

    title: str
    about: str = ""
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SortLine:
    """One line of a sort list: an entry, or with ``part`` from 1 one of its parts, and what is chosen for it.

    ``number`` counts the entries without a category from 1. ``choice`` is a category, ``+`` and the name of a new one,
    or one of ``ACTIONS``; a category that is not ``sure`` is a guess. ``likely`` are the nearest categories, the best
    first, ``marks`` what a person should know. ``text`` is its body.
    """

    entry: Entry
    line: int
    number: int
    text: str
    choice: str
    likely: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    part: int = 0
    sure: bool = False
    """Whether its category is taken without a look: a label names it, or its words are far ahead of others."""
    fair: bool = False
    """Whether it is taken where a person takes guesses without a look: its words are ahead of others."""
    private: bool = False
    """Whether it has a secret or hostile text, which is shown to no program."""
    secret: bool = False
    """Whether it has a secret, whose words stand in no list; the first of its marks says which rule found it."""


class Proposer:
    """Proposals for the entries of a document that have no category."""

    def __init__(
        self,
        document: Document,
        config: Config,
        categories: Mapping[str, Described],
        known: Iterable[Entry],
        seldom: Collection[str] = (),
    ) -> None:
        """``categories`` may be proposed, ``seldom`` are those that the file seldom has, ``known`` what teaches."""
        self._document = document
        self._meanings = LabelVocabulary.from_config(config)
        self._entries = [entry for entry in document.entries if entry.category == UNCATEGORIZED]
        declared = config.taxonomy.categories
        self._guesser = Guesser(
            {
                slug: (slug, each.title, *(declared[slug].aliases if slug in declared else ()))
                for slug, each in categories.items()
            },
            [(entry.category, entry.body) for entry in known if entry.category != UNCATEGORIZED],
            [entry.body for entry in document.entries],
            readers={slug: each.readers for slug, each in categories.items()},
            seldom=seldom,
        )

    @property
    def wordless(self) -> list[str]:
        """The categories of which no more is known than their names, so that nothing is guessed for them."""
        return self._guesser.wordless

    def lines(self) -> tuple[SortLine, ...]:
        """A line for each entry without a category, in file order."""
        same = self._said_before()
        threats = threats_of(self._entries)
        made = []
        for number, (entry, found) in enumerate(zip(self._entries, threats, strict=True), 1):
            body, place = entry.body, self._document.line(entry.start)
            choice, likely, guess = self._categories(body, entry)
            marks = [SEVERAL] if len(self._subjects(body)) > 1 else []
            labels = read_labels(body, entry.tags, self._meanings)
            if labels.category or labels.unknown:
                marks.append(LABELLED)
            rules = sorted({threat.rule for threat in found})
            secret = any(rule in SECRETS for rule in rules)
            if found:
                hostile = [rule for rule in rules if rule not in SECRETS]
                choice = STAYS if hostile else SECRET
                marks.insert(0, f"{'looks hostile' if hostile else 'holds a secret'}: {', '.join(rules)}")
            elif entry in same:
                choice = DROP
                marks.insert(0, f"the same as {same[entry]}")
            new = SortLine(entry, place, number, body, choice, likely, tuple(marks), sure=guess.sure, fair=guess.fair)
            made.append(replace(new, private=bool(found), secret=secret))
        return tuple(made)

    def parted(self, line: SortLine) -> tuple[SortLine, ...]:
        """A line for each part of a line that says ``split``; what is private, or has no sure guess, stays."""
        made = []
        for number, part in enumerate(parts_of(line.text), 1):
            choice, likely, guess = self._categories(part, line.entry)
            choice = choice if guess.sure and not line.private else STAYS
            marks = line.marks if line.private else ()
            made.append(
                replace(line, part=number, text=part, choice=choice, likely=likely, marks=marks, sure=guess.sure)
            )
        return tuple(made)

    def _categories(self, body: str, entry: Entry) -> tuple[str, tuple[str, ...], Guess]:
        """The best guess, or that it stays; the nearest categories; and how sure the guess is."""
        label = read_labels(body, entry.tags, self._meanings).category
        guess = self._guesser.guess(body)
        names = tuple(dict.fromkeys((*([label] if label else ()), *guess.categories)))[:_OTHERS]
        return next(iter(names), STAYS), names, guess._replace(sure=label is not None or guess.sure)

    def _subjects(self, body: str) -> set[str]:
        """The categories that the parts of a text are of; of a text that is set in parts, as many as there are."""
        parts = parts_of(body)
        if "\n" in body:
            return set(parts)
        guesses = [self._guesser.guess(part) for part in parts] if len(parts) > 1 else []
        return {guess.categories[0] for guess in guesses if guess.sure}

    def _said_before(self) -> dict[Entry, str]:
        """Of an entry that says just what another does: where that stands, in a section or earlier."""
        numbers = {entry: number for number, entry in enumerate(self._entries, 1)}
        first: dict[tuple[str, str], Entry] = {}
        for entry in sorted(self._document.entries, key=lambda each: each in numbers):
            first.setdefault((entry.body, str(entry.tags)), entry)
        found = {entry: first[entry.body, str(entry.tags)] for entry in numbers}
        return {
            entry: f"entry {numbers[other]}" if other in numbers else f"line {self._document.line(other.start)}"
            for entry, other in found.items()
            if other is not entry
        }


def in_one_line(text: str) -> str:
    """A text as lists and models get it."""
    return " ".join(text.split())


def threats_of(entries: Sequence[Entry]) -> list[list[Threat]]:
    """What the scan finds in each entry as it stands, and in its words in one line: no line end hides a secret."""
    texts = [text for each in entries for text in (each.text, each.body, in_one_line(each.body))]
    found = scan_each(texts)
    return [[*stands, *body, *line] for stands, body, line in zip(found[::3], found[1::3], found[2::3], strict=True)]


# --- parts -----------------------------------------------------------------------------------------------------------

_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_ITEMS = re.compile(r"\n(?=(?:[-*+]|\d{1,3}[.)]) )")
_SENTENCES = re.compile(r"(?<=[^\s.][.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\b(?:Dr|Mr|Ms|St)\.)(?<!\bMrs\.)\s+(?=[^\W\d_a-z])")


def parts_of(body: str) -> list[str]:
    """The parts of a text that may be facts of their own: its paragraphs, else its list items, else its sentences."""
    if "```" in body or "~~~" in body:
        return [body]
    for between in (_PARAGRAPHS, _ITEMS, _SENTENCES):
        parts = [part.strip() for part in between.split(body)]
        if len(parts) > 1 and all(parts):
            return parts
    return [body]
