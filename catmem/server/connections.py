"""One connection: what uvicorn does with it, and an end for clients that only hold it open.

uvicorn waits for the header of a request, and for a client to read its answer, as long as it takes. Here both have
``patience`` seconds, and where all places are taken the one that was waited for longest goes: for a header, or for the
rest of a body.
"""

from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from catmem.server.joined import Joined

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

_MOST = 1024
_LINGER = 1.0
"""Seconds that the last words to a client may take."""


class Connection(H11Protocol):
    """A connection that ends when its client does not go on."""

    patience = 10.0
    most = _MOST
    waiting: dict[Connection, None]
    """The connections of the server on which no whole request is under way, the one that was waited for longest at the
    front: for its next request, or for the body of this one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, in the place of another connection if there is no free one."""
        super().connection_made(Joined(transport, self.loop))
        self._header_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        if len(self.connections) > self.most:
            oldest = next(iter(self.waiting), self)
            oldest.waiting.pop(oldest, None)
            oldest.transport.abort()
        if not transport.is_closing():
            self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_timers()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came. As long as that is no whole header, the time for it runs on.

        For a body the time runs elsewhere (``limits.BodyLimit``); until it is whole, its place may go to another.
        """
        before = self.cycle
        super().data_received(data)
        if self._is_idle():
            self._wait_for_header()
        elif not self.cycle.more_body:
            self._stop_waiting()
        elif self.cycle is not before:
            self._wait_for_body()

    def on_response_complete(self) -> None:
        """Wait for the next request; how long, uvicorn knows, until its first byte comes."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._is_idle():
            self.waiting.setdefault(self)
        elif self.cycle.more_body:
            self._wait_for_body()  # of a request that came before it could be answered

    def pause_writing(self) -> None:
        """Give the client its time to read what it asked for."""
        super().pause_writing()
        self._reader_timer = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads."""
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP."""
        self._last_words(400, "Bad Request", "bad_request", msg)

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _wait_for_header(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.patience, self._give_up)
        self.waiting.setdefault(self)

    def _wait_for_body(self) -> None:
        """Wait anew, at the end of the row: a whole header has come."""
        self._stop_waiting()
        self.waiting[self] = None

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _stop_timers(self) -> None:
        self._stop_waiting()
        if self._reader_timer is not None:
            self._reader_timer.cancel()

    def _give_up(self) -> None:
        self._last_words(408, "Request Timeout", "slow_header", "the header of the request did not come in time")

    def _last_words(self, status: int, phrase: str, code: str, message: str) -> None:
        """End the connection with an answer, unless one is on its way already."""
        if not self._is_idle() and self.cycle.response_started:
            self.transport.abort()
            return
        body = json.dumps({"code": code, "message": message}).encode()
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        self.loop.call_later(_LINGER, self.transport.abort)


def places() -> int:
    """How many connections there may be."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if files == resource.RLIM_INFINITY else min(_MOST, files // 2)


def connections(patience: float) -> type[Connection]:
    """The class of the connections of one server, which share their places."""
    shared: dict[str, Any] = {"patience": patience, "most": places(), "waiting": {}}
    return type("Connection", (Connection,), shared)
