"""Roots for tests: a configuration and profiles on disk, and memory files in a store that lives in memory."""

from collections.abc import Mapping
from pathlib import Path

from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.store.memory import InMemoryStore


def make_root(
    folder: Path, *, config: str = "", profiles: Mapping[str, str], files: Mapping[str, str | bytes] | None = None
) -> Workspace:
    """A workspace on a store in memory. ``files`` are by entity (``neo/user``), the rest is YAML."""
    put(folder / "catmem.yaml", config or "version: 1\n")
    for name, text in profiles.items():
        put(folder / "profiles" / f"{name}.yaml", text or "{}\n")
    workspace = Workspace.open(folder, search=False, store=InMemoryStore())
    for entity, text in (files or {}).items():
        put_bytes(workspace, entity, text)
    return workspace


def put_bytes(workspace: Workspace, entity: str, text: str | bytes) -> str:
    """Make these the bytes of an entity, whatever they are; the new revision."""
    data = text if isinstance(text, bytes) else text.encode()
    written = workspace.store.commit(entity, None, lambda _: data, Change())
    assert written.revision is not None
    return written.revision


def text_of(workspace: Workspace, entity: str = "neo/user") -> str:
    """The text of an entity as it is now."""
    return workspace.store.peek(entity).decode()


def newest(workspace: Workspace, entity: str = "neo/user") -> str:
    """The newest revision of an entity that has one."""
    head = workspace.store.head(entity)
    assert head is not None
    return head.revision
