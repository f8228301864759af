"""Secrets, and what would send them away: links with a slot for private data, commands that post a file.

A secret is found by a detector with a name: the form of a token that its issuer documents.

Nearly all secrets are, or hold, a *run*: sixteen or more letters, digits and ``_ + / = -`` without a break. Ordinary
words hold none, so one look for a run is all that most text costs; a detector looks only at a run and a little before
it. What is plainly no secret passes: examples of documentation, ``xxxx``, names of variables, references to a vault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from catmem.threats.finding import PATTERNS, Places, Threat, Words, pattern, places, read_table, row_pattern
from catmem.threats.fold import Folded, fold_word

_RUN = 16
_IN_RUN = bytes(
    ord("a") if code < 128 and (chr(code).isalnum() or chr(code) in "_+/=-") else ord(" ")  # noqa: PLR2004
    for code in range(256)
)
_A_RUN = b"a" * _RUN
_NO_RUN = re.compile(rb"[^A-Za-z0-9_+/=-]")
_BEFORE = 96
_FEW_SIGNS = 6
_MANY_SIGNS = 10
_TURNS = 0.3

PLACEHOLDER = PATTERNS["placeholder"]


class _Detector(NamedTuple):
    """Finds ``rule`` where ``pattern`` fits at a ``sign``, or a little before it (``before`` characters).

    ``is_secret`` looks at the match once more; a sign in small letters of a detector ``in_any_case`` stands for all.
    """

    rule: str
    pattern: re.Pattern[str]
    before: int
    in_any_case: bool
    is_secret: Callable[[re.Match[str]], bool]


def _is_real(match: re.Match[str]) -> bool:
    """Whether a token of a known form is no example: an example repeats few characters or says what it is."""
    token = match.group()
    return len(set(token[4:])) >= _FEW_SIGNS and not PLACEHOLDER.search(token)


def _is_random(match: re.Match[str]) -> bool:
    """Whether what is called a secret looks drawn by lot: no words, no date, no path, no UUID."""
    value = match["value"]
    return not PLACEHOLDER.search(value) and any(map(_is_drawn_by_lot, PATTERNS["pieces"].findall(value)))


def _is_bare_key(match: re.Match[str]) -> bool:
    """Whether a random text is called a key, and no key of another kind: a public one, one of a cache."""
    start = match.start()
    return _is_random(match) and not PATTERNS["other-key"].search(match.string, max(0, start - _BEFORE_CHOSEN), start)


def _is_drawn_by_lot(piece: str) -> bool:
    stretches = PATTERNS["one-kind"].findall(piece)
    return (
        # Capitals, small letters and digits take turns in random text; in words and dates they stand together.
        len(stretches) >= _TURNS * len(piece)
        and any(one.isdigit() for one in stretches)
        and len(set(piece)) >= _MANY_SIGNS
    )


def _is_name_and_password(match: re.Match[str]) -> bool:
    """Whether the value of ``Authorization: Basic`` decodes to a name, a colon and a password."""
    import base64

    value = match["value"]
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:  # no base 64, no UTF-8, or a sign that only looks like a letter
        return False
    return ":" in text and text.isprintable()


_CHECKS = {"random": _is_random, "bare-key": _is_bare_key, "name-and-password": _is_name_and_password}


@cache
def _by_sign() -> dict[str, list[tuple[str, _Detector]]]:
    """Each sign in lower case, with the detectors that have it and the case in which they have it."""
    found: dict[str, list[tuple[str, _Detector]]] = {}
    for row in read_table("secrets.txt"):
        in_any_case = row.get("flags") == "any-case"
        is_secret = _CHECKS.get(row.get("check", ""), _is_real)
        detector = _Detector(row["rule"], row_pattern(row), int(row.get("before", 0)), in_any_case, is_secret)
        for sign in row["signs"].split():
            found.setdefault(sign.lower(), []).append((sign, detector))
    return found


@cache
def _words() -> Words:
    return Words(_by_sign())


SecretSign: TypeAlias = tuple[int, int, str, _Detector, re.Match[str]]
"""A place, the end of the run that begins there or a little behind, and the detector that fits at its sign there."""


def secret_signs(folded: Folded) -> list[SecretSign]:
    """The signs at which a detector fits, in a run or at most ``_BEFORE`` characters ahead of it, and in no other."""
    plain = folded.plain
    runs = plain.translate(_IN_RUN)
    signs: list[SecretSign] = []
    start, end = runs.find(_A_RUN), 0
    while start >= 0:
        first = max(end, start - _BEFORE)
        behind = _NO_RUN.search(plain, start)
        end = behind.start() if behind else len(plain)
        found = _words().places(folded.low[first:end].decode("latin-1"))
        signs += [
            (first + place, end, sign, detector, match)
            for low, places in found.items()
            for place in places
            for sign, detector in _by_sign()[low]
            if (match := _match(sign, detector, folded.text, first + place))
        ]
        start = runs.find(_A_RUN, end)
    return signs


def find_secrets(signs: Iterable[SecretSign]) -> Iterator[Threat]:
    """The secrets in a text with these ``secret_signs``."""
    # In one run nothing is read twice for one sign: on from the end of what fitted.
    read: dict[tuple[str, int], int] = {}
    for place, end, sign, detector, match in signs:
        if place >= read.get((sign, end), 0):
            read[sign, end] = max(place + len(sign), match.end())
            if detector.is_secret(match):
                yield Threat(detector.rule, match.start(), match.end())


def find_logins(text: str) -> list[Threat]:
    """Links that carry a name and a password: ``https://ana:...@example.org``."""
    found = (_login(text, place) for place in places("://", text, len("://"))) if "@" in text else ()
    return [each for each in found if each]


def _login(text: str, place: int) -> Threat | None:
    link = PATTERNS["link"].match(text, place)
    if link is None or link["password"] == link["name"] or PATTERNS["no-password"].fullmatch(link["password"]):
        return None
    return Threat("basic-auth", link.start("name"), link.end("password"))


def _match(sign: str, detector: _Detector, text: str, place: int) -> re.Match[str] | None:
    if not (detector.in_any_case or text.startswith(sign, place)):
        return None
    starts = range(max(0, place - detector.before), place + 1)
    return next(filter(None, (detector.pattern.match(text, start) for start in starts)), None)


_SENDING = pattern(
    fold_word(
        "(?:send|post|upload|transmit|forward|email|leak|exfiltrat|copy|submit|deliver|report|relay|push)(?:e|ing)?.{0,12}?"
        "(?:all|your|my|any|every|theuser|their|whole|entire|full|stored|content|the).{0,30}?(?:apikey|accesskey|password|secret|"
        "credential|privatekey|sshkey|accesstoken|authtoken|sessiontoken|cookies|conversation|chathistory|chatlog|memory|memories|"
        "envfile|envvar|environmentvariable|personaldata|privatedata|userdata|theirdata|creditcard|tokens).{0,48}?"
        "(?:to|at|via|into|through)"
    )
)
_SENT = fold_word("key password secret credential token cookies conversation chat memor env data creditcard").split()
_SENDS = fold_word(
    "send post upload transmit forward email leak copy submit deliver report relay push exfiltrat"
).split()
_NEGATION_REACH = 64
_SENDING_REACH = 280
_SIGNS = ("://", "@", "|", "$")
"""A command that sends a secret has one of these in the text."""
_SENDERS = ("curl", "wget", "netcat", "nc ")
LEAK_SIGNS = ("://", "@", *_SENDERS)
"""The signs in a text in lower case that the searches here start from."""
_PIPED = {sender: pattern(r"\|\s{0,4}(?:sudo\s)?" + sender, re.IGNORECASE) for sender in _SENDERS}


def find_leaks(folded: Folded, found: Places) -> Iterator[tuple[int, Threat | None]]:
    """Where what sends secrets away may stand, by the places of ``LEAK_SIGNS``, each with the finding if it does."""
    # In a part of the text it stands nowhere else. The rules are `basic-auth`, `exfiltration-link` and
    # `secret-exfiltration`.
    text = folded.text
    end = 0
    for place in found.get("://", ()):
        if link := _login(text, place):
            yield place, link
        url = PATTERNS["url"].match(text, place)
        # One after the other, never one inside another.
        is_next = url is not None and place >= end
        if url and PATTERNS["slot"].search(url.group()):
            yield place, Threat("exfiltration-link", *url.span()) if is_next else None
        end = url.end() if url and is_next else end
    for place in (*found.get("://", ()), *found.get("@", ())):
        yield from _addressed(folded, place)
    if any(sign in text for sign in _SIGNS):
        for sender in _SENDERS:
            yield from ((each.start, each) for each in _commands(sender, folded, found.get(sender, ())))


def _addressed(folded: Folded, place: int) -> Iterator[tuple[int, Threat | None]]:
    """An order to send something, in front of an address; addresses are rarer than words such as "send"."""
    start = max(0, place - _SENDING_REACH)
    before = folded.text[start:place]
    letters = folded.fold(before)
    if not any(map(letters.__contains__, _SENT)) or not any(map(letters.__contains__, _SENDS)):
        return
    if match := _SENDING.search(letters):
        yield place, None
        part = Folded(before)
        first, last = part.span(match.start(), match.end()) if part.letters == letters else (0, len(before))
        if not PATTERNS["negated"].search(folded.text, max(0, start + first - _NEGATION_REACH), start + first):
            yield start + first, Threat("secret-exfiltration", start + first, start + last)


def _commands(sender: str, folded: Folded, found: Iterable[int]) -> Iterator[Threat]:
    # Line by line, each looked at once: many commands on one line do not multiply the work.
    text = folded.text
    end = 0
    for place in found:
        if place < end:
            continue
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        sent = PATTERNS["inner-command"].search(text, place, end) or PATTERNS["sends-secret"].search(text, place, end)
        if sent and sender in {"curl", "wget"}:
            yield Threat("secret-exfiltration", place, sent.end())
        start = text.rfind("\n", 0, place) + 1
        piped = max((pipe.start() for pipe in _PIPED[sender].finditer(text, start, end)), default=0)
        if piped and _reads_secret(text, start, piped):
            yield Threat("secret-exfiltration", start, piped + 1)


def _reads_secret(text: str, start: int, end: int) -> bool:
    reads = all(PATTERNS[name].search(text, start, end) for name in ("reads-file", "secret"))
    return reads or PATTERNS["reads-environment"].search(text, start, end + 1) is not None


# --- passwords, PINs and codes that a person chose: the words around them tell ---------------------------------------


_LONG = 16
_WEAK, _WEAK_NUMBER = 8, 12
_NEEDED = 128
_BEFORE_CHOSEN = 24
"""Characters in front of a word that say what it is of: "garage code"."""


def _is_chosen(match: re.Match[str]) -> bool:
    """Whether it is like a password: letters, digits, and capitals or signs within; no reference and no example."""
    inner = _inner(match)
    if not _is_mixed(inner) or (inner.isalnum() and not any(map(str.isupper, inner))):
        return False
    return len(inner) < _LONG or _is_no_name(inner)


def _inner(match: re.Match[str]) -> str:
    """What is like a password, without the markup and the end of a sentence around it."""
    return match["value"].rstrip(".!?:*_~\u201c\u201d\u00bb\u2019")


def _has_owner(match: re.Match[str]) -> bool:
    """Whether it is named what the password is of, where anything is named behind that word."""
    return match["things"] is None or PATTERNS["owner"].search(match["things"]) is not None


def _is_mixed(value: str) -> bool:
    """Whether it has letters and digits, and is no reference and no example."""
    if not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    is_reference = value.startswith(("$", "%", "/", "~", "1P", "1p", "KeePass")) or "://" in value
    return not is_reference and not PLACEHOLDER.search(value)


def _is_no_name(value: str) -> bool:
    """Whether a long value has a sign that names seldom have, or a common one beside letters of both cases."""
    rare = PATTERNS["rare-sign"].search(value)
    if rare or PATTERNS["name"].search(value):
        return rare is not None
    return bool(PATTERNS["sign"].search(value)) or (not value.isalnum() and not value.islower() and not value.isupper())


def _is_plainly_chosen(match: re.Match[str]) -> bool:
    """Whether it is chosen, one word of letters and digits, or a long number: it stands close to what it is called."""
    inner = _inner(match)
    is_word = len(inner) >= _WEAK and inner.isalnum() and _is_mixed(inner)
    is_number = len(inner) >= _WEAK_NUMBER and inner.isdigit()
    return (is_word or is_number or _is_chosen(match)) and _has_owner(match)


def _is_signed(match: re.Match[str]) -> bool:
    """Whether it is chosen, and has a sign that names of things seldom have."""
    return PATTERNS["plain-sign"].search(match["value"].rstrip("*")) is not None and _is_chosen(match)


def _is_number(match: re.Match[str]) -> bool:
    """Whether it is no example, and a year only where the text says that it is the number."""
    value = match["value"]
    return not PATTERNS["example-number"].fullmatch(value) and (
        match["states"] is not None or not PATTERNS["year"].fullmatch(value)
    )


def _is_pin(match: re.Match[str]) -> bool:
    """Whether it is a number, of a card or a phone if it is named what it is of."""
    return _is_number(match) and _has_owner(match)


def _is_code(match: re.Match[str]) -> bool:
    """Whether it is a number, and what stands in front of it or around it can be locked."""
    before = match.string[max(0, match.start() - _BEFORE_CHOSEN) : match.start()].rpartition("\n")[2].lower()
    around = f"{before} {match['whose'] or ''}"
    return (
        _is_number(match) and PATTERNS["locked"].search(around) is not None and not PATTERNS["no-lock"].search(around)
    )


_CHOSEN_CHECKS = {"signed": _is_signed, "plainly-chosen": _is_plainly_chosen, "pin": _is_pin, "code": _is_code}
_KINDS: dict[str, list[tuple[str, re.Pattern[str], Callable[[re.Match[str]], bool]]]] = {}
for _row in read_table("chosen.txt"):
    for _sign in _row["signs"].split():
        _kind = _row.get("needs", ""), row_pattern(_row), _CHOSEN_CHECKS[_row["check"]]
        _KINDS.setdefault(_sign, []).append(_kind)
CHOSEN_SIGNS = tuple(_KINDS)
"""What the kinds start from, in a text in lower case."""


def chosen_secrets(text: str, found: Places) -> list[Threat]:
    """Passwords, PINs, codes and logins that a text calls so, by the places of ``CHOSEN_SIGNS``."""
    threats = []
    for sign in found.keys() & _KINDS.keys():
        for needs, looked_for, is_secret in _KINDS[sign]:
            starts = [place for place in found[sign] if needs in text[place : place + _NEEDED]]
            matches = (looked_for.match(text, place) for place in starts)
            threats += [Threat("assigned-secret", *each.span()) for each in matches if each and is_secret(each)]
    return threats
