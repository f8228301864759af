"""The store of a root: the kinds of stores that ``store`` of catmem.yaml may name, and where each keeps an entity.

A new store is a plugin that adds one (``catmem.registry``), with its form in ``schemas/config.schema.json``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache, partial
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from catmem.config.config import CONFIG_NAME, Config, DeclaredEntity
from catmem.config.profile import Profile, found_once, is_inside, memory_dir, named_entities
from catmem.errors import CatmemError, ConfigError, MergeConflictError, StoreError, UnknownNameError
from catmem.files import real_path
from catmem.model.document import Document
from catmem.names import DECLARED_RULE, FILE_NAMES, HERMES_FOLDER, parts_of
from catmem.registry import at, registry, unloaded
from catmem.resources import schema

if TYPE_CHECKING:
    from catmem.store.contract import Merged, Store
    from catmem.store.files.file_store import FileStore
    from catmem.store.files.folder import Place


ENTITIES = "entities"
"""The folder of a root in which each declared entity has a folder."""

CONTENT_FILES: Mapping[Literal["text", "json"], str] = {"text": "content.txt", "json": "content.json"}
"""The file of a declared entity, by what it holds."""

MARKS_OF_DATABASES = ".catmem/database-*.json"
"""What a root keeps of each database that it was in."""

_NOT_OURS = frozenset({"node_modules", "__pycache__", "venv"})


def open_store(
    config: Config,
    profile: Callable[[str], Profile],
    names: Iterable[str] = (),
    parse: Callable[[bytes], Document] | None = None,
    *,
    is_own: bool = True,
) -> Store:
    """The store that ``catmem.yaml`` names; see ``Opening`` for what is given."""
    read = parse or config.taxonomy.parse
    return backend_of(config).open(Opening(config, profile, names, read, is_own))


def tier_of(profile: Callable[[str], Profile]) -> Callable[[str], int | None]:
    """The tier that the rows of an entity show. It is looked up once: rows show it, and nothing depends on it."""

    @cache
    def tier(entity: str) -> int | None:
        try:
            return profile(parts_of(entity).owner).tier
        except CatmemError:
            return None  # a profile that is gone, or not right: its entries are there all the same

    return tier


def store_of_file(config: Config, path: Path) -> FileStore:
    """The store of the one file at ``path``, whatever entity is asked for; a link is followed to what it leads to."""
    from catmem.store.files.file_store import FileStore
    from catmem.store.files.folder import Place

    real = real_path(path)
    place = Place(real.parent, (), real.name)
    return FileStore(lambda _: place, merge=partial(merge_files, config), durable=config.durability == "full")


def locate(config: Config, profile: Callable[[str], Profile], entity: str) -> Place:
    """Where the file of an entity such as ``trinity/user`` is. Raises ``UnknownNameError`` and ``ConfigError``."""
    declared = config.entities.get(entity)
    if declared is not None:
        folder = config.root / ENTITIES / entity.replace(":", "%3A")
        return place_of(config.root, folder / CONTENT_FILES[declared.content])
    name, target = parts_of(entity)
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{entity!r} is not an entity",
            code="unknown_entity",
            hint=f"A file is PROFILE/user (USER.md) or PROFILE/memory (MEMORY.md). {DECLARED_RULE}",
        )
    owner = profile(name)

    def place() -> Place:
        path = memory_dir(owner, config) / FILE_NAMES[target]
        # A link stays a link: the file that it leads to is written.
        return place_of(config.root, real_path(path) if owner.allow_outside else path)

    return found_once((config.root, entity, owner.memory_dir), place)


def homes_there(config: Config) -> dict[str, Path]:
    """What stands where ``homes`` has those of profiles, by the name that a profile there would have."""
    before, _, after = os.path.join(config.root, config.home_template).partition("{name}")  # noqa: PTH118 - kept slash
    found = sorted(glob(f"{escape(before)}*{escape(after)}"))  # noqa: PTH207 - a pattern that may be absolute
    return {home[len(before) : len(home) - len(after)]: Path(home) for home in found}


_homes_there: dict[Path, Path] = {}
"""A home of each root that was there at the last look, so that a fleet is not listed for each that has none."""


def refuse_lost_homes(config: Config, profile: Callable[[str], Profile], home: Path) -> None:
    """Raise ``StoreError`` (``lost_homes``) if a home is gone as all are, and the audit log tells of a write to one."""
    if any(map(os.path.lexists, (home, _homes_there.get(config.root, home)))):
        return
    for there in homes_there(config).values():
        _homes_there[config.root] = there
        return
    from catmem.store.audit_log import AuditLog

    written = AuditLog(config.root / ".catmem").first_written({*named_entities(config)} - {*config.entities})
    if written is not None and not os.path.lexists(lost := memory_dir(profile(parts_of(written).owner), config)):
        raise StoreError(
            "the folders of all memory files are gone, and this root was written to before",
            code="lost_homes",
            path=lost,
            hint="Nothing was read or written. Mount them, or bring them back from a backup or from git. 'catmem fsck' "
            "says if the memory is in a database. If all this is meant, make this folder.",
        )


def place_of(root: Path, path: Path) -> Place:
    """The place of a file: no part of its path below the root may be a link, or none below what exists elsewhere."""
    folder, top = os.path.abspath(path.parent), os.path.realpath(root)  # noqa: PTH100 - links are judged on opening
    if not is_inside(folder, top):
        top = next(os.fspath(each) for each in (Path(folder), *Path(folder).parents) if each.is_dir())
    return _place(top, folder, path.name)


@lru_cache(1024)
def _place(top: str, folder: str, name: str) -> Place:
    """The place of a file by plain texts, which are made of it before every write."""
    from catmem.store.files.folder import Place

    return Place(Path(top), Path(folder).relative_to(top).parts, name)


def merge_files(config: Config, file: str, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Merge two versions of the file of an entity, by its name. Raises ``CatmemError`` if they do not merge."""
    from catmem.store.contract import Merged

    declared = next((DeclaredEntity(file, kind) for kind, name in CONTENT_FILES.items() if name == file), None)
    if declared is not None:
        from catmem.entities.contents import merge_contents

        merged_content = merge_contents(declared, base, ours, theirs)
        if merged_content.conflicts:
            raise MergeConflictError("both sides changed the same place")
        return Merged(merged_content.data, 0)
    from catmem.model.merge import merge

    merged = merge(*(config.taxonomy.parse(data) for data in (base, ours, theirs)))
    return Merged(merged.text.encode(), len(merged.conflicts))


class Opening(NamedTuple):
    """What a store is opened with.

    ``profile`` finds a profile by its name; ``names`` are the profiles whose entities ``verify`` looks at in files.
    ``parse`` is how the root reads a document. ``is_own``: it is the store of the root, and not one to copy from or to.
    """

    config: Config
    profile: Callable[[str], Profile]
    names: Iterable[str]
    parse: Callable[[bytes], Document]
    is_own: bool


class Backend(NamedTuple):
    """A kind of store.

    ``has_files``: each entity is a Markdown file in the
    folder of its profile, which other programs edit. ``file`` is the one file that all of the store is in, if it is.
    ``below`` finds the stores of the kind whose one file lies in a root and that it does not use, by name.
    ``scratch`` gives the name of a store that is there for a moment, at or below that of a root, and removes all of it
    afterwards; a store that is nowhere but in the folders of its root has nothing to remove. What ``settling`` gives is
    called when another store has all that this one had then: it is none of those that ``left`` finds any more.
    """

    open: Callable[[Opening], Store]
    has_files: bool = False
    file: Callable[[Config], Path | None] = lambda _: None
    below: Callable[[Config], Mapping[str, Path]] = lambda _: {}
    scratch: Callable[[Config], AbstractContextManager[str]] = lambda config: nullcontext(config.store)
    settling: Callable[[Config], Callable[[], None]] = lambda _: lambda: None
    left: Callable[[Config], Mapping[Path, str]] = lambda _: {}


def _open_files(opening: Opening) -> Store:
    from catmem.store.files.file_store import FileStore

    config = opening.config

    def place(entity: str) -> Place:
        found = locate(config, opening.profile, entity)
        if opening.is_own and entity not in config.entities:
            refuse_lost_homes(config, opening.profile, found.home)
        return found

    return FileStore(
        place,
        [*(f"{name}/{target}" for name in opening.names for target in FILE_NAMES), *config.entities],
        merge=partial(merge_files, config),
        durable=config.durability == "full",
    )


_FILES = Backend(_open_files, has_files=True)


def backend_of(config: Config) -> Backend:
    """The kind of store that ``store`` of a root names. Raises ``ConfigError`` (``bad_store``)."""
    scheme = config.store.partition(":")[0]
    if scheme == "files":
        return _FILES
    place = registry().stores.get(scheme)
    if place is None:
        raise _bad_store(config.store)
    backend: Backend = at(place)
    return backend


def other_stores(config: Config) -> dict[str, Path]:
    """The stores that a root may hold besides its own, by name, and where they are."""
    found = {} if backend_of(config).has_files else {"files": config.root}
    for place in registry().stores.values():
        found |= at(place).below(config)
    return found


def left_stores(config: Config) -> dict[Path, str]:
    """The marks of stores that a root of files was in, and whose memory no other has, with their names."""
    found: dict[Path, str] = {}
    if backend_of(config).has_files and any(config.root.glob(MARKS_OF_DATABASES)):
        for place in registry().stores.values():
            found |= at(place).left(config)
    return found


def refuse_no_store(where: str) -> None:
    """Raise ``ConfigError`` (``bad_store``) for what is not written as a store in catmem.yaml."""
    if not re.fullmatch(schema("config")["properties"]["store"]["pattern"], where):
        raise _bad_store(where)


def _bad_store(where: str) -> ConfigError:
    return ConfigError(
        f"{shown_store(where)!r} names no store",
        code="bad_store",
        hint="Say files, sqlite:///.catmem/memory.db (three slashes: from the root; four: a whole path) or "
        f"postgresql://host/database.{''.join(f' {each.message}.' for each in unloaded())}",
    )


def memory_files_below(folder: Path, root: Path) -> list[Path]:
    """Whatever is called as a memory file, and the folders that cannot be listed; other roots are left out."""
    closed: list[OSError] = []
    found: list[Path] = []
    for where, folders, files in os.walk(folder, onerror=closed.append):
        if CONFIG_NAME in files and Path(where) not in {folder, root}:
            folders.clear()
            continue
        found += [Path(where, name) for name in (*folders, *files) if name in FILE_NAMES.values()]
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_OURS]
    return sorted([*found, *(Path(error.filename) for error in closed)])


def hermes_edits(config: Config, profile: Profile) -> bool:
    """Whether stock Hermes Agent may edit the files of a profile: their folder is called as its own are."""
    return backend_of(config).has_files and memory_dir(profile, config).name == HERMES_FOLDER


def places(config: Config, profile: Profile) -> Mapping[str, Path]:
    """Where each entity of a profile is, for a person: its file, or a name such as ``sqlite:trinity/user``."""
    if not backend_of(config).has_files:
        return {target: Path(entity_name(config, f"{profile.name}/{target}")) for target in FILE_NAMES}
    folder = memory_dir(profile, config)
    return {target: folder / name for target, name in FILE_NAMES.items()}


def entity_name(config: Config, entity: str) -> str:
    """The name of an entity that is no file, such as ``sqlite:trinity/user``."""
    return f"{config.store.partition(':')[0]}:{entity}"


def shown_store(where: str) -> str:
    """The name of a store as it may be shown: without the password that a URL may hold."""
    scheme, slashes, rest = where.partition("://")
    before, at, host = rest.rpartition("@") if slashes else ("", "", "")
    name = f"{scheme}://{before.partition(':')[0]}@{host}" if at else where
    return re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", name)
