"""Phrases in folded letters, checked against the original text: word starts, sentence ends, negation."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from catmem.policy.threats.finding import Finding
from catmem.policy.threats.phrases import PHRASES, Phrase

if TYPE_CHECKING:
    from catmem.policy.threats.fold import Folded

GATES = tuple(dict.fromkeys(gate for phrase in PHRASES for gate in phrase.gates))

# A sentence end between two words of a phrase: "what we ignore. All previous instructions ..." is no order.
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!?\u3002\uff01\uff1f][\"')\]*_]{0,3}\s")
_WORD = re.compile(r"\w{2,}")
_NEGATION = re.compile(
    r"\b(?:do not|don['\u2019]?t|does not|doesn['\u2019]?t|never|must not|mustn['\u2019]?t|should not|"
    r"shouldn['\u2019]?t|cannot|can['\u2019]?t|may not)\s{1,2}(?:ever\s)?\Z",
    re.IGNORECASE,
)
_NEGATION_REACH = 20
_BEHIND = 240
_WORD_REACH = 24


def find_instructions(folded: Folded) -> list[Finding]:
    """The findings of all phrases; ordinary text is done after one substring search a gate."""
    present = set(filter(folded.letters.__contains__, GATES))
    findings: list[Finding] = []
    if present:
        for phrase in PHRASES:
            if not present.isdisjoint(phrase.gates):
                for stem in phrase.stems:
                    findings += _find(phrase, stem, folded)
    return findings


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    # Compiled when first needed: most runs of the command line never need most of them.
    return re.compile(pattern, flags)


def _find(phrase: Phrase, stem: str, folded: Folded) -> list[Finding]:
    letters = folded.letters
    pattern = _compiled(phrase.pattern)
    look = pattern.search if phrase.before else pattern.match
    findings: list[Finding] = []
    place = letters.find(stem)
    while place >= 0:
        step = place + len(stem)
        match = look(letters, max(0, place - phrase.before), place + phrase.after)
        if match:
            finding = _confirmed(phrase, folded, *folded.span(match.start(), match.end()))
            if finding:
                findings.append(finding)
                step = max(step, match.end())
        place = letters.find(stem, step)
    return findings


def _confirmed(phrase: Phrase, folded: Folded, start: int, end: int) -> Finding | None:
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
    if phrase.near and not _compiled(phrase.near, re.IGNORECASE).match(text, start, end + _BEHIND):
        return None
    last = min(len(text), end + _WORD_REACH)
    while end < last and text[end].isalnum():
        end += 1
    return Finding(phrase.rule, start, end)
