"""Format memory files on disk: find them, plan the new text of each, write it if no write came between."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catmem.config.config import find_root
from catmem.config.profile import profile_names
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ConfigError, StoreError, UnreadableError
from catmem.files import read_bounded, rewrite_file
from catmem.model.layout import formatted, is_shared, repeated_entries
from catmem.names import FILE_NAMES
from catmem.store.contract import SIDECAR, Change
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.root import load_each
from catmem.workspace.stores import backend_of, store_of_file
from catmem.writing import gate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.model.layout import Layout
    from catmem.workspace.root import Root

_SUFFIXES = (".md", ".markdown")


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


class MemoryFiles(NamedTuple):
    """Memory files, in order, each with whether a link is followed; ``unreadable`` are profiles that hide others."""

    links: dict[Path, bool]
    unreadable: tuple[CatmemError, ...] = ()


def memory_files(workspace: Root, paths: Iterable[str | Path]) -> MemoryFiles:
    """The files that ``paths`` name, also those that are not there, and all below folders; else those of profiles."""
    named = [_named(path) for path in paths]
    if not named and not backend_of(workspace.config).has_files:
        raise StoreError(
            "this root keeps its memory in a database, so it has no memory files",
            code="not_here",
            hint="Name the files that are meant.",
        )
    if not named:
        return _of_profiles(workspace)
    found: dict[Path, bool] = {}
    for path in named:
        if path.is_dir():
            # A folder may have another author.
            found.update((file, False) for file in _below(path) if file not in found)
        else:
            _refuse_other_kinds(path)
            found[path] = True
    return MemoryFiles(found)


def _places(workspace: Root) -> tuple[list[tuple[Profile, dict[str, Path]]], list[CatmemError]]:
    """Where the files of each profile are, and what is wrong with the others."""
    profiles, unreadable = load_each(workspace)
    found: list[tuple[Profile, dict[str, Path]]] = []
    for profile in profiles:
        try:
            found.append((profile, {target: workspace.path_of(profile, target) for target in FILE_NAMES}))
        except CatmemError as error:
            unreadable.append(error)
    return found, unreadable


def _of_profiles(workspace: Root) -> MemoryFiles:
    found, unreadable = _places(workspace)
    existing = {
        path: profile.allow_outside for profile, paths in found for path in paths.values() if os.path.lexists(path)
    }
    if not existing and not unreadable and workspace.config.path is None:
        # With --root only that folder was looked at, and there may be a root above it.
        where = "here or above" if find_root(workspace.root) is None else "in this folder"
        hint = "Name the files, name the root with --root, or make one with 'catmem init'."
        message = f"no catmem.yaml was found {where}, and no memory files"
        raise ConfigError(message, code="no_root", path=workspace.root, hint=hint)
    return MemoryFiles(existing, tuple(unreadable))


def _below(folder: Path) -> list[Path]:
    """Whatever is called as a memory file is below a folder, and the folders there that cannot be listed."""
    closed: list[OSError] = []
    found = {
        Path(where) / name
        for where, folders, files in os.walk(folder, onerror=closed.append)
        for name in (*folders, *files)
        if name in FILE_NAMES.values()
    }
    return sorted(found | {Path(error.filename) for error in closed})


def _refuse_other_kinds(path: Path) -> None:
    if path.suffix.lower() not in _SUFFIXES and os.path.lexists(path):
        raise UnreadableError(
            "is not Markdown by its name, so it was not touched",
            code="not_markdown",
            path=path,
            hint=f"Name files that end in {' or '.join(_SUFFIXES)}. On standard input ('catmem fmt -', "
            "'catmem migrate -') a text may have any name.",
        )


def _named(path: str | Path) -> Path:
    # pathlib would read it as the working folder, and a variable that a script forgot to set would rewrite all below.
    if not os.fspath(path):
        raise UnreadableError("the path is empty", code="missing", hint="Name a file, or '.' for this folder.")
    return Path(path)


def format_document(document: Document, layout: Layout | None = None) -> tuple[Layout, str]:
    """The layout that a document is to have (by default the one it keeps to, else ``plain``) and its text in it."""
    chosen: Layout = layout or ("shared" if is_shared(document) else "plain")
    return chosen, formatted(document, chosen)


def plan_format(
    workspace: Root, path: Path, layout: Layout | None = None, *, may_be_link: bool = True
) -> PlannedFormat:
    """Read a file and work out its text in ``layout``. Raises ``UnreadableError`` and ``EditError``, with the path."""
    try:
        data = read_bounded(path, DEFAULT_LIMITS.file_bytes, follow_symlink=may_be_link)
    except UnreadableError as error:
        if error.code == "symlink":
            error.hint = (
                "The file that it leads to was left as it is. Name the link itself to have that file formatted."
            )
        raise
    try:
        document = workspace.parse(data)
        chosen, new = format_document(document, layout)
    except CatmemError as error:
        error.path = str(path)
        raise
    repeated = repeated_entries(document) if chosen == "shared" else []
    return PlannedFormat(path, chosen, document.text, new, tuple(repeated))


def apply_format(workspace: Root, planned: PlannedFormat) -> None:
    """Write a planned text: through the store where the file is in one, else in place of the file."""
    if not planned.changes:
        return
    old, new = planned.old.encode(), planned.new.encode()
    commit_file(workspace, planned.path, entity_at(workspace, planned.path), (old, new), Change(op="fmt"))


def commit_file(workspace: Root, path: Path, entity: str | None, texts: tuple[bytes, bytes], change: Change) -> None:
    """Put the second of two texts in place of the first: through the store of the file, if it has one."""
    old, new = texts
    if entity is None and not has_journal(path):
        rewrite_file(path, old, new)
        return
    with closing(store_of_file(workspace.config, path)) as store:
        if entity is None:
            store.commit(str(path), bytes_digest(old), lambda _: new, change)
        else:
            gate.commit(workspace, entity, bytes_digest(old), lambda _: new, change, store)


def has_journal(path: Path) -> bool:
    """Whether a file lies in a folder that a store has used before. A root keeps other things in ``.catmem`` too."""
    return os.path.lexists(path.resolve().parent / SIDECAR / "journal")


def entity_at(workspace: Root, path: Path) -> str | None:
    """The entity that a file is, ``None`` for one of no profile of the root."""
    if not backend_of(workspace.config).has_files:
        return None
    real, (found, unreadable) = path.resolve(), _places(workspace)
    for profile, paths in found:
        for target, place in paths.items():
            if place.resolve() == real:
                return f"{profile.name}/{target}"
    config, right = workspace.config, {profile.name for profile, _ in found}
    # A write past a profile that is not right, and whose file it may be, would go past its rights too.
    for name in profile_names(config.profiles_dir) if unreadable else ():
        if name not in right and config.home(name).resolve() == real.parent:
            workspace.profile(name)  # which says what is wrong with it
    if unreadable and has_journal(path) and real.is_relative_to(config.root.resolve()):
        raise unreadable[0]
    return None
