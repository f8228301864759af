"""Which of several stores has an entity: rendezvous hashing (Thaler and Ravishankar 1996, "highest random weight").

Each shard has a number for each entity, and the highest takes it. Everybody computes the same without asking anybody.
A shard that is added takes its share from all others alike, and nothing else moves.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shard_of(entity: str, shards: Sequence[str]) -> str:
    """The shard that has an entity; ``shards`` are names that stay when a server moves to another address."""
    return max(shards, key=lambda shard: sha256(f"{shard}\0{entity}".encode()).digest())
