"""A root whose agents write by envelopes, and envelopes that are as they should be but for one thing."""

from pathlib import Path
from typing import Any

from catmem.envelopes.agents import new_key
from catmem.envelopes.envelope import content_hash, from_fields
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nmemory_categories: [talk]\nwritable_categories: [talk, drop]\n"
    "limits: {user: 900}\n",
    "other": "user_memory_categories: ['*']\nwritable_categories: ['*']\n",
    "boss": "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\ninclude_uncategorized: true\n",
}
TEXT = """\
# Title

without a category

## Talk
[verified_date: 2026-01-01] short answers
§
no calls before ten in the morning, please

## Rules
be kind

## Drop
hidden drop

## Vault
hidden vault
"""


def make_files(folder: Path, config: str = "") -> None:
    """A root on disk, of which ``neo`` has a file."""
    put(folder / "catmem.yaml", config or "version: 1\n")
    for name, text in PROFILES.items():
        put(folder / "profiles" / f"{name}.yaml", text)
    put(folder / "homes" / "neo" / "USER.md", TEXT)


def signed_root(folder: Path, config: str = "") -> Workspace:
    """A root that takes signed envelopes alone, with a key for each agent."""
    make_files(folder / "root", f"signing: {{required: true, keys: {folder / 'keys'}}}\n{config}")
    workspace = Workspace.open(folder / "root", search=False)
    for agent in (*PROFILES, "person"):
        new_key(workspace.config, agent)
    return workspace


def resigned(workspace: Workspace, fields: dict[str, Any], agent: str | None = None, **changes: Any) -> dict[str, Any]:
    """The fields with changes, a hash that fits, and the signature of the agent, or of another."""
    from catmem.envelopes.agents import signing_key

    changed = {**fields, **changes}
    if "mem_hash" not in changes:
        changed["mem_hash"] = content_hash(changed["content"])
    key = signing_key(workspace.config, agent or changed["agent_id"])
    assert key is not None
    return jsonable(from_fields(changed).signed(key.key_id, key.secret))
