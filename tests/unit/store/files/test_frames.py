from __future__ import annotations

import zlib

import pytest

from catmem.store.files.segments import MAX_PAYLOAD, frame, walk
from tests.together import together

LINES = [frame(payload) for payload in (b"{}", b"", b'{"a": "b"}', b"\x00\xff")]


def payloads(buffer: bytes, start: int = 0) -> list[bytes]:
    return [line.payload for line in walk(buffer, start).lines]


def test_a_line_names_the_length_and_crc_of_its_payload():
    assert frame(b"{}") == b"\x1e00000002 %08x {}\n" % zlib.crc32(b"{}")


@together("payload", [b"a\nb", b"a\x1eb"], ids=["line feed", "separator"])
def test_a_payload_cannot_hold_what_frames_a_line(payload):
    with pytest.raises(ValueError, match="record separator"):
        frame(payload)


def test_a_payload_over_the_limit_is_no_line():
    with pytest.raises(ValueError, match="over the limit"):
        frame(b"x" * (MAX_PAYLOAD + 1))


def test_a_walk_gives_every_payload_and_where_its_line_stands():
    buffer = b"".join(LINES)
    found = walk(buffer)
    assert found.end == found.size
    assert [buffer[line.start : line.end] for line in found.lines] == LINES
    assert payloads(buffer) == [b"{}", b"", b'{"a": "b"}', b"\x00\xff"]


@together("kept", range(1, len(LINES[2])))
def test_a_line_cut_anywhere_is_a_cut_tail(kept):
    found = walk(LINES[0] + LINES[2][:kept])
    assert found.cut
    assert not found.damaged
    assert found.end == len(LINES[0])


@together("bit", range(8 * len(LINES[2])))
def test_a_flipped_bit_before_a_good_line_is_damage(bit):
    bad = bytearray(LINES[2])
    bad[bit // 8] ^= 1 << bit % 8
    found = walk(LINES[0] + bytes(bad) + LINES[1])
    assert found.damaged
    assert found.end == len(LINES[0])
    assert payloads(LINES[0] + bytes(bad) + LINES[1], found.resume) == [b""]


@together("junk", [b"\0" * 40, b"\x1e" * 40, b"\n" * 40, b"\x1e00000002 00000000 {}\n", b"{}"])
def test_after_junk_the_walk_finds_the_next_good_line(junk):
    found = walk(junk + LINES[0])
    assert (found.lines, found.end, found.resume) == ([], 0, len(junk))


def test_a_line_with_a_separator_in_its_payload_is_not_good_though_its_crc_fits():
    payload = b"{" + LINES[0].rstrip(b"\n")
    assert walk(b"\x1e%08x %08x %b\n" % (len(payload), zlib.crc32(payload), payload)).lines == []
