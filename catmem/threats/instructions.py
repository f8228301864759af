"""Phrases that give a model orders: the search for those of the tables beside.

A phrase is tried only where one of its *stems* stands, so ordinary text costs one substring search a stem. Patterns run
over folded letters (``fold``): no blanks, no case, ``l`` written ``i`` (``fold_word`` does it). Every gap is bounded
and none holds another, so the work at one stem is bounded too. What is found is checked against the original text: word
starts, sentence ends, negation.

The fold keeps Latin letters only, so the few phrases in other scripts run over the text in lower case. First version of
these: one attack class, seven languages, and no disguise but hidden characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from catmem.threats.finding import PATTERNS, Places, Threat, pattern, places, read_table
from catmem.threats.fold import Folded, fold_word

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


Start: TypeAlias = tuple[Phrase, int]
"""A phrase that may stand around a place in the folded letters."""


def instruction_starts(letters: str, found: Mapping[str, Sequence[int]]) -> list[Start]:
    """Where phrases may stand, by the places of ``stems``; no part of the text has any elsewhere."""
    starts: list[Start] = []
    phrases = _by_stem()
    for stem in found.keys() & phrases.keys():
        for phrase in phrases[stem]:
            places = [place for place in found[stem] if phrase.match(letters, place, loose=True)]
            if places and (not phrase.gates or any(map(letters.__contains__, phrase.gates))):
                starts += [(phrase, place) for place in places]
    return starts


def find_instructions(folded: Folded, starts: Iterable[Start]) -> Iterator[Threat]:
    """The findings of all phrases."""
    for phrase, place in starts:
        match = phrase.match(folded.letters, place)
        if match and (finding := _confirmed(phrase, folded, *folded.span(match.start(), match.end()))):
            yield finding


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


def find_native(folded: Folded) -> Iterator[tuple[int, Threat | None]]:
    """Where a phrase outside Latin letters stands, with the finding of ``instruction-override``; none ends a line."""
    text, letters = folded.text, folded.unusual
    if not letters.isdisjoint(_CAPITALS):
        text, letters = text.replace("\u0130", "I").lower(), frozenset(char.lower() for char in letters)
    for row in (row for row in _natives() if letters.issuperset(row.stems[0])):
        for match in filter(None, (row.match(text, place) for place in places(row.stems[0], text))):
            start, end = match.span()
            last = min(len(text), end + _NATIVE_WORD_REACH)
            while end < last and text[end].isalpha():
                end += 1
            yield start, Threat("instruction-override", start, end)


# --- text that looks like the frame around a prompt, and markup that acts on a viewer or hides words from one --------


_BRACKET = PATTERNS["bracket"]
ROLE_SIGNS = ("<", "###", "[", "system", "assistant", "human", "begin ", "end of ")
"""The signs in a text in lower case that the searches here start from."""
_WHOLE = (("<", PATTERNS["template-token"]), ("[", PATTERNS["inst"]), ("###", PATTERNS["heading"]), ("[", _BRACKET))
_ROLES = ("system", "assistant", "human")
_RULED = ("begin ", "end of ")
_DIALOGUE_REACH = 400
_RULE_REACH = 6
_FRAME_REACH = 80


def find_roles(folded: Folded, found: Places) -> Iterator[tuple[int, Threat | None]]:
    """The places of ``ROLE_SIGNS`` where a frame may begin, each with the finding of ``role-marker`` if it is one."""
    # It is none where what a frame needs is not in the text, or not in front of it: a part of the text may be one then.
    text = folded.text
    system = "system" in folded.letters
    for sign, whole in _WHOLE:
        for place in found.get(sign, ()):
            if match := whole.match(text, place):
                yield place, _marker(match, is_one=system or whole is not _BRACKET)
    for role in _ROLES:
        for place in found.get(role, ()):
            match = PATTERNS["role"].match(text, place)
            answer = None if match else PATTERNS["answer"].match(text, place)
            if line := match or answer:
                is_role = (role != "human" or "Human:" in text) and (match or _follows_question(text, place))
                begins_line = PATTERNS["line-start"].search(text, max(0, place - 12), place)
                yield place, _marker(line, is_one=bool(is_role and begins_line))
    for words in _RULED:
        for place in found.get(words, ()):
            if match := PATTERNS["frame"].search(text, max(0, place - _RULE_REACH), place + _FRAME_REACH):
                yield place, _marker(match, is_one=system or words != "begin ")


def _marker(match: re.Match[str], *, is_one: bool) -> Threat | None:
    return Threat("role-marker", *match.span()) if is_one else None


def _follows_question(text: str, place: int) -> bool:
    # The cheap half first: most words are not followed by a colon.
    if ":" not in text[place : place + 14]:
        return False
    return PATTERNS["question"].search(text, max(0, place - _DIALOGUE_REACH), place) is not None


_TAG = PATTERNS["tag"]

MARKUP_SIGNS = ("<", "![", "]:", "&#")
"""The signs in a text that the searches here start from."""
_IMAGE_REACH = 512

_TO_A_MODEL = PATTERNS["to-a-model"]
_LINK_COMMENT = PATTERNS["link-comment"]
_COMMENT_REACH = 4096


def find_markup(text: str, found: Places) -> list[Threat]:
    """All findings of what hides words or acts on a viewer, by the places of ``MARKUP_SIGNS``."""
    findings: list[Threat] = []
    if "<" in found:
        findings += _tags(text, found["<"])
        findings += _comments(text, found["<"])
    if "![" in found:
        findings += _images(text, found["!["])
    if "]:" in found:
        findings += _link_comments(text)
    if "&#" in found:
        findings += [
            Threat("encoded-letters", *match.span()) for match in PATTERNS["character-references"].finditer(text)
        ]
    return findings


def _tags(text: str, openings: Iterable[int]) -> Iterator[Threat]:
    # One tag ends where the next one opens, so none is looked at twice.
    for tag in filter(None, (_TAG.match(text, place) for place in openings)):
        start, end = tag.span()
        loads = PATTERNS["loading-tag"].match(text, start, end) and PATTERNS["remote-source"].search(text, start, end)
        if loads or PATTERNS["remote-background"].search(text, start, end):
            yield Threat("remote-image", start, end)
        if PATTERNS["hiding-style"].search(text, start, end):
            yield Threat("hidden-markup", start, end)


def _comments(text: str, openings: Iterable[int]) -> Iterator[Threat]:
    end = 0
    for start in openings:
        if start < end or not text.startswith("<!--", start):
            continue
        close = text.find("-->", start, start + _COMMENT_REACH)
        # A comment that never ends hides all that follows it, as far as one looks.
        end = close + len("-->") if close >= 0 else min(len(text), start + _COMMENT_REACH)
        if _TO_A_MODEL.search(text, start, end):
            yield Threat("hidden-markup", start, end)


def _link_comments(text: str) -> Iterator[Threat]:
    # "[//]: # (words)" is the comment of plain Markdown: an unused link definition.
    place = text.find("]:")
    while place >= 0:
        if _LINK_COMMENT.match(text, place):
            end = text.find("\n", place, place + _COMMENT_REACH)
            end = min(len(text), place + _COMMENT_REACH) if end < 0 else end
            if _TO_A_MODEL.search(text, place, end):
                yield Threat("hidden-markup", max(text.rfind("[", 0, place), 0), end)
            place = end - 1
        place = text.find("]:", place + 1)


def _images(text: str, openings: Sequence[int]) -> Iterator[Threat]:
    remote = _remote_labels(text) if "]:" in text else frozenset[str]()
    for start, end in _image_words(text, openings):
        if match := PATTERNS["remote-target"].match(text, end):
            close = text.find(")", match.end(), match.end() + _IMAGE_REACH)
            yield Threat("remote-image", start, close + 1 if close >= 0 else match.end())
        elif remote and (reference := PATTERNS["reference"].match(text, end)):
            label = reference[1] or text[start + len("![") : min(end, start + _IMAGE_REACH)]
            if _normal(label) in remote:
                yield Threat("remote-image", start, reference.end())


def _image_words(text: str, openings: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Images, each with the first target behind it, and the bracket that closes its words with links and images."""
    last = 0
    for start, after in zip(openings, (*openings[1:], len(text)), strict=True):
        if (target := text.find("](", start, min(after, start + _IMAGE_REACH))) >= 0:
            yield start, target
        opened: list[re.Match[str]] = []
        for bracket in PATTERNS["bracket-or-escape"].finditer(text, max(0, start - 1)) if start >= last else ():
            last = bracket.end()
            if bracket[0] in {"[", "!["}:
                opened.append(bracket)
            elif bracket[0] == "]" and opened and (opening := opened.pop())[0] == "![":
                yield opening.start(), bracket.start()
                if not opened:
                    break


def _remote_labels(text: str) -> frozenset[str]:
    return frozenset(_normal(definition[1]) for definition in PATTERNS["definition"].finditer(text))


def _normal(label: str) -> str:
    return " ".join(label.split()).casefold()
