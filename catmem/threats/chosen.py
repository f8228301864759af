"""Passwords, PINs and codes that a person chose, and logins: short, so the words around them tell, not their form.

Each kind begins at a word such as "Kennwort" or "PIN". What follows may say whose it is; then comes the value, behind a
sign such as ":" or "is", or at once. The fewer signs of a secret a value has, the closer to its word it must stand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catmem.threats.finding import Threat, pattern
from catmem.threats.secrets import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.threats.finding import Places

_LONG = 16
_WEAK, _WEAK_NUMBER = 8, 12
_BEFORE = 24
"""Characters in front of a word that say what it is of: "garage code"."""

_OF = "(?:for|of|to|on|at|in|für|von|vom|zum?|zur|beim?|der|des|den|du|de|del|pour|para) "
_STATES = r"(?:\s{0,2}(?::=|=>|[:=])| is| ist| lautet| est| es)\s{0,2}"
_VALUE = r"[\"'`«„]?(?P<value>[^\s\"'`,;<>(){}\[\]]{6,64})(?![^\s\"'`,;<>(){}\[\]])"
_NUMBER = r"(?P<value>\d{4,8})(?![\w:/%-]|[.,]\d| ?[€$])"
_ENDS = r"(?=[#*]?[.,;!)]?(?:\s*\Z|\n| \())"

_RARE_SIGN = pattern(r"[!$%^*]")
_PLAIN_SIGN = pattern(r"[!$%^*#&]")
_SIGN = pattern(r"[#&?~=|\\]")
_NAME = pattern(r"[/:]|[A-Za-z0-9]\.[A-Za-z]|\d\.\d|\d{4}-\d\d-\d\d")
"""What is in names of files, hosts, places in a vault and versions, in days and in links."""
_EXAMPLE_NUMBER = pattern(r"(\d)\1+|1234\d*|4321")
_YEAR = pattern(r"(?:19|20)\d\d")
_LOCKED = pattern(
    r"door|gate|alarm|safe\b|garage|lock|access|entry|keypad|building|cellar|voicemail|phone|\bsim\b|tür|\btor\b|tresor|haus|keller|"
    r"zugang|handy|porte|portail|coffre|immeuble|puerta|caja fuerte|portal|edificio",
    re.IGNORECASE,
)
_NO_LOCK = pattern(
    r"error|exit|http|status|fehler|erreur|postal|post|zip|area|bank|product|article|artikel|item|customs|project|promo|source|qr|number|"
    r"nummer",
    re.IGNORECASE,
)


def _is_chosen(match: re.Match[str]) -> bool:
    """Whether it is like a password: letters, digits, and capitals or signs within; no reference and no example."""
    inner = match["value"].rstrip(".!?:")
    mixed = any(map(str.isupper, inner)) or any(not letter.isalnum() for letter in inner)
    return mixed and _is_mixed(inner) and (len(inner) < _LONG or _is_no_name(inner))


def _is_mixed(value: str) -> bool:
    """Whether it has letters and digits, and is no reference and no example."""
    is_reference = value.startswith(("$", "%", "/", "~", "1P", "1p")) or "://" in value or PLACEHOLDER.search(value)
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not is_reference


def _is_no_name(value: str) -> bool:
    """Whether a long value has a sign that names seldom have, or a common one beside letters of both cases."""
    rare = _RARE_SIGN.search(value)
    if rare or _NAME.search(value):
        return rare is not None
    has_sign = any(not letter.isalnum() for letter in value)
    return bool(_SIGN.search(value)) or (has_sign and not value.islower() and not value.isupper())


def _is_plainly_chosen(match: re.Match[str]) -> bool:
    """Whether it is chosen, one word of letters and digits, or a long number: it stands close to what it is called."""
    inner = match["value"].rstrip(".!?:")
    is_word = len(inner) >= _WEAK and inner.isalnum() and _is_mixed(inner)
    return is_word or _is_chosen(match) or (len(inner) >= _WEAK_NUMBER and inner.isdigit())


def _is_signed(match: re.Match[str]) -> bool:
    """Whether it is chosen, and has a sign that names of things seldom have."""
    return _is_chosen(match) and _PLAIN_SIGN.search(match["value"]) is not None


def _is_number(match: re.Match[str]) -> bool:
    """Whether it is no example, and a year only where the text says that it is the number."""
    value = match["value"]
    return not _EXAMPLE_NUMBER.fullmatch(value) and (match["states"] is not None or not _YEAR.fullmatch(value))


def _is_code(match: re.Match[str]) -> bool:
    """Whether it is a number, and what stands in front of it or around it can be locked."""
    before = match.string[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2].lower()
    around = f"{before} {match['whose'] or ''}"
    return _is_number(match) and _LOCKED.search(around) is not None and not _NO_LOCK.search(around)


class _Kind(NamedTuple):
    """What is found at a sign where ``pattern`` fits and ``is_secret`` agrees."""

    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool]


_WORD = (
    r"(?<![^\W_])(?:passwor[dt]|passwd|pwd?|kennwort|pass(?:e|phrase|code)?|mdp|contraseña|clave|"
    r"(?:wlan|wi-?fi|wpa\d?)[ -]?(?:schl(?:ü|ue)ssel|key|code))\b"
)
_WORD_SIGNS = ("pass", "pw", "kennwort", "mdp", "contrase", "clave", "wlan", "wifi", "wi-fi", "wpa")
_NETWORK = r"(?<!\w)(?:wlan|wi-?fi)(?= ?:)"
_KINDS = (
    _Kind(
        _WORD_SIGNS,
        pattern(rf"(?:{_WORD}(?: [^\n:=.;]{{1,40}}?)?|{_NETWORK})[\"'`*]{{0,3}}(?:{_STATES}| ){_VALUE}", re.IGNORECASE),
        _is_signed,
    ),
    _Kind(
        _WORD_SIGNS,
        pattern(rf"{_WORD}(?:(?: {_OF}[^\n:=]{{1,40}}?)?[\"'`*]{{0,3}}{_STATES}| ){_VALUE}", re.IGNORECASE),
        _is_plainly_chosen,
    ),
    _Kind(
        ("login", "credential", "zugang", "anmeldung", "identifiant", "user", "benutzer", "usuario", "acceso"),
        pattern(
            r"(?<![^\W_])(?:login|credential|zugang|anmeldung|identifiant|user|benutzer|usuario|acceso)\w{0,8}\b"
            rf"[^\n/]{{1,80}}(?<=[\w.@-])(?: / |(?<=\S)/(?=\S)){_VALUE}",
            re.IGNORECASE,
        ),
        _is_signed,
    ),
    _Kind(
        ("pin", "puk"),
        pattern(
            rf"(?<!\w)(?:P(?:IN|in|UK)|(?i:pin|puk)(?= ?[:=]))(?:-?[Cc]ode)?(?P<whose> {_OF}[^\n\d:=.;]{{1,40}}?)?"
            rf"(?:(?P<states>{_STATES})|[ ](?=\d+{_ENDS})){_NUMBER}"
        ),
        _is_number,
    ),
    _Kind(
        ("code", "digo"),
        pattern(
            rf"(?:code|digo)\b(?P<whose> (?:{_OF}[^\n\d:=.;]{{1,40}}?|[^\W\d]{{2,20}}))?"
            rf"(?:(?P<states>{_STATES})|[ ](?=\d+{_ENDS})){_NUMBER}",
            re.IGNORECASE,
        ),
        _is_code,
    ),
)  # fmt: skip
CHOSEN_SIGNS = tuple(dict.fromkeys(sign for kind in _KINDS for sign in kind.signs))
"""What the kinds start from, in a text in lower case."""
_BY_SIGN = {sign: [kind for kind in _KINDS if sign in kind.signs] for sign in CHOSEN_SIGNS}


def chosen_secrets(text: str, found: Places) -> list[Threat]:
    """Passwords, PINs, codes and logins that a text calls so, by the places of ``CHOSEN_SIGNS``."""
    threats = []
    for sign in found.keys() & _BY_SIGN.keys():
        for kind in _BY_SIGN[sign]:
            matches = (kind.pattern.match(text, place) for place in found[sign])
            threats += [Threat("assigned-secret", *each.span()) for each in matches if each and kind.is_secret(each)]
    return threats
