"""Roots that declare two entities, in files and in SQLite."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catmem.workspace.workspace import Workspace
from tests.golden.case import put

CONFIG = """\
version: 1
entities:
  "project:alpha": {content: json, writers: [neo, trinity], readers: [mouse]}
  "notes:alpha": {content: text, writers: [neo]}
"""
ALPHA, NOTES = "project:alpha", "notes:alpha"
DATABASE = "store: sqlite:///.catmem/memory.db\n"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    """Opens a root with more lines in its configuration, or with another one."""
    made: list[Workspace] = []

    def opened(more: str = "", config: str = CONFIG) -> Workspace:
        put(tmp_path / "catmem.yaml", config + more)
        for name in ("neo", "trinity", "mouse", "switch"):
            put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\n")
        put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
        made.append(Workspace.open(tmp_path, search=False))
        return made[-1]

    yield opened
    for each in made:
        each.store.close()


@pytest.fixture(params=["", DATABASE], ids=["files", "sqlite"])
def any_root(request: pytest.FixtureRequest, make: Callable[..., Workspace]) -> Workspace:
    return make(request.param)


@pytest.fixture
def root(make: Callable[..., Workspace]) -> Workspace:
    return make()


def file_of(workspace: Workspace) -> Path:
    """The file of ``project:alpha``."""
    return workspace.root / "entities" / "project%3Aalpha" / "content.json"
