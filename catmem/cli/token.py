"""``catmem token``: the tokens that callers of the server have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from catmem.cli.options import format_option, open_workspace, root_option
from catmem.cli.output import columns, emit, emit_json, printable, say, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from catmem.policy.config import Config
    from catmem.server.caller import Scope
    from catmem.server.tokens import Token

_SCOPES = ("write", "read", "metrics")
_NOT_SERVED = (
    "'catmem serve' will not start without any: make another, or say --no-tokens there (this once), or "
    "server.require_tokens: false in catmem.yaml (for good)."
)


def _tokens_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--tokens",
        "tokens_path",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="The file of tokens. By default that of catmem.yaml, or one for each root below ~/.config/catmem/tokens.",
    )(command)


@click.group(
    epilog="Examples: catmem token new trinity   catmem token new anna --person   catmem token list   "
    "catmem token remove trinity --all"
)
def command() -> None:
    """Make, list and remove the tokens that callers of 'catmem serve' have.

    A token is shown once, when it is made. What is kept is its digest, in a file that only you may read.
    """


@command.command(
    epilog="Examples: catmem token new trinity   catmem token new planner --scope read   "
    "catmem token new anna --person   catmem token new prometheus --scope metrics"
)
@click.argument("agent")
@click.option("-p", "--profile", metavar="NAME", help="The profile of the agent, to be sure that it is that one.")
@click.option(
    "--person", is_flag=True, help="For a person, who sees and may do everything; AGENT is what to call them."
)
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    default="write",
    show_default=True,
    help="What it is good for: reading and writing, reading only, or the metrics only.",
)
@_tokens_option
@root_option
@format_option
def new(  # noqa: PLR0913 - one parameter an option
    agent: str,
    profile: str | None,
    scope: str,
    tokens_path: str | None,
    root_folder: str | None,
    *,
    person: bool,
    as_json: bool,
) -> None:
    """Make a token for AGENT: an agent of catmem.yaml, or a profile. It sees and writes what that profile may."""
    from catmem.server.tokens import new_token, tokens_file

    if person and (profile is not None or scope == "metrics"):
        raise click.UsageError("--person excludes --profile and --scope metrics.")
    if scope == "metrics" and profile is not None:
        raise click.UsageError("--scope metrics excludes --profile.")
    config = _config_of(root_folder)
    path = tokens_file(config, tokens_path)
    token, text = new_token(config, path, agent, profile=profile, person=person, scope=cast("Scope", scope))
    if as_json:
        emit_json({**token.to_dict(), "token": text, "path": str(path)})
        return
    emit(f"{text}\n")
    say(printable(f"This is the token of {_who(token)}. It is shown this once: keep it where only its user reads it."))
    say("Send it as: Authorization: Bearer TOKEN. A server that runs without tokens has to be started again.")


@command.command("list", epilog="Examples: catmem token list   catmem token list trinity --format json")
@click.argument("agent", required=False)
@_tokens_option
@root_option
@format_option
def list_(agent: str | None, tokens_path: str | None, root_folder: str | None, *, as_json: bool) -> None:
    """List the tokens of AGENT or of all: their ids, and what they are good for."""
    from catmem.server.tokens import read_tokens, tokens_file

    config = _config_of(root_folder)
    path = tokens_file(config, tokens_path)
    there = read_tokens(path)
    tokens = [token for token in there if agent in {None, token.label}]
    wanted = None if there else _wanted(config, path)
    if as_json:
        emit_json({"path": str(path), "wanted": wanted, "tokens": [token.to_dict() for token in tokens]})
        return
    if not there:
        say(printable(f"No tokens in {shown_path(path)}."))
    elif not tokens:
        say(printable(f"{agent} has no token here."))
    if wanted is not None:
        say(printable(f"This root wants tokens: {wanted}. {_NOT_SERVED}"))
    rows: list[tuple[str, ...]] = [(t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in tokens]
    emit(printable(columns(rows)))


@command.command(epilog="Examples: catmem token remove trinity 4f0a61c2d9be   catmem token remove trinity --all")
@click.argument("agent")
@click.argument("token_id", required=False)
@click.option("--all", "every", is_flag=True, help="All tokens of the agent.")
@_tokens_option
@root_option
@format_option
def remove(  # noqa: PLR0913 - one parameter an option
    agent: str,
    token_id: str | None,
    tokens_path: str | None,
    root_folder: str | None,
    *,
    every: bool,
    as_json: bool,
) -> None:
    """Remove a token of AGENT: TOKEN_ID, or the only one. It is good no more at once, at a running server too."""
    from catmem.server.tokens import read_tokens, remove_tokens, tokens_file

    if every and token_id is not None:
        raise click.UsageError("TOKEN_ID and --all exclude each other.")
    config = _config_of(root_folder)
    path = tokens_file(config, tokens_path)
    gone = remove_tokens(path, agent, token_id, every=every)
    if as_json:
        emit_json({"path": str(path), "removed": [token.to_dict() for token in gone]})
        return
    for token in gone:
        emit(printable(f"removed the token {token.token_id} of {token.label}\n"))
    say(printable(f"They were in {shown_path(path)}."))
    if not read_tokens(path) and _wanted(config, path) is not None:
        say(f"That was the last one. {_NOT_SERVED}")


def _config_of(root_folder: str | None) -> Config:
    """The configuration of the root. Raises ``ConfigError`` (``no_root``) where none is."""
    from catmem.policy.profile import refuse_no_root

    config = open_workspace(root_folder).config
    refuse_no_root(config)
    return config


def _wanted(config: Config, path: Path) -> str | None:
    from catmem.server.tokens import why_wanted

    return why_wanted(config, path)


def _who(token: Token) -> str:
    return f"{token.label}, {_as_whom(token)}"


def _as_whom(token: Token) -> str:
    if token.scope == "metrics":
        return "for metrics"
    return "a person" if token.profile is None else f"acting as {token.profile}"
