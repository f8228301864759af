from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from itertools import product

import pytest

from catmem.digest import bytes_digest, canonical_json
from catmem.store.changes import Splice, WholeText, change, splice, whole
from catmem.store.contract import revision_number
from catmem.store.files.records import (
    MAX_DATA,
    Checkpoint,
    Head,
    MalformedError,
    Record,
    Retired,
    Tombstone,
    decode,
    decode_checkpoint,
    encode,
    encode_checkpoint,
)
from tests.together import together

HEX, OTHER = "ab" * 32, "cd" * 32
DIGEST = bytes_digest(b"text")
RETIRED = Retired(12, 1_700_000_000_000_000_000, DIGEST)
RECORD = Record(
    file="USER.md",
    op="put",
    agent="trinity",
    revision="8",
    parents=("7",),
    op_id="o-8",
    sequence=12,
    timestamp="2026-11-21T12:00:00.000000Z",
    base=DIGEST,
    head=DIGEST,
    size=4,
    boot="b",
    previous=HEX,
    line=OTHER,
)
FULL = replace(
    RECORD,
    note={"actions": [{"action": "add", "text": "Zoë § \u2028 \x1e\n"}]},
    retired=RETIRED,
    late_of=3,
    publishes=False,
    was=Tombstone(OTHER, DIGEST),
)
CHECKPOINT = Checkpoint(
    sequence=13,
    timestamp="2026-11-21T12:00:00.000000Z",
    boot="b",
    store="0123456789abcdef" * 2,
    previous=HEX,
    heads=(Head(RECORD, 8, whole(b"text")),),
    was=OTHER,
    line=HEX,
)
CHANGE = Splice(2, 1, b"\x00\xff")


@together("record", [RECORD, FULL, replace(RECORD, base=None, parents=())], ids=["plain", "full", "first"])
@together("change", [CHANGE, whole(b"text")], ids=["splice", "whole"])
def test_a_record_is_read_as_it_was_written(record, change):
    assert decode(encode(record, change), OTHER) == (record, change)


def test_a_payload_is_canonical_json_without_what_frames_a_line():
    payload = encode(FULL, CHANGE)
    assert payload == canonical_json(json.loads(payload))
    assert b"\n" not in payload
    assert b"\x1e" not in payload


def test_a_rewritten_record_links_to_the_next_by_what_it_was():
    assert (RECORD.link, RECORD.origin) == (OTHER, DIGEST)
    assert (FULL.link, FULL.origin) == (FULL.was.line, FULL.was.head)


@together(("revision", "number"), [("8", 8), ("8a", 8), ("12", 12), ("a8", 0), ("", 0)])
def test_the_number_of_a_revision_is_what_it_begins_with(revision, number):
    assert revision_number(revision) == number
    assert replace(RECORD, revision=revision).number == number


@together("note", [{"a": float("nan")}, {"a": object()}, {"a": "\ud800"}])
def test_a_note_that_is_no_json_is_refused(note):
    with pytest.raises((TypeError, ValueError)):
        encode(replace(RECORD, note=note), CHANGE)


def altered(payload: bytes, field: str, value: object) -> bytes:
    fields = json.loads(payload)
    fields[field] = value
    return json.dumps(fields).encode()


WRONG = {
    "version": [None, 2, "1", True, 1.0],
    "sequence": [None, 0, -1, "1", True, 1.5],
    "timestamp": [None, 5],
    "file": [None, 5],
    "op": [None, []],
    "agent": [None, {}],
    "revision": [None, 8],
    "parents": [None, "7", [7]],
    "op_id": [None, 8],
    "note": [None, "x", []],
    "base": [5, "sha256:xyz", HEX, f"{DIGEST}\n"],
    "head": [None, "sha256:xyz", HEX],
    "size": [None, -1, "4", True, MAX_DATA + 1],
    "boot": [None, 5],
    "previous": [None, "ab", DIGEST],
    "retired": [5, [], [1, 2], [-1, 2, DIGEST], [1, "2", DIGEST], [1, 2, "x"]],
    "late_of": [0, "1"],
    "publishes": [None, 0, "false"],
    "was": [5, [HEX], [HEX, HEX], ["x", DIGEST]],
    "splice": [None, [], [0, 0], [-1, 0, ""], [0, -1, ""], [0, 0, 5], [0, 0, "no base64!"], [0, 0, "é"]],
    "whole": ["", 5],
}


@together(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])  # type: ignore[attr-defined]
def test_a_record_with_a_wrong_field_is_malformed(field, value):
    with pytest.raises(MalformedError):
        decode(altered(encode(FULL, CHANGE), field, value), OTHER)


@together("field", sorted(json.loads(encode(RECORD, CHANGE)).keys() - {"base"}))
def test_a_record_without_a_field_is_malformed(field):
    fields = json.loads(encode(RECORD, CHANGE))
    del fields[field]
    with pytest.raises(MalformedError):
        decode(json.dumps(fields).encode(), OTHER)


WRONG_IN_CHECKPOINT = {
    "version": [2],
    "op": ["put"],
    "file": ["USER.md"],
    "sequence": [None, 0],
    "timestamp": [None],
    "boot": [None],
    "store": [None, "ab", HEX],
    "previous": [None, "x"],
    "heads": [None, {}, [5], [{}], [{"record": {}}], [{"record": 5}]],
    "was": [5, "x"],
}


@together(
    ("field", "value"),
    [(field, value) for field, values in WRONG_IN_CHECKPOINT.items() for value in values],  # type: ignore[attr-defined]
)
def test_a_checkpoint_with_a_wrong_field_is_malformed(field, value):
    with pytest.raises(MalformedError):
        decode_checkpoint(altered(encode_checkpoint(CHECKPOINT), field, value), HEX)


@together("field", ["record", "line", "highest", "whole"])
def test_a_head_without_a_field_is_malformed(field):
    fields = json.loads(encode_checkpoint(CHECKPOINT))
    del fields["heads"][0][field]
    with pytest.raises(MalformedError):
        decode_checkpoint(json.dumps(fields).encode(), HEX)


@together(
    "payload",
    [
        b"",
        b"[]",
        b"5",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"version":1,"sequence":' + b"9" * 5_000 + b"}",
        b'{"version":NaN}',
    ],
    ids=["empty", "list", "number", "cut", "not utf-8", "deep", "huge number", "nan"],
)
def test_what_is_no_json_object_is_malformed(payload):
    for read in (decode, decode_checkpoint):
        with pytest.raises(MalformedError):
            read(payload, OTHER)


@together(
    ("old", "new", "expected"),
    [
        (b"", b"", (0, 0, b"")),
        (b"", b"abc", (0, 0, b"abc")),
        (b"abc", b"", (0, 3, b"")),
        (b"abc", b"abc", (3, 0, b"")),
        (b"abc", b"abXc", (2, 0, b"X")),
        (b"abc", b"Xabc", (0, 0, b"X")),
        (b"abc", b"abcX", (3, 0, b"X")),
        (b"aaaa", b"aaa", (3, 1, b"")),
        (b"aaa", b"aaaa", (3, 0, b"a")),
        (b"one two three", b"one 2 three", (4, 3, b"2")),
    ],
)
def test_a_splice_is_what_differs(old, new, expected):
    assert splice(old, new) == expected
    assert splice(old, new).apply(old) == new


def test_a_splice_makes_the_new_bytes_of_the_old_ones():
    texts = [bytes(text) for size in range(6) for text in product(b"ab", repeat=size)]
    for old, new in product(texts, texts):
        found = splice(old, new)
        assert found.apply(old) == new
        assert found.removed == 0 or found.inserted == b"" or old[found.offset] != found.inserted[0]


@together("place", [0, 1, 255, 256, 257, 5_000, 9_999, 10_000])
def test_a_splice_finds_its_place_in_a_long_text(place):
    old = bytes(range(100)) * 100
    assert splice(old, old[:place] + b"\xff" + old[place:]) == (place, 0, b"\xff")
    assert splice(old, old[:place] + old[place + 3 :]).apply(old) == old[:place] + old[place + 3 :]


def test_small_edits_are_splices_and_rewrites_are_packed_whole():
    old, other = bytes(2_000), bytes(range(200)) * 10
    assert isinstance(change(old, other), WholeText)
    assert isinstance(change(old, old[:900] + b"x" + old[900:]), Splice)
    assert isinstance(change(b"old", b"new"), Splice)
    assert change(old, old) == (0, 0, b"")


@together("data", [b"", b"x", bytes(100_000)])
def test_a_whole_gives_its_bytes(data):
    assert whole(data).unpack() == data


@together(
    "damaged",
    [
        whole(b"text")._replace(size=3),
        whole(b"text")._replace(size=5),
        whole(bytes(1_000_000))._replace(size=10),
        WholeText(b"", 0),
        WholeText(b"junk", 4),
        WholeText(whole(b"text").packed + b"more", 4),
        WholeText(whole(b"text").packed[:-1], 4),
    ],
)
def test_a_damaged_whole_gives_nothing(damaged):
    with pytest.raises(ValueError, match="packed"):
        damaged.unpack()


def test_a_whole_that_says_less_than_it_holds_takes_no_more_memory_than_it_says():
    hostile = whole(bytes(20_000_000))._replace(size=10)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="packed"):
            hostile.unpack()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
