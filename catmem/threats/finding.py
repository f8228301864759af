"""What the scanner reports, a rule and a span; the tables of the rules, and how the rules search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, AnyStr, NamedTuple, cast

from catmem.resources import package_text

if TYPE_CHECKING:
    from ahocorasick import Automaton

Places = Mapping[str, Sequence[int]]

_NAMED = re.compile(r"\{([a-z-]+)\}")
_FLAGS = {"any-case": re.IGNORECASE, "ascii": re.ASCII}


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a data file: each begins with its rule, and has a field on each indented line."""
    # A field that is given again goes on. `{name}` stands for what a line `name = ...` says.
    names: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    for line in package_text(f"threats/{name}").split("\n"):
        if not line or line.startswith("#"):
            continue
        key, _, value = line.strip().partition(" " if line.startswith("  ") else " = ")
        value = _NAMED.sub(lambda found: names[found[1]], value)
        if line.startswith("  "):
            rows[-1][key] = rows[-1].get(key, "") + value
        elif value:
            names[key] = value
        else:
            rows.append({"rule": key})
    return rows


_CHARACTERS, _OTHERS, SECRETS = (
    dict(line.split(": ", 1) for line in group.split("\n"))
    for group in package_text("threats/rules.txt").strip().split("\n\n")
)
"""Detector of secrets to one sentence that says what it finds; they are rules like all others."""
RULES: Mapping[str, str] = {**_CHARACTERS, **_OTHERS, **SECRETS}
"""Rule name to one sentence that says what the rule finds."""


class Threat(NamedTuple):
    """One suspicious place: ``text[start:end]``, in code points, found by ``rule`` (a key of ``RULES``)."""

    rule: str
    start: int
    end: int

    @property
    def hint(self) -> str:
        """What to do when the text is fine."""
        if self.rule == "too-large-to-scan":
            return "Split the text."
        if self.rule == "mixed-script":
            return "Type the word again."
        if self.rule in _CHARACTERS:
            return "Delete these characters, or write what they stand for in plain words (U+200B)."
        if self.rule in SECRETS:
            return "Say where the secret is kept, not what it is. Take it out with 'catmem purge' and replace it."
        return "Say the same in other words: describe what was said, and do not write it as an order to a model."


def places(sign: AnyStr, text: AnyStr, step: int = 1) -> Iterator[int]:
    """Where a sign stands in a text; the next one is looked for ``step`` characters on."""
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + step)


class Words:
    """Words of ASCII, to be found all at once.

    The automaton compares each character of a text with all that its words begin with. So it looks for their ends,
    from one of a few letters on, and what stands before is looked at where an end was found.
    """

    _SHORTEST = 3

    def __init__(self, words: Iterable[str], first: str = "") -> None:
        """Nothing is built before the first search. The ends begin with the letters ``first``, where a word has one."""
        self.words = tuple(dict.fromkeys(words))
        self._first = first

    @cached_property
    def _automaton(self) -> Automaton:
        from ahocorasick import Automaton

        by_end: dict[str, list[str]] = {}
        for word in self.words:
            ends = (word[place:] for place in range(len(word) - self._SHORTEST + 1) if word[place] in self._first)
            by_end.setdefault(next(ends, word), []).append(word)
        automaton = Automaton()
        for end, words in by_end.items():
            automaton.add_word(end, words)
        automaton.make_automaton()
        return automaton

    def places(self, text: str) -> dict[str, list[int]]:
        """Each word that stands in the text, with all its places in order."""
        found: dict[str, list[int]] = {}
        for last, words in self._automaton.iter(text):
            for word in words:
                place = last + 1 - len(word)
                if text.startswith(word, max(0, place)):
                    found.setdefault(word, []).append(place)
        return found


def pattern(written: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """What ``re.compile`` gives, compiled when it is first used: a run of the command line uses few."""
    return cast("re.Pattern[str]", _Pattern(written, flags))


def row_pattern(row: Mapping[str, str]) -> re.Pattern[str]:
    """The pattern of a row, with its flags."""
    return pattern(row["pattern"], _FLAGS.get(row.get("flags", ""), re.NOFLAG))


class _Pattern:
    def __init__(self, written: str, flags: re.RegexFlag) -> None:
        self._written, self._flags = written, flags

    def __getattr__(self, method: str) -> object:
        # Called for what is not there: from now on it is.
        found = getattr(re.compile(self._written, self._flags), method)
        setattr(self, method, found)
        return found


PATTERNS = {row["rule"]: row_pattern(row) for row in read_table("patterns.txt")}
"""What the rules look for, by its name."""
