"""``catmem serve``: memory over HTTP."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import emit_json, print_error, printable, say
from catmem.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.config import Config
    from catmem.server.settings import Settings

_LIBRARIES = frozenset({"jinja2", "markupsafe", "multipart", "prometheus_client", "python_multipart"})
_SHARED = frozenset({"anyio", "starlette", "uvicorn", "h11", "watchfiles"})
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
    no_page: bool,
    no_access_log: bool,
    as_json: bool,
) -> None:
    """Serve the memory of a root over HTTP: an API for agents, metrics, and a page for people.

    Without tokens it listens on this machine alone, and whoever connects is a person. With tokens ('catmem token new')
    each caller sees and writes what its profile may. Needs the extra: pip install 'catmem[server]'. Ctrl-C and SIGTERM
    end it when begun writes are made (exit status 0). With --format json it first prints its url.
    """
    with _with_extra():
        from catmem.server.app import create_app
        from catmem.server.serving import listen, serve, url_of
        from catmem.service.profiles import load_each

        workspace = open_with_store(root_folder)
        settings = _settings(workspace.config, host, port, tokens_path, hosts, page=not no_page)
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
    config: Config, host: str, port: int, tokens_path: str | None, hosts: tuple[str, ...], *, page: bool
) -> Settings:
    """What the command line says, and ``catmem.yaml`` where it does not. Raises ``ConfigError`` (``no_tokens``)."""
    from catmem.policy.config import seconds
    from catmem.server.settings import MAX_BODY, RATE, Settings
    from catmem.server.tokens import read_tokens, tokens_file, tokens_place

    path = tokens_place(config, tokens_path)
    has_tokens = bool(read_tokens(path))
    if has_tokens:
        tokens_file(config, tokens_path)  # where nobody has tokens, it does not matter that they could not be there
    if tokens_path is not None and not has_tokens:
        raise ConfigError(
            "this file has no tokens",
            code="no_tokens",
            path=Path(tokens_path),
            hint="Make one in it: catmem token new AGENT --tokens FILE.",
        )
    said = config.server
    return Settings(
        host=host,
        port=port,
        tokens=path if has_tokens else None,
        hosts=(*said.get("hosts", ()), *hosts),
        max_body=said.get("max_body", MAX_BODY),
        rate=said.get("rate", RATE),
        timeout=seconds(said.get("timeout", "30s")),
        patience=seconds(said.get("patience", "10s")),
        page=page,
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
