"""How long a memory file is, and how long it may be, in characters (code points)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile


def size_of(text: str) -> int:
    """What counts of a file: its whole text, headers and delimiters too, without the newlines at its end.

    For a file without sections, as Hermes Agent writes one, that is what Hermes Agent counts.
    """
    return len(text.rstrip("\r\n"))


def limit_of(owner: Profile, target: str, config: Config) -> int | None:
    """The limit of a profile's file in characters: its own, else the root's."""
    return owner.limits.get(target, config.limits.get(target))
