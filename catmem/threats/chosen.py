"""Passwords, PINs and codes that a person chose, and logins: short, so the words around them tell, not their form.

Each kind begins at a word such as "Kennwort" or "PIN". What follows may say whose it is; then comes the value, behind a
sign such as ":" or "is", or at once. The fewer signs of a secret a value has, the closer to its word it must stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.threats.finding import PATTERNS, Threat, read_table, row_pattern
from catmem.threats.secrets import PLACEHOLDER

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from catmem.threats.finding import Places

_LONG = 16
_WEAK, _WEAK_NUMBER = 8, 12
_NEEDED = 128
_BEFORE = 24
"""Characters in front of a word that say what it is of: "garage code"."""


def _is_chosen(match: re.Match[str]) -> bool:
    """Whether it is like a password: letters, digits, and capitals or signs within; no reference and no example."""
    inner = match["value"].rstrip(".!?:")
    if not _is_mixed(inner) or (inner.isalnum() and not any(map(str.isupper, inner))):
        return False
    return len(inner) < _LONG or _is_no_name(inner)


def _is_mixed(value: str) -> bool:
    """Whether it has letters and digits, and is no reference and no example."""
    if not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    is_reference = value.startswith(("$", "%", "/", "~", "1P", "1p")) or "://" in value
    return not is_reference and not PLACEHOLDER.search(value)


def _is_no_name(value: str) -> bool:
    """Whether a long value has a sign that names seldom have, or a common one beside letters of both cases."""
    rare = PATTERNS["rare-sign"].search(value)
    if rare or PATTERNS["name"].search(value):
        return rare is not None
    return bool(PATTERNS["sign"].search(value)) or (not value.isalnum() and not value.islower() and not value.isupper())


def _is_plainly_chosen(match: re.Match[str]) -> bool:
    """Whether it is chosen, one word of letters and digits, or a long number: it stands close to what it is called."""
    inner = match["value"].rstrip(".!?:")
    is_word = len(inner) >= _WEAK and inner.isalnum() and _is_mixed(inner)
    return is_word or _is_chosen(match) or (len(inner) >= _WEAK_NUMBER and inner.isdigit())


def _is_signed(match: re.Match[str]) -> bool:
    """Whether it is chosen, and has a sign that names of things seldom have."""
    return PATTERNS["plain-sign"].search(match["value"]) is not None and _is_chosen(match)


def _is_number(match: re.Match[str]) -> bool:
    """Whether it is no example, and a year only where the text says that it is the number."""
    value = match["value"]
    return not PATTERNS["example-number"].fullmatch(value) and (
        match["states"] is not None or not PATTERNS["year"].fullmatch(value)
    )


def _is_code(match: re.Match[str]) -> bool:
    """Whether it is a number, and what stands in front of it or around it can be locked."""
    before = match.string[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2].lower()
    around = f"{before} {match['whose'] or ''}"
    return (
        _is_number(match) and PATTERNS["locked"].search(around) is not None and not PATTERNS["no-lock"].search(around)
    )


class _Kind(NamedTuple):
    """What is found at a sign where ``pattern`` fits and ``is_secret`` agrees; it has what it ``needs`` in it."""

    signs: tuple[str, ...]
    needs: str
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool]


_CHECKS = {"signed": _is_signed, "plainly-chosen": _is_plainly_chosen, "number": _is_number, "code": _is_code}
_KINDS = [
    _Kind(tuple(row["signs"].split()), row.get("needs", ""), row_pattern(row), _CHECKS[row["check"]])
    for row in read_table("chosen.txt")
]
CHOSEN_SIGNS = tuple(dict.fromkeys(sign for kind in _KINDS for sign in kind.signs))
"""What the kinds start from, in a text in lower case."""
_BY_SIGN = {sign: [kind for kind in _KINDS if sign in kind.signs] for sign in CHOSEN_SIGNS}


def chosen_secrets(text: str, found: Places) -> list[Threat]:
    """Passwords, PINs, codes and logins that a text calls so, by the places of ``CHOSEN_SIGNS``."""
    threats = []
    for sign, kind in ((each, kind) for each in found for kind in _BY_SIGN.get(each, ())):
        starts = found[sign]
        if kind.needs:
            starts = [place for place in starts if kind.needs in text[place : place + _NEEDED]]
        matches = (kind.pattern.match(text, place) for place in starts)
        threats += [Threat("assigned-secret", *each.span()) for each in matches if each and kind.is_secret(each)]
    return threats
