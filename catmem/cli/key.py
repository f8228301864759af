"""``catmem key``: the keys that agents sign their envelopes with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_workspace, root_option
from catmem.cli.output import columns, emit, emit_json, printable, say, shown_path

if TYPE_CHECKING:
    from catmem.service.envelopes.agents import Key


@click.group(epilog="Examples: catmem key new trinity   catmem key list   catmem key remove trinity --all")
def command() -> None:
    """Make, list and remove the keys that agents sign their envelopes with.

    A key is a file <agent>.<key_id> that only you may read, in a folder outside of the root, which goes by the root's
    path ('catmem key list' names it) or is signing.keys of catmem.yaml; or it is in the variable CATMEM_KEY_<AGENT>, as
    KEY_ID:HEX.
    """


@command.command(epilog="Examples: catmem key new trinity   catmem key new person")
@click.argument("agent")
@root_option
@format_option
def new(agent: str, root_folder: str | None, *, as_json: bool) -> None:
    """Make a key for AGENT, which signs from now on. Older ones verify until they are removed.

    AGENT is an agent of catmem.yaml, a profile, or person.
    """
    from catmem.service.envelopes.agents import new_key

    config = open_workspace(root_folder).config
    key = new_key(config, agent)
    if as_json:
        emit_json(key.to_dict())
        return
    emit(printable(f"{key.agent} signs with the key {key.key_id} now\n"))
    say(printable(f"It is in {_where(key)}. Who has this file can write as {key.agent}."))
    if config.signing.keys is None:
        say("This folder goes by the path of the root: a root that is moved or copied has another one.")


@command.command("list", epilog="Examples: catmem key list   catmem key list trinity --format json")
@click.argument("agent", required=False)
@root_option
@format_option
def list_(agent: str | None, root_folder: str | None, *, as_json: bool) -> None:
    """List the keys of AGENT or of all agents, without their secrets. The newest of each signs."""
    from catmem.service.envelopes.agents import all_keys, keys_folder, refuse_bad_agent

    config = open_workspace(root_folder).config
    if agent is not None:
        refuse_bad_agent(agent)
    keys = [key for key in all_keys(config) if agent in {None, key.agent}]
    newest = {key.agent: key for key in keys}
    if as_json:
        listed = [{**key.to_dict(), "signs": newest[key.agent] is key} for key in keys]
        emit_json({"folder": str(keys_folder(config)), "keys": listed})
        return
    if not keys:
        say("No keys here." if agent is None else printable(f"{agent} has no key here."))
    say(printable(f"The keys of this root are in {shown_path(keys_folder(config))}."))
    rows: list[tuple[str, ...]] = [
        (key.agent, key.key_id, "signs" if newest[key.agent] is key else "verifies", _where(key)) for key in keys
    ]
    emit(printable(columns(rows)))


@command.command(epilog="Examples: catmem key remove trinity 20261121t120000   catmem key remove trinity --all")
@click.argument("agent")
@click.argument("key_id", required=False)
@click.option("--all", "every", is_flag=True, help="All keys of the agent.")
@root_option
@format_option
def remove(agent: str, key_id: str | None, root_folder: str | None, *, every: bool, as_json: bool) -> None:
    """Remove a key of AGENT: KEY_ID, or the only one. What it signed and is not written yet is refused from now on."""
    from catmem.service.envelopes.agents import remove_keys

    if every and key_id is not None:
        raise click.UsageError("KEY_ID and --all exclude each other.")
    gone = remove_keys(open_workspace(root_folder).config, agent, key_id, every=every)
    if as_json:
        emit_json({"removed": [key.to_dict() for key in gone]})
        return
    for key in gone:
        emit(printable(f"removed the key {key.key_id} of {key.agent}\n"))


def _where(key: Key) -> str:
    return "the environment" if key.path is None else shown_path(key.path)
