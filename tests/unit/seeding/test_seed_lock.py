"""catmem.seed.lock: it says the same after a round trip, and whatever is not whole in it costs no entry."""

import json
from datetime import date
from itertools import product

import pytest

from catmem.errors import ConfigError
from catmem.model.document import Version
from catmem.seeding.seed_lock import LOCK_NAME, SeedLock, SeedRecord, merge_locks, read_lock
from catmem.seeding.slices import Seeded
from tests.together import together

DAY = date(2026, 11, 21)
DIGEST = "sha256:" + "0" * 64


def seeded(text, category="talk"):
    return Seeded(category, Version.read(category, text).id, text)


ACME = seeded("[verified_date: 2026-03-02] Vendor is Acme.", "rules")
TEA = seeded("Likes tea.")
CALLS = seeded("No calls.")
ODD = seeded('"§"\n## not a header\n\\\u2028 <<<<<<< é 雪', "__uncategorized__")


def record(*entries, target="neo/user", source="boss/user", revision="7", digest=DIGEST, day=DAY):
    return SeedRecord(target, source, revision, digest, day, entries)


def lock_of(*records):
    return SeedLock().put(records)


def read(text):
    return read_lock(text if isinstance(text, bytes) else text.encode(), path=LOCK_NAME)


WHOLE = lock_of(record(TEA, ACME), record(CALLS, ODD, target="ann/memory", source="boss/memory", revision=None))


# --- the file ---


ROUND_TRIPS = {
    "several records": WHOLE,
    "twice in one category and in another": lock_of(record(TEA, TEA, seeded("Likes tea.", "rules"))),
    "words that a target keeps": lock_of(record(TEA, ACME._replace(kept="Vendor is Core."))),
    "markers of git in a text": lock_of(record(seeded("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x"))),
}


@together("lock", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_what_is_written_reads_the_same(lock):
    text = lock.to_text()
    found = read(text)
    assert (found.records, found.notes, found.to_text() == text) == (dict(sorted(lock.records.items())), (), True)


def test_a_hundred_thousand_entries_are_read():
    many = lock_of(record(*(seeded(f"fact {number}") for number in range(100_000))))
    assert read(many.to_text()).records == many.records


def test_the_order_of_the_records_does_not_show():
    turned = lock_of(*reversed(list(WHOLE.records.values())))
    assert turned.to_text() == WHOLE.to_text()


def test_each_text_stands_once_on_a_line_of_its_own():
    text = lock_of(record(TEA, CALLS), record(TEA, target="ann/user")).to_text()
    (line,) = [line for line in text.split("\n") if "Likes tea." in line]
    assert line.rstrip(",") == f'  "{TEA.id}": "Likes tea."'
    assert text.endswith("}\n")


@together("data", [b"", b"\n", b" \r\n\t\n"])
def test_no_lock_and_an_empty_one_say_nothing(data):
    assert read_lock(data) == SeedLock()


def test_an_entry_can_be_taken_out_of_every_record():
    lock = lock_of(record(TEA, ACME), record(TEA, target="ann/user")).without({TEA.text})
    assert [each.entries for each in lock.records.values()] == [(ACME,), ()]
    assert "tea" not in lock.to_text()
    kept = lock_of(record(TEA, ACME._replace(kept="Vendor is Core.")))
    assert kept.without({"Vendor is Core."}) == lock_of(record(TEA, ACME))


# --- what is not whole ---


def test_a_file_cut_at_any_byte_is_a_lock_that_knows_less():
    data = WHOLE.to_text().encode()
    for end in range(1, len(data) - 1):
        found = read(data[:end])
        assert found.records == {}, end
        assert found.notes, end
        assert "cannot be read" in found.notes[0]


def test_the_note_says_where_it_broke():
    assert read('{"version": 1,\n "seeds": {,}}').notes == (
        "cannot be read: line 2: Expecting property name enclosed in double quotes",
    )


NO_LOCK = [b"null", b"[]", b'"x"', b"3", b"{}", b'{"version": 1}', b'{"version": 1, "seeds": []}', b"\xff", b"\x00"]
HOSTILE = [b"[" * 100_000, b'{"seeds":' * 50_000, b'{"seeds": {"a": ' + b"9" * 5_000 + b"}}"]


@together("data", [*NO_LOCK, *HOSTILE])
def test_what_is_no_lock_is_named_and_says_nothing(data):
    found = read(data)
    assert (found.records, len(found.notes)) == ({}, 1)


RECORD = {"revision": None, "digest": DIGEST, "date": "2026-11-21", "entries": {"talk": [TEA.id]}}
WRONG_PARTS = {
    "a record is a number": {"boss/user": 3},
    "a record is a list": {"boss/user": []},
    **{f"a record without its {key}": {"boss/user": {k: RECORD[k] for k in RECORD if k != key}} for key in RECORD},
    **{
        f"{key} of a record is {value!r}": {"boss/user": {**RECORD, key: value}}
        for key, value in [
            ("date", "2026-13-01"), ("digest", "\ud800"), ("kept", {TEA.id: 7}), ("entries", [TEA.id]),
            ("entries", {"Talk ing": [TEA.id]}), ("entries", {"talk": [None]}), ("entries", {"talk": ["b2:00"]}),
        ]
    },
}  # fmt: skip
NOT_WHOLE = SeedLock(notes=("cannot be read: it is not what a seed wrote",))


def lock_text(seeds, texts=None):
    return json.dumps({"version": 1, "seeds": seeds, "texts": {TEA.id: TEA.text} if texts is None else texts})


def test_the_record_that_the_next_tests_spoil_is_read():
    assert list(read(lock_text({"neo/user": {"boss/user": RECORD}})).records) == [("neo/user", "boss/user")]


@together("records", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_a_lock_of_which_a_record_is_wrong_says_nothing(records):
    assert read(lock_text({"neo/user": records})) == NOT_WHOLE


@together("name", ["neo", "neo/", "../neo/user", "neo/users", "Neo/user", "", "neo/user\n", "x" * 9_999])
def test_a_record_with_a_name_of_no_entity_is_wrong(name):
    assert read(lock_text({name: {"boss/user": RECORD}})) == NOT_WHOLE


@together("texts", [{}, {TEA.id: 3}, {TEA.id: f"{TEA.text}\ud800"}])
def test_a_lock_without_a_text_says_nothing(texts):
    assert read(lock_text({"neo/user": {"boss/user": RECORD}}, texts)) == NOT_WHOLE


def test_a_key_given_twice_counts_once():
    text = lock_of(record(TEA)).to_text()
    doubled = text.replace('"version": 1', '"version": 1,\n "version": 1')
    assert read(doubled) == read(text)


def test_one_that_a_newer_catmem_wrote_is_refused():
    newer = WHOLE.to_text().replace('"version": 1', '"version": 2')
    with pytest.raises(ConfigError) as caught:
        read(newer)
    assert (caught.value.code, caught.value.path) == ("lock_version", LOCK_NAME)
    assert "Nothing was seeded" in caught.value.hint


# --- two versions of it, merged ---


def agreed(*texts, day=DAY, source="boss/user"):
    return record(*map(seeded, texts), source=source, digest=f"sha256:{'-'.join(texts)}", day=day)


def texts_of(lock):
    return {source: [each.text for each in made.entries] for (_, source), made in lock.records.items()}


NONE = SeedLock()
ONE, TWO, ONE_TWO, ONE_THREE = (lock_of(agreed(*said)) for said in (["one"], ["two"], ["one", "two"], ["one", "three"]))


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
        assert texts_of(merged).get("boss/user") == expected


LOCKS = [NONE, ONE, TWO, ONE_TWO, ONE_THREE, lock_of(agreed("one", day=date(2026, 6, 1)))]


@together(("base", "ours", "theirs"), list(product(LOCKS, repeat=3)))
def test_the_laws_of_a_merge(base, ours, theirs):
    merged = merge_locks(base, ours, theirs)
    assert merged == merge_locks(base, theirs, ours)
    assert merge_locks(base, base, ours) == ours == merge_locks(base, ours, ours)
    known = {each for side in (ours, theirs) for made in side.records.values() for each in made.entries}
    assert {each for made in merged.records.values() for each in made.entries} <= known
    assert read_lock(merged.to_text().encode()) == merged


def test_records_from_other_sources_are_apart():
    other = agreed("far", source="ann/user")
    merged = merge_locks(ONE, lock_of(agreed("one"), other), TWO)
    assert texts_of(merged) == {"boss/user": ["two"], "ann/user": ["far"]}
