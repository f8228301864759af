"""What a writer saw of a file: what it says that it saw, the document that is there, and what changed since."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from catmem.errors import DriftError, EditError, NotUtf8Error, RefusedError, TooLargeError
from catmem.policy.schema import shown
from catmem.service.writing.operation import refuse_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.model.document import Document, Entry

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


def legible(parse: Callable[[bytes], Document], entity: str, data: bytes) -> Document:
    """The document in an entity's bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
    try:
        return parse(data)
    except (NotUtf8Error, TooLargeError) as error:
        raise DriftError(
            f"{entity} holds what no tool wrote: {error.message}",
            code="too_large" if isinstance(error, TooLargeError) else "not_utf8",
            hint=f"Nothing was written to it. Mend it by hand, or see what catmem repair {entity} would do.",
        ) from error


Says = tuple[str, str, tuple[Any, ...]]
"""What an entry says: category, body, tags."""


class Base:
    """What a caller may have seen, to tell the entries that somebody else changed since."""

    def __init__(self, now: Document, seen: Document | None) -> None:
        """``seen`` is ``None`` where it cannot be read: then every entry counts as changed."""
        self._now = Counter(map(says, now.entries))
        self._seen = Counter(map(says, seen.entries)) if seen else Counter()

        self._readable = seen is not None

    def differs(self, entry: Entry) -> bool:
        """Whether somebody changed the entry since the caller saw it.

        One that is only new is not changed: who means it has seen it. An entry is taken for new where nothing that the
        caller saw of its category is gone, for then it cannot be another one in new words.
        """
        what = says(entry)
        if self._now[what] == self._seen[what]:
            return False
        if not self._readable or self._seen[what]:
            return True
        return any(self._now[each] < count for each, count in self._seen.items() if each[0] == entry.category)


def says(entry: Entry) -> Says:
    """What an entry says, to be compared and counted."""
    tags = tuple((key, value if isinstance(value, str) else tuple(value)) for key, value in entry.tags.items())
    return entry.category, entry.body, tags
