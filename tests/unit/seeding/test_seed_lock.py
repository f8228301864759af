"""catmem.seed.lock: it says the same after a round trip, and whatever is not whole in it costs no entry."""

import json
from datetime import date

import pytest

from catmem.errors import ConfigError
from catmem.model.document import Version
from catmem.seeding.seed_lock import LOCK_NAME, Seeded, SeedLock, SeedRecord, read_lock
from tests.together import together

DAY = date(2026, 11, 21)
DIGEST = "sha256:" + "0" * 64


def seeded(text, category="talk"):
    return Seeded(category, Version.read(category, text).id, text)


ACME = seeded("[verified_date: 2026-03-02] Vendor is Acme.", "rules")
TEA = seeded("Likes tea.")
CALLS = seeded("No calls.")
ODD = seeded('"§"\n## not a header\n\\\u2028 <<<<<<< é 雪', "__uncategorized__")


def record(*entries, target="neo/user", source="boss/user", revision="7", day=DAY):
    return SeedRecord(target, source, revision, DIGEST, day, entries)


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


@together(
    "data",
    [b"null", b"[]", b'"x"', b"3", b"{}", b'{"version": 1}', b'{"version": 1, "seeds": []}', b"\xff", b"\x00"],
)
def test_what_is_no_lock_is_named_and_says_nothing(data):
    found = read(data)
    assert (found.records, len(found.notes)) == ({}, 1)


@together("data", [b"[" * 100_000, b'{"seeds":' * 50_000, b'{"seeds": {"a": ' + b"9" * 5_000 + b"}}"])
def test_hostile_depth_and_numbers_are_named(data):
    assert read(data).notes


BAD_RECORDS = {
    "a number": 3,
    "a list": [],
    "no day": {"revision": None, "digest": DIGEST, "entries": {}},
    "a day that is none": {"revision": None, "digest": DIGEST, "date": "2026-13-01", "entries": {}},
    "no entries": {"revision": None, "digest": DIGEST, "date": "2026-11-21"},
    "a list of entries": {"revision": None, "digest": DIGEST, "date": "2026-11-21", "entries": [TEA.id]},
}


@together("bad", BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_a_lock_with_a_record_of_the_wrong_form_says_nothing(bad):
    data = json.loads(WHOLE.to_text())
    data["seeds"]["neo/user"]["boss/user"] = bad
    assert read(json.dumps(data)) == NOT_WHOLE


NOT_WHOLE = SeedLock(notes=("cannot be read: it is not what a seed wrote",))


@together("name", ["neo", "neo/", "../neo/user", "neo/users", "Neo/user", "", "neo/user\n", "x" * 9_999])
def test_a_record_with_a_name_of_no_entity_is_wrong(name):
    data = json.loads(WHOLE.to_text())
    data["seeds"] = {name: data["seeds"]["neo/user"]}
    assert read(json.dumps(data)) == NOT_WHOLE


def odd_text(data):
    data["texts"][TEA.id] = 3


def no_text(data):
    del data["texts"][TEA.id]


def half_a_character(data):
    data["texts"][TEA.id] += "\ud800"


def half_a_digest(data):
    data["seeds"]["neo/user"]["boss/user"]["digest"] = "\ud800"


def odd_kept(data):
    data["seeds"]["neo/user"]["boss/user"]["kept"] = {TEA.id: 7}


def odd_category(data):
    data["seeds"]["neo/user"]["boss/user"]["entries"]["Talk ing"] = [TEA.id]


def not_an_id(data):
    data["seeds"]["neo/user"]["boss/user"]["entries"]["talk"] = [None]


@together("damage", [odd_text, no_text, half_a_character, half_a_digest, odd_kept, odd_category, not_an_id])
def test_a_lock_of_which_a_part_is_wrong_says_nothing(damage):
    data = json.loads(lock_of(record(TEA, ACME)).to_text())
    damage(data)
    assert read(json.dumps(data)) == NOT_WHOLE


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
