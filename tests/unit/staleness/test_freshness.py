"""Dates of facts, and the limits they are judged by."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from catmem.clock import read_date
from catmem.config.config import Category, Config, Taxonomy
from catmem.config.profile import Profile
from catmem.staleness.freshness import VERIFY_FIRST, Freshness, advice, freshness, stale_after_days, unverified
from tests.together import together

DAY = date(2026, 11, 21)


class Tagged(NamedTuple):
    """An entry, as far as its age goes."""

    tags: dict[str, Any]
    category: str = "plain"


def state(tags, *, as_of=DAY, stale_after=90):
    return freshness(Tagged(tags), Profile("reader", stale_after=stale_after), None, as_of=as_of)


def before(days):
    return (DAY - timedelta(days)).isoformat()


VERIFIED, CREATED, LAST_DAY = "verified_date", "created", {"expires": before(0), "verified_date": before(20)}
STATES = {
    "no day": ({}, 0, "unverified", None),
    "other tags": ({"source": "somebody", "domain": ["a", "b"]}, 0, "unverified", None),
    "verified before created": ({CREATED: "2020-01-01", VERIFIED: before(20)}, 0, "fresh", VERIFIED),
    "not verified for long": ({CREATED: before(20), VERIFIED: "2020-01-01"}, 0, "stale", VERIFIED),
    "on its last day": (LAST_DAY, 0, "fresh", VERIFIED),
    "the day after": (LAST_DAY, 1, "expired", "expires"),
    "expired and stale": ({"expires": "2026-01-01", VERIFIED: "2020-01-01"}, 0, "expired", "expires"),
    "to expire": ({"expires": "2027-01-01"}, 0, "unverified", None),
    "of tomorrow, further east": ({VERIFIED: before(-1)}, 0, "fresh", VERIFIED),
    "of the day after": ({VERIFIED: before(-2)}, 0, "unverified", None),
    "of a leap day": ({CREATED: "2024-02-29"}, 0, "stale", CREATED),
    "created in the future": ({CREATED: "2999-12-31"}, 0, "unverified", None),
}


@together(("tags", "later", "expected", "basis"), STATES.values(), ids=STATES)
def test_the_state_of_a_fact_and_the_date_that_decides_it(tags, later, expected, basis):
    found = state(tags, as_of=DAY + timedelta(later))
    day = date.fromisoformat(tags[basis]) if basis else None
    assert found == Freshness(expected, basis, day)
    assert found.overdue == (expected in {"stale", "expired"})


@together(
    ("tags", "left"),
    [
        ({"verified_date": "2026-11-01"}, {}),
        ({"verified_date": "2026-11-01", "created": "2026-01-01"}, {"created": "2026-01-01"}),
        ({"verified_date": "2026-01-01", "created": "2026-11-01"}, {"created": "2026-01-01"}),
        ({"source": "somebody", "created": "2026-11-01"}, {"source": "somebody", "created": "2026-11-01"}),
    ],
)
def test_other_words_are_not_fresher_for_the_loss_of_a_verification(tags, left):
    assert unverified(tags) == left


BROKEN = [
    "", "yesterday", "2026", "2026-11", "2026-13-01", "2026-02-30", "2026-00-10", "0000-01-01", "20261121",
    "21.11.2026",
        "2026-11-21T00:00", "2026-W47-6", " 2026-11-2", "2026-11-21 ", "+026-11-21", "2026/11/21", "２０２６-１１-２１",
    "2026-11-21\n", "2026‐11‐21", "2026-02-29", ["2026-11-21"], [], None,
]  # fmt: skip


@together("value", BROKEN)
def test_what_is_no_date_counts_as_none(value):
    assert read_date(value) is None
    for key in ("verified_date", "created", "expires"):
        assert state({key: value}).state == "unverified"
    assert state({"verified_date": value, "created": "2026-11-20"}).basis == "created"


@together("as_of", [date.min, date.max])
def test_the_ends_of_the_calendar(as_of):
    assert state({"verified_date": "0001-01-01", "expires": "9999-12-31"}, as_of=as_of).state in {"fresh", "stale"}


def config(**settings):
    categories = {
        "own": Category("own", "Own", stale_after=10),
        "own-domain": Category("own-domain", "Own Domain", domain="slow", stale_after=10),
        "domain": Category("domain", "Domain", domain="slow"),
        "plain": Category("plain", "Plain"),
    }
    return Config(
        Path("/nowhere"), taxonomy=Taxonomy(categories=categories), domains={"slow": 20, "quick": 5}, **settings
    )


@together(
    ("category", "tags", "profile_limit", "expected"),
    [
        ("own", {}, 30, 10),
        ("own-domain", {"domain": "quick"}, 30, 10),
        ("domain", {}, 30, 20),
        ("domain", {"domain": "quick"}, 30, 5),
        ("domain", {"domain": "unknown"}, 30, 30),
        ("plain", {"domain": "slow"}, 30, 20),
        ("plain", {"domain": ["slow", "quick", "unknown"]}, 30, 5),
        ("plain", {"domain": []}, 30, 30),
        ("plain", {}, 30, 30),
        ("undeclared", {}, 30, 30),
        ("undeclared", {"domain": "slow"}, None, 20),
        ("plain", {}, None, 40),
        ("undeclared", {}, None, 40),
    ],
)
def test_the_nearest_limit_counts(category, tags, profile_limit, expected):
    profile = Profile("reader", stale_after=profile_limit)
    assert stale_after_days(category, tags, profile, config(stale_after=40)) == expected


@together(
    ("others", "advised"),
    [([], False), (["fresh"], False), *(([each], True) for each in ("stale", "unverified", "expired"))],
)
def test_one_fact_that_is_not_fresh_brings_the_advice(others, advised):
    assert advice(["fresh", *others, "fresh"]) == ({"advice": VERIFY_FIRST} if advised else {})
