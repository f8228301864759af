"""The server over standard input and output, until the input ends or the user stops it.

The SDK reads and writes in threads. A thread that waits for a line cannot be woken, so Ctrl-C would wait for one more
line, and each change of threads costs a call more than the protocol does. Here the loop waits for both ends itself.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp.server.lowlevel import Server

_log = logging.getLogger("catmem.mcp")
_STDIN = 0
_AT_ONCE = 1 << 16
_LAST_ANSWERS_SECONDS = 5
"""How long the answers to what was asked before the input ended may take."""


def serve_stdio(server: Server[Any], client: int) -> None:
    """Serve one client; ``client`` is the descriptor that answers go to, which is closed at the end.

    Returns when its pipe ends, and on SIGINT and SIGTERM, after the call that is under way.
    """
    try:
        anyio.run(_serve, server, client)
    except* BrokenPipeError:
        _log.info("the client has gone without reading all answers")
    finally:
        os.close(client)


async def _serve(server: Server[Any], client: int) -> None:
    owed = _Owed()
    output = _Output(client, owed)
    async with anyio.create_task_group() as tasks:
        await tasks.start(_stop_on_signal, tasks.cancel_scope)
        ends = cast("anyio.AsyncFile[str]", _lines(owed, output)), cast("anyio.AsyncFile[str]", output)
        async with stdio_server(*ends) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        async for _ in received:
            scope.cancel()
            return


class _Owed:
    """The requests that were not answered yet. The SDK drops them when the input ends; here they are answered first."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()
        self._answered = anyio.Event()

    def take(self, line: str) -> str | None:
        """Look at a line of the input, which may be anything. What to answer if the SDK would quietly drop it."""
        try:
            # In the way in which the SDK reads it a moment later.
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return _refusal(line)
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self.settle((message.params or {}).get("requestId"))
        return None

    def settle(self, asked: object) -> None:
        """A request was answered, or the client waits for its answer no more."""
        if isinstance(asked, str | int):
            self._open.discard(asked)
        self._answered.set()

    async def settled(self) -> None:
        """Wait until all are answered, or for as long as that may take."""
        with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
            while self._open:
                self._answered = anyio.Event()
                await self._answered.wait()


def _refusal(line: str) -> str | None:
    """The answer to a request that is not as the protocol has it; ``None`` for what waits for no answer."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    asked, method = message.get("id"), message.get("method")
    if not isinstance(method, str) or not isinstance(asked, str | int) or isinstance(asked, bool):
        return None
    if not isinstance(message.get("params"), dict | None):
        error = {"code": INVALID_PARAMS, "message": "params must be an object"}
    elif _has_half_a_character(line):
        error = {"code": PARSE_ERROR, "message": "a text has half of a character (a lone surrogate)"}
    else:
        error = {"code": INVALID_REQUEST, "message": "this is no request of JSON-RPC 2.0"}
    return json.dumps({"jsonrpc": "2.0", "id": asked, "error": error}) + "\n"


def _has_half_a_character(line: str) -> bool:
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


async def _lines(owed: _Owed, output: _Output) -> AsyncIterator[str]:
    """The lines of standard input; after the last, the end comes when all is answered.

    What the SDK would quietly drop is answered here.
    """
    pending: list[bytes] = []
    while chunk := await _read():
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            line = b"".join([*pending, end]).decode(errors="replace")
            pending.clear()
            refusal = owed.take(line)
            if refusal is None:
                yield line
            else:
                await output.write(refusal)
        pending.append(rest)
    last = b"".join(pending).decode(errors="replace")
    refusal = owed.take(last)
    if refusal is not None:
        await output.write(refusal)
    elif last:
        yield last
    await owed.settled()


async def _read() -> bytes:
    """What standard input has, as soon as it has something; nothing at its end."""
    if not _is_ready(_STDIN, select.POLLIN):  # always true of a file, for which the loop cannot wait
        await anyio.wait_readable(_STDIN)
    return os.read(_STDIN, _AT_ONCE)


class _Output:
    """Where messages go: the client's end, which nothing else in the process writes to."""

    def __init__(self, descriptor: int, owed: _Owed) -> None:
        self._descriptor = descriptor
        self._owed = owed
        self._one_at_a_time = anyio.Lock()

    async def write(self, text: str) -> None:
        """Write it all, in parts that a pipe with any room takes at once."""
        data = text.encode(errors="replace")
        async with self._one_at_a_time:
            for start in range(0, len(data), select.PIPE_BUF):
                if not _is_ready(self._descriptor, select.POLLOUT):
                    await anyio.wait_writable(self._descriptor)
                _write_whole(self._descriptor, data[start : start + select.PIPE_BUF])
        message = json.loads(text)
        if "method" not in message:
            self._owed.settle(message.get("id"))

    async def flush(self) -> None:
        """Nothing is held back."""


def _write_whole(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _is_ready(descriptor: int, events: int) -> bool:
    """Whether reading or writing would not wait. An end and an error count as ready: the call itself tells them."""
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(0))
