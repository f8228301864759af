"""The operations of the command line alone: serve and mcp, memory over HTTP and for MCP clients; and help."""

import fcntl
import logging
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from catmem.cli.interface import open_root
from catmem.cli.output import emit, emit_json, say
from catmem.config.config import Config, expand_user, find_root, user_folder
from catmem.config.profile import refuse_no_root
from catmem.config.yamlfile import load_yaml
from catmem.errors import ConfigError, UnreadableError
from catmem.ops.table import Call, P, UsageError, operation
from catmem.resources import install_command
from catmem.workspace.root import load_each
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:  # of the extra
    from catmem.server.guard import ServerSettings

_STDOUT, _STDERR = 1, 2
_OF_USER = {"profile", "root"}


@operation(
    "serve",
    examples=(
        "catmem serve",
        "catmem serve --root ~/agents --port 0",
        "catmem serve --host 0.0.0.0 --allow-host memory.example.org",
    ),
    apart={"tokens": "no_tokens"},
)
def serve(
    call: Call,
    *,
    host: Annotated[str, P("The address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, P("0 takes any that is free.", minimum=0, maximum=65535)] = 8428,
    tokens: Annotated[
        str | None, P("The file of tokens, if it is not where 'catmem token' keeps it.", metavar="FILE", path=True)
    ] = None,
    hosts: Annotated[
        Sequence[str],
        P(
            "A name by which clients call the server, beside its address and those of catmem.yaml.",
            "--allow-host",
            metavar="NAME",
        ),
    ] = (),
    no_tokens: Annotated[
        bool, P("Serve without tokens, also where the root has had some: every caller is a person.")
    ] = False,
    no_page: Annotated[bool, P("No page for browsers: the API alone.")] = False,
    no_access_log: Annotated[bool, P("Log what goes wrong, and not every request.")] = False,
) -> None:
    """Serve the memory of a root over HTTP: an API for agents, metrics, and a page for people.

    Without tokens it listens on this machine alone, and every caller is a person. With tokens ('catmem token new')
    each caller sees and writes what its profile may; a root that has had some is not served without them.

    Needs the extra: pip install '.[server]' in the folder of catmem. Ctrl-C and SIGTERM end it when begun writes are
    made (exit status 0). With --format json it first prints its url.
    """
    with _with_extra("serve", "server"):
        from catmem.server import app as server

        refuse_no_root(open_root("root").config)  # before a store is opened there
        workspace = call.root
        settings = _settings(workspace.config, host, tokens, hosts, page=not no_page, no_tokens=no_tokens)
        for error in load_each(workspace)[1]:  # said here, and not to the first caller; the others are served
            call.tell(error)
        more = []
        if find_spec("mcp") is not None:  # the extra is installed
            from catmem.mcp import http

            more = http.routes()
        app = server.create_app(workspace, settings, more=more)
    with server.listen(host, port, has_tokens=settings.tokens is not None) as listening:
        url = server.url_of(listening)
        who = "Every caller is a person." if settings.tokens is None else "Callers need their tokens."

        def ready() -> None:
            if call.for_program:
                emit_json({"url": url, "root": str(workspace.root), "tokens": settings.tokens is not None})
            else:
                call.tell(f"The memory of {workspace.root} is served at {url}. {who} Ctrl-C ends it.")

        _log_to_stderr(everything=not no_access_log)
        server.serve(app, listening, ready)


def _settings(
    config: Config, host: str, tokens: str | None, hosts: Collection[str], *, page: bool, no_tokens: bool = False
) -> "ServerSettings":
    """What the command line says, and ``catmem.yaml`` where it does not. Raises as ``_tokens``."""
    from catmem.server.guard import MAX_BODY, ServerSettings

    said = config.server
    return ServerSettings(
        host=host,
        tokens=_tokens(config, tokens, without=no_tokens),
        hosts=(*said.get("hosts", ()), *hosts),
        max_body=said.get("max_body", MAX_BODY),
        page=page,
    )


def _tokens(config: Config, given: str | None, *, without: bool) -> Path | None:
    """The file of tokens; ``None`` for a root that has none and wants none, or is served ``without``."""
    from catmem.envelopes.tokens import read_tokens, remember_tokens, tokens_file, tokens_place, why_wanted

    required = config.server.get("require_tokens")
    if without and required:
        raise ConfigError(
            "catmem.yaml says server.require_tokens, so --no-tokens is refused",
            code="no_tokens",
            path=config.path,
            key="server.require_tokens",
            hint="Make tokens: catmem token new AGENT. Or change it there.",
        )
    if without:
        return None
    path = tokens_place(config, given)
    if read_tokens(path):
        tokens_file(config, given)  # without tokens it does not matter that they could not be there
        try:
            remember_tokens(config, path)
        except UnreadableError as error:
            say(f"warning: {error}")  # they are there, and are asked for
        return path
    if given is not None:
        raise ConfigError(
            "this file has no tokens",
            code="no_tokens",
            path=Path(given),
            hint="Make one in it: catmem token new AGENT --tokens FILE.",
        )
    why = why_wanted(config, path)
    if why is None:
        return None
    message = f"this root wants tokens, and none is in {path}: {why}"
    hint = "Name their file: --tokens FILE. Or make new ones: catmem token new AGENT."
    hint += "" if required else " Without any (--no-tokens) every caller reads and writes memory."
    raise ConfigError(message, code="no_tokens", path=config.root, hint=hint)


def _log_to_stderr(*, everything: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("catmem.server", logging.INFO if everything else logging.WARNING), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False


@operation(
    "mcp",
    examples=(
        "catmem mcp -p trinity",
        "catmem mcp -p trinity --root ~/agents",
        "catmem mcp -p trinity --config",
    ),
)
def mcp(
    call: Call,
    *,
    profile: Annotated[
        str | None, P("The profile whose memory this is. By default that of ~/.config/catmem/mcp.yaml.")
    ] = None,
    config: Annotated[bool, P("Print the JSON that a client needs to start this command, and end.")] = False,
) -> None:
    """Serve the memory of one profile to an MCP client: tools, resources, and the prompt.

    The profile acts in every call, within its rights. Needs the extra: pip install '.[mcp]' in the folder of catmem.
    A client that starts it without options needs ~/.config/catmem/mcp.yaml, with 'profile: NAME' and 'root: FOLDER'.
    Its root counts where the working folder lies in none.
    The end of standard input, Ctrl-C and SIGTERM end it (exit status 0). 'catmem serve' has it over HTTP, at /mcp, with
    tokens.
    """
    profile, usual = _of_user(call, profile)
    if usual is not None:
        call = replace(call, opener=partial(open_root, usual=usual))
    if config:
        emit_json(_client_config(call.open("root"), profile))
        return
    with _with_extra("mcp", "mcp"):
        _serve_stdio(call, profile)


def _of_user(call: Call, profile: str | None) -> tuple[str, str | None]:
    """The profile, and the root where no other is said: what the options leave out is that of the user's own file."""
    path = user_folder() / "mcp.yaml"
    said = load_yaml(path).data if os.path.lexists(path) else {}
    is_of_texts = isinstance(said, dict) and all(isinstance(each, str) for each in said.values())
    if not (is_of_texts and said.keys() <= _OF_USER):
        raise ConfigError(
            "this file says something else than whose memory to serve",
            code="schema",
            path=path,
            hint="Write two lines: 'profile: NAME' and 'root: FOLDER'.",
        )
    name = profile or said.get("profile")
    if name is None:
        raise UsageError(f"Say whose memory to serve: -p NAME, or 'profile: NAME' in {path}.")
    counts = "root" in said and call.named_root is None and find_root(".") is None
    return name, str(path.parent / expand_user(said["root"])) if counts else None


def _client_config(workspace: Workspace, profile: str) -> dict[str, Any]:
    """What a client that starts servers needs. It does not start where a person does, so paths are whole."""
    script = Path(sys.executable).with_name("catmem")
    command, *first = [str(script)] if script.exists() else [sys.executable, "-m", "catmem"]
    root = os.path.abspath(workspace.root)  # noqa: PTH100 - as the user knows it: links are not resolved
    name = workspace.profile(profile).name
    args = [*first, "mcp", "--profile", name, "--root", root]
    return {"mcpServers": {f"catmem-{name}": {"command": command, "args": args}}}


def _serve_stdio(call: Call, profile: str) -> None:
    if sys.stdin is None or sys.stdout is None:
        hint = "An MCP client starts this command and talks to it."
        raise UnreadableError("standard input or output is closed", code="io", hint=hint)
    client = _take_stdout()
    refuse_no_root(call.root.config)  # before a store is opened there
    from catmem.mcp.server import make_server, serve_stdio

    server = make_server(call.root, profile)
    if sys.stdin.isatty():
        call.tell(f"Waiting for an MCP client on standard input, with the memory of {profile}. Ctrl-C ends it.")
    serve_stdio(server, client)


def _take_stdout() -> int:
    """Take standard output from everything else in this process, for good; returns the client's end of it."""
    client = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    elsewhere = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(_STDERR)
    os.dup2(elsewhere, _STDOUT)
    os.close(elsewhere)
    sys.stdout.flush()
    if sys.stderr is not None:
        sys.stdout = sys.stderr  # which holds nothing back, so that prints stand between the messages of their time
    return client


@contextmanager
def _with_extra(command: str, extra: str) -> Iterator[None]:
    """Say how to get the libraries of an extra where they are missing, or of an older series."""
    try:
        yield
    except ImportError as error:
        if (error.name or "catmem").partition(".")[0] == "catmem":  # a mistake of its own
            raise
        raise ConfigError(
            f"catmem {command} needs libraries that are not installed, or not in a version that it knows: {error}",
            code="missing_extra",
            hint=f"Run: {install_command(extra)}",
        ) from error


@operation("help", rooted=False, formats=False, examples=("catmem help", "catmem help --all", "catmem help sort"))
def help_(
    _: Call,
    *,
    command: Annotated[str | None, P(argument=True)] = None,
    everything: Annotated[bool, P("With the commands that few people need.", "--all")] = False,
) -> None:
    """Print the commands by group; with COMMAND what 'catmem COMMAND --help' prints."""
    top = click.get_current_context().find_root()
    if command is not None and isinstance(top.command, click.Group):
        _name, found, _rest = top.command.resolve_command(top, [command])
        top = click.Context(found or top.command, info_name=command, parent=top)
    top.obj = everything
    emit(f"{top.get_help()}\n")
