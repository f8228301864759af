"""Reading what other programs remember: a function ``read(path) -> Imported`` a program.

Reading changes nothing, there or here; ``importing`` writes what was read, as a person's edit would.

What an importer keeps to:

- Nothing is lost in silence. All that the source says is in an entry, or in ``left_out`` with its place and the reason:
  fields, relations, titles, lines that are no entry, and files of a folder that are no text.
- It knows nothing of the root. ``kind`` is the other program's own word, and what has no tag goes to ``fields``;
  ``bringing`` finds the category and the tags, and leaves out what has none.
- A source of a form of its own, such as a graph, that is broken or of another program raises
  ``UnreadableError``. Nothing is guessed, and no half of it is read.
- What is read is bounded: files go through ``read_text``, ``read_data`` or ``markdown_files``, which hold to the limits
  of ``source_files``.
- Dates that the program gives are tags (``dated``). ``day`` is for an entry without any: the day of its file
  (``day_of_file``), or what else tells when it was written, and ``None`` if nothing does. The day of the import is
  neither: it dates no fact.
- Links out of a folder that was named are refused (``within``), and links in a folder are passed over. A file that was
  named itself may be a link. Hidden files and folders are passed over; pipes and devices are refused.
- Nothing there is changed, made or run, not for a moment.
- Every entry has a ``source`` (``source_tag``), unless the program has the tags of the format itself. It is the same on
  the next reading, and ``single`` says that no other entry has it.
- The same bytes give the same entries, in the order in which they stand there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catmem.plugins.importers.source_files import Imported
    from catmem.registry import Registry

SOURCES = {
    "hermes": "formats:read_hermes",
    "cheetahclaws": "formats:read_cheetahclaws",
    "claude": "formats:read_claude",
    "basic-memory": "formats:read_basic_memory",
    "mcp-memory": "formats:read_mcp_memory",
}
"""The programs, and the module and function that read the files of each."""


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_operation(
        "import",
        "catmem.plugins.importers.operations",
        heading="Connect agents",
        said="Bring in what another program remembers.",
        is_first=True,
    )
    for program, place in SOURCES.items():
        registry.add_importer(program, f"catmem.plugins.importers.{place}")


def read(source: str, path: str | Path) -> Imported:
    """What the program ``source``, whose importer a plugin adds, keeps in the file or folder ``path``."""
    from pathlib import Path

    from catmem.plugins.importers.source_files import refuse_too_many
    from catmem.registry import at, registry

    found: Imported = at(registry().importers[source])(Path(path))
    refuse_too_many(len(found.entries), Path(path))
    return found
