"""ETags, and what ``If-Match`` and ``If-None-Match`` make of them.

The tag of an entity is ``"7-1f0c…"``: the revision, and a digest of the answer, which is another one for each caller
and day. A text that no history has yet has ``u`` and a keyed digest in the place of the revision: it tells whether it
is the same text, and nothing else of it, for the key is made anew with each process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.schema import shown
from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.store.contract import Snapshot

_KEY = secrets.token_bytes(32)
_LENGTH = 16
_TAG = re.compile(r'"(?P<base>[0-9]{1,12}[a-z]{0,8}|u[0-9a-f]{32})(?:-[0-9a-f]{16})?"')
_ANY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class Match(NamedTuple):
    """What ``If-Match`` names: a revision, or else a text that has none."""

    revision: str | None
    unrecorded: str | None = None

    def fits(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is the text that has no revision."""
        return self.unrecorded is not None and hmac.compare_digest(self.unrecorded, unrecorded(snapshot.digest))


def unrecorded(digest: str) -> str:
    """What stands in a tag for a text without a revision."""
    return "u" + hmac.digest(_KEY, digest.encode(), "sha256").hex()[:32]


def tag_of(body: bytes, base: str | None = None) -> str:
    """The tag of an answer; ``base`` is the revision that it shows, or ``unrecorded`` of its text."""
    digest = hashlib.sha256(body).hexdigest()[:_LENGTH]
    return f'"{digest}"' if base is None else f'"{base}-{digest}"'


def read_match(headers: Sequence[str]) -> Match | None:
    """What ``If-Match`` says, which may stand in several headers.

    Raises ``ServerError`` 400 (``bad_precondition``) for more than one tag, and for ``*``.
    """
    if not headers:
        return None
    header = ", ".join(headers)
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise ServerError(
            400,
            f"If-Match is {shown(header)}",
            code="bad_precondition",
            hint='Give the ETag of what you read, such as "7". A weak tag, a list and * name no one revision.',
        )
    base = found["base"]
    return Match(None, base) if base.startswith("u") else Match(base)


def is_known(header: str | None, tag: str) -> bool:
    """Whether ``If-None-Match`` says that the caller has the answer of this tag."""
    if header is None:
        return False
    return header.strip() == "*" or tag in _ANY_TAG.findall(header)
