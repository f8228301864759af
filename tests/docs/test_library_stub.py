"""The types that a program gets are those of the table."""

from __future__ import annotations

from tests.docs.library_stub import STUB, text


def test_the_stub_is_made_from_the_table():
    assert STUB.read_text(encoding="utf-8") == text(), "run 'make docs'"
