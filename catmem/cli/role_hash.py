"""``catmem role-hash``: the digest that an agent's envelopes name its role by."""

from __future__ import annotations

import click

from catmem.cli.options import format_option, open_workspace, root_option
from catmem.cli.output import emit, emit_json


@click.command(epilog="Examples: catmem role-hash trinity   catmem role-hash trinity --format json")
@click.argument("name")
@root_option
@format_option
def command(name: str, root_folder: str | None, *, as_json: bool) -> None:
    """Print the digest of the profile NAME, with everything that it inherits and that catmem.yaml says for it.

    An agent gives it as role_hash. When the profile changes the digest does, and envelopes with the old one are refused
    (role_drift) until the agent has read its profile again.
    """
    from catmem.service.envelopes.agents import agents_of, role_hash

    workspace = open_workspace(root_folder)
    profile = workspace.profile(name)
    digest = role_hash(profile)
    agents = sorted(agent for agent, bound in agents_of(workspace.config).items() if bound == profile.name)
    if as_json:
        emit_json({"profile": profile.name, "role_hash": digest, "agents": agents})
    else:
        emit(f"{digest}\n")
