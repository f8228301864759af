"""What makes a fact fresh: its own dates, a verification before all, and nothing else that can be said of it."""

import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from catmem.config.profile import Profile
from catmem.errors import CatmemError
from catmem.staleness.freshness import freshness, unverified
from catmem.workspace.history import restore
from catmem.workspace.purging import purge
from tests.unit.staleness.aging import Aging

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


# --- whatever happens to other entries, the clock of an undated fact that nobody touches never moves -----------------


FACT = "this is the fact that nobody touches"
BEGIN = f"## Talk\nin English\n§\n{FACT}\n\n## Rules\ntwo spaces\n§\nno tabs\n"
OTHERS = ["in English", "two spaces", "no tabs", "uses uv", "works in python", "a fact that others touch"]

others = st.sampled_from(OTHERS)
steps = st.one_of(
    st.tuples(st.just("add"), others, st.sampled_from(["talk", "rules", "new"])),
    st.tuples(st.just("replace"), others, others),
    st.tuples(st.just("remove"), others),
    st.tuples(st.just("verify"), others),
    st.tuples(st.just("move"), others, st.sampled_from(["talk", "rules"])),
    st.tuples(st.just("restore"), st.integers(1, 6)),
    st.tuples(st.just("purge"), others),
    st.tuples(st.just("hand_append"), others),
    st.tuples(st.just("hand_replace"), others, others),
    st.tuples(st.just("hand_reverse")),
    st.tuples(st.just("hand_crlf")),
)


def act(aging, step, day):
    """Do one step on a day; what cannot be done is not done."""
    workspace = aging.on(day.isoformat())
    verb, *rest = step
    text = aging.path.read_text(encoding="utf-8")
    by_hand = {
        "hand_append": lambda words: text + f"§\n{words} by hand\n",
        "hand_replace": text.replace,
        "hand_reverse": lambda: "## Talk\n" + "\n§\n".join(reversed([each.body for each in entries(workspace)])) + "\n",
        "hand_crlf": lambda: text.replace("\n", "\r\n"),
    }
    by_catmem = {
        "add": lambda words, category: workspace.add("neo", words, category=category, as_of=day),
        "replace": lambda old, new: workspace.replace("neo", old, f"{new} indeed"),
        "remove": lambda old: workspace.remove("neo", old),
        "verify": lambda old: workspace.verify("neo", old, as_of=day),
        "move": lambda old, category: workspace.move("neo", old, category),
        "restore": lambda number: restore(workspace, "neo", str(number)),
        "purge": lambda words: purge(workspace, "neo", words),
    }
    if verb in by_hand:
        aging.outsider(by_hand[verb](*rest), day.isoformat())
        return
    try:
        by_catmem[verb](*rest)
    except CatmemError:
        return


def entries(workspace):
    return workspace.view("neo", "user").document.entries


@settings(max_examples=max(15, settings().max_examples // 12))
@given(st.lists(steps, max_size=12))
def test_the_clock_of_a_fact_that_nobody_touches(history):
    folder = Path(tempfile.mkdtemp())
    aging = Aging(folder)
    try:
        aging.outsider(BEGIN, "2026-01-10")
        day = date(2026, 2, 1)
        expected = aging.clocks()[FACT]
        aging.on("2026-01-20").add("neo", "the write that begins the history", category="talk")
        for step in history:
            day += timedelta(days=2)
            act(aging, step, day)
            assert aging.clocks()[FACT] == expected, step
    finally:
        aging.close()
        shutil.rmtree(folder)
