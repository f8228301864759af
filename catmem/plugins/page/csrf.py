"""What a form of the page carries so that only the page itself can have sent it, and only once.

A form holds a digest of a cookie that no other site can read, and of who asked. It also names its write: the same form
shown twice has the same name, so that a double click is one write, and a page that did not change is not sent again.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from catmem.envelopes.tokens import Caller
from catmem.workspace.workspace import Workspace
from catmem.writing.request import is_digest

COOKIE = "catmem_form"

_KEY = secrets.token_bytes(32)
_BYTES = 32
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


class Visit(NamedTuple):
    """A browser: its cookie, and whether it has yet to get it."""

    cookie: str
    is_new: bool


def visit_of(request: Request) -> Visit:
    """The browser that sent a request; a new cookie for one that has none, or none of ours."""
    cookie = request.cookies.get(COOKIE, "")
    if _FORM.fullmatch(cookie):
        return Visit(cookie, is_new=False)
    return Visit(secrets.token_urlsafe(_BYTES), is_new=True)


def remember(visit: Visit, request: Request, answer: Response) -> None:
    """Give a browser its cookie, if it has none yet."""
    if visit.is_new:
        is_https = request.url.scheme == "https"
        answer.set_cookie(COOKIE, visit.cookie, path="/", httponly=True, samesite="strict", secure=is_https)


def token_of(visit: Visit, caller: Caller) -> str:
    """What a form says that is shown in this browser to this person."""
    return _digest("form", visit.cookie, caller.agent, caller.label)


def is_own(given: str, visit: Visit, caller: Caller) -> bool:
    """Whether a form that says this was shown in this browser to this person."""
    return not visit.is_new and hmac.compare_digest(given.encode(), token_of(visit, caller).encode())


def naming(workspace: Workspace) -> Callable[..., str]:
    """What gives the forms of one page their ``op_id``: the same each time that one is shown for the same revision.

    It takes the entity, the revision shown (or the digest of a text that has none), the address where the form goes,
    and the entry or whatever else it is on. A number never comes back, and a digest does, after an undo by hand: so the
    newest number goes with it.
    """

    @cache
    def mark(entity: str, base: str | None) -> str:
        if base is None or not is_digest(base):  # a form that was sent without one is shown again
            return base or ""
        head = workspace.store.head(entity)
        return f"{base}@{'0' if head is None else head.revision}"

    def named(entity: str, base: str | None, address: str, about: str = "") -> str:
        return _digest("operation", entity, mark(entity, base), address, about)

    return named


def operation_of(given: str, address: str) -> str:
    """The ``op_id`` of what was sent: buttons of one form that lead to several addresses are several writes."""
    return _digest("sent", given, address)


def _digest(*parts: str) -> str:
    # Each part with its length: no two lists of parts are the same bytes.
    joined = b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in parts)
    return hmac.digest(_KEY, joined, "sha256").hex()[:40]
