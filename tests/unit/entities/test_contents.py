"""What a declared entity holds, and the merge of two versions of it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from catmem.config.config import DeclaredEntity
from catmem.digest import canonical_json
from catmem.entities.contents import content_bytes, content_of, merge_contents
from tests.refusals import refusal
from tests.together import together

JSON = DeclaredEntity("project:alpha", "json")
TEXT = DeclaredEntity("notes:alpha", "text")
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab/~é")
KEYS = st.sampled_from(["a", "b", "c/d", "e~f", ""])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
TEXTS = st.lists(st.sampled_from(["one\n", "two\n", "three\n", "\n"]), max_size=6).map("".join)


def merged(base: Any, ours: Any, theirs: Any) -> tuple[Any, list[str]]:
    found = merge_contents(JSON, *(content_bytes(JSON, each) for each in (base, ours, theirs)))
    return content_of(JSON, found.data), [each.place for each in found.conflicts]


@given(VALUES)
def test_a_value_is_kept_canonical_and_read_again(value: Any) -> None:
    data = content_bytes(JSON, value)
    assert data == canonical_json(value)
    assert canonical_json(content_of(JSON, data)) == data


@together("data", [b"{", b'{"a":1,"a":2}', b"NaN", b"[" * 200 + b"]" * 200, b"\xef\xbb\xbf1"])
def test_what_another_program_left_is_no_json(data: bytes) -> None:
    refusal("not_json", content_of, JSON, data)


def test_what_is_no_utf8_is_no_content() -> None:
    for declared in (JSON, TEXT):
        refusal("not_utf8", content_of, declared, b"\xff")


def test_a_text_is_a_text_and_no_content_is_larger_than_may_be() -> None:
    assert content_of(TEXT, content_bytes(TEXT, "é\r\n")) == "é\r\n"
    refusal("bad_content", content_bytes, TEXT, {"a": 1})
    assert len(content_bytes(TEXT, "x" * 1_000_000)) == 1_000_000
    refusal("too_large", content_bytes, TEXT, "x" * 1_000_001)


# --- JSON ----------------------------------------------------------------------------------------------------------


@together(
    ("base", "ours", "theirs", "result", "places"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}, []),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": 1, "b": 3}, {"b": 3}, []),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 1}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "c": 2}}, []),
        ({"a": 1}, {"a": 2}, {"a": 3}, {"a": 2}, ["/a"]),
        ({"a": 1}, {}, {"a": 3}, {}, ["/a"]),
        ({}, {"a/b": {"c~": 1}}, {"a/b": {"c~": 2}}, {"a/b": {"c~": 1}}, ["/a~1b"]),
        ({"x": {"c~": 0}}, {"x": {"c~": 1}}, {"x": {"c~": 2}}, {"x": {"c~": 1}}, ["/x/c~0"]),
        ([1], [1, 2], [1, 3], [1, 2], [""]),
        ({"a": 1}, {"a": 1.0}, {"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, {"a": 1.0}, {"a": True}, ["/a"]),
        (1, {"a": 1}, {"b": 1}, {"a": 1}, [""]),
    ],
)
def test_json_merges_by_key(base: Any, ours: Any, theirs: Any, result: Any, places: list[str]) -> None:
    found, where = merged(base, ours, theirs)
    assert (canonical_json(found), where) == (canonical_json(result), places)


def test_without_one_origin_keys_come_together_and_what_differs_is_a_conflict() -> None:
    found = merge_contents(JSON, None, b'{"a":1,"b":1}', b'{"b":2,"c":1}')
    assert json.loads(found.data) == {"a": 1, "b": 1, "c": 1}
    assert [each.place for each in found.conflicts] == ["/b"]


@given(OBJECTS, OBJECTS, OBJECTS)
def test_the_laws_of_a_merge(base: Any, ours: Any, theirs: Any) -> None:
    b, o, t = (content_bytes(JSON, each) for each in (base, ours, theirs))
    assert merge_contents(JSON, b, o, b) == (o, ())
    assert merge_contents(JSON, b, b, t) == (t, ())
    assert merge_contents(JSON, b, o, o) == (o, ())
    here, there = merge_contents(JSON, b, o, t), merge_contents(JSON, b, t, o)
    assert sorted(each.place for each in here.conflicts) == sorted(each.place for each in there.conflicts)
    if not here.conflicts:
        assert here.data == there.data
    # What one side prefers, the other way round prefers the other.
    assert merge_contents(JSON, b, o, t, lambda _: "theirs").data == merge_contents(JSON, b, t, o).data


# --- text ----------------------------------------------------------------------------------------------------------


@together(
    ("base", "ours", "theirs", "result", "places"),
    [
        ("1\n2\n3\n4\n", "0\n1\n2\n3\n4\n", "1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n", []),
        ("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "one\n2\nthree\n", []),
        ("1\n2\n", "one\n2\n", "1\ntwo\n", "one\n2\n", ["lines 1 to 2"]),
        ("1\n2\n3\n", "1\nx\n3\n", "1\ny\n3\n", "1\nx\n3\n", ["line 2"]),
        ("", "a\n", "b\n", "a\n", ["line 1"]),
    ],
)
def test_text_merges_by_stretches_of_lines(base: str, ours: str, theirs: str, result: str, places: list[str]) -> None:
    found = merge_contents(TEXT, base.encode(), ours.encode(), theirs.encode())
    assert (found.data.decode(), [each.place for each in found.conflicts]) == (result, places)


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_keeps_every_line_that_was_added(base: str, ours: str, theirs: str) -> None:
    b, o, t = base.encode(), ours.encode(), theirs.encode()
    found = merge_contents(TEXT, b, o, t)
    back = merge_contents(TEXT, b, t, o)
    assert len(found.conflicts) == len(back.conflicts) <= 1
    if not found.conflicts:
        assert found.data == back.data
        if b not in {o, t} and o != t:
            before = base.splitlines()
            size = len(ours.splitlines()) + len(theirs.splitlines()) - len(before)
            assert len(found.data.decode().splitlines()) == size
    assert merge_contents(TEXT, b, o, t, lambda _: "theirs").data == merge_contents(TEXT, b, t, o).data


def test_a_string_that_both_changed_is_a_conflict_however_small_the_changes():
    said = ("Ships in May to all.", "Ships in June to all.", "Ships in May to some.")
    found = merge_contents(JSON, *(content_bytes(JSON, {"said": each}) for each in said))
    assert [each.place for each in found.conflicts] == ["/said"]
