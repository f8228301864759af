"""The table of packages says what the packages say of themselves."""

from __future__ import annotations

from tests.docs import module_table


def test_the_table_is_made_from_the_docstrings():
    assert module_table.PAGE.read_text(encoding="utf-8") == module_table.page(), "run 'make docs'"
