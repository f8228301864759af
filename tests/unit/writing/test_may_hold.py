"""Which entries are passed over without a look at their tags, when one is searched that holds a text."""

import pytest

from catmem.model.document import parse
from catmem.writing.matching import may_hold


@pytest.mark.parametrize(
    "raw",
    [
        "no calls, please",
        "[created: 2026-01-01] no calls",
        "- [created: 2026-01-01] no calls",
        "* [created: 2026-01-01]\n  no calls",
        "---\ncreated: 2026-01-01\n---\nno calls",
        "a line\n\\§\nand another",
        "\\[created: no] calls",
        "one line\r\nand another",
    ],
)
def test_of_every_text_that_a_body_holds_it_is_said_that_it_may(raw):
    (entry,) = parse(f"## Talk\n{raw}\n").entries
    body = entry.body
    pieces = {body[start:end] for start in range(len(body)) for end in range(start + 1, len(body) + 1)}
    assert all(may_hold(entry, piece) for piece in pieces)


@pytest.mark.parametrize("raw", ["no calls", "[created: 2026-01-01] no calls"])
def test_of_a_text_that_stands_nowhere_it_is_said_that_the_body_does_not_hold_it(raw):
    (entry,) = parse(f"## Talk\n{raw}\n").entries
    assert not may_hold(entry, "coffee")
