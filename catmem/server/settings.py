"""How a server is set up: what ``catmem.yaml`` says under ``server``, and what the command line says instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
PORT = 8428
MAX_BODY = 1 << 20
TIMEOUT = 30.0
CONNECTIONS = 512
"""Connections that may be open at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is set up; all times are in seconds.

    ``tokens`` is the file of tokens, ``None`` for a server without any: it listens on loopback only, and whoever
    connects is a person. ``hosts`` are the names by which clients may call it, beside those of loopback. ``max_body``
    is in bytes. ``timeout`` is how long one request may take, from its header to its answer.
    """

    host: str = HOST
    port: int = PORT
    tokens: Path | None = None
    hosts: tuple[str, ...] = ()
    max_body: int = MAX_BODY
    timeout: float = TIMEOUT
    page: bool = True
