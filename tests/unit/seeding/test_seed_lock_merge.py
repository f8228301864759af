"""Merging two versions of the record of seeds."""

from datetime import date
from itertools import product

from catmem.seeding.seed_lock import Seeded, SeedLock, SeedRecord, merge_locks, read_lock
from tests.together import together

DAY = date(2026, 5, 1)


def record(*texts, day=DAY, source="trinity/user"):
    entries = tuple(Seeded("finance", f"b2:{text.encode().hex():0>32}", text) for text in texts)
    return SeedRecord("neo/user", source, "1", f"sha256:{'-'.join(texts)}", day, entries)


def lock(*records):
    return SeedLock().put(records)


def texts(merged):
    return {source: [each.text for each in made.entries] for (_, source), made in merged.records.items()}


NONE = lock()
ONE, TWO, ONE_TWO, ONE_THREE = (lock(record(*said)) for said in (["one"], ["two"], ["one", "two"], ["one", "three"]))


@together(
    ("base", "ours", "theirs", "expected"),
    [
        (ONE, ONE_TWO, ONE, ["one", "two"]),
        (ONE, TWO, ONE, ["two"]),
        (ONE, ONE_TWO, ONE_THREE, ["one"]),
        (NONE, ONE_TWO, ONE_THREE, ["one"]),
        (NONE, ONE, TWO, []),
        (NONE, ONE, NONE, ["one"]),
        (ONE, NONE, ONE, None),
        (ONE, NONE, TWO, None),
        (ONE, NONE, NONE, None),
    ],
)
def test_what_becomes_of_a_record(base, ours, theirs, expected):
    for merged in (merge_locks(base, ours, theirs), merge_locks(base, theirs, ours)):
        assert texts(merged).get("trinity/user") == expected


LOCKS = [NONE, ONE, TWO, ONE_TWO, ONE_THREE, lock(record("one", day=date(2026, 6, 1)))]


@together(("base", "ours", "theirs"), list(product(LOCKS, repeat=3)))
def test_the_laws_of_a_merge(base, ours, theirs):
    merged = merge_locks(base, ours, theirs)
    assert merged == merge_locks(base, theirs, ours)
    assert merge_locks(base, base, ours) == ours == merge_locks(base, ours, ours)
    known = {each for side in (ours, theirs) for made in side.records.values() for each in made.entries}
    assert {each for made in merged.records.values() for each in made.entries} <= known
    assert read_lock(merged.to_text().encode()) == merged


def test_records_from_other_sources_are_apart():
    other = record("far", source="morpheus/user")
    merged = merge_locks(ONE, lock(record("one"), other), TWO)
    assert texts(merged) == {"trinity/user": ["two"], "morpheus/user": ["far"]}
