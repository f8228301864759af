"""The scanner of text that must not reach a prompt: hidden characters, instructions, secrets.

It is a tripwire, not a wall: what keeps one agent's memory from another is scope, encoding and provenance
(docs/security.md). Spans count code points in the text that was given. Nothing in a text exempts it from the scan.

::

    text ── frames ───────> what looks like the frame of a prompt; remote images, hidden comments and styles
      │
      ├── secrets ──────> keys, tokens and passwords; links that carry data, commands that send secrets
      └── fold ─────────> hidden, bidi, tag and selector characters, mixed scripts
            └── instructions ──> phrases, over letters only, with the spans mapped back; phrases in other scripts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tests.property.oracle_threats.finding import RULES, SECRETS, Threat, merged
from tests.property.oracle_threats.fold import FOLD_TABLE, NOT_LETTERS, Folded, find_characters
from tests.property.oracle_threats.frames import MARKUP_SIGNS, ROLE_LETTERS, ROLE_SIGNS, find_markup, find_roles
from tests.property.oracle_threats.instructions import GATES, find_instructions, find_native
from tests.property.oracle_threats.secrets import LEAK_SIGNS, find_chosen, find_leaks, find_logins, find_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DEFAULT_LIMIT",
    "RULES",
    "SECRETS",
    "BuiltinScanner",
    "Scanner",
    "Threat",
    "is_clear",
    "is_plain",
    "scan",
    "scan_each",
]

DEFAULT_LIMIT = 64 * 1024
"""Characters (code points) of one entry that are scanned by default."""

_GROUP = 50
# An ASCII text without these signs has no findings: every search of the other modules begins at one of them. A property
# test holds the two together.
_SIGNS = tuple(dict.fromkeys(MARKUP_SIGNS + LEAK_SIGNS + ROLE_SIGNS))
_LETTERS = tuple(dict.fromkeys(GATES + ROLE_LETTERS))
# A text without these characters has no control character and none of the signs, but for two that are looked for apart,
# since most entries hold a colon.
_RARE = b"<!&@|#]$"
_COLONS = tuple(sign for sign in _SIGNS if not set(sign) & set(_RARE.decode()))
_DULL = bytes(code for code in (9, 10, 13, *range(32, 127)) if code not in _RARE)


class Scanner(Protocol):
    """Anything that finds hostile text; a caller may bring its own."""

    def scan(self, text: str) -> list[Threat]:
        """The findings in ``text``, in text order; an empty list when there are none."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltinScanner:
    """The scanner that catmem brings.

    ``limit`` is the most code points it looks at; a longer text is one finding over the whole of it, since a text that
    is scanned in part can hide the rest. ``None`` is no limit: the time grows with the length and no faster. A caller
    that scans a whole prompt sets the limit to fit it.
    """

    limit: int | None = DEFAULT_LIMIT

    def scan(self, text: str) -> list[Threat]:
        """What is suspicious in ``text``, in text order; never fails, whatever the text holds."""
        if self.limit is not None and len(text) > self.limit:
            return [Threat("too-large-to-scan", 0, len(text))]
        findings = merged([*find_secrets(text), *find_chosen(text)])
        if text.isascii() and is_plain(text):
            return findings
        folded = Folded.of(text)
        findings += find_logins(text)
        findings += find_instructions(folded)
        findings += find_roles(folded)
        findings += find_markup(text)
        findings += find_leaks(folded)
        if folded.suspects:
            findings += find_characters(text, folded.suspects)
        if not text.isascii():
            findings += folded.mixed
            findings += find_native(folded)
        return merged(findings) if findings else findings


_DEFAULT = BuiltinScanner()


def scan(text: str) -> list[Threat]:
    """What is suspicious in ``text``, with the default limit, in text order; an empty list when nothing is."""
    return _DEFAULT.scan(text)


def scan_each(scanner: Scanner, texts: Sequence[str]) -> list[list[Threat]]:
    """The findings of each text by itself, in order; the same as ``scanner.scan`` on each, and faster.

    A group that holds none of the signs that rules start from clears every text in it at once. Any other group is
    scanned text by text: a finding never depends on what stands beside a text.
    """
    if not isinstance(scanner, BuiltinScanner):
        return [scanner.scan(text) for text in texts]
    found: list[list[Threat]] = []
    for start in range(0, len(texts), _GROUP):
        group = texts[start : start + _GROUP]
        if is_clear("\n".join(group), group, scanner.limit):
            found += [[] for _ in group]
        else:
            found += [scanner.scan(text) for text in group]
    return found


def is_clear(joined: str, parts: Sequence[str], limit: int | None = DEFAULT_LIMIT) -> bool:
    """Whether the built-in scanner can find nothing in any of ``parts``, by one look at the text that holds them all.

    ``joined`` must hold each part's characters in their order, with nothing put between the characters of one line.
    """
    if not joined.isascii() or (limit is not None and any(len(part) > limit for part in parts)):
        return False
    return is_plain(joined) and not find_secrets(joined)


def is_plain(text: str) -> bool:
    """Whether ``text``, which is ASCII, holds nothing that a rule could start from."""
    raw = text.encode("ascii")
    rest = raw.translate(None, _DULL)
    if rest.translate(None, _RARE):
        return False
    # Plain loops: a generator costs more than what it would loop over.
    for sign in _SIGNS if rest else _COLONS:
        if sign in text:
            return False
    letters = raw.translate(FOLD_TABLE, NOT_LETTERS).decode("ascii")
    for gate in _LETTERS:  # noqa: SIM110
        if gate in letters:
            return False
    return True
