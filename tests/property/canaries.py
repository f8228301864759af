"""A root of which a profile sees a part: in every hidden place of its text stands a canary, which no answer may show."""

from pathlib import Path

from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import put_bytes
from tests.store.memory import InMemoryStore

CANARY = "CANARY-4f1c"
CONFIG = {
    "open": "taxonomy: {categories: {talk: {title: Talk}, vault: {title: Vault, aliases: [hush]}, canary-4f1c: {}}}\n",
    "closed": "taxonomy: {closed: true, categories: {talk: {}, rules: {}, drop: {}, vault: {aliases: [hush]}, canary-4f1c: {}}}\n",
}
PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nmemory_categories: [talk]\nwritable_categories: [talk, drop]\nlimits: {user: 900}\n",
    "other": "user_memory_categories: ['*']\nwritable_categories: ['*']\n",
}
TEXT = """\
# Title {canary}

{canary} without a category

## Talk
[verified_date: 2026-01-01] short answers
§
no calls, please

## {vault}
[source: {canary}] {canary} in the vault, short answers
§
§
```
{canary} unclosed

## Rules
be kind

## Drop
{canary} dropped
"""
HIDDEN = {"vault", "drop", "__uncategorized__"}


def text_with(canary: str, vault: str = "Vault") -> str:
    return TEXT.format(canary=canary, vault=vault)


def write_root(place: Path, config: str) -> Path:
    """A root with these two profiles."""
    put(place / "catmem.yaml", config)
    for name, text in PROFILES.items():
        put(place / "profiles" / f"{name}.yaml", text)
    return place


def opened(folder: Path, text: str) -> Workspace:
    """The root, in which each file has this text."""
    workspace = Workspace.open(folder, search=False, store=InMemoryStore())
    for entity in ("neo/user", "neo/memory", "other/user"):
        put_bytes(workspace, entity, text)
    return workspace
