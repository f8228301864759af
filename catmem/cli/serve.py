"""``catmem serve``: memory over HTTP."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_with_store, open_workspace, root_option
from catmem.cli.output import emit_json, print_error, printable, say
from catmem.errors import ConfigError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.config import Config
    from catmem.server.app import Settings

_LIBRARIES = frozenset({"jinja2", "markupsafe", "multipart", "prometheus_client", "python_multipart"})
_SHARED = frozenset({"anyio", "starlette", "uvicorn", "h11"})
"""What the extra ``server`` brings; some of it other extras bring too."""


@click.command(
    epilog="Examples: catmem serve   catmem serve --root ~/agents --port 0   "
    "catmem serve --host 0.0.0.0 --allow-host memory.example.org"
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8428, show_default=True, help="0 takes any that is free."
)
@click.option(
    "--tokens",
    "tokens_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The file of tokens, if it is not where 'catmem token' keeps it.",
)
@click.option(
    "--allow-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="A name by which clients call the server, beside its address and those of catmem.yaml.",
)
@click.option(
    "--no-tokens",
    is_flag=True,
    help="Serve without tokens, also where the root has had some: whoever connects is a person.",
)
@click.option("--no-page", is_flag=True, help="No page for browsers: the API alone.")
@click.option("--no-access-log", is_flag=True, help="Log what goes wrong, and not every request.")
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    host: str,
    port: int,
    tokens_path: str | None,
    hosts: tuple[str, ...],
    root_folder: str | None,
    *,
    no_tokens: bool,
    no_page: bool,
    no_access_log: bool,
    as_json: bool,
) -> None:
    """Serve the memory of a root over HTTP: an API for agents, metrics, and a page for people.

    Without tokens it listens on this machine alone, and whoever connects is a person. With tokens ('catmem token new')
    each caller sees and writes what its profile may; a root that has had some is not served without them.

    Needs the extra: pip install 'catmem[server]'. Ctrl-C and SIGTERM end it when begun writes are made (exit status 0).
    With --format json it first prints its url.
    """
    if no_tokens and tokens_path is not None:
        raise click.UsageError("--tokens and --no-tokens exclude each other.")
    with _with_extra():
        from catmem.policy.profile import refuse_no_root
        from catmem.server.app import create_app
        from catmem.server.serving import listen, serve, url_of
        from catmem.service.profiles import load_each

        refuse_no_root(open_workspace(root_folder).config)  # before a store is opened there
        workspace = open_with_store(root_folder)
        settings = _settings(workspace.config, host, tokens_path, hosts, page=not no_page, no_tokens=no_tokens)
        for error in load_each(workspace)[1]:  # said here, and not to the first caller; the others are served
            print_error(error, as_json=as_json)
        app = create_app(workspace, settings)
    with listen(host, port, has_tokens=settings.tokens is not None) as listening:
        url = url_of(listening)
        who = "Whoever connects is a person." if settings.tokens is None else "Callers need their tokens."

        def ready() -> None:
            if as_json:
                emit_json({"url": url, "root": str(workspace.root), "tokens": settings.tokens is not None})
            else:
                say(printable(f"The memory of {workspace.root} is served at {url}. {who} Ctrl-C ends it."))

        _log_to_stderr(everything=not no_access_log)
        serve(app, listening, ready)


def _settings(  # noqa: PLR0913 - one parameter an option
    config: Config,
    host: str,
    tokens_path: str | None,
    hosts: tuple[str, ...],
    *,
    page: bool,
    no_tokens: bool = False,
) -> Settings:
    """What the command line says, and ``catmem.yaml`` where it does not. Raises as ``_tokens``."""
    from catmem.policy.config import seconds
    from catmem.server.app import MAX_BODY, TIMEOUT, Settings

    said = config.server
    return Settings(
        host=host,
        tokens=_tokens(config, tokens_path, without=no_tokens),
        hosts=(*said.get("hosts", ()), *hosts),
        max_body=said.get("max_body", MAX_BODY),
        timeout=seconds(said["timeout"]) if "timeout" in said else TIMEOUT,
        page=page,
    )


def _tokens(config: Config, given: str | None, *, without: bool) -> Path | None:
    """The file of tokens; ``None`` for a root that has none and wants none, or is served ``without``.

    Raises ``ConfigError`` (``no_tokens``, and those of the file) and ``UnreadableError``.
    """
    from catmem.server.tokens import read_tokens, remember_tokens, tokens_file, tokens_place, why_wanted

    if without:
        _refuse_required(config)
        return None
    path = tokens_place(config, given)
    if read_tokens(path):
        tokens_file(config, given)  # where nobody has tokens, it does not matter that they could not be there
        try:
            remember_tokens(config, path)
        except UnreadableError as error:
            say(printable(f"warning: {error}"))  # they are there, and are asked for
        return path
    if given is not None:
        raise ConfigError(
            "this file has no tokens",
            code="no_tokens",
            path=Path(given),
            hint="Make one in it: catmem token new AGENT --tokens FILE.",
        )
    why = why_wanted(config, path)
    if why is not None:
        way_out = "Name their file: --tokens FILE. Or make new ones: catmem token new AGENT."
        if not config.server.get("require_tokens"):
            way_out += " Without any (--no-tokens) whoever reaches the server reads and writes memory."
        raise ConfigError(
            f"this root wants tokens, and none is in {path}: {why}", code="no_tokens", path=config.root, hint=way_out
        )
    return None


def _refuse_required(config: Config) -> None:
    """Raise ``ConfigError`` (``no_tokens``) where ``catmem.yaml`` forbids to serve without tokens."""
    if config.server.get("require_tokens"):
        raise ConfigError(
            "catmem.yaml says server.require_tokens, so --no-tokens is refused",
            code="no_tokens",
            path=config.path,
            key="server.require_tokens",
            hint="Make tokens: catmem token new AGENT. Or change it there.",
        )


def _log_to_stderr(*, everything: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("catmem.server", logging.INFO if everything else logging.WARNING), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False


@contextmanager
def _with_extra() -> Iterator[None]:
    """Say how to get the libraries of the extra where they are missing, or of an older series."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES | _SHARED:
            raise
        raise ConfigError(
            f"catmem serve needs libraries that are not installed, or not in a version that it knows: {error}",
            code="missing_extra",
            hint="Install them with: pip install 'catmem[server]'",
        ) from error
