"""What a PostgreSQL server on another host must prove before it hears a password.

``catmem.yaml`` names the server, and the user's own settings have the password. A root from elsewhere may name any
server, so only settings outside of the root allow less than TLS with a checked name and SCRAM.
"""

from __future__ import annotations

import ipaddress
import os
from typing import Any

from catmem.errors import StoreError

_ASKED = {"sslmode": ("verify-full", "PGSSLMODE"), "require_auth": ("scram-sha-256", "PGREQUIREAUTH")}
"""Each option of libpq with the value that is asked for, and the variable of libpq that says another one."""

_FREE = frozenset({
    "application_name", "client_encoding", "connect_timeout", "context", "dbname", "host", "hostaddr", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "load_balance_hosts", "options", "password", "port",
    "target_session_attrs", "tcp_user_timeout", "user",
})  # fmt: skip
"""Options that change nothing of whom is trusted."""


def ask_for_proof(dialect: object, record: object, arguments: object, options: dict[str, Any]) -> None:
    """Have a server on another host prove itself: for SQLAlchemy's ``do_connect``.

    Raises ``StoreError`` (``bad_store``) if the root asks for less, or for what only its reader may say.
    """
    del dialect, record, arguments
    if _is_local(options):
        return
    for name, (asked, variable) in _ASKED.items():
        wanted = os.environ.get(variable) or asked
        if options.pop(name, wanted) not in {wanted, asked}:
            raise _not_for_the_root(name, f"Set {variable} where you trust that server.")
        options[name] = wanted
    for name in sorted(options.keys() - _FREE - _ASKED.keys()):
        raise _not_for_the_root(name, "Use libpq's environment variables or files in your home.")


def _is_local(options: dict[str, Any]) -> bool:
    """Whether it is a server of this machine, or one that the reader's own settings name."""
    if "service" in options or "servicefile" in options:
        return False
    named = [str(options[name]) for name in ("host", "hostaddr") if options.get(name)]
    return all(_is_here(host) for host in ",".join(named).split(","))


def _is_here(host: str) -> bool:
    if not host or host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _not_for_the_root(name: str, remedy: str) -> StoreError:
    return StoreError(
        f"a root may not say {name!r} of a server on another host",
        code="bad_store",
        hint=f"Nothing was sent to it. Take it out of 'store' in catmem.yaml. {remedy}",
    )
