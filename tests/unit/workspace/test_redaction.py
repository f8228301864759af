"""Entries that are taken out of bytes, and all that stays."""

from __future__ import annotations

import pytest

from catmem.model.document import parse
from catmem.workspace.redaction import Redaction, entries_near, needle_of


def redaction(*bodies, text=None, needle=None):
    return Redaction(parse, bodies, needle=needle_of(text or bodies[0]) if needle is None else needle, text=text)


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("around", [b"in\xc3\xa9", b"caf\xe9"], ids=["text", "no text"])
def test_an_entry_goes_in_every_form_and_all_other_bytes_stay(stored, body, newline, around):
    frame = [b"## In round", around + b" in it", b"\xc2\xa7", None, b"\xc2\xa7", b"Come in.", b"", b"## In", b"the end"]
    lines = [stored.encode() if line is None else line for line in frame]
    expected = newline.join([b"[purged]" if line is None else line for line in frame])
    data = newline.join(lines)
    assert redaction(body)(data) == expected
    assert redaction(body)(expected) == expected


def test_only_whole_bodies_go():
    data = b"## A\nin\n\xc2\xa7\nin and out\n\xc2\xa7\nbegin\n"
    assert redaction("in")(data) == data.replace(b"## A\nin", b"## A\n[purged]")


def test_a_bad_byte_may_be_within_the_entry():
    assert redaction("caf\uf7e9 in")(b"one\n\xc2\xa7\ncaf\xe9 in\n\xff") == b"one\n\xc2\xa7\ncaf\xe9 in\n\xff"
    assert redaction("caf\uf7e9 in")(b"one\n\xc2\xa7\ncaf\xe9 in\n") == b"one\n\xc2\xa7\n[purged]\n"


def test_bytes_without_the_entry_are_not_even_parsed():
    def unread(data):
        raise AssertionError(data)

    assert Redaction(unread, ["secret"], needle=b"secret")(b"plain") == b"plain"


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"one\nsecret\ntwo", b"one\n[purged]\ntwo"),
        (b"b0VIM\0secret\0secret\0", b"b0VIM\0[purged]\0[purged]\0"),
        (b"[source: x] secret\r\nmore secret\r\n", b"[purged]\r\nmore secret\r\n"),
        (b"\xffsecret\n  secret", b"\xffsecret\n[purged]"),
        (b"two\nlines\n\ntwo\nother", b"[purged]\n\ntwo\nother"),
    ],
)
def test_where_there_are_no_entries_whole_lines_go(data, after):
    assert redaction("secret", "two\nlines", needle=b"").lines(data) == after


def test_lines_with_the_text_go_too_where_that_is_asked():
    both = redaction("the card 4711", text="4711")
    assert both.lines(b"4711 caf\xe9\nx\n") == b"4711 caf\xe9\nx\n"
    assert both.lines(b"4711 caf\xe9\nx\n", with_text=True) == b"[purged]\nx\n"


def test_a_file_over_the_limit_is_read_by_its_lines():
    data = b"\xff" * (16 << 20)
    assert redaction("secret")(b"secret\n" + data) == b"[purged]\n" + data


@pytest.mark.parametrize(("data", "cut"), [(b"a\n\xc2\xa7\nthe sec", True), (b"a\n\xc2\xa7\nth", False), (b"", False)])
def test_half_an_entry_at_the_end_is_noticed(data, cut):
    assert redaction("the secret").is_cut(data) is cut


def test_removing_is_an_edit():
    data = b"## A\nsecret\n\xc2\xa7\ncaf\xe9\n"
    assert redaction("secret").without(data) == b"## A\ncaf\xe9\n"


@pytest.mark.parametrize("needle", [b"", b"#", b"a", b"\\"])
def test_entries_near_a_needle_are_those_that_have_it(needle):
    document = parse("a\n\n# T\n## A\n\\## b\n# c\n§\na # a\n§\n## A\n- a\n## B\n")
    near = entries_near(document, needle)
    assert len({entry.start for entry in near}) == len(near)
    assert [entry for entry in near if needle.decode() in entry.raw] == [
        entry for entry in document.entries if needle.decode() in entry.raw
    ]
