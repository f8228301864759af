"""What the benchmark plants is what it says, and what `catmem tidy` finds of it is within the limits."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter

from benchmarks.tidy import planted_pairs, planted_splits, run


def test_enough_is_planted_and_no_text_twice():
    count = Counter((each.kind, each.group) for each in planted_pairs())
    for kind, least in (("duplicate", 60), ("contradiction", 40), (None, 60)):
        assert count[kind, "tuned on"] + count[kind, "held back"] >= least
        assert abs(count[kind, "tuned on"] - count[kind, "held back"]) <= 1
    texts = [text for each in (*planted_pairs(), *(each for _, each in planted_splits())) for text in each.texts]
    assert [text for text, number in Counter(texts).items() if number > 1] == []


def test_the_figures_hold_but_for_the_time():
    assert [row.name for row in run(Namespace()) if not row.holds and "time" not in row.name] == []
