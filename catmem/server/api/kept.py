"""Answers that were given before and still stand: sent again at once, in front of the routes and without a thread.

What an answer stands on is looked at anew for each request (``service.ground``); where that cannot be told without
waiting, the request goes its whole way. Who may ask was settled before: this is behind the door of the server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from sys import getsizeof
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from catmem.server.api.tags import is_known
from catmem.server.caller import KEY, Caller
from catmem.server.headers import header
from catmem.service.ground import Ground, holds

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from catmem.server.api.serving import Made

_MOST_BYTES = 16 << 20
_LARGEST = 4 << 20
"""Bytes that one answer may take. A larger one is made each time."""
_WIDEST = 4
"""Bytes of a character, at most."""
_MOST = 2048
"""Answers that are kept, however small they are."""
_OVERHEAD = 4096
"""Bytes that an answer takes beside what is counted: messages, headers, places in tables."""


class Question(NamedTuple):
    """What was asked: the same question has the same answer, as long as what the answer stands on is the same.

    ``profile`` is that of the caller, ``None`` for a person.
    """

    path: str
    query: bytes
    profile: str | None
    as_json: bool

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.path) * _WIDEST + len(self.query)


def question_of(scope: Scope) -> Question | None:
    """What a request asks; ``None`` for one that does not only read, and for a token that is good for metrics alone."""
    caller = scope.get(KEY)
    if scope["method"] != "GET" or not isinstance(caller, Caller) or caller.scope == "metrics":
        return None
    return Question(scope["path"], scope["query_string"], caller.profile, wants_json(header(scope, b"accept")))


def wants_json(accept: bytes | None) -> bool:
    """Whether somebody who could have a text wants it as JSON."""
    return accept is not None and b"application/json" in accept and b"text/plain" not in accept


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer with what it stands on, as messages that are sent as they are."""

    ground: Ground
    data: Mapping[str, Any]
    made: Made
    start: Message
    body: Message
    unchanged: Message
    size: int
    """Bytes that it takes, with all that is kept for it."""

    @classmethod
    def of(cls, ground: Ground, data: Mapping[str, Any], made: Made) -> Kept:
        """The messages are those that Starlette's own answer would be."""
        whole = Response(made.body, made.status, made.headers, made.kind)
        return cls(
            ground,
            data,
            made,
            {"type": "http.response.start", "status": made.status, "headers": whole.raw_headers},
            {"type": "http.response.body", "body": whole.body},
            {
                "type": "http.response.start",
                "status": 304,
                "headers": Response(None, 304, made.headers).raw_headers,
            },
            len(made.body) + _size_of(data) + sum(len(each.raw or b"") for each in ground.sources) + _OVERHEAD,
        )


def _size_of(data: object) -> int:
    """Bytes that JSON-ready data takes. What is in it twice is counted twice, so it may be less."""
    size, left = 0, [data]
    while left:
        each = left.pop()
        size += getsizeof(each)
        if isinstance(each, Mapping):
            left += each.values()  # the keys are those of every answer
        elif isinstance(each, list | tuple):
            left += each
    return size


class KeptAnswers:
    """The answers of a server that were asked for lately. For several threads."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._known: OrderedDict[Question, Kept] = OrderedDict()
        self.size = 0
        """Bytes that all of them take."""

    def find(self, question: Question) -> Kept | None:
        """What was answered last, whether it still stands or not."""
        with self._lock:
            kept = self._known.get(question)
            if kept is not None:
                self._known.move_to_end(question)
            return kept

    def keep(self, question: Question, kept: Kept) -> None:
        """Have an answer at hand in the place of the one before."""
        if question.size + kept.size > _LARGEST:
            return
        with self._lock:
            before = self._known.pop(question, None)
            self._known[question] = kept
            self.size += kept.size + question.size - (0 if before is None else before.size + question.size)
            while self.size > _MOST_BYTES or len(self._known) > _MOST:
                asked, gone = self._known.popitem(last=False)
                self.size -= gone.size + asked.size


class AtHand:
    """Sends an answer again that is at hand and still stands; every other request goes on."""

    def __init__(self, app: ASGIApp) -> None:
        """``app`` makes answers, and ``respond`` puts them into ``kept`` of the application's state."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        question = question_of(scope) if scope["type"] == "http" else None
        state = scope["app"].state if question is not None else None
        kept = None if state is None else state.kept.find(question)
        if state is None or kept is None or not holds(state.workspace, kept.ground):
            await self._app(scope, receive, send)
            return
        tag, known = kept.made.tag, header(scope, b"if-none-match")
        if tag is not None and known is not None and is_known(known.decode("latin-1"), tag):
            await send(kept.unchanged)
            await send(_NOTHING)
        else:
            await send(kept.start)
            await send(kept.body)


_NOTHING: Message = {"type": "http.response.body", "body": b""}
