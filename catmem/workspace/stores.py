"""The store of a root: where each entity's file is, and how two versions of a memory file are merged."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.config.profile import memory_dir
from catmem.errors import CatmemError, UnknownNameError
from catmem.names import FILE_NAMES
from catmem.store.contract import Merged
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.workspace.backends import Opening, backend_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.store.contract import Store


def open_store(
    config: Config,
    profile: Callable[[str], Profile],
    names: Iterable[str] = (),
    parse: Callable[[bytes], Document] | None = None,
    *,
    is_own: bool = True,
) -> Store:
    """The store that ``catmem.yaml`` names; see ``Opening`` for what is given.

    Raises ``ConfigError`` (``bad_store``), and ``StoreError`` if a library is missing, or the URL is none.
    """
    read = parse or config.taxonomy.parse
    return backend_of(config).open(Opening(config, profile, names, read, is_own))


def tier_of(profile: Callable[[str], Profile]) -> Callable[[str], int | None]:
    """The tier that the rows of an entity show. It is looked up once: rows show it, and nothing depends on it."""

    @cache
    def tier(entity: str) -> int | None:
        try:
            return profile(entity.partition("/")[0]).tier
        except CatmemError:
            return None  # a profile that is gone, or not right: its entries are there all the same

    return tier


def store_of_file(config: Config, path: Path) -> FileStore:
    """The store of the one file at ``path``, whatever entity is asked for; a link is followed to what it leads to."""
    real = path.resolve()
    place = Place(real.parent, (), real.name)
    return FileStore(
        lambda _: place,
        merge=lambda base, ours, theirs: merge_files(config, base, ours, theirs),
        durable=config.durability == "full",
    )


def locate(config: Config, profile: Callable[[str], Profile], entity: str) -> Place:
    """Where the file of an entity such as ``trinity/user`` is. Raises ``UnknownNameError`` and ``ConfigError``."""
    name, _, target = entity.partition("/")
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{entity!r} is not an entity",
            code="unknown_entity",
            hint="An entity is PROFILE/user (USER.md) or PROFILE/memory (MEMORY.md).",
        )
    owner = profile(name)
    path = memory_dir(owner, config) / FILE_NAMES[target]
    if owner.allow_outside:
        path = path.resolve()  # a link stays a link: the file that it leads to is written
    return place_of(config.root, path)


def place_of(root: Path, path: Path) -> Place:
    """The place of a file: no part of its path below the root may be a link, or none below what exists elsewhere."""
    folder, root = Path(os.path.abspath(path.parent)), root.resolve()  # noqa: PTH100 - links are judged on opening
    if folder.is_relative_to(root):
        return Place(root, folder.relative_to(root).parts, path.name)
    top = next(each for each in (folder, *folder.parents) if each.is_dir())
    return Place(top, folder.relative_to(top).parts, path.name)


def merge_files(config: Config, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Merge two versions of a memory file. Raises ``CatmemError`` if one of them is no text, or they do not merge."""
    from catmem.model.merge import merge

    merged = merge(*(config.taxonomy.parse(data) for data in (base, ours, theirs)))
    return Merged(merged.text.encode(), len(merged.conflicts))
