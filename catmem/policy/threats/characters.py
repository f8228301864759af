"""Characters that do not show, found by Unicode category, and the places where a script or an emoji needs one.

The exceptions are the ones people type: emoji joined by U+200D, U+FE0F behind a symbol, joiners of Persian and of the
Indic scripts, direction marks in Hebrew and Arabic lines, word breaks in Thai, Lao, Khmer and Burmese, soft hyphens
inside a word, variation selectors of Han and Mongolian. Each is allowed once in its place, never in a run.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from catmem.policy.threats.finding import Finding

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
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_REACH = 64


def find_characters(text: str, suspects: frozenset[str]) -> list[Finding]:
    """A finding for each run of ``suspects`` in ``text`` that are not where a script or an emoji needs them."""
    findings: list[Finding] = []
    rule, start, end = "", 0, 0
    for place, char in enumerate(text):
        if char not in suspects or (char in _MAYBE_IN_PLACE and _is_in_place(text, place, char)):
            continue
        if place == end and rule == _rule(char):
            end += 1
            continue
        if rule:
            findings.append(Finding(rule, start, end))
        rule, start, end = _rule(char), place, place + 1
    if rule:
        findings.append(Finding(rule, start, end))
    return findings


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
        return before not in _DIRECTION_MARKS and _is_right_to_left_near(text, place)
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


def _is_right_to_left_near(text: str, place: int) -> bool:
    return _RIGHT_TO_LEFT.search(text, max(0, place - _REACH), place + _REACH) is not None


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
