"""Entries that are taken out of bytes, and all that stays."""

import pytest

from catmem.errors import NotUtf8Error
from catmem.model.document import parse
from catmem.workspace.redaction import Redaction, needle_of
from tests.together import together


def redaction(*bodies, text=None, needle=None):
    return Redaction(parse, bodies, needle=needle_of(text or bodies[0]) if needle is None else needle, text=text)


@together("newline", [b"\n", b"\r\n"])
@together(
    ("stored", "body"),
    [
        ("in", "in"),
        ("[source: a call] in", "in"),
        ("- [source: a call]  in", "- in"),
        ("[source: a call]\nin\r\nside", "in\nside"),
        ("---\nsource: a call\n---\nin", "in"),
        ("\\## in\n\\§", "## in\n§"),
        ("\\[source: a call] in", "[source: a call] in"),
        ("- \\[a: b] in", "- [a: b] in"),
        ("[source: a call]", "[source: a call]"),
        ("```\n## in\n```", "```\n## in\n```"),
    ],
)
def test_an_entry_goes_in_every_form_and_all_other_bytes_stay(stored, body, newline):
    frame = [
        b"## In round",
        b"in\xc3\xa9 in it",
        b"\xc2\xa7",
        None,
        b"\xc2\xa7",
        b"Come in.",
        b"",
        b"## In",
        b"the end",
    ]
    lines = [stored.encode() if line is None else line for line in frame]
    expected = newline.join([b"[purged]" if line is None else line for line in frame])
    data = newline.join(lines)
    assert redaction(body)(data) == expected
    assert redaction(body)(expected) == expected
    assert redaction(body)(data + b"\xff") == b"[purged]"
    assert redaction(body)(expected + b"\xff") == expected + b"\xff"


def test_bytes_without_the_entry_are_not_even_parsed():
    def unread(data):
        raise AssertionError(data)

    assert Redaction(unread, ["secret"], needle=b"secret")(b"plain") == b"plain"


@together("data", [b"one\nsecret\ntwo", b"b0VIM\0secret\0x", b"[source: x] secret\r\n", b"two\nlines\n\xff"])
def test_where_there_are_no_entries_whole_lines_count(data):
    assert redaction("secret", "two\nlines", needle=b"").in_bytes(data)
    assert not redaction("secret", "two\nlines", needle=b"").in_bytes(b"\xffsecrets\nno secret!\ntwo\nother")


def test_the_text_counts_there_too_but_not_in_files_of_others():
    both = redaction("the card 4711", text="4711")
    assert (both.in_bytes(b"4711 caf\xe9\n"), both(b"4711 caf\xe9\n")) == (True, b"[purged]")
    assert (both.elsewhere().in_bytes(b"4711 caf\xe9\n"), both.elsewhere()(b"4711 \xe9")) == (False, b"4711 \xe9")


def test_what_is_over_the_limit_goes_whole_and_nothing_but_that():
    data = b"x" * (16 << 20)
    assert redaction("secret")(b"secret\n" + data) == b"[purged]"
    assert redaction("secret")(b"secrets\n" + data) == b"secrets\n" + data


@together(("data", "cut"), [(b"a\n\xc2\xa7\nthe sec\xc2", True), (b"a\n\xc2\xa7\nth", False), (b"", False)])
def test_half_an_entry_at_the_end_is_noticed(data, cut):
    assert redaction("the secret").is_cut(data) is cut


def test_removing_is_an_edit():
    assert redaction("secret").without(b"## A\nsecret\n\xc2\xa7\ncaf\n") == b"## A\ncaf\n"
    assert redaction("secret").without(b"caf\xe9\n") == b"caf\xe9\n"
    with pytest.raises(NotUtf8Error):
        redaction("secret").without(b"secret\n\xc2\xa7\ncaf\xe9\n")


def test_the_categories_of_a_note_go_where_no_heading_shows_that_they_say_something_else():
    note = {
        "actions": [{"action": "add", "category": "plan-b", "id": "b2:1"}],
        "sorted": {"plan-b": 2, "planning": 1, "talk": 1},
        "declared": ["plan-b"],
    }
    gone = {
        "actions": [{"action": "add", "category": "[purged]", "id": "b2:1"}],
        "sorted": {"[purged]": 2, "planning": 1, "talk": 1},
        "declared": ["[purged]"],
    }
    plan = redaction("the plan b", text="plan")
    assert plan.note(note, b"## Planning\nAt four.\n") == gone
    assert plan.note(gone, b"## Planning\nAt four.\n") == gone
    assert redaction("uncategorized", text="uncategorized").note({"sorted": {"__uncategorized__": 1}}, b"") == {
        "sorted": {"__uncategorized__": 1}
    }
