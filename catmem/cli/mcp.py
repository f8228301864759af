"""``catmem mcp``: the memory of one profile for MCP clients."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_with_store, profile_option, root_option
from catmem.cli.output import emit_json, printable, say
from catmem.errors import ConfigError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.service.workspace import Workspace

_HOST = "127.0.0.1"
_PORT = 8427
_STDOUT, _STDERR = 1, 2
_LIBRARIES = frozenset({"anyio", "mcp", "mcp_types", "starlette", "uvicorn"})
"""What the extra ``mcp`` brings."""


@click.command(
    epilog="Examples: catmem mcp -p trinity   catmem mcp -p trinity --root ~/agents   "
    "catmem mcp -p trinity --transport http --port 0"
)
@profile_option(required=True)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="Standard input and output, for a client that starts this command; or streamable HTTP.",
)
@click.option("--host", metavar="ADDRESS", help=f"For http: a loopback address. By default {_HOST}.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"For http: 0 takes any that is free. By default {_PORT}.")
@root_option
@format_option
@click.pass_context
def command(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    profile: str,
    *,
    transport: str,
    host: str | None,
    port: int | None,
    root_folder: str | None,
    as_json: bool,
) -> None:
    """Serve the memory of one profile to an MCP client: tools, resources, and the prompt.

    The profile acts in every call, within its rights. Needs the extra: pip install 'catmem[mcp]'. The end of standard
    input, Ctrl-C and SIGTERM end it (exit status 0). Over http, with --format json, it first prints its url.
    """
    if transport == "stdio" and (host is not None or port is not None):
        raise click.UsageError("--host and --port are for --transport http.", ctx)
    with _with_extra():
        if transport == "stdio":
            _serve_stdio(root_folder, profile)
        else:
            _serve_http(
                open_with_store(root_folder), profile, host or _HOST, _PORT if port is None else port, as_json=as_json
            )


def _serve_stdio(root_folder: str | None, profile: str) -> None:
    if sys.stdin is None or sys.stdout is None:
        raise UnreadableError(
            "standard input or output is closed",
            code="io",
            hint="An MCP client starts this command and talks to it; or use --transport http.",
        )
    client = _take_stdout()
    from catmem.mcp.over_stdio import serve_stdio
    from catmem.mcp.server import make_server

    server = make_server(open_with_store(root_folder), profile)
    if sys.stdin.isatty():
        say(printable(f"Waiting for an MCP client on standard input, with the memory of {profile}. Ctrl-C ends it."))
    serve_stdio(server, client)


def _take_stdout() -> int:
    """Take standard output from everything else in this process, for good; returns the client's end of it.

    What prints from now on prints to standard error: libraries, C code, other threads, handlers at exit. So nothing is
    given back: a buffer that is emptied when the process ends would reach the client.
    """
    client = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    elsewhere = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(_STDERR)
    os.dup2(elsewhere, _STDOUT)
    os.close(elsewhere)
    sys.stdout.flush()
    if sys.stderr is not None:
        sys.stdout = sys.stderr  # which holds nothing back, so that prints stand between the messages of their time
    return client


def _serve_http(workspace: Workspace, profile: str, host: str, port: int, *, as_json: bool) -> None:
    from catmem.mcp.over_http import listen, serve_http, url_of
    from catmem.mcp.server import make_server

    server = make_server(workspace, profile)
    try:
        listening = listen(host, port)
    except ConfigError as error:
        if error.code == "cannot_listen" and not _is_literal(host):
            error.hint = "Use --host 127.0.0.1, ::1 or localhost: it is served on this machine alone."
        raise
    with listening:
        url = url_of(listening)

        def ready() -> None:
            if as_json:
                emit_json({"profile": profile, "url": url})
            else:
                say(printable(f"The memory of {profile} is served at {url}. Ctrl-C ends it."))

        serve_http(server, listening, ready)


def _is_literal(host: str) -> bool:
    """Whether it is an address in numbers, and not a name that leads somewhere."""
    import ipaddress

    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    return True


@contextmanager
def _with_extra() -> Iterator[None]:
    """Say how to get the libraries of the extra where they are missing, or of an older series."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        raise ConfigError(
            f"catmem mcp needs libraries that are not installed, or not in a version that it knows: {error}",
            code="missing_extra",
            hint="Install them with: pip install 'catmem[mcp]'",
        ) from error
