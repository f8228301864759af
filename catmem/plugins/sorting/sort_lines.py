"""The lines of a sort: what is proposed for each entry without a category."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from catmem.config.config import Config
from catmem.config.labels import LabelVocabulary, read_labels
from catmem.model.document import Document, Entry, TagValue
from catmem.names import DROP, SECRET, SPLIT, STAYS, UNCATEGORIZED
from catmem.plugins.sorting.guess import Guess, Guesser
from catmem.threats import SECRETS, Threat, scan_each

ACTIONS = {
    STAYS: "stays without a category",
    DROP: "is removed; the history keeps it",
    SECRET: "is removed, and catmem says how to erase it from the history",
    SPLIT: "is cut into its parts, and each goes where a sure guess says",
}
"""What may be chosen in the place of a category."""
SEVERAL = "several facts"
"""The mark of an entry that may be cut."""

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
    first, ``tags`` those that it is to get, ``marks`` what a person should know. ``text`` is its body.
    """

    entry: Entry
    line: int
    number: int
    text: str
    choice: str
    likely: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    tags: Mapping[str, TagValue] = field(default_factory=dict)
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
        label = read_labels(body, entry.tags, self._meanings, entry.tag_limit).category
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
    """The parts of a text that may be facts of their own: its paragraphs, else its list items, else its sentences.

    Nothing but blanks stands between two parts. A text with a code fence has one.
    """
    if "```" in body or "~~~" in body:
        return [body]
    for between in (_PARAGRAPHS, _ITEMS, _SENTENCES):
        parts = [part.strip() for part in between.split(body)]
        if len(parts) > 1 and all(parts):
            return parts
    return [body]
