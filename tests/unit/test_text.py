import hashlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from catmem.digest import bytes_digest, canonical_json, content_digest
from catmem.errors import NotUtf8Error, TooLargeError
from catmem.jsonable import jsonable
from catmem.text import LineIndex, counted, decode, equal_ends
from tests.together import together


@together(
    ("data", "offset"),
    [(b"\xff", 0), (b"ab\x80", 2), ("é".encode() + b"\xc3", 2), (b"x\xed\xa0\x80", 1), (b"\xc0\xaf", 0)],
)
def test_what_is_not_utf8_names_the_byte(data, offset):
    with pytest.raises(NotUtf8Error) as caught:
        decode(data)
    assert caught.value.offset == offset


@together("data", [b"12345", "12345", "éé1"])
def test_sizes_are_bytes(data, monkeypatch):
    monkeypatch.setattr("catmem.text.MAX_FILE_BYTES", 4)
    with pytest.raises(TooLargeError) as caught:
        decode(data)
    assert (caught.value.size, caught.value.limit) == (5, 4)
    size = len(data.encode() if isinstance(data, str) else data)
    monkeypatch.setattr("catmem.text.MAX_FILE_BYTES", size)
    assert decode(data)


def test_lines_and_columns_count_from_one_and_lf_alone_ends_a_line():
    text = "a\r\nbc\rd\u2028e\x0b\n\nf"
    lines = LineIndex(text)
    assert lines.position(0) == (1, 1)
    assert lines.position(2) == (1, 3)
    assert lines.position(3) == (2, 1)
    assert lines.position(text.index("e")) == (2, 6)
    assert lines.position(text.index("f")) == (4, 1)
    assert lines.line(len(text)) == 4


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("entry",), "0 entries"),
        (1, ("entry",), "1 entry"),
        (1_000, ("category",), "1,000 categories"),
        (2, ("day",), "2 days"),
        (2, ("conflict",), "2 conflicts"),
        (2, ("branch", "branches"), "2 branches"),
    ],
)
def test_a_number_of_things(count, words, said):
    assert counted(count, *words) == said


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("where", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("of", [str, str.encode, list])
def test_what_two_texts_begin_and_end_with_in_common(size, where, of):
    front, back = "a" * int(size * where), "b" * (size - int(size * where))
    for gone, come in [("x", "y"), ("", "new"), ("old", "")]:
        assert equal_ends(of(front + gone + back), of(front + come + back)) == (len(front), len(back))
    assert sum(equal_ends(of(front + back), of(front + back))) == size
    assert sum(equal_ends(of("a" * size), of("a" * (size + 7)))) == size


# --- records as JSON, and the digests of it --------------------------------------------------------------------------


@dataclass
class Author:
    name: str

    def __json__(self) -> dict[str, Any]:
        return {"called": self.name}


class Page(NamedTuple):
    path: Path
    lines: tuple[int, ...]


@dataclass
class Book:
    page: Page
    authors: tuple[Author, ...]
    day: date | None


@dataclass
class Loan:
    book: Book
    page: Page
    reader: Author | None
    until: date
    __json__ = "day=until *page reader first=book.page.path who=reader.name"


BOOK = Book(Page(Path("a/b"), (1, 2)), (Author("one"),), date(2026, 5, 1))


def test_a_class_names_what_is_shown_and_in_which_order():
    shown = jsonable(Loan(BOOK, BOOK.page, Author("two"), date(2026, 6, 1)))
    assert list(shown.items()) == [
        ("day", "2026-06-01"),
        ("path", "a/b"),
        ("lines", [1, 2]),
        ("reader", {"called": "two"}),
        ("first", "a/b"),
        ("who", "two"),
    ]


def test_a_field_that_is_not_there_is_an_error():
    class Wrong(Author):
        __json__ = "nmae"  # type: ignore[assignment]

    with pytest.raises(AttributeError, match="nmae"):
        jsonable(Wrong("one"))


def test_canonical_json_has_one_form():
    assert canonical_json({"b": [1, "é\n"], "a": None}) == '{"a":null,"b":[1,"é\\n"]}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_digests_name_their_algorithm_and_are_stable():
    assert content_digest(["x", {}]) == "b2:" + hashlib.blake2b(b'["x",{}]', digest_size=16).hexdigest()
    assert bytes_digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
