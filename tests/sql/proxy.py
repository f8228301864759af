"""A proxy before a PostgreSQL server that cuts a connection at a chosen place.

It knows as much of the protocol as it takes to tell one request from the next:
https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

import contextlib
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

Where: TypeAlias = Literal["before", "unseen", "after"]
"""The request never arrives; it arrives, and nobody waits for its answer; it is answered, and the answer never arrives."""

WHERE: tuple[Where, ...] = ("before", "unseen", "after")
_ENDS_A_REQUEST = (b"Q", b"S")
"""A simple query, and the Sync with which an extended one ends: what the server answers with ReadyForQuery."""

_READY = b"Z\0\0\0\5"
_ASKS_FOR_ENCRYPTION = {80877103, 80877104}


class Cut(NamedTuple):
    """Cut at the request number ``at`` (from 1, those of all connections) or at the first that holds ``word``.

    With ``since`` it is the first behind one that holds that.
    ``torn``: the client, which is this process, sees its socket as in the middle of a reset: an error, nothing to read yet.
    """

    where: Where
    at: int = 0
    word: bytes = b""
    since: bytes = b""
    torn: bool = False


class Proxy:
    """Listens at ``url``; what comes there goes to the server. Made by ``proxied``."""

    def __init__(self, server_url: str) -> None:
        self.server = urlsplit(server_url)
        self.listening = socket.create_server(("127.0.0.1", 0))
        password, port = self.server.password, self.listening.getsockname()[1]
        self.url = self.server._replace(netloc=f"{self.server.username}:{password}@127.0.0.1:{port}").geturl()
        self.requests: list[bytes] = []
        """What was asked for since the last ``cut``."""
        self.cuts = 0
        self.at_cut: Callable[[], None] = lambda: None
        """What is done in the moment of a cut, such as killing the server."""
        self._cut: Cut | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, name="proxy")]
        self._threads[0].start()

    def cut(self, cut: Cut | None) -> None:
        """Cut there, once; ``None`` lets everything through."""
        with self._lock:
            self._cut, self.cuts, self.requests = cut, 0, []

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((str(self.server.hostname), int(self.server.port or 5432)))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            link = _Link(client, server, self)
            for work in (link.to_server, link.to_client):
                thread = threading.Thread(target=work, name="proxy")
                thread.start()
                self._threads.append(thread)

    def cuts_at(self, request: bytes) -> Cut | None:
        """Note a request; returns how it is to be cut off, if it is."""
        with self._lock:
            self.requests.append(request)
            cut = self._cut
            if cut is None or (len(self.requests) != cut.at if cut.at else cut.word not in request):
                return None
            if not any(cut.since in each for each in (b"", *self.requests[:-1])):
                return None
            self._cut, self.cuts = None, 1
            return cut

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for each in self._open:
            _end(each)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()


class _Link:
    def __init__(self, client: socket.socket, server: socket.socket, proxy: Proxy) -> None:
        self.client = client
        self.server = server
        self.proxy = proxy
        self.cut: Cut | None = None
        """The client hears no more; "after": it is cut off once there is an answer."""

    def to_server(self) -> None:
        """Pass on messages until one is to be cut off."""
        with contextlib.suppress(OSError):
            request = b""
            for message, is_last in self._messages():
                request += message
                if not is_last:
                    continue
                cut = self.proxy.cuts_at(request) if message[:1] in _ENDS_A_REQUEST else None
                self.cut = cut
                if cut is None or cut.where != "before":
                    self.server.sendall(request)
                if cut is not None and cut.where != "after":
                    self.proxy.at_cut()
                    break
                request = b""
        if self.cut is None or self.cut.where != "after":
            self._end_client()
        # The server still works on what has reached it, as it would for a client whose cable was pulled.
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_WR)

    def _end_client(self) -> None:
        if self.cut is not None and self.cut.torn:
            _tear(self.client)
        _end(self.client)

    def _messages(self) -> Iterator[tuple[bytes, bool]]:
        """The client's messages, each with whether what came until then may be passed on."""
        started = False
        with self.client.makefile("rb") as read:
            while True:
                kind = read.read(1) if started else b""
                length = read.read(4)
                if len(length) < 4:
                    return
                body = read.read(struct.unpack("!I", length)[0] - 4)
                if not started:
                    started = struct.unpack("!I", body[:4])[0] not in _ASKS_FOR_ENCRYPTION
                yield kind + length + body, kind in {b"", b"p", b"X", b"H", *_ENDS_A_REQUEST}

    def to_client(self) -> None:
        """Pass on answers, but not the one that is to be lost."""
        answer = b""
        with contextlib.suppress(OSError):
            while data := self.server.recv(1 << 16):
                if self.cut is not None:
                    answer += data
                    if answer[-6:-1] == _READY:
                        if self.cut.where == "after":
                            self.proxy.at_cut()
                        break
                else:
                    self.client.sendall(data)
        self._end_client()


def _tear(client: socket.socket) -> None:
    """Put in the place of the other end, in this process, what has ended and has nothing to read: half of a pipe."""
    reading, writing = os.pipe()
    os.close(writing)
    with contextlib.suppress(OSError):  # it is torn already
        address = client.getpeername()
        for each in filter(_is_socket, (int(each.name) for each in Path("/proc/self/fd").iterdir())):
            with socket.socket(fileno=os.dup(each)) as found:
                if found.getsockname() == address:
                    os.dup2(reading, each)
    os.close(reading)


def _is_socket(descriptor: int) -> bool:
    with contextlib.suppress(OSError):  # that of the list itself is closed by now
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    return False


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxied(server_url: str) -> Iterator[Proxy]:
    proxy = Proxy(server_url)
    try:
        yield proxy
    finally:
        proxy.close()
