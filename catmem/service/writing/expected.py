"""What a caller says that it saw last: a revision or a digest, looked at before a store is asked."""

from __future__ import annotations

import re

from catmem.errors import EditError, RefusedError
from catmem.policy.schema import shown
from catmem.service.writing.operation import refuse_surrogates

_DIGEST = "sha256:"
_FORM = re.compile(r"[0-9]+[a-z]*|sha256:[0-9a-f]{64}")
_NAMED = re.compile(r"(the bytes )?sha256:[0-9a-f]+…?")


def checked_expected(given: str | int | None) -> str | None:
    """The revision or digest as a store takes it; a number is a revision.

    Raises ``EditError`` (``bad_expected``, ``not_text``) for what can be neither.
    """
    if given is None:
        return None
    text = str(given)
    refuse_surrogates([text])
    if not _FORM.fullmatch(text):
        raise EditError(
            f"{shown(given)} is neither a revision nor a digest",
            code="bad_expected",
            hint="Give a revision such as 7 ('catmem log' lists them) or a digest, sha256: and 64 digits: the answer "
            "to a write has both, and so has 'catmem list --format json'.",
        )
    return text


def is_digest(expected: str) -> bool:
    """Whether it names bytes and no revision."""
    return expected.startswith(_DIGEST)


def hide_digests(error: RefusedError) -> None:
    """Take digests of the whole file out of a refusal: they would tell a profile whether it guesses the rest of it."""
    error.message = _NAMED.sub("other bytes", error.message)
    error.args = (error.message,)
    if error.expected is not None and is_digest(error.expected):
        error.expected = None
    if error.found is not None and is_digest(error.found):
        error.found = None
