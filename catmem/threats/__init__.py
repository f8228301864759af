"""The scanner of text that must not reach a prompt: hidden characters, instructions, secrets.

It is a tripwire, not a wall: what keeps one agent's memory from another is scope, encoding and provenance
(docs/security.md). Spans count code points in the text that was given. Nothing in a text exempts it from the scan.

::

    text ── fold ──> letters, signs ── candidates: the places that a rule could start from, in one pass
      │
      └── at these places alone ──> frames         the frame of a prompt; remote images, hidden comments and styles
                                    secrets        keys, tokens; links and commands that send them
                                    chosen         passwords, PINs and logins that a person chose
                                    instructions   phrases, over letters only, with the spans mapped back
                                    fold           hidden, bidi, tag and selector characters, mixed scripts
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import accumulate, chain

from catmem.threats.finding import RULES, SECRETS, Threat, Words, places
from catmem.threats.fold import Folded, readings, written_otherwise
from catmem.threats.instructions import (
    MARKUP_SIGNS,
    ROLE_SIGNS,
    find_instructions,
    find_markup,
    find_native,
    find_roles,
    instruction_starts,
    stems,
)
from catmem.threats.secrets import (
    CHOSEN_SIGNS,
    LEAK_SIGNS,
    chosen_secrets,
    find_leaks,
    find_logins,
    find_secrets,
    secret_signs,
)

__all__ = [
    "DEFAULT_LIMIT",
    "RULES",
    "SECRETS",
    "Candidates",
    "Threat",
    "scan",
    "scan_each",
    "scan_secrets",
]

DEFAULT_LIMIT = 64 * 1024
"""Characters (code points) of one entry that are scanned by default."""


_ALL = tuple(dict.fromkeys((*MARKUP_SIGNS, *ROLE_SIGNS, *LEAK_SIGNS, *CHOSEN_SIGNS)))
_SIGNS = Words([sign for sign in _ALL if sign[0].isalpha() or sign[0] == ":"], "cdgmnpsw")
# Each begins with a rare character, which is found at the speed of C.
_MARKS = [sign.encode() for sign in _ALL if sign not in _SIGNS.words]


@cache
def _stems() -> Words:
    return Words(stems(), "ceiouwy")


def _signs(low: bytes) -> dict[str, list[int]]:
    """The places of the signs that stand in a text in lower case."""
    found = _SIGNS.places(low.decode("latin-1"))
    for mark in _MARKS:
        if mark[:1] in low and (marked := [place for place in places(mark[:1], low) if low.startswith(mark, place)]):
            found[mark.decode()] = marked
    return found


class Candidates:
    """Where in a text anything could start, by rule: one pass over it, however many entries it is made of.

    A candidate is a place that a rule starts from, if what stands around it is like what the rule finds. The test is
    the loose one: what depends on where a text ends, or on what stands further away, is left to the rules. So an entry
    that is a part of the text, by itself, has a finding only if a candidate lies in it; and the rules look at nothing
    else.
    """

    def __init__(self, text: str) -> None:
        folded = self.folded = Folded(text)
        self.written = written_otherwise(folded)
        """What a viewer reads as a letter or a sign, or does not show; ``scan`` looks at the text without it too."""
        signs, words = _signs(folded.low), _stems().places(folded.letters)
        self._instructions = instruction_starts(folded.letters, words) if words else []
        judged = [*find_roles(folded, signs), *find_leaks(folded, signs)] if signs else []
        judged += folded.characters if folded.suspects else ()
        judged += find_native(folded) if folded.unusual else ()
        secrets, chosen = secret_signs(folded), chosen_secrets(text, signs) if signs else []
        markup = {sign: signs[sign] for sign in MARKUP_SIGNS if sign in signs}
        self._starts = [place for place, _ in judged] + [place for place, *_ in secrets]
        self._starts += [start for start, _, _ in self.written] + [found.start for found in chosen]
        self._starts += chain.from_iterable(markup.values())
        self._found = [*folded.mixed, *(found for _, found in judged if found), *find_secrets(secrets), *chosen]
        self._found += find_markup(text, markup) if markup else ()

    def __bool__(self) -> bool:
        """Whether there is any; without one there is no finding."""
        return bool(self.folded.mixed or self._instructions or self._starts)

    @cached_property
    def places(self) -> list[int] | None:
        """Where in the text they are, in order; ``None`` for everywhere."""
        # Scripts that are mixed in one place are read as Latin letters in all others, which hides what else is there.
        if self.folded.mixed:
            return None
        return sorted({*self._starts, *map(self.folded.place, {place for _, place in self._instructions})})

    def findings(self) -> list[Threat]:
        return _merged([*self._found, *find_instructions(self.folded, self._instructions)])


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
    candidates = Candidates(text)
    found = candidates.findings() if candidates else []
    if not candidates.written:
        return found
    for shown, place in readings(text, candidates.written):
        threats = Candidates(shown).findings()
        # A reference such as "&shy;" is no hidden character: who reads the text sees it.
        found += [Threat(rule, place(start), place(end)) for rule, start, end in threats if rule != "hidden-character"]
    return _merged(found)


def scan_secrets(text: str) -> list[Threat]:
    """The keys and tokens in a text of any length, the links with a password, and what is called one; in no order."""
    folded = Folded(text)
    found = _secrets(folded, text)
    if written := written_otherwise(folded):
        for shown, place in readings(text, written):
            found += [Threat(rule, place(start), place(end)) for rule, start, end in _secrets(Folded(shown), shown)]
    return found


def _secrets(folded: Folded, text: str) -> list[Threat]:
    return [*find_secrets(secret_signs(folded)), *find_logins(text), *chosen_secrets(text, _signs(folded.low))]


def scan_each(texts: Sequence[str]) -> list[list[Threat]]:
    """The findings of each text by itself, in order; the same as ``scan`` on each, and faster."""
    # One look at all of them finds those that hold a candidate, and only these are scanned: a finding never depends on
    # what stands beside a text.
    ends = list(accumulate((len(text) + 1 for text in texts), initial=0))
    places = Candidates("\n".join(texts)).places if texts else []
    if places is None:
        return list(map(scan, texts))
    held = {bisect_right(ends, place) - 1 for place in places}
    return [scan(text) if number in held or len(text) > DEFAULT_LIMIT else [] for number, text in enumerate(texts)]
