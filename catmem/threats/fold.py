"""A text's letters alone: what is left when a writer's disguises are taken off.

Case, accents, full-width and mathematical forms, look-alikes of other scripts, digits that stand for letters, and all
that stands between letters (blanks, newlines, punctuation, hidden characters, combining marks) are gone, so
``I.G.N.O.R.E``, ``1gn0re`` and the word in full-width letters are the same. Each character folds by itself, so the way
back to the original needs only the lengths.

The shapes that look alike follow the idea of Unicode Technical Standard 39 ("skeletons"); the table is our own.

Characters that do not show are a finding, but where a script or an emoji needs one: emoji joined by U+200D, U+FE0F
behind a symbol, joiners of Persian and of the Indic scripts, direction marks in Hebrew and Arabic lines, word breaks in
Thai, Lao, Khmer and Burmese, soft hyphens inside a word, variation selectors of Han and Mongolian. Each is allowed once
in its place, never in a run.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate

from catmem.resources import package_text
from catmem.threats.finding import Threat, pattern, places

# One sign for each group of signs that are used for one another: "l", "1" and "i" all become "i".
FOLD_TABLE = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZl013457@$", b"abcdefghijkimnopqrstuvwxyzioieastas")
NOT_LETTERS = bytes(code for code in range(128) if not (chr(code).isalnum() or chr(code) in "@$"))
_EXPECTED = bytes((9, 10, 13, *range(32, 127)))


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return {chr(int(code, 16)): letter for code, letter in zip(words[::2], words[1::2], strict=True)}


# Code points in hexadecimal, each with the letter that it looks like; capitals too, which may look like another letter.
# First those that are Latin, then Cyrillic, Greek, Armenian and Cherokee.
_LATIN_LOOKALIKES, _OTHER_LOOKALIKES = package_text("threats/lookalikes.txt").split("\n\n")
_LATIN = _pairs(_LATIN_LOOKALIKES) | {
    chr(first + place): chr(ord("a") + place)
    for first in (0x1F150, 0x1F170, 0x1F1E6)  # negative circled, negative squared, regional indicators
    for place in range(26)
}
_OTHER = _pairs(_OTHER_LOOKALIKES)
_OTHER_LETTERS = frozenset(_OTHER)
_GREEK = frozenset(char for char in _OTHER if "\u0370" <= char <= "\u03ff")

# Default-ignorable characters that Unicode files under letters, marks and symbols; all others are found by category.
_ALSO_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")

# Variation selectors, tags and what is reserved beside them; noncharacters; reserved places of invisible characters.
_INVISIBLE = (
    range(0xFE00, 0xFE10), range(0xE0000, 0xE1000), range(0xFDD0, 0xFDF0), range(0xFFF0, 0xFFF9), range(0x2065, 0x2066)
)  # fmt: skip
_NONCHARACTER = 0xFFFE
"""What the last two code points of each plane end with."""

_LATIN_CLASS = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_OTHER_CLASS = (
    r"\u0400-\u0481\u048a-\u052f\u1c80-\u1c88\ua640-\ua66e\ua680-\ua69d"
    r"\u0531-\u0587\u13a0-\u13f5\uab70-\uabbf\u2c80-\u2ce4" + "".join(sorted(_GREEK))
)
_MARKS = r"[\u0300-\u036f]{0,8}"
_SWITCH = pattern(f"[{_LATIN_CLASS}]{_MARKS}[{_OTHER_CLASS}]|[{_OTHER_CLASS}]{_MARKS}[{_LATIN_CLASS}]")
_OTHER_LETTER = pattern(f"[{_OTHER_CLASS}]")
_ACRONYM_WITH_SUFFIX = pattern(r"[A-Z]{2,8}[\u0430-\u045f\u03ac-\u03ce]{1,6}\Z")
_WORD_REACH = 64
_FEW = 16
_BLOCK = 1 << 13
_FAR = re.compile("[\U00010000-\U0010ffff]")
# The two characters outside ASCII whose lower case is, or begins with, a letter of ASCII.
_LOW_IN_ASCII = frozenset("\u0130\u212a")


class Folded:
    """``letters`` are the folded letters of ``text``; ``suspects`` are its characters that need a closer look.

    ``unusual`` are its characters outside ASCII, and control characters. ``mixed`` holds the findings of
    ``mixed-script``, since whether other scripts are read as Latin depends on them. ``low`` is the text in lower case,
    one byte a character: right for ASCII letters, and for the two characters whose lower case is one.
    """

    def __init__(self, text: str) -> None:
        """Fold ``text``: a few passes at C speed, and one look at each different character outside ASCII."""
        self.text = text
        # UTF-8 takes apart what is expected and what is not in one pass, whatever the text holds.
        raw = text.encode("utf-8", "surrogatepass")
        self.plain = raw if text.isascii() else text.encode("latin-1", "replace")
        """The text in Latin-1, one byte a character; ``?`` for what Latin-1 has not."""
        unusual = raw.translate(None, _EXPECTED)
        self.unusual = frozenset(unusual.decode("utf-8", "surrogatepass"))
        looks = {char: _look_at(char) for char in self.unusual}
        self._forms = {char: form for char, (form, _) in looks.items() if form}
        self.suspects = frozenset([char for char, (_, suspect) in looks.items() if suspect])
        self.mixed = [] if self.unusual.isdisjoint(_OTHER_LETTERS) else _mixed_words(text)
        if self.mixed:
            self._forms.update((char, _OTHER[char]) for char in self.unusual & _OTHER_LETTERS)
        self.low = self.plain.lower()
        if not self.unusual.isdisjoint(_LOW_IN_ASCII):
            low = text.replace("\u0130", "i").replace("\u212a", "k")
            self.low = low.encode("latin-1", "replace").lower()
        self.letters = "".join(self._blocks) if self._forms else _letters(self.plain)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of ``text`` that ``letters[start:end]`` (not empty) came from."""
        return self.place(start), self.place(end - 1) + 1

    def place(self, letter: int) -> int:
        """Where in ``text`` the character stands that ``letters[letter]`` came from."""
        block = bisect_right(self._counts, letter) - 1
        place, before, reach = block * _BLOCK, self._counts[block], _BLOCK // 2
        # Halves of the block, down to one character; those that give no letter are passed over.
        while reach:
            count = len(self.fold(self.text[place : place + reach]))
            if before + count <= letter:
                place, before = place + reach, before + count
            reach //= 2
        return place

    @cached_property
    def _blocks(self) -> list[str]:
        return [self.fold(self.text[start : start + _BLOCK]) for start in range(0, len(self.text), _BLOCK)]

    @cached_property
    def _counts(self) -> list[int]:
        """How many letters stand before each block of the text."""
        return list(accumulate(map(len, self._blocks), initial=0))[:-1]

    def fold(self, text: str) -> str:
        """The folded letters of a part of the text."""
        if self._forms and not text.isascii():
            for folding in self._foldings:
                text = folding.sub(lambda found: self._forms.get(found[0], "?"), text)
        return _letters(text.encode("latin-1", "replace"))

    @cached_property
    def _foldings(self) -> list[re.Pattern[str]]:
        # Each looks for what begins with few letters or one range, which a search passes over fast.
        near = "".join(char for char in self._forms if char <= "\uffff")
        is_far = len(near) < len(self._forms)
        return ([re.compile(f"[{re.escape(near)}]")] if near else []) + ([_FAR] if is_far else [])

    @cached_property
    def suspect_places(self) -> list[int]:
        if len(self.suspects) <= _FEW:
            return sorted(place for char in self.suspects for place in places(char, self.text))
        return [place for place, char in enumerate(self.text) if char in self.suspects]

    @cached_property
    def characters(self) -> list[tuple[int, Threat | None]]:
        """The places of suspects that have no place there, each with its finding, and of those that part a word."""
        return [*_find_characters(self)]


def _letters(plain: bytes) -> str:
    """The folded letters of a text in Latin-1."""
    return plain.translate(_FOLD_LATIN, _NOT_LATIN_LETTERS).decode("ascii")


def fold_word(word: str) -> str:
    """A plain ASCII word or pattern as the fold writes it."""
    return word.replace("l", "i")


@lru_cache(maxsize=1 << 14)
def _look_at(char: str) -> tuple[str, bool]:
    """What a character folds to beside what the table does ("" for nothing), and whether it is suspect."""
    if char.isascii():
        return "", not (char.isprintable() or char in "\t\n\r")
    return "" if char in _FOLDED_BY_TABLE else _letters_of(char), _is_suspect(char)


def _letters_of(char: str) -> str:
    form = _LATIN.get(char) or unicodedata.normalize("NFKD", char).casefold()
    return form.encode("ascii", "ignore").translate(FOLD_TABLE, NOT_LETTERS).decode("ascii")


# The accented letters of Western Europe, each of which folds to one letter, cost no more than ASCII.
_FOLDED_BY_TABLE = {char: form for char in map(chr, range(128, 256)) if len(form := _letters_of(char)) == 1}
_FOLD_LATIN = bytes(ord(_FOLDED_BY_TABLE.get(chr(code), chr(FOLD_TABLE[code]))) for code in range(256))
_NOT_LATIN_LETTERS = NOT_LETTERS + bytes(code for code in range(128, 256) if chr(code) not in _FOLDED_BY_TABLE)


def _is_suspect(char: str) -> bool:
    if unicodedata.category(char) in {"Cf", "Co", "Cs", "Cc", "Zl", "Zp"} or char in _ALSO_INVISIBLE:
        return True
    code = ord(char)
    return code & _NONCHARACTER == _NONCHARACTER or any(code in each for each in _INVISIBLE)


def _mixed_words(text: str) -> list[Threat]:
    found: list[Threat] = []
    end = 0
    for switch in _switches(text):
        if switch.start() < end:
            continue
        start, end = _word_around(text, switch.start(), switch.end())
        if not _is_ordinary_mix(text[start:end]):
            found.append(Threat("mixed-script", start, end))
    return found


def _switches(text: str) -> Iterator[re.Match[str]]:
    """Where the scripts change within a word; only lines that have letters of another script are looked at."""
    other = _OTHER_LETTER.search(text)
    while other:
        start = text.rfind("\n", 0, other.start()) + 1
        end = text.find("\n", other.end())
        end = len(text) if end < 0 else end
        yield from _SWITCH.finditer(text, start, end)
        other = _OTHER_LETTER.search(text, end)


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = max(0, start - _WORD_REACH), min(len(text), end + _WORD_REACH)
    while start > first and _in_word(text[start - 1]):
        start -= 1
    while end < last and _in_word(text[end]):
        end += 1
    return start, end


def _in_word(char: str) -> bool:
    return char.isalpha() or "\u0300" <= char <= "\u036f"


def _is_ordinary_mix(word: str) -> bool:
    """Acronyms with a native ending, and the names of science: one Greek letter beside capitals, as in TNF-alpha."""
    if _ACRONYM_WITH_SUFFIX.match(word):
        return True
    others = _OTHER_LETTER.findall(word)
    if len(others) != 1 or others[0] not in _GREEK or not others[0].islower():
        return False
    rest = word.replace(others[0], "")
    return rest.isupper() or (word[0] == others[0] and rest[0].isupper())


# --- a text as it is shown: what a viewer reads for a letter, or for a sign of a link or a token ---------------------


_REFERENCE = re.compile(r"&(?:#(?:[xX][0-9a-fA-F]{1,6}|[0-9]{1,7});?|[A-Za-z][A-Za-z0-9]{1,31};)")
_SIGNS = frozenset("-_.:/=+~@#?%{}")


def written_otherwise(folded: Folded) -> list[tuple[int, int, str]]:
    """The escapes, the references and what does not show in a text, each with what it is read as."""
    text = folded.text
    if not (folded.suspects or "\\" in text or "&" in text):  # as in nearly all
        return []
    found = [(place, place + 1, "") for place in places("\\", text) if text[place + 1 : place + 2] in _SIGNS]
    references = (_REFERENCE.match(text, place) for place in places("&", text))
    found += [(*each.span(), sign) for each in references if each and (sign := _referred(each[0]))]
    return sorted([*found, *((place, place + 1, "") for place, _ in folded.characters)])


def _referred(reference: str) -> str:
    """What a reference stands for: a letter, a sign, a blank, what does not show; no sign of which markup is made."""
    from html import unescape

    char = unescape(reference)
    char = " " if char.isspace() else char
    return char if len(char) == 1 and (char.isalnum() or char in _SIGNS or char == " " or _is_suspect(char)) else ""


def as_shown(text: str, written: Iterable[tuple[int, int, str]]) -> tuple[str, Callable[[int], int]]:
    """The text as it is shown, and where in the text a place of that is."""
    parts: list[str] = []
    starts, places, size = [0], [0], 0
    for start, end, sign in written:
        parts += [text[places[-1] : start], sign]
        size += start - places[-1]
        starts += [size, size + len(sign)]
        places += [start, end]
        size += len(sign)

    def place(shown: int) -> int:
        index = bisect_right(starts, shown) - 1
        return places[index] + shown - starts[index]

    return "".join((*parts, text[places[-1] :])), place


def readings(text: str, written: Iterable[tuple[int, int, str]]) -> Iterator[tuple[str, Callable[[int], int]]]:
    """The text as it is shown, and once more without what does not show and was written as a reference."""
    shown, place = as_shown(text, written)
    yield shown, place
    if hidden := Folded(shown).characters:
        bare, place_in_shown = as_shown(shown, ((start, start + 1, "") for start, _ in hidden))
        yield bare, lambda start: place(place_in_shown(start))


_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
_SOFT_HYPHEN = "\u00ad"
_EMOJI_SELECTOR = "\ufe0f"
_SELECTORS_OF_SYMBOLS = "\ufe0e\ufe0f"
# Emoji whose base is no symbol: double exclamation, interrobang, wavy dash, information.
_TEXT_SYMBOLS = "\u203c\u2049\u3030\u2139"
_KEYCAP = "\u20e3"
_DIRECTION_MARKS = "\u200e\u200f\u061c"
_VIRAMA_CLASS = 9
# Signs that Unicode files under "format" though they show: they stand over or around the digits that follow.
_SHOWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_MONGOLIAN_SELECTORS = "\u180b\u180c\u180d\u180f"
_MAYBE_IN_PLACE = (
    _SHOWN
    | frozenset(_ZWSP + _ZWNJ + _ZWJ + _SOFT_HYPHEN + _DIRECTION_MARKS + _MONGOLIAN_SELECTORS)
    | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
# Hebrew to Arabic Extended, and their presentation forms; without the marks that are asked about here.
_RIGHT_TO_LEFT = pattern(r"[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_REACH = 64


def _find_characters(folded: Folded) -> Iterator[tuple[int, Threat | None]]:
    # Direction marks have no finding where they are: what needs one may stand far from it, and not in a part of the
    # text. Soft hyphens have none in a word, and are no part of it.
    text = folded.text
    for place in folded.suspect_places:
        char = text[place]
        if char not in _MAYBE_IN_PLACE or not _is_in_place(text, place, char):
            yield place, Threat(_rule(char), place, place + 1)
        elif char in _DIRECTION_MARKS or char == _SOFT_HYPHEN:
            yield place, None


@lru_cache(maxsize=1 << 12)
def _rule(char: str) -> str:
    code = ord(char)
    if 0xE0000 <= code <= 0xE007F:  # noqa: PLR2004  the block of tags
        return "tag-character"
    if _is_selector(char):
        return "variation-selector"
    if unicodedata.bidirectional(char) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}:
        return "bidi-control"
    if unicodedata.category(char) in {"Cc", "Zl", "Zp"}:
        return "control-character"
    return "hidden-character"


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or char in _MONGOLIAN_SELECTORS


def _is_in_place(text: str, place: int, char: str) -> bool:  # noqa: PLR0911  one line a case reads best
    before = text[place - 1] if place else ""
    if before == char:
        return char in _SHOWN
    after = text[place + 1] if place + 1 < len(text) else ""
    if char in _SHOWN:
        return True
    if char == _SOFT_HYPHEN:
        # Two letters on each side: a word that may be broken, not a word taken apart.
        around = (text[max(0, place - 2) : place], text[place + 1 : place + 3])
        return all(re.fullmatch(r"[^\W\d_]{2}", part) for part in around)
    if char == _ZWJ:
        return _joins_emoji(text, place) or _is_in_script(before, after) or _script(before) == "ARABIC"
    if char == _ZWNJ:
        return _is_in_script(before, after) or (_script(before) == _script(after) == "ARABIC")
    if char == _ZWSP:
        return _breaks_words(before) and _breaks_words(after)
    if char in _DIRECTION_MARKS:
        near = max(0, place - _REACH), place + _REACH
        return before not in _DIRECTION_MARKS and _RIGHT_TO_LEFT.search(text, *near) is not None
    if _is_selector(char):
        return _selects(char, before, after)
    return False


def _script(char: str) -> str:
    """The first word of the character's name, which is the script; "" for what is no letter and no mark of one."""
    if not char or unicodedata.category(char)[0] not in "LM":
        return ""
    return unicodedata.name(char, "").partition(" ")[0]


def _is_in_script(before: str, after: str) -> bool:
    # Indic conjuncts: behind a virama, or (Bengali ra) between a letter and a virama.
    if not before or not after:
        return bool(before) and unicodedata.combining(before) == _VIRAMA_CLASS
    virama = unicodedata.combining(before) == _VIRAMA_CLASS or unicodedata.combining(after) == _VIRAMA_CLASS
    return virama and not before.isascii() and not before.isspace()


def _joins_emoji(text: str, place: int) -> bool:
    first = place - 1
    # Behind a pictograph there may be one selector or one skin tone.
    if first > 0 and (text[first] == _EMOJI_SELECTOR or "\U0001f3fb" <= text[first] <= "\U0001f3ff"):
        first -= 1
    return first >= 0 and place + 1 < len(text) and _is_pictograph(text[first]) and _is_pictograph(text[place + 1])


def _is_pictograph(char: str) -> bool:
    # Newer emoji are unassigned for an older Python, so their planes count as well.
    return (not char.isascii() and unicodedata.category(char) in {"So", "Sm"}) or "\U0001f000" <= char <= "\U0001faff"


def _breaks_words(char: str) -> bool:
    return _script(char) in {"THAI", "LAO", "KHMER", "MYANMAR"}


def _selects(char: str, before: str, after: str) -> bool:
    if not before:
        return False
    if char in _SELECTORS_OF_SYMBOLS:
        if before in "#*0123456789":
            return after == _KEYCAP
        return _is_pictograph(before) or before in _TEXT_SYMBOLS
    if char in _MONGOLIAN_SELECTORS:
        return _script(before) == "MONGOLIAN"
    if _script(before) == "CJK":
        return True
    return char == "\ufe00" and unicodedata.category(before) == "Sm"
