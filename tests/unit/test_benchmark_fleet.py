"""The fleet of the benchmark is what it says, its counting is right, and the pages show the figures that it gives."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date, timedelta
from itertools import islice

import pytest

from benchmarks.fleet import DAY, FACTS, OLD, PAIRS, SECRETS, Made, behind, facts, figures, served
from tests.docs.pages import ROOT

MADE = facts(random.Random(20261121))
ROW = re.compile(r"\| ([^|]+?) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) % \|")


def test_the_shares_are_those_that_are_said():
    assert len(MADE) == FACTS == 2_000
    later = [fact for fact in MADE if fact.contradicts]
    earlier = {fact.contradicts for fact in later}
    assert len(later) == len(earlier) == PAIRS == 20
    old = [fact for fact in MADE if fact.is_old and fact.mark not in earlier]
    assert len(old) == OLD == 100
    assert Counter(fact.expires is not None for fact in old) == {True: 50, False: 50}
    secrets = [fact.secret for fact in MADE if fact.secret]
    assert len(secrets) == len(set(secrets)) == SECRETS == 20


def test_a_mark_is_in_one_fact_alone():
    assert [fact.mark for fact in MADE if sum(fact.mark in each.text for each in MADE) != 1] == []


def test_the_facts_of_a_pair_stand_in_one_category_and_the_later_was_verified_later():
    by_mark = {fact.mark: fact for fact in MADE}
    for later in (fact for fact in MADE if fact.contradicts):
        earlier = by_mark[later.contradicts]
        assert (earlier.category, earlier.target) == (later.category, later.target)
        assert earlier.verified < later.verified
        words = [fact.text.split() for fact in (earlier, later)]
        assert sum(one != other for one, other in zip(*words, strict=True)) == 1


def fact(mark, verified=DAY, expires=None):
    return Made(mark, "talk", "user", f"A fact {mark}", verified, expires)


@pytest.mark.parametrize(
    ("made", "is_old"),
    [
        (fact("a", DAY - timedelta(days=90)), False),
        (fact("a", DAY - timedelta(days=91)), True),
        (fact("a", expires=DAY), False),
        (fact("a", expires=DAY - timedelta(days=1)), True),
    ],
)
def test_a_fact_is_old_from_the_day_on_that_its_dates_say(made, is_old):
    assert made.is_old == is_old


def test_facts_with_a_note_are_not_served():
    text = "# About the user\n- A fact (n0001)\n- (stale: verified 2026-01-01) A fact (n0002)\n- (expired 2026-01-01) A fact (n0003)\n"
    assert served([fact(f"(n000{number})", date(2026, 1, 1)) for number in range(1, 5)], text) == 1


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "abcd", 1), ("abc", "ab", 0), ("aéc", "aëc", 2)],
)
def test_bytes_behind_the_first_that_differs(before, after, count):
    assert behind(before, after) == count


def test_the_pages_show_the_figures(tmp_path):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = {name: (ours, theirs, percent) for name, ours, theirs, percent in ROW.findall(page)}
    # But for the last, of a day of writes, which takes half a minute.
    for result in islice(figures(tmp_path), 9):
        assert rows[result.name.strip()] == (f"{result.ours:,.0f}", f"{result.theirs:,.0f}", f"{result.value:.3g}")
    shown = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(shown) == 3
    assert {name: (ours, theirs, percent) for name, *_, ours, theirs, percent in shown}.items() <= rows.items()
