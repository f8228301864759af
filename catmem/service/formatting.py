"""Format memory files on disk: find them, plan the new text of each, write it if nobody was there in between."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.model.layout import formatted, is_shared, repeated_entries
from catmem.reading import read_bounded
from catmem.service.rewrite import rewrite_file
from catmem.service.workspace import FILE_NAMES
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.model.document import Document
    from catmem.model.layout import Layout
    from catmem.service.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PlannedFormat:
    """One file's text before and after. ``repeated`` are entries that stand twice in a ``shared`` file."""

    path: Path
    layout: Layout
    old: str
    new: str
    repeated: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether the file is not in its layout yet."""
        return self.old != self.new


def memory_files(workspace: Workspace, paths: Iterable[str | Path]) -> list[Path]:
    """The files that ``paths`` name, in order, each once; a folder stands for every USER.md and MEMORY.md below it.

    Without any path, the files of the root's profiles that exist. A path that does not exist is kept, so that reading
    it says so.
    """
    named = [Path(path) for path in paths]
    if not named:
        every = (workspace.path(name, target) for name in workspace.profiles() for target in FILE_NAMES)
        return list(dict.fromkeys(path for path in every if path.exists()))
    found: list[Path] = []
    for path in named:
        if path.is_dir():
            found += sorted(file for name in FILE_NAMES.values() for file in path.rglob(name) if file.is_file())
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def format_document(document: Document, layout: Layout | None = None) -> tuple[Layout, str]:
    """The layout that a document is to have (by default the one it keeps to, else ``plain``) and its text in it."""
    chosen: Layout = layout or ("shared" if is_shared(document) else "plain")
    return chosen, formatted(document, chosen)


def plan_format(workspace: Workspace, path: Path, layout: Layout | None = None) -> PlannedFormat:
    """Read a file and work out its text in ``layout``. Raises ``UnreadableError`` and ``EditError``, with the path."""
    data = read_bounded(path, DEFAULT_LIMITS.file_bytes)
    try:
        document = workspace.parse(data)
        chosen, new = format_document(document, layout)
    except CatmemError as error:
        error.path = str(path)
        raise
    repeated = repeated_entries(document) if chosen == "shared" else []
    return PlannedFormat(path, chosen, document.text, new, tuple(repeated))


def apply_format(planned: PlannedFormat) -> None:
    """Write a planned text. Raises ``ChangedMeanwhileError`` and ``UnreadableError``; the file is then as it was."""
    if planned.changes:
        rewrite_file(planned.path, planned.old.encode(), planned.new.encode())
