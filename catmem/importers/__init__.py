"""Reading what other programs remember: one module a program, each with ``read(path) -> Imported``.

Reading changes nothing, there or here; ``catmem.importers.bringing`` writes what was read, as a person's edit would.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.importers.reading import Imported

SOURCES = {
    "hermes": "hermes",
    "docker-agent": "docker_agent",
    "cheetahclaws": "cheetahclaws",
    "claude": "claude",
    "basic-memory": "basic_memory",
    "mcp-memory": "mcp_memory",
}
"""The programs, and the module that reads the files of each."""


def read(source: str, path: str | Path) -> Imported:
    """What the program ``source`` keeps in the file or folder ``path``.

    Raises ``UnreadableError`` and its kinds, ``SourceError`` for what is there and not what that program writes.
    """
    from pathlib import Path

    from catmem.importers.reading import refuse_too_many

    found: Imported = import_module(f"catmem.importers.{SOURCES[source]}").read(Path(path))
    refuse_too_many(len(found.entries), Path(path))
    return found
