"""Documents that are hard to pair: what a merge costs grows with their length, and no conflict is hidden in them either."""

import random
import sys
from itertools import pairwise

import pytest

from catmem import merge
from catmem.model.document import parse
from tests.lengths import at_length
from tests.together import together

pytestmark = pytest.mark.torture

SIZE = at_length(1_000, 120)
GROWTH = 2.3
"""How many times the work of a document one of twice its length may take."""


def text(bodies, title="Rules"):
    return f"## {title}\n" + "\n§\n".join(bodies) + "\n"


def shuffled(bodies, seed):
    return random.Random(seed).sample(bodies, len(bodies))


def equal_in_any_order(size):
    base = ["tea", "no sugar", "plan v7"] * (size // 3)
    return base, shuffled(base, 1), shuffled(base, 2)[size // 4 :]


def one_text(size):
    return ["tea"] * size, ["tea"] * (size // 2) + ["coffee"], ["tea"] * (size // 4) + ["milk"] + ["tea"] * (size // 4)


def near_duplicates(size):
    base = [f"Budget of item {number} is 100 a year" for number in range(size)]
    return base, [each.replace("100", "200") for each in base], shuffled(base, 1)


def near_duplicates_reworded_by_both(size):
    base = [f"Budget of item {number} is 100 a year" for number in range(size)]
    return base, [each.replace("100", "200") for each in base], [each.replace("100", "300") for each in base]


def short_ones_reworded_by_both(size):
    return tuple([f"{word} {number}" for number in range(size)] for word in ("plan", "ours", "theirs"))


def all_words_changed_by_both(size):
    return tuple([f"{side}{number} {side}" for number in range(size)] for side in "bot")


def more_and_fewer_of_other_words(size):
    return tuple(
        [f"{side}{number} {side}" for number in range(count)]
        for side, count in zip("bot", (size, size // 2, size + size // 4), strict=True)
    )


def removed_here_and_reworded_there(size):
    base = [f"plan {number}" for number in range(size)]
    return base, [], [f"{body} (stale)" for body in base]


def turned_here_and_reworded_there(size):
    base = [f"Vendor {number} is paid in {number % 7} days" for number in range(size)]
    return base, base[::-1], [body.replace("paid", "billed") for body in base]


HARD = [
    equal_in_any_order, one_text, near_duplicates, near_duplicates_reworded_by_both, short_ones_reworded_by_both,
    all_words_changed_by_both, more_and_fewer_of_other_words, removed_here_and_reworded_there,
    turned_here_and_reworded_there,
]  # fmt: skip


def moved_and_reworded(size):
    """Every entry is in another section by now, each with one other word; half of its words are its own."""
    base = [
        f"Vendor V{number} of office O{number} with account A{number} is paid in ten days" for number in range(size)
    ]
    ours = [body.replace("ten", "nine") for body in shuffled(base, 1)]
    theirs = [body.replace("ten", "eight") for body in shuffled(base, 2)]
    return text(base), text(ours, "Paid"), text(theirs, "Office")


def single_sections(size):
    """Every entry has a section of its own; one side turned their order, and the other reworded all."""
    base = [f"plan v{number}" for number in range(size)]
    ours = "\n".join(text([body], f"S{number}") for number, body in reversed(list(enumerate(base))))
    theirs = "\n".join(text([f"{body} (stale)"], f"S{number}") for number, body in enumerate(base))
    return "\n".join(text([body], f"S{number}") for number, body in enumerate(base)), ours, theirs


def new_sections_of_both(size):
    """Each side brings as many sections, of which nothing was there."""
    return "", *("\n".join(text([f"{side} {n}"], f"{side} {n}") for n in range(size)) for side in ("ours", "theirs"))


OTHERS = [moved_and_reworded, single_sections, new_sections_of_both]


def of(make, size):
    """The three texts of a scene."""
    made = make(size)
    return made if isinstance(made[0], str) else tuple(text(bodies) for bodies in made)


def steps(make, size):
    """How many lines of Python a merge runs through; the parsing is not counted."""
    documents = [parse(each) for each in of(make, size)]
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += 1
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        merge(*documents)
    finally:
        sys.settrace(before)
    return count


@together("make", [*HARD, *OTHERS], ids=lambda make: make.__name__)
def test_twice_the_entries_take_twice_the_steps(make):
    # Twice in a row, since a bound that is reached only later hides the growth before it.
    counts = [steps(make, size) for size in (SIZE, 2 * SIZE, 4 * SIZE)]
    assert [later < GROWTH * earlier for earlier, later in pairwise(counts)] == [True, True], counts


@together("make", [*HARD, *OTHERS], ids=lambda make: make.__name__)
def test_many_entries_merge_the_same_both_ways_and_lose_nothing(make):
    # Nothing here is about time; it would not end in any if the merge were not nearly linear.
    base, ours, theirs = of(make, 10 * SIZE)
    merged = merge(base, ours, theirs)
    assert merge(base, theirs, ours).text == merged.text
    stands, was = bodies(merged.text), bodies(base)
    assert bodies(ours) | bodies(theirs) >= stands >= (bodies(ours) | bodies(theirs)) - was


@together(
    "make",
    [
        near_duplicates_reworded_by_both,
        short_ones_reworded_by_both,
        all_words_changed_by_both,
        removed_here_and_reworded_there,
        moved_and_reworded,
    ],
    ids=lambda make: make.__name__,
)
def test_every_entry_that_both_sides_changed_is_a_conflict(make):
    base, ours, theirs = of(make, SIZE)
    merged = merge(base, ours, theirs)
    assert {conflict.base.body for conflict in merged.conflicts if conflict.base} == bodies(base)
    assert bodies(merged.text) == bodies(ours) | bodies(theirs)


def bodies(document):
    return {entry.body for entry in parse(document).entries}
