"""ETags: what they tell, and what headers with them are taken for."""

from __future__ import annotations

import pytest

from catmem.errors import RequestError
from catmem.server.requests import is_known, read_match, tag_of
from catmem.store.contract import Snapshot
from catmem.workspace.change_feed import keyed_digest

TEXT = Snapshot.of(b"a text", None)


@pytest.mark.parametrize(
    ("header", "revision"),
    [
        ('"7"', "7"),
        ('"0"', "0"),
        ('"8a"', "8a"),
        (' "7" ', "7"),
        (tag_of(b"{}", "7"), "7"),
        (tag_of(b"{}", "8a"), "8a"),
    ],
)
def test_a_tag_names_its_revision(header, revision):
    match = read_match([header])
    assert match.revision == revision
    assert not match.fits(TEXT)


@pytest.mark.parametrize(
    "headers",
    [
        ['"7", "8"'],
        ['"7"', '"8"'],
        ["*"],
        ['W/"7"'],
        ["7"],
        [""],
        ['""'],
        ['"x"'],
        ['"7\n"'],
        ['"sha256:00"'],
        ['"u12"'],
    ],
)
def test_what_names_no_one_revision_is_refused(headers):
    with pytest.raises(RequestError) as caught:
        read_match(headers)
    assert (caught.value.http_status, caught.value.code) == (400, "bad_precondition")


def test_the_tag_of_a_text_without_a_revision_fits_that_text_alone():
    match = read_match([tag_of(b"{}", keyed_digest(TEXT.digest))])
    assert match.revision is None
    assert match.fits(TEXT)
    assert not match.fits(Snapshot.of(b"another text", None))


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ('"a"', True), ('W/"a"', True), ('"b", "a"', True), ("*", True),
        ('"b"', False), ("a", False), (None, False), ('"a', False), ("", False),
    ],
)  # fmt: skip
def test_what_the_caller_has_is_not_sent_again(header, known):
    assert is_known(header, '"a"') is known
