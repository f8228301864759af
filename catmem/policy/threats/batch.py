"""Scan many texts at little cost: what holds none of the signs that rules start from holds none in any part.

So a group that is plain clears every text in it at once. Any other group is scanned text by text: a finding never
depends on what stands beside a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.threats import DEFAULT_LIMIT, BuiltinScanner
from catmem.policy.threats.gate import is_plain
from catmem.policy.threats.secrets import find_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.policy.threats import Finding, Scanner

_GROUP = 50


def scan_each(scanner: Scanner, texts: Sequence[str]) -> list[list[Finding]]:
    """The findings of each text by itself, in order; the same as ``scanner.scan`` on each, and faster."""
    if not isinstance(scanner, BuiltinScanner):
        return [scanner.scan(text) for text in texts]
    found: list[list[Finding]] = []
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
