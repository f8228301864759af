"""The scanner of text that must not reach a prompt: hidden characters, instructions, secrets.

It is a tripwire, not a wall: what keeps one agent's memory from another is scope, encoding and provenance
(docs/security.md). Spans count code points in the text that was given. Nothing in a text exempts it from the scan.

::

    text ── fold ──> letters, signs ── one pass: the places that a rule could start from
      │
      └── at these places alone ──> instructions   phrases, over letters only, with the spans mapped back;
                                                   the frame of a prompt; remote images, hidden comments and styles
                                    secrets        keys, tokens; links and commands that send them;
                                                   passwords, PINs and logins that a person chose
                                    fold           hidden, bidi, tag and selector characters, mixed scripts
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from catmem.threats.finding import RULES, SECRETS, Threat, Words, places
from catmem.threats.fold import Folded, find_characters
from catmem.threats.instructions import (
    MARKUP_SIGNS,
    ROLE_SIGNS,
    find_instructions,
    find_markup,
    find_native,
    find_roles,
    stems,
)
from catmem.threats.secrets import (
    CHOSEN_SIGNS,
    LEAK_SIGNS,
    find_chosen,
    find_leaks,
    find_logins,
    find_secrets,
)

__all__ = [
    "DEFAULT_LIMIT",
    "RULES",
    "SECRETS",
    "Threat",
    "scan",
    "scan_secrets",
]

DEFAULT_LIMIT = 64 * 1024
"""Characters (code points) of one entry that are scanned by default."""


_ALL = tuple(dict.fromkeys((*MARKUP_SIGNS, *ROLE_SIGNS, *LEAK_SIGNS, *CHOSEN_SIGNS)))
_SIGNS = Words([sign for sign in _ALL if sign[0].isalpha() or sign[0] == ":"], "cdgmnpsw")
# Each begins with a rare character, which is found at the speed of C.
_MARKS = [sign.encode() for sign in _ALL if sign not in _SIGNS.words]
_NO_MARKS = bytes({*range(256)} - {mark[0] for mark in _MARKS})


@cache
def _stems() -> Words:
    return Words(stems(), "ceiouwy")


def _signs(low: bytes) -> dict[str, list[int]]:
    """The places of the signs that stand in a text in lower case."""
    found = _SIGNS.places(low.decode("latin-1"))
    begun = low.translate(None, _NO_MARKS)
    for mark in _MARKS if begun else ():
        if mark[:1] in begun and (marked := [place for place in places(mark[:1], low) if low.startswith(mark, place)]):
            found[mark.decode()] = marked
    return found


def _merged(findings: Iterable[Threat]) -> list[Threat]:
    """In text order, with findings of one rule that overlap or touch made one."""
    last: dict[str, int] = {}
    result: list[Threat] = []
    for found in sorted(findings, key=lambda found: (found.start, found.end, found.rule)):
        index = last.setdefault(found.rule, len(result))
        if index < len(result) and found.start <= result[index].end:
            before = result[index]
            result[index] = Threat(found.rule, before.start, max(before.end, found.end))
        else:
            last[found.rule] = len(result)
            result.append(found)
    return result


def scan(text: str, limit: int | None = DEFAULT_LIMIT) -> list[Threat]:
    """What is suspicious in ``text``, in text order; never fails, whatever the text holds.

    A text of more than ``limit`` code points is one finding over the whole of it, since a text that is scanned in part
    can hide the rest. ``None`` is no limit: the time grows with the length and no faster.
    """
    if limit is not None and len(text) > limit:
        return [Threat("too-large-to-scan", 0, len(text))]
    folded = Folded(text)
    signs, words = _signs(folded.low), _stems().places(folded.letters)
    found = [*folded.mixed, *find_secrets(folded)]
    if words:
        found += find_instructions(folded, words)
    if signs:
        found += [*find_roles(folded, signs), *find_leaks(folded, signs), *find_chosen(text, signs)]
        found += find_markup(text, signs)
    if folded.suspects:
        found += find_characters(folded)
    if folded.unusual:
        found += find_native(folded)
    return _merged(found)


def scan_secrets(text: str) -> list[Threat]:
    """The keys and tokens in a text of any length, and the links with a password; in no order."""
    return [*find_secrets(Folded(text)), *find_logins(text)]
