"""Where in a text anything could start: one pass over it, however many entries it is made of.

A candidate is a place that a rule starts from, if what stands around it is like what the rule finds. The test is the
loose one: what depends on where a text ends, or on what stands further away, is left to the rules. So an entry that
is a part of the text, by itself, has a finding only if a candidate lies in it; and the rules look at nothing else.
"""

from __future__ import annotations

from functools import cached_property

from catmem.threats.finding import Threat, Words, merged
from catmem.threats.fold import Folded, character_starts, find_characters
from catmem.threats.frames import MARKUP_SIGNS, ROLE_SIGNS, find_markup, find_roles, markup_starts, role_starts
from catmem.threats.instructions import (
    GATES,
    STEMS,
    find_instructions,
    find_native,
    instruction_starts,
    native_starts,
)
from catmem.threats.secrets import (
    LEAK_SIGNS,
    SECRET_SIGNS,
    find_leaks,
    find_secrets,
    leak_starts,
    passwords,
    secret_signs,
)

_SIGNS = Words(MARKUP_SIGNS + ROLE_SIGNS + LEAK_SIGNS + SECRET_SIGNS)
_WORDS = Words(GATES + STEMS)


class Candidates:
    """The candidates of a text, by the rules that they are for."""

    def __init__(self, text: str) -> None:
        """Look over the text."""
        folded = self.folded = Folded(text)
        signs = self._signs = _SIGNS.places(folded.low)
        words = _WORDS.places(folded.letters.encode())
        self._instructions = instruction_starts(folded.letters, words) if words else []
        self._secrets = secret_signs(folded.plain, signs) if signs else []
        self._passwords = passwords(text, signs) if signs else []
        self._roles = role_starts(folded, signs) if signs else []
        self._markup = markup_starts(text, signs) if signs else []
        self._leaks = leak_starts(folded, signs) if signs else []
        self._characters = character_starts(folded) if folded.suspects else []
        self._native = native_starts(folded) if folded.unusual else []

    def __bool__(self) -> bool:
        """Whether there is any; without one there is no finding."""
        return bool(
            self.folded.mixed
            or self._instructions
            or self._secrets
            or self._passwords
            or self._roles
            or self._markup
            or self._leaks
            or self._characters
            or self._native
        )

    @cached_property
    def places(self) -> list[int] | None:
        """Where in the text they are, in order; ``None`` for everywhere.

        Scripts that are mixed in one place are read as Latin letters in all others, which hides what else is there.
        """
        if self.folded.mixed:
            return None
        letters = {start.place for start in self._instructions}
        return sorted(
            {
                *map(self.folded.place, letters),
                *(found.place for found in self._secrets),
                *(found.start for found in self._passwords),
                *self._roles,
                *self._markup,
                *self._leaks,
                *self._characters,
                *self._native,
            }
        )

    def findings(self) -> list[Threat]:
        """What the rules find in the text, in text order."""
        folded = self.folded
        findings = list(folded.mixed)
        if self._secrets:
            findings += find_secrets(folded.text, self._secrets)
        findings += self._passwords
        if self._instructions:
            findings += find_instructions(folded, self._instructions)
        if self._roles:
            findings += find_roles(folded, self._signs)
        if self._markup:
            findings += find_markup(folded.text, self._signs)
        if self._leaks:
            findings += find_leaks(folded, self._signs)
        if self._characters:
            findings += find_characters(folded)
        if self._native:
            findings += find_native(folded)
        return merged(findings)
