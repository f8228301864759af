"""The scanner of text that must not reach a prompt: hidden characters, instructions, secrets.

It is a tripwire, not a wall: what keeps one agent's memory from another is scope, encoding and provenance
(docs/security.md). Spans count code points in the text that was given. Nothing in a text exempts it from the scan.

::

    text ── fold ──> letters, signs ── candidates: the places that a rule could start from, in one pass
      │
      └── at these places alone ──> frames         the frame of a prompt; remote images, hidden comments and styles
                                    secrets        keys, tokens, passwords; links and commands that send them
                                    instructions   phrases, over letters only, with the spans mapped back
                                    fold           hidden, bidi, tag and selector characters, mixed scripts
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from catmem.threats.candidates import Candidates
from catmem.threats.finding import RULES, SECRETS, Threat

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DEFAULT_LIMIT",
    "RULES",
    "SECRETS",
    "BuiltinScanner",
    "Candidates",
    "Scanner",
    "Threat",
    "scan",
    "scan_each",
]

DEFAULT_LIMIT = 64 * 1024
"""Characters (code points) of one entry that are scanned by default."""


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
        candidates = Candidates(text)
        return candidates.findings() if candidates else []


_DEFAULT = BuiltinScanner()


def scan(text: str) -> list[Threat]:
    """What is suspicious in ``text``, with the default limit, in text order; an empty list when nothing is."""
    return _DEFAULT.scan(text)


def scan_each(scanner: Scanner, texts: Sequence[str]) -> list[list[Threat]]:
    """The findings of each text by itself, in order; the same as ``scanner.scan`` on each, and faster.

    One look at all of them finds those that hold a candidate, and only these are scanned: a finding never depends on
    what stands beside a text.
    """
    if not isinstance(scanner, BuiltinScanner):
        return [scanner.scan(text) for text in texts]
    limit = scanner.limit
    ends = list(accumulate((len(text) + 1 for text in texts), initial=0))
    places = Candidates("\n".join(texts)).places if texts else []
    if places is None:
        return [scanner.scan(text) for text in texts]
    held = {bisect_right(ends, place) - 1 for place in places}
    if limit is not None:
        held.update(number for number, text in enumerate(texts) if len(text) > limit)
    return [scanner.scan(text) if number in held else [] for number, text in enumerate(texts)]
