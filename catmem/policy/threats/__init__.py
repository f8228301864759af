"""The scanner of text that must not reach a prompt: hidden characters, instructions, secrets.

It is a tripwire, not a wall: what keeps one agent's memory from another is scope, encoding and provenance
(docs/security.md). Spans count code points in the text that was given. Nothing in a text exempts it from the scan.

::

    text ── characters ──> hidden, bidi, tag and selector characters, mixed scripts
      │
      ├── roles ────────> what looks like the frame of a prompt
      ├── markup ───────> remote images, hidden comments and styles, letters written as references
      ├── leaks ────────> links that carry data, commands that send secrets
      ├── secrets ──────> keys, tokens and passwords
      ├── native ───────> phrases in scripts other than Latin
      └── fold ── instructions ──> phrases, over letters only, with the spans mapped back
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from catmem.policy.threats.characters import find_characters
from catmem.policy.threats.finding import RULES, SECRETS, Finding, merged
from catmem.policy.threats.fold import Folded
from catmem.policy.threats.gate import is_plain
from catmem.policy.threats.instructions import find_instructions
from catmem.policy.threats.leaks import find_leaks
from catmem.policy.threats.markup import find_markup
from catmem.policy.threats.native import find_native
from catmem.policy.threats.roles import find_roles
from catmem.policy.threats.secrets import find_logins, find_secrets

__all__ = ["DEFAULT_LIMIT", "RULES", "SECRETS", "BuiltinScanner", "Finding", "Scanner", "scan"]

DEFAULT_LIMIT = 64 * 1024
"""Characters (code points) of one entry that are scanned by default."""


class Scanner(Protocol):
    """Anything that finds hostile text; a caller may bring its own."""

    def scan(self, text: str) -> list[Finding]:
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

    def scan(self, text: str) -> list[Finding]:
        """What is suspicious in ``text``, in text order; never fails, whatever the text holds."""
        if self.limit is not None and len(text) > self.limit:
            return [Finding("too-large-to-scan", 0, len(text))]
        findings = find_secrets(text)
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


def scan(text: str) -> list[Finding]:
    """What is suspicious in ``text``, with the default limit, in text order; an empty list when nothing is."""
    return _DEFAULT.scan(text)
