"""Format and mend memory files on disk: plan the new text of each, write it if no write came between.

What is mended are bytes that are no UTF-8. Writing it keeps a copy of the file as it was beside it.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from catmem.config.config import DeclaredEntity
from catmem.config.profile import found_once, is_root, one_reading
from catmem.entities.contents import content_of
from catmem.errors import CatmemError, EditError, NotUtf8Error, StoreError, UnreadableError, errors_at
from catmem.files import read_bounded, real_path, shown_path
from catmem.model.document import Document
from catmem.model.layout import Layout, formatted, is_shared, repeated_entries
from catmem.names import parts_of
from catmem.store.contract import Change
from catmem.text import MAX_FILE_BYTES, first_line, unmerged_warnings
from catmem.workspace.change_plan import ChangePlan, FileChange, RefusedChange, has_journal, write_file
from catmem.workspace.history import entity_of
from catmem.workspace.profile_memory import lost_entries
from catmem.workspace.root import Entities, Root, broken_profiles, entities_of_each
from catmem.workspace.stores import backend_of, memory_files_below
from catmem.workspace.upkeep import lasting_store

_SUFFIXES = (".md", ".markdown")
_TWICE = "stands more than once; stock Hermes Agent keeps only the first"
_TWICE_WIDTH = 60


def memory_files(workspace: Root, paths: Iterable[str | Path]) -> tuple[dict[Path, bool], Sequence[CatmemError]]:
    """The files that ``paths`` name, also those that are not there, and all below folders; else those of profiles.

    In order, each with whether a link is followed; and what is wrong with profiles that hide others.
    """
    named = [_named(path) for path in paths]
    if not named and not backend_of(workspace.config).has_files:
        said = "this root keeps its memory in a database, so it has no memory files"
        raise StoreError(said, code="not_here", hint="Name the files that are meant.")
    if not named:
        every = entities_of_each(workspace)
        follows = {each.name: each.allow_outside for each in every.profiles}
        there = {entity: path for entity, path in every.paths.items() if os.path.lexists(path)}
        return {path: follows[parts_of(name).owner] for name, path in there.items()}, every.unreadable
    found: dict[Path, bool] = {}
    for path in named:
        if path.is_dir():
            # A folder may have another author.
            found.update((file, False) for file in memory_files_below(path, workspace.root) if file not in found)
        else:
            _refuse_other_kinds(path)
            found[path] = True
    return found, ()


def _refuse_other_kinds(path: Path) -> None:
    if path.suffix.lower() not in _SUFFIXES and os.path.lexists(path):
        hint = f"Name files that end in {' or '.join(_SUFFIXES)}."
        message = "is not Markdown by its name, so it was not touched"
        raise UnreadableError(message, code="not_markdown", path=path, hint=hint)


def _named(path: str | Path) -> Path:
    # pathlib would read it as the working folder, and a variable that a script forgot to set would rewrite all below.
    if not os.fspath(path):
        raise UnreadableError("the path is empty", code="missing", hint="Name a file, or '.' for this folder.")
    return Path(path)


def plan_files(workspace: Root, paths: Iterable[str | Path], plan: Callable[..., FileChange]) -> ChangePlan:
    """What ``plan`` makes of each file that ``paths`` name, ``may_be_link`` or not; what is wrong is refused."""
    links, unreadable = memory_files(workspace, paths)
    changes: list[FileChange] = []
    refused: list[RefusedChange] = []
    with one_reading():
        for path, may_be_link in links.items():
            try:
                changes.append(plan(workspace, path, may_be_link=may_be_link))
            except CatmemError as error:
                refused.append(RefusedChange(shown_path(path), error))
    refused += [RefusedChange(shown_path(error.path or "profiles"), error) for error in unreadable]
    return ChangePlan(tuple(changes), refused=tuple(refused))


def read_memory_file(workspace: Root, path: Path, *, may_be_link: bool) -> Document:
    """Read and parse a file, through a link if it ``may_be_link``. Raises ``UnreadableError``, with the path."""
    try:
        data = read_bounded(path, MAX_FILE_BYTES, follow_symlink=may_be_link)
    except UnreadableError as error:
        if error.code == "symlink":
            error.hint = "The file that it leads to was left as it is. Name the link itself to have that file changed."
        raise
    return workspace.parse(data, path)


def plan_format(workspace: Root, path: Path, layout: Layout | None = None, *, may_be_link: bool = True) -> FileChange:
    """Read a file and work out its text in ``layout``, by default the one it keeps to, else ``plain``.

    Raises ``UnreadableError`` and ``EditError``, with the path.
    """
    document = read_memory_file(workspace, path, may_be_link=may_be_link)
    with errors_at(path):
        chosen: Layout = layout or ("shared" if is_shared(document) else "plain")
        new = formatted(document, chosen)
    name, repeated = shown_path(path), repeated_entries(document) if chosen == "shared" else []
    twice = (f"{name}: {_TWICE}: {first_line(raw, _TWICE_WIDTH)}" for raw in repeated)
    warnings = (*unmerged_warnings(name, new), *twice)
    return FileChange(path, entity_at(workspace, path), document.text.encode(), new.encode(), warnings)


def _by_place(workspace: Root) -> tuple[dict[Path, str], Entities]:
    found = entities_of_each(workspace)
    return {real_path(place): entity for entity, place in reversed(found.paths.items())}, found


def entity_at(workspace: Root, path: Path) -> str | None:
    """The entity that a file is, ``None`` for one of no profile of the root."""
    config = workspace.config
    if not (is_root(config) and backend_of(config).has_files):
        return None
    real, (by_place, found) = real_path(path), found_once((config.root, "places"), lambda: _by_place(workspace))
    if real in by_place:
        return by_place[real]
    # A write past a profile that is not right, and whose file it may be, would go past its rights too.
    for name, error in broken_profiles(workspace).items():
        if real_path(config.home(name)) == real.parent:
            raise error
    if found.unreadable and has_journal(path) and real.is_relative_to(real_path(config.root)):
        raise found.unreadable[0]
    return None


# --- mend memory files ------------------------------------------------------------------------------------------------


def plan_repair(workspace: Root, entity: str) -> ChangePlan:
    """What would mend the file of an entity."""
    name = entity_of(workspace, entity)
    data = workspace.store.peek(name)
    if (declared := workspace.config.entities.get(name)) is not None:
        _refuse_declared(workspace, declared, data)
    new, notes = data, ["nothing to repair: the file is UTF-8"]
    try:
        workspace.parse(data)
    except NotUtf8Error as error:
        if b"\0" in data:  # so have UTF-16 and what is no text, and never Windows-1252
            error.hint = (
                "It has NUL bytes, as UTF-16 has, so no repair guesses what it says. Convert it (iconv -f utf-16 -t "
                f"utf-8 FILE > NEW), or write an old revision again (catmem log {name}, catmem restore)."
            )
            raise
        new = data.decode(errors=_AS_WINDOWS).encode()
        notes = [f"{error.message}; its bytes that are no UTF-8 would be read as Windows-1252"]
        lost = lost_entries(workspace, name, new)
        notes += [str(lost)] if lost else []
    return ChangePlan((FileChange(None, name, data, new),), tuple(notes))


def _refuse_declared(workspace: Root, declared: DeclaredEntity, data: bytes) -> None:
    """Raise what is wrong with a declared entity, and how a person mends it; ``no_entries`` if nothing is."""
    try:
        content_of(declared, data)
    except UnreadableError as error:
        error.hint = f"It is in {workspace.store.place(declared.name)}, as it was. {error.hint}"
        raise
    message = f"{declared.name} has no entries to repair: it is a text or a JSON value, and can be read"
    hint = f"Write its content anew: catmem write {declared.name} FILE --expected REVISION."
    raise EditError(message, code="no_entries", hint=hint)


def write_repaired(workspace: Root, planned: FileChange) -> FileChange:
    """Write a repair, with a copy of what there was. Raises ``DriftError`` if the file is another one by now."""
    lasting_store(workspace).backup(str(planned.entity))
    return write_file(workspace, planned, Change(op="repair"))


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """A byte that is no UTF-8, read as Windows-1252, or as Latin-1 where that has nothing; and where to go on."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.start + 1]
    return bad.decode("cp1252", errors="ignore") or bad.decode("latin-1"), error.start + 1


_AS_WINDOWS = "catmem.windows-1252"
codecs.register_error(_AS_WINDOWS, _as_windows)
