"""What a process takes from its machine: which person acts, git, and a socket to listen on.

A server knows the person from the caller's token. Else it is what ``CATMEM_PERSON`` says, git's ``user.name`` in the
root, or the login name. It is for people to read, and gives no rights: a name is easily said.
"""

from __future__ import annotations

import getpass
import os
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

from catmem.errors import ConfigError

if TYPE_CHECKING:
    import socket
    import subprocess
    from pathlib import Path

VARIABLE = "CATMEM_PERSON"
"""The environment variable with the name; an empty one has none kept."""

LONGEST = 80
"""Characters that are kept of a name."""

caller_name: ContextVar[str | None] = ContextVar("caller_name", default=None)
"""The name of the person whose request is served now, ``None`` outside of one."""


def person_name(root: Path) -> str | None:
    """The name of the person who acts on a root, on one line; ``None`` where none is known, or none shall be kept."""
    said = caller_name.get()
    if said is None:
        said = os.environ.get(VARIABLE)
    if said is None:
        said = _of_system(root)
    kept = "".join(each for each in " ".join(said.split()) if each.isprintable())[:LONGEST].strip()
    return kept or None


@lru_cache(64)
def _of_system(root: Path) -> str:
    try:
        named = run_git("-C", os.fspath(root), "config", "user.name").stdout.strip()
    except OSError:
        named = ""  # there is no git
    if named:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""  # a process of a user without a name, as in a container


def run_git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git, and no program that the configuration of a repository names. Raises ``OSError``."""
    import subprocess

    # The configuration may have another author. To read the attributes of a file, git asks a watcher of the disk for
    # the state of the index, and fetches what is missing in a partial clone.
    options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    return subprocess.run(  # noqa: S603 - git with fixed words and paths
        ["git", *options, *arguments],  # noqa: S607 - the git that the user has
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"},
    )


def listen(host: str, port: int, *, refusal: ConfigError | None) -> socket.socket:
    """A socket that listens; raises ``refusal``, if there is one, for an address that other machines reach."""
    import ipaddress
    import socket

    listening = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        if refusal is not None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise refusal
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"the server cannot listen on {host}, port {port}: {said}",
            code="cannot_listen",
            hint="Choose another --port (0 takes any that is free) or --host, or end what uses this one.",
        ) from error
    return listening
