"""The query of a search: words and "quoted phrases", as patterns over folded text; and how texts are folded.

Any word is enough, and a phrase is required. Nothing else in a query means anything, so none is wrong but an empty one
and one that is too long. Patterns are linear: a run is possessive, and what may follow a word is not part of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, cast

from catmem.errors import QueryError, wrong_type
from catmem.resources import package_text

DEFAULT = "english"
"""The language of a text in which no function word shows another."""

_LOOKED_AT = 100
SHORTEST_STEM = 3

# Each block of the file begins with its language. The words are folded, as texts are: no accents, small letters. Those
# that people also look for alone are left out, such as "can".
FUNCTION_WORDS = {
    language: frozenset(words)
    for language, *words in map(str.split, package_text("search/function_words.txt").split("\n\n"))
}
"""The words of a language that only join others."""

_LANGUAGES = {
    word: tuple(language for language, known in FUNCTION_WORDS.items() if word in known)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}


def language_of(words: Iterable[str]) -> str:
    """The language that most of the function words among the first words are of; English if none shows another."""
    hits = Counter(language for word in islice(words, _LOOKED_AT) for language in _LANGUAGES.get(word, ()))
    best = max(hits, key=hits.__getitem__, default=DEFAULT)
    return best if hits[best] > max(1, hits[DEFAULT]) else DEFAULT  # one word alone may be of any language


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """The stem of a folded word."""
    return str(_stemmer(language).stemWord(word))


def beginning(word: str) -> str:
    """Letters with which nearly all words begin that have the stem of ``word`` in some language: three or four."""
    return word[: max(SHORTEST_STEM, min(SHORTEST_STEM + 1, len(word) - 4))]


@cache
def _stemmer(language: str) -> Any:  # noqa: ANN401 - the library has no types
    import snowballstemmer  # type: ignore[import-untyped]

    return snowballstemmer.stemmer(language)


MOST_CHARACTERS = 1_000
"""Characters of a query."""
MOST_WORDS = 40
"""Different words of a query, with those of its phrases; of a run of a script without blanks each two letters count."""

WHOLE, STEMMED, PREFIX, LOOSE, IN_CATEGORY = 1.0, 0.8, 0.5, 0.3, 0.3
"""What it counts that a word stands in an entry, that one of its stem does, that one there begins with it, or with its
stem, and that its category has it."""
_PIECE = 0.3
"""What two letters of a longer run count that was looked for whole."""
_LOOSE_STEM = 5

ACCENTS = "\u0300-\u036f"
"""The accents of Latin, Greek and Cyrillic, as a range in a pattern. Marks of other scripts make another letter."""

_ALONE = re.compile(f"[{ACCENTS}]+")
_ASCII = bytes(range(128))
_FEW = 24
"""Letters up to which a search and replace of each is quicker than a look at every character."""

# Scripts that write no blanks between words, and Korean, whose words carry endings: their runs match anywhere.
_UNSPACED = (
    "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u3130-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Marks that belong to the letter before, which \w leaves out.
_MARKS = f"{ACCENTS}\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])"
_RUN = rf"[{_UNSPACED}]"
_WORD = re.compile(f"{_LETTER}++")
_TOKENS = re.compile(f"{_LETTER}++|{_RUN}++")
_GAP = re.compile(r"[\W_]*+")
_IS_LETTER = re.compile(_LETTER)
_IS_RUN = re.compile(_RUN)
_QUOTED = re.compile(r'"([^"]*+)"')
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "ae", "Ö": "oe", "Ü": "ue"})
_UMLAUT = re.compile(r"([aou])e(?=\w)")
_OTHER_QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb"), '"')


class Term(NamedTuple):
    """One thing to look for: one folded word, or several for a phrase. ``weight`` is what a whole match counts.

    A word with its umlauts spelled the other way (``is_spelled``) has a stem in German alone, and else fits as it is.
    """

    words: tuple[str, ...]
    is_phrase: bool = False
    weight: float = WHOLE
    is_spelled: bool = False

    def found_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it may stand in a plain text (start, end): of a word, where words stand that begin like it."""
        # `worth` says what each counts.
        first = self.words[0]
        for found in re.finditer(re.escape(first if is_run(first) else beginning(first)), text):
            start, end = found.span()
            if not is_run(first):
                if start and _IS_LETTER.match(text, start - 1):
                    continue
                end = _word_end(text, start)
            if self.is_phrase:
                end = _phrase_end(self.words, text, start)
            if end:
                yield start, end

    def worth(self, found: str, language: Callable[[], str]) -> float:
        """What a find counts: 0 for another word that only begins alike. ``language`` is that of the text around."""
        word = self.words[0]
        if self.is_phrase or found == word or is_run(word):
            return self.weight
        if len(word) < SHORTEST_STEM or (self.is_spelled and language() != "german"):
            return 0.0
        own = stem(word, language())
        if stem(found, language()) == own:
            return STEMMED
        if found.startswith(word):
            return PREFIX
        return LOOSE if len(own) >= _LOOSE_STEM and found.startswith(own) else 0.0

    def is_in_name(self, name: str) -> bool:
        """Whether the name of a category has it; a phrase never."""
        found = () if self.is_phrase else self.found_in(text := plain_query(name))
        return any(self.worth(text[start:end], lambda: DEFAULT) for start, end in found)


def _word_end(text: str, place: int) -> int:
    """Where the word ends that begins at a place; the place where none does."""
    found = _WORD.match(text, place)
    return found.end() if found else place


def _phrase_end(words: Sequence[str], text: str, place: int) -> int:
    """Where a phrase ends that begins at a place: its words, with any signs between them; 0 if it does not."""
    for word in words:
        place = cast("re.Match[str]", _GAP.match(text, place)).end()
        end = place + len(word)
        if not text.startswith(word, place) or not (is_run(word) or _word_end(text, place) == end):
            return 0
        place = end
    return place


Query: TypeAlias = tuple[Term, ...]
"""A query that was read: at least one term, each once."""


def parse_query(text: str) -> Query:
    """Read a query. Raises ``QueryError`` (``empty_query``, ``long_query``)."""
    if not isinstance(text, str):
        raise wrong_type("query", text)
    if len(text) > MOST_CHARACTERS:
        raise QueryError(
            f"this query has {len(text):,} characters, and {MOST_CHARACTERS:,} is the most",
            code="long_query",
            hint="Look for a few words of what you want to find.",
        )
    text = text.translate(_OTHER_QUOTES)
    found: dict[Term, None] = {}
    for quoted in _QUOTED.findall(text):
        words = words_of(quoted)
        if words:
            found[Term(words, is_phrase=True, weight=WHOLE * len(words))] = None
    loose = unicodedata.normalize("NFC", _QUOTED.sub(" ", text))
    words, spelled = words_of(loose), words_of(loose.translate(_SPELLED))
    joining = FUNCTION_WORDS[language_of(words)]
    other = {
        word: long if long != word else _UMLAUT.sub(r"\1", word) for word, long in zip(words, spelled, strict=True)
    }
    for word in [each for each in words if each not in joining] or ([] if found else words):
        found |= dict.fromkeys(_terms_of(word))
        if other[word] not in words:
            found.setdefault(Term((other[word],), weight=STEMMED, is_spelled=True))
    if not found:
        raise QueryError(
            "this query has no word in it",
            code="empty_query",
            hint='Give words, or a "quoted phrase"; letters and numbers are looked for, and signs are not.',
        )
    count = sum(len(term.words) for term in found if not term.is_spelled)
    if count > MOST_WORDS:
        raise QueryError(
            f"this query has {count:,} different words, and {MOST_WORDS} is the most",
            code="long_query",
            hint="Look for a few words of what you want to find.",
        )
    return tuple(found)


def words_of(text: str) -> tuple[str, ...]:
    """The folded words of a text: letters and numbers, where runs of a script without blanks are words of their own."""
    return tuple(_TOKENS.findall(plain_query(text)))


def is_run(word: str) -> bool:
    """Whether a word is of a script without blanks."""
    return _IS_RUN.match(word) is not None


def _terms_of(word: str) -> list[Term]:
    """A word; of a run of more than two letters also each two, which count less, since its words are unknown."""
    pieces = [word[start : start + 2] for start in range(len(word) - 1)] if is_run(word) and len(word) > 2 else []  # noqa: PLR2004 - more than a piece
    return [Term((word,)), *(Term((piece,), weight=_PIECE) for piece in pieces)]


# --- folded texts ----------------------------------------------------------------------------------------------------
# Without case and accents, character for character, so that an offset means the same in both.


def fold(text: str) -> str:
    """The text in small letters without accents, of the same length; what cannot be folded one to one stays."""
    # So `É` is `e`, but `ß` and an accent that is a character of its own stay as they are. Takes lone surrogates.
    if text.isascii():
        return text.lower()
    data = text.encode("utf-8", "surrogatepass")
    # Only bytes below 128 change here, so every character stays one character.
    folded = data.lower().decode("utf-8", "surrogatepass")
    changed = {each: letter for each in _beyond_ascii(data) if (letter := _folded(each)) != each}
    # What a search passes over costs least, but not with a set that reaches over U+FFFF.
    near = "".join(each for each in changed if each <= "\uffff")
    if len(near) > _FEW:
        folded = re.sub(f"[{re.escape(near)}]", lambda found: changed[found[0]], folded)
        changed = {each: letter for each, letter in changed.items() if each > "\uffff"}
    if len(changed) > _FEW:
        return folded.translate({ord(each): letter for each, letter in changed.items()})
    for each, letter in changed.items():
        folded = folded.replace(each, letter)
    return folded


def plain(text: str) -> str:
    """A folded text without accents that stand alone in it, and with the two letters that ß stands for."""
    folded = fold(text)
    return folded if folded.isascii() else _ALONE.sub("", folded).replace("ß", "ss")


def plain_query(text: str) -> str:
    """A query in plain letters, with accents that stand alone joined to their letters first."""
    return plain(unicodedata.normalize("NFC", text))


def plain_places(text: str) -> tuple[str, Sequence[int]]:
    """A text in plain letters, and where in the text each of them stands."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    letters = [plain(each) for each in text]
    places = [place for place, each in enumerate(letters) for _ in each]
    return "".join(letters), [*places, len(text)]


def _beyond_ascii(data: bytes) -> set[str]:
    return set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    letters = [each for each in unicodedata.normalize("NFKD", character) if not _ALONE.match(each)]
    bare = letters[0] if len(letters) == 1 else character
    small = next((each for each in (bare.casefold(), bare.lower()) if len(each) == 1), bare)
    return small if small == character or small.isascii() else _folded(small)
