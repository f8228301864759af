"""``catmem key`` and ``catmem token``: what agents sign with, and what callers of the server show."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from catmem.cli.command import Group
from catmem.cli.options import common_options, open_workspace
from catmem.cli.output import columns, emit, emit_json, in_json, printable, say, shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.config.config import Config
    from catmem.envelopes.agents import Key
    from catmem.server.caller import Scope
    from catmem.server.tokens import Token

_SCOPES = ("write", "read", "metrics")
_NOT_SERVED = (
    "'catmem serve' will not start without any: make another, or say --no-tokens there (this once), or "
    "server.require_tokens: false in catmem.yaml (for good)."
)


@click.group(cls=Group, examples=("catmem key new trinity", "catmem key list", "catmem key remove trinity --all"))
def key() -> None:
    """Make, list and remove the keys that agents sign their envelopes with.

    A key is a file <agent>.<key_id> that only you may read, in a folder outside of the root, which goes by the root's
    path ('catmem key list' names it) or is signing.keys of catmem.yaml; or it is in the variable CATMEM_KEY_<AGENT>, as
    KEY_ID:HEX.
    """


@key.command("new", examples=("catmem key new trinity", "catmem key new person"))
@click.argument("agent")
@common_options
def key_new(agent: str) -> None:
    """Make a key for AGENT, which signs from now on. Older ones verify until they are removed.

    AGENT is an agent of catmem.yaml, a profile, or person.
    """
    from catmem.envelopes.agents import new_key

    config = open_workspace().config
    key = new_key(config, agent)
    if in_json():
        emit_json(key.to_dict())
        return
    emit(printable(f"{key.agent} signs with the key {key.key_id} now\n"))
    say(f"It is in {_where(key)}. Who has this file can write as {key.agent}.")
    if config.signing.keys is None:
        say("This folder goes by the path of the root: a root that is moved or copied has another one.")


@key.command("list", examples=("catmem key list", "catmem key list trinity --format json"))
@click.argument("agent", required=False)
@common_options
def key_list(agent: str | None) -> None:
    """List the keys of AGENT or of all agents, without their secrets. The newest of each signs."""
    from catmem.envelopes.agents import all_keys, keys_folder, refuse_bad_agent

    config = open_workspace().config
    if agent is not None:
        refuse_bad_agent(agent)
    keys = [key for key in all_keys(config) if agent in {None, key.agent}]
    newest = {key.agent: key for key in keys}
    if in_json():
        listed = [{**key.to_dict(), "signs": newest[key.agent] is key} for key in keys]
        emit_json({"folder": str(keys_folder(config)), "keys": listed})
        return
    if not keys:
        say("No keys here." if agent is None else printable(f"{agent} has no key here."))
    say(f"The keys of this root are in {shown_path(keys_folder(config))}.")
    rows = [(key.agent, key.key_id, "signs" if newest[key.agent] is key else "verifies", _where(key)) for key in keys]
    emit(printable(columns(rows)))


@key.command("remove", examples=("catmem key remove trinity 20261121t120000", "catmem key remove trinity --all"))
@click.argument("agent")
@click.argument("key_id", required=False)
@click.option("--all", "every", is_flag=True, help="All keys of the agent.")
@common_options
def key_remove(agent: str, key_id: str | None, *, every: bool) -> None:
    """Remove a key of AGENT: KEY_ID, or the only one. What it signed and is not written yet is refused from now on."""
    from catmem.envelopes.agents import remove_keys

    if every and key_id is not None:
        raise click.UsageError("KEY_ID and --all exclude each other.")
    gone = remove_keys(open_workspace().config, agent, key_id, every=every)
    if in_json():
        emit_json({"removed": [key.to_dict() for key in gone]})
        return
    for key in gone:
        emit(printable(f"removed the key {key.key_id} of {key.agent}\n"))


def _where(key: Key) -> str:
    return "the environment" if key.path is None else shown_path(key.path)


_tokens_option = click.option(
    "--tokens",
    "tokens_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The file of tokens. By default that of catmem.yaml, or one for each root below ~/.config/catmem/tokens.",
)


@click.group(
    cls=Group,
    examples=(
        "catmem token new trinity",
        "catmem token new anna --person",
        "catmem token list",
        "catmem token remove trinity --all",
    ),
)
def token() -> None:
    """Make, list and remove the tokens that callers of 'catmem serve' have.

    A token is shown once, when it is made. What is kept is its digest, in a file that only you may read.
    """


@token.command(
    "new",
    examples=(
        "catmem token new trinity",
        "catmem token new planner --scope read",
        "catmem token new anna --person",
        "catmem token new prometheus --scope metrics",
    ),
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
@common_options
def token_new(agent: str, profile: str | None, scope: str, tokens_path: str | None, *, person: bool) -> None:
    """Make a token for AGENT: an agent of catmem.yaml, or a profile. It sees and writes what that profile may."""
    from catmem.server.tokens import new_token, tokens_file

    if person and (profile is not None or scope == "metrics"):
        raise click.UsageError("--person excludes --profile and --scope metrics.")
    if scope == "metrics" and profile is not None:
        raise click.UsageError("--scope metrics excludes --profile.")
    config = _config_of()
    path = tokens_file(config, tokens_path)
    token, text = new_token(config, path, agent, profile=profile, person=person, scope=cast("Scope", scope))
    if in_json():
        emit_json({**token.to_dict(), "token": text, "path": str(path)})
        return
    emit(f"{text}\n")
    who = f"{token.label}, {_as_whom(token)}"
    say(f"This is the token of {who}. It is shown this once: keep it where only its user reads it.")
    say("Send it as: Authorization: Bearer TOKEN. A server that runs without tokens has to be started again.")


@token.command("list", examples=("catmem token list", "catmem token list trinity --format json"))
@click.argument("agent", required=False)
@_tokens_option
@common_options
def token_list(agent: str | None, tokens_path: str | None) -> None:
    """List the tokens of AGENT or of all: their ids, and what they are good for."""
    from catmem.server.tokens import read_tokens, tokens_file

    config = _config_of()
    path = tokens_file(config, tokens_path)
    there = read_tokens(path)
    tokens = [token for token in there if agent in {None, token.label}]
    wanted = None if there else _wanted(config, path)
    if in_json():
        emit_json({"path": str(path), "wanted": wanted, "tokens": [token.to_dict() for token in tokens]})
        return
    if not there:
        say(f"No tokens in {shown_path(path)}.")
    elif not tokens:
        say(f"{agent} has no token here.")
    if wanted is not None:
        say(f"This root wants tokens: {wanted}. {_NOT_SERVED}")
    rows = [(t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in tokens]
    emit(printable(columns(rows)))


@token.command("remove", examples=("catmem token remove trinity 4f0a61c2d9be", "catmem token remove trinity --all"))
@click.argument("agent")
@click.argument("token_id", required=False)
@click.option("--all", "every", is_flag=True, help="All tokens of the agent.")
@_tokens_option
@common_options
def token_remove(agent: str, token_id: str | None, tokens_path: str | None, *, every: bool) -> None:
    """Remove a token of AGENT: TOKEN_ID, or the only one. It is good no more at once, at a running server too."""
    from catmem.server.tokens import read_tokens, remove_tokens, tokens_file

    if every and token_id is not None:
        raise click.UsageError("TOKEN_ID and --all exclude each other.")
    config = _config_of()
    path = tokens_file(config, tokens_path)
    gone = remove_tokens(path, agent, token_id, every=every)
    if in_json():
        emit_json({"path": str(path), "removed": [token.to_dict() for token in gone]})
        return
    for token in gone:
        emit(printable(f"removed the token {token.token_id} of {token.label}\n"))
    say(f"They were in {shown_path(path)}.")
    if not read_tokens(path) and _wanted(config, path) is not None:
        say(f"That was the last one. {_NOT_SERVED}")


def _config_of() -> Config:
    from catmem.config.profile import refuse_no_root

    config = open_workspace().config
    refuse_no_root(config)
    return config


def _wanted(config: Config, path: Path) -> str | None:
    from catmem.server.tokens import why_wanted

    return why_wanted(config, path)


def _as_whom(token: Token) -> str:
    if token.scope == "metrics":
        return "for metrics"
    return "a person" if token.profile is None else f"acting as {token.profile}"
