import json
import tracemalloc
from dataclasses import replace

import pytest

from catmem.digest import bytes_digest
from catmem.store.changes import Splice, WholeText, whole
from catmem.store.files.records import (
    MAX_DATA,
    MalformedError,
    Pointer,
    Record,
    Retired,
    SegmentHeader,
    Tombstone,
    decode,
    decode_header,
    encode,
    encode_header,
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
HEADER = SegmentHeader(sequence=13, store="0123456789abcdef" * 2, previous=HEX, heads={"USER.md": Pointer(12, "8")})
CHANGE = Splice(2, 1, b"\x00\xff")


@together("note", [{"a": float("nan")}, {"a": object()}, {"a": "\ud800"}])
def test_a_note_that_is_no_json_is_refused(note):
    with pytest.raises((TypeError, ValueError)):
        encode(replace(RECORD, note=note), CHANGE)


def altered(payload: bytes, field: str, value: object) -> bytes:
    fields = json.loads(payload)
    fields[field] = value
    return json.dumps(fields).encode()


WRONG = {
    "sequence": [None, 0, -1, "1", True, 1.5],
    "timestamp": [None, 5],
    "file": [None, 5],
    "op": [None, []],
    "agent": [None, {}],
    "revision": [None, 8],
    "parents": [None, "7", [7]],
    "op_id": [None, 8],
    "note": [None, "x", []],
    "head": [None, "sha256:xyz", HEX, f"{DIGEST}\n"],
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


@together("field", sorted(json.loads(encode(RECORD, CHANGE))))
def test_a_record_without_a_field_is_malformed(field):
    fields = json.loads(encode(RECORD, CHANGE))
    del fields[field]
    with pytest.raises(MalformedError):
        decode(json.dumps(fields).encode(), OTHER)


WRONG_IN_HEADER = {
    "version": [None, 1, "2", True],
    "sequence": [None, 0],
    "store": [None, "ab", HEX],
    "previous": [None, "x"],
    "heads": [None, [], {"USER.md": 5}, {"USER.md": [12]}, {"USER.md": [0, "8"]}, {"../x": [12, "8"]}],
}


@together(
    ("field", "value"),
    [(field, value) for field, values in WRONG_IN_HEADER.items() for value in values],  # type: ignore[attr-defined]
)
def test_a_header_with_a_wrong_field_is_malformed(field, value):
    with pytest.raises(MalformedError):
        decode_header(altered(encode_header(HEADER), field, value))


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
    with pytest.raises(MalformedError):
        decode(payload, OTHER)
    with pytest.raises(MalformedError):
        decode_header(payload)


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
        damaged.apply()


def test_a_whole_that_says_less_than_it_holds_takes_no_more_memory_than_it_says():
    hostile = whole(bytes(20_000_000))._replace(size=10)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="packed"):
            hostile.apply()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
