"""What a rollout enforces for which entity."""

from __future__ import annotations

from hashlib import sha256

from catmem.config.config import Rollout

SOFT = frozenset({"role_drift", "bad_signature", "clock_skew", "semantic_collision", "stale_prev"})
"""The codes of refusals that a rollout may let pass: they are about the writer's view and papers.

All others are enforced from the first day. What they keep out would harm readers (``forbidden``, ``threat``), the file
(``schema``, ``structure``, ``over_budget``), or what others wrote (``drift``, ``hash_collision``). ``bad_signature`` is
one of these where there is no signature at all; a wrong one is never let pass, and no one asks for it.
"""

_SHARES = 100


def place_of(entity: str) -> int:
    """Where an entity stands among 100 equal shares, 0 to 99: the same on every machine and for ever."""
    return int.from_bytes(sha256(entity.encode(errors="surrogatepass")).digest()) % _SHARES


def enforces(rollout: Rollout, entity: str) -> bool:
    """Whether soft refusals are enforced for an entity. Who is in at 10 percent is in at 20."""
    if rollout.mode == "canary":
        return place_of(entity) < (rollout.canary or 0)
    return rollout.mode != "shadow"
