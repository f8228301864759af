"""The reference says what the docstrings say, of all that the package offers."""

from __future__ import annotations

import catmem
from tests.docs import api_page


def test_the_reference_is_made_from_the_docstrings():
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.page(), "run 'make docs'"


def test_all_that_the_package_offers_is_there():
    page = api_page.reference()
    assert [
        name
        for name in catmem.__all__
        if name != "__version__" and f"`{name}" not in page and f"## {name}\n" not in page
    ] == []
