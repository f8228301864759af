"""A socket on which an interface listens, and which addresses are of this machine alone."""

from __future__ import annotations

import ipaddress
import socket

from catmem.errors import ConfigError


def listen(host: str, port: int, *, refusal: ConfigError | None) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    ``refusal`` is raised for an address that other machines reach; with ``None`` any address will do. Raises
    ``ConfigError`` (``cannot_listen``).
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _cannot_listen(host, port, error) from error
    family, kind, protocol, _, address = found[0]
    if refusal is not None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise refusal
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        raise _cannot_listen(host, port, error) from error
    return listening


def _cannot_listen(host: str, port: int, error: Exception) -> ConfigError:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(
        f"the server cannot listen on {host}, port {port}: {said}",
        code="cannot_listen",
        hint="Choose another --port (0 takes any that is free) or --host, or end what uses this one.",
    )
