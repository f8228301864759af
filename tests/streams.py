"""Streams of server-sent events, as a client reads them; and a server in this process to read them from."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn

from catmem.server.app import create_app
from catmem.server.serving import HttpServer, listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catmem.server.guard import ServerSettings
    from catmem.workspace.workspace import Workspace

SECONDS = 60
PATH = "/mem/events"


class Event(NamedTuple):
    """What a client gets."""

    kind: str
    data: dict[str, Any]


class Stream:
    """An open stream. It has begun when it is made: all that happens from now on comes."""

    def __init__(self, address: tuple[str, int], query: str = "", **headers: str) -> None:
        self._connection = http.client.HTTPConnection(*address, timeout=SECONDS)
        self._connection.request("GET", PATH + query, headers={"Accept": "text/event-stream", **headers})
        self.answer = self._connection.getresponse()
        self.status = self.answer.status
        self.id = ""
        if self.status == 200:
            self._read_id()

    def _read_id(self) -> None:
        frame = self._frame()
        assert frame["retry"]
        self.id = frame["id"]

    def _frame(self) -> dict[str, str]:
        """The fields of one frame; none where the stream has ended."""
        found: dict[str, str] = {}
        while line := self.answer.readline().decode().removesuffix("\n"):
            name, _, value = line.partition(": ")
            if name != ":":
                found[name] = value
        return found

    def next(self) -> Event:
        """The next event. Raises ``EOFError`` where the stream has ended."""
        while not self.has_ended:
            frame = self._frame()
            if "data" in frame:
                return Event(frame["event"], json.loads(frame["data"]))
        raise EOFError

    @property
    def has_ended(self) -> bool:
        return not self.answer.peek(1)

    def revisions(self, count: int) -> list[str]:
        return [self.next().data["revision"] for _ in range(count)]

    def said(self) -> dict[str, Any]:
        """What was said instead of a stream."""
        return json.loads(self.answer.read())

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


class Running:
    """A server that runs in a thread."""

    def __init__(self, app: Any, address: tuple[str, int], loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self.address = address
        self.loop = loop
        self.streams: list[Stream] = []

    def open(self, query: str = "", token: str | None = None, **headers: str) -> Stream:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        stream = Stream(self.address, query, **headers)
        self.streams.append(stream)
        return stream

    def on_loop(self, function: Callable[[], Any]) -> Any:
        """What a function gives that belongs to the loop of the server."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(SECONDS)


@contextmanager
def running(workspace: Workspace, settings: ServerSettings) -> Iterator:
    """A server of this root."""
    ready = threading.Event()
    made: list[Any] = []
    with listen("127.0.0.1", 0, has_tokens=False) as listening:

        async def serve() -> None:
            app = create_app(workspace, settings)
            config = uvicorn.Config(app, http="h11", ws="none", lifespan="on", log_config=None, access_log=False)
            server = HttpServer(config, ready.set, app.state.stopping.set)
            made.extend([app, asyncio.get_running_loop(), server])
            await server.serve(sockets=[listening])

        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        assert ready.wait(SECONDS)
        app, loop, server = made
        found = Running(app, listening.getsockname()[:2], loop)
        try:
            yield found
        finally:
            for stream in found.streams:
                stream.close()
            server.should_exit = True
            thread.join(SECONDS)
            assert not thread.is_alive()
