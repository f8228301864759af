"""What is kept by its bytes: found again, the newest first, and never much of it."""

from __future__ import annotations

import pytest

from catmem.service.recent import Recent


def kept(sizes):
    """Which of some things are at hand, kept in this order, each made of so many bytes."""
    recent = Recent()
    given = [bytes([number]) * size for number, size in enumerate(sizes)]
    for number, data in enumerate(given):
        recent.keep(data, number)
    return [number for number, data in enumerate(given) if recent.find(data) is not None]


def test_the_very_same_bytes_find_what_was_made_of_them():
    recent = Recent()
    recent.keep(b"one", 1)
    recent.keep(b"two", 2)
    assert (recent.find(b"one"), recent.find(b"two"), recent.find(b"three")) == (1, 2, None)


def test_of_the_same_bytes_the_newest_counts():
    recent = Recent()
    recent.keep(b"one", 1)
    recent.keep(b"one", 2)
    assert recent.find(b"one") == 2


@pytest.mark.parametrize(
    ("sizes", "at_hand"),
    [
        pytest.param([100] * 40, list(range(8, 40)), id="32 small ones"),
        pytest.param([5 << 20] * 6, [2, 3, 4, 5], id="4 of any size"),
        pytest.param([200_000] * 8, [3, 4, 5, 6, 7], id="1 MiB in all"),
        pytest.param([100] * 8 + [5 << 20], [5, 6, 7, 8], id="a large one leaves the newest small ones"),
    ],
)
def test_how_many_are_at_hand(sizes, at_hand):
    assert kept(sizes) == at_hand
