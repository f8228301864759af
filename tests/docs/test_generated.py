"""What is made from the package says what the package says, and leaves nothing out."""

from __future__ import annotations

import catmem
from tests.docs import api_page
from tests.docs.generated import GENERATED
from tests.together import together


@together("made", GENERATED, ids=[each.__name__ for each in GENERATED])
def test_it_is_up_to_date(made):
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "run `make docs`"


def test_all_that_the_package_offers_is_in_the_reference():
    page = api_page.reference()
    offered = [name for name in catmem.__all__ if name != "__version__"]
    assert [name for name in offered if f"`{name}" not in page and f"## {name}\n" not in page] == []
