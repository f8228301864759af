"""What is written to a client in one turn of the loop goes out at once, and not the header first and the body after.

Each way into the kernel costs as much as the rest of a short answer, and wakes the client for nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGE = 1 << 16
"""Bytes that are not copied to be joined."""


class Joined(asyncio.Transport):
    """A transport that keeps what is written until the end of an answer, or of the turn of the loop."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """``transport`` is what is written to in the end."""
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._kept: list[bytes] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it. Nothing is what the protocol writes when an answer with a known length is whole."""
        if not data:
            self._flush()
        elif self._size + len(data) > _LARGE:
            self._flush()
            self._transport.write(data)
        else:
            if not self._kept:
                self._loop.call_soon(self._flush)
            self._kept.append(bytes(data))
            self._size += len(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep each."""
        for data in list_of_data:
            self.write(data)

    def _flush(self) -> None:
        if self._kept:
            kept, self._kept, self._size = self._kept, [], 0
            self._transport.write(kept[0] if len(kept) == 1 else b"".join(kept))

    def close(self) -> None:
        """Close it once all is written."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close it at once; what was kept is lost."""
        self._kept, self._size = [], 0
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed, or will be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as asyncio has it
        """What is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._transport.resume_reading()
