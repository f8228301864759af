"""What the benchmark plants is what it says, and what `catmem tidy` finds of it is within the limits."""

from argparse import Namespace
from collections import Counter

from benchmarks.tidy import PEOPLE, PLANTED, TABLES, planted_rows, run


def test_enough_is_planted_in_the_tables_and_no_text_twice():
    rows = [row for name in TABLES for row in planted_rows(name)]
    count = Counter(kind if kind in PLANTED else None for kind, *_ in rows)
    assert (count["duplicate"] >= 60, count["contradiction"] >= 40, count[None] >= 60) == (True, True, True)
    texts = Counter(text for _, *pair in rows for text in pair)
    assert [text for text, number in texts.items() if number > 1] == []


def test_the_figures_hold_but_for_what_is_found_of_six_of_eight_people():
    """What is listed is nearly always right, and a third of what was planted is not listed (docs/benchmarks.md)."""
    results = run(Namespace())
    assert len(PEOPLE) == 8
    missed = [row.name for row in results if not row.holds and "time" not in row.name]
    assert missed == [f"{person}: found of both" for person in ("p1", "p2", "p3", "p5", "p6", "p8")]
    assert all(row.value >= 50 for row in results if row.name in missed)
