"""Which tags there are, and which one a name that is none was most likely meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.policy.schema import nearest
from catmem.resources import schema

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SLIPS = {
    "verified": "verified_date",
    "last_verified": "verified_date",
    "date_verified": "verified_date",
    "verified_on": "verified_date",
    "created_date": "created",
    "created_on": "created",
    "expiry": "expires",
    "expires_date": "expires",
    "expires_on": "expires",
    "domains": "domain",
    "source_date": "source",
}
"""Names that are used in the place of a tag and are not like it."""


def known_tags(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Every tag of the format, and those that a root has ``declared``, with their schemas."""
    return {**schema("tags")["properties"], **declared}


def meant_tag(name: str, known: Collection[str]) -> str | None:
    """The known tag of which ``name``, which is none, is most likely a slip; ``None`` if it is like no other."""
    return SLIPS.get(name) or nearest(name, known)
