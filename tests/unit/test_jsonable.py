"""What records are as JSON, and the digests of it."""

import hashlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from catmem.digest import bytes_digest, canonical_json, content_digest
from catmem.jsonable import jsonable


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
