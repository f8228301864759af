"""What makes a fact fresh: its own dates, a verification before all, and nothing else that can be said of it."""

from datetime import date, timedelta
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from catmem.config.profile import Profile
from catmem.staleness.freshness import freshness, unverified

DAY = date(2026, 11, 21)

days = st.integers(-400, 400).map(lambda days: (DAY + timedelta(days)).isoformat())
broken = st.sampled_from(["", "2026-02-30", "20261121", "yesterday", ["2026-11-20"]])
values = st.one_of(days, broken)
tags = st.dictionaries(st.sampled_from(["created", "expires", "domain", "source", "verified"]), values)
undated = tags.map(lambda said: {key: value for key, value in said.items() if key != "created"})
limits = st.integers(1, 400)


class Tagged(NamedTuple):
    tags: dict[str, str | list[str]]
    category: str = "plain"


def judged(said, limit, as_of=DAY):
    return freshness(Tagged(said), Profile("reader", stale_after=limit), None, as_of=as_of)


@given(undated, limits)
def test_what_has_no_date_is_unverified_or_expired(said, limit):
    assert judged(said, limit).state in {"unverified", "expired"}


@given(tags, st.none() | days, limits)
def test_other_words_are_no_fresher(said, verified, limit):
    said = said if verified is None else {**said, "verified_date": verified}
    past = {key: value for key, value in said.items() if not isinstance(value, str) or value <= DAY.isoformat()}
    order = ["fresh", "unverified", "stale", "expired"]
    before, after = judged(past, limit).state, judged(unverified(past), limit).state
    assert order.index(after) >= order.index(before) or (before, after) == ("stale", "unverified")


@given(tags, limits)
def test_a_verification_makes_any_fact_fresh_that_is_not_expired(said, limit):
    found = judged({**said, "verified_date": DAY.isoformat()}, limit)
    assert found.state == ("expired" if judged(said, limit).state == "expired" else "fresh")


@given(tags, st.none() | days, limits, st.integers(0, 400))
def test_a_day_that_goes_by_makes_no_fact_fresher(said, verified, limit, later):
    said = said if verified is None else {**said, "verified_date": verified}
    # What is dated in the future dates nothing until that day, so it may only come into its own.
    past = {key: value for key, value in said.items() if not isinstance(value, str) or value <= DAY.isoformat()}
    now, then = judged(past, limit), judged(past, limit, DAY + timedelta(later))
    order = ["fresh", "stale", "expired"]
    if now.state == "unverified":
        assert then.state in {"unverified", "expired"}
    else:
        assert order.index(then.state) >= order.index(now.state)
    assert then.overdue >= now.overdue
