"""Whatever happens to the other entries of a file, the clock of an undated fact that nobody touches never moves."""

import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from catmem.errors import CatmemError
from catmem.workspace.history import restore
from catmem.workspace.purging import purge
from tests.unit.staleness.aging import Aging

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
