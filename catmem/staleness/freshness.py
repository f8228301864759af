"""How old a fact is: fresh, stale, expired or unverified, by its own dates and nothing else.

Its age counts from its ``verified_date``, else from its ``created``; without either it is *unverified*. Only a date in
the file moves a clock: reading, searching and prompting do not. A journal differs from
clone to clone, so a prompt knows nothing of it. Search and review take the day on which catmem wrote the fact first
(``lineage.freshness_of``); the fact stays unverified, and then it has an age.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal, NamedTuple

from catmem.clock import read_date
from catmem.config.config import DEFAULT_STALE_AFTER, Config
from catmem.config.profile import Profile
from catmem.model.document import Entry, TagValue

State = Literal["fresh", "stale", "expired", "unverified"]

Basis = Literal["verified_date", "created", "expires", "first_seen"]

DATED_BY: tuple[Literal["verified_date", "created"], ...] = ("verified_date", "created")
"""The tags that are a fact's own clock, the first that it has."""

VERIFY_FIRST = "Verify every fact that is not fresh against its source before relying on it."
"""What an answer says to an agent to which it shows such a fact."""


class Freshness(NamedTuple):
    """The state of a fact on a day, and the date that decides it.

    ``basis`` is the tag that ``day`` comes from. Of an unverified fact it is ``first_seen``, the day on which catmem
    wrote it first; both are ``None`` for one without any.
    """

    state: State
    basis: Basis | None = None
    day: date | None = None

    @property
    def __json__(self) -> str:
        return "state date=day"

    @property
    def overdue(self) -> bool:
        """Whether the fact is stale or expired."""
        return self.state in {"stale", "expired"}

    @property
    def note(self) -> str | None:
        """What a prompt says of the fact; it names a date and never an age, so it does not change from day to day."""
        if self.state == "stale":
            return f"stale: {'verified' if self.basis == 'verified_date' else 'created'} {self.day}"
        return {"fresh": None, "unverified": "unverified", "expired": f"expired {self.day}"}[self.state]


UNVERIFIED = Freshness("unverified")


def advice(states: Iterable[str]) -> dict[str, str]:
    """What an answer tells an agent beside facts in these states, as a field of it; nothing if all are fresh."""
    return {"advice": VERIFY_FIRST} if any(state != "fresh" for state in states) else {}


def is_ahead(day: date, as_of: date) -> bool:
    """Whether a day lies in the future: more than one day ahead, since it may be tomorrow already further east."""
    return (day - as_of).days > 1


def dated_ahead(tags: Mapping[str, TagValue], as_of: date) -> tuple[tuple[str, date], ...]:
    """The tags that date a fact and name a day in the future, with that day."""
    days = [(key, read_date(tags.get(key))) for key in DATED_BY]
    return tuple((key, day) for key, day in days if day is not None and is_ahead(day, as_of))


def unverified(tags: Mapping[str, TagValue]) -> dict[str, TagValue]:
    """The tags for other words than those that were verified: they are no younger by losing that day."""
    verified, created = (read_date(tags.get(key)) for key in DATED_BY)
    kept = {key: value for key, value in tags.items() if key != "verified_date"}
    if verified is not None and created is not None and verified < created:
        kept["created"] = verified.isoformat()
    return kept


def expired_on(tags: Mapping[str, TagValue], as_of: date) -> date | None:
    """The last day on which an expired fact held; ``None`` for one that is not expired on the day ``as_of``."""
    expires = read_date(tags.get("expires"))
    return expires if expires is not None and as_of > expires else None


def freshness(entry: Entry, profile: Profile, config: Config | None, *, as_of: date) -> Freshness:
    """The state of an entry on the day ``as_of``, by the thresholds of a profile and its root."""
    # `expires` is inclusive: the fact is expired from the day after. A fact is stale when more than `stale_after_days`
    # have passed since its own date.
    tags = entry.tags
    if not tags:
        return UNVERIFIED
    expired = expired_on(tags, as_of)
    if expired is not None:
        return Freshness("expired", "expires", expired)
    for key in DATED_BY:
        day = read_date(tags.get(key))
        if day is not None and not is_ahead(day, as_of):
            old = (as_of - day).days > stale_after_days(entry.category, tags, profile, config)
            return Freshness("stale" if old else "fresh", key, day)
    return UNVERIFIED


def stale_after_days(category: str, tags: Mapping[str, TagValue], profile: Profile, config: Config | None) -> int:
    """After how many days a fact is stale: what its category says, else its domain, the profile, the root, the default.

    Of several domains the strictest counts.
    """
    declared = config.taxonomy.categories.get(category) if config else None
    if declared is not None and declared.stale_after is not None:
        return declared.stale_after
    tagged = tags.get("domain", [])
    domains = [tagged] if isinstance(tagged, str) else list(tagged)
    if declared is not None and declared.domain and not domains:
        domains = [declared.domain]
    by_domain = [config.domains[domain] for domain in domains if domain in config.domains] if config else []
    if by_domain:
        return min(by_domain)
    if profile.stale_after is not None:
        return profile.stale_after
    return config.stale_after if config else DEFAULT_STALE_AFTER
