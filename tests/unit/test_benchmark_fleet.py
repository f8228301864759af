"""The fleet of the benchmark is what it says, its counting is right, and the pages show the figures that it gives."""

import random
import re
from collections import Counter
from itertools import islice

import pytest

from benchmarks.fleet import DAY, FACTS, OLD, PAIRS, SECRETS, Made, behind, facts, figures
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


def fact(mark, verified=DAY, expires=None):
    return Made(mark, "talk", "user", f"A fact {mark}", verified, expires)


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
