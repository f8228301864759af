"""What no profile reads in a root: files beside another store, rows of no profile, rows that are no entries."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from catmem.config.json_schema import suggestion
from catmem.config.profile import memory_dir, profile_names
from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.files import read_bounded
from catmem.names import FILE_NAMES
from catmem.store.contract import Fault
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.stores import backend_of, shown_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.store.contract import Store
    from catmem.workspace.root import Root


_STRAY = "unknown_entity"
_OF_ROWS = frozenset({"changed_outside", "bad_rows"})


class UnreadFile(NamedTuple):
    """A file with entries of an entity that the store, which is not of files, does not have."""

    entity: str
    path: Path


# --- while reading or writing -------------------------------------------------------------------------------------


def unread_note(workspace: Root) -> str | None:
    """What to say before any work on a root whose store lacks what its files hold; ``None`` for nothing.

    Looks where files are by default, and reads no profile: every command asks this.
    """
    config = workspace.config
    if backend_of(config).has_files:
        return None
    try:
        names = profile_names(config.profiles_dir)
        unread = list(_unread(config, {name: config.home(name) for name in names}, lambda: workspace.store))
    except CatmemError:
        return None  # the work itself meets it, and tells it better
    if not unread:
        return None
    first, more = os.path.relpath(unread[0].path, config.root), len(unread) - 1
    files = f"{first} holds" if not more else f"{first} and {more} other file{'s' if more > 1 else ''} hold"
    try:
        remedy = _remedy(config, unread[0], workspace.store)
    except CatmemError:
        return None
    return f"{files} entries that no profile reads: the store is {shown_store(config.store)}. {remedy}"


def _remedy(config: Config, unread: UnreadFile, store: Store) -> str:
    """What to do about a file that no profile reads. Raises ``StoreError``.

    A copy goes into a database without any history. Where there is some, what the file says is added to it.
    """
    if all(store.head(entity) is None for entity in sorted({unread.entity, *_entities(config)})):
        return (
            f"'catmem store copy files {shown_store(config.store)}' brings the files there with their history; "
            "or say `store: files` in catmem.yaml"
        )
    name, _, target = unread.entity.partition("/")
    root = os.path.realpath(config.root)
    path = os.path.relpath(unread.path, config.root) if root == os.path.realpath(".") else str(unread.path)
    return (
        f"'catmem import --from hermes -p {name} -t {target} {shlex.quote(path)}' adds what it says and the store has "
        "not; then move the file away"
    )


def row_notes(workspace: Root, name: str, target: str | None = None) -> list[str]:
    """What to say of rows of a profile's files, or of one, that are no entries, and so are not shown.

    Raises ``StoreError`` and ``UnknownNameError``.
    """
    store, notes = workspace.store, []
    for entity in (f"{workspace.profile(name).name}/{each}" for each in ([target] if target else FILE_NAMES)):
        bad = store.bad_rows(entity)
        if bad:
            said = "; ".join(f"row {id_}: {what}" for id_, what in bad[:3])
            which = "1 row of it is no entry" if len(bad) == 1 else f"{len(bad)} rows of it are no entries"
            notes.append(f"{store.place(entity)}: {which}, and not shown: {said}")
    return notes


# --- for checks of the root ---------------------------------------------------------------------------------------


def look_over(config: Config, profiles: Iterable[Profile], store: Store) -> list[Fault]:
    """All that the store finds wrong, and what no profile reads, in true words. Raises ``StoreError``."""
    unread = unread_faults(config, profiles, store)
    strays = {fault.path for fault in unread if fault.code == _STRAY}
    # No write will ever take rows of no profile in, and no command shows them.
    found = (each for each in store.verify() if each.path not in strays or each.code not in _OF_ROWS)
    return [*found, *unread]


def unread_faults(config: Config, profiles: Iterable[Profile], store: Store) -> list[Fault]:
    """Rows of no profile, and files that say what the store never had. Raises ``StoreError``."""
    if backend_of(config).has_files:
        return []
    known = _entities(config)
    strays = [each for each in sorted(store.rows().items()) if each[0] not in known]
    return [
        *(_of_stray(known, entity, count, store.place(entity)) for entity, count in strays),
        *(_of_unread(config, each, store) for each in _unread(config, dict(_homes(config, profiles)), lambda: store)),
    ]


def _entities(config: Config) -> set[str]:
    files = {f"{name}/{target}" for name in profile_names(config.profiles_dir) for target in FILE_NAMES}
    return files | {*config.entities}


def _of_stray(known: set[str], entity: str, count: int, place: str) -> Fault:
    rows = "1 row is" if count == 1 else f"{count:,} rows are"
    hint = f"{suggestion(entity, known, 'entities')} Change `entity` of these rows, or delete them."
    message = f"{rows} of {entity!r}, which no profile has: {'it is' if count == 1 else 'they are'} never read"
    return Fault(_STRAY, message, place, hint, damage=False)


def _of_unread(config: Config, unread: UnreadFile, store: Store) -> Fault:
    message = f"the store of this root does not have what this file of {unread.entity} says, so it is never read"
    return Fault("unread_file", message, str(unread.path), f"{_remedy(config, unread, store)}.", damage=False)


def _unread(config: Config, homes: Mapping[str, Path], store: Callable[[], Store]) -> Iterator[UnreadFile]:
    """The files with entries whose text no revision of their entity has ever had; ``store`` is opened if need be."""
    for name, folder in homes.items():
        for target, file in FILE_NAMES.items():
            entity, path = f"{name}/{target}", folder / file
            data = _entries(config, path)
            if data is None:
                continue
            if not store().has_had(entity, bytes_digest(data)):
                yield UnreadFile(entity, path)


def _homes(config: Config, profiles: Iterable[Profile]) -> Iterator[tuple[str, Path]]:
    for profile in profiles:
        with suppress(CatmemError):  # a finding of its own, for those who look at profiles
            yield profile.name, memory_dir(profile, config)


def _entries(config: Config, path: Path) -> bytes | None:
    """The bytes of a file with entries, or of one that is not legible; ``None`` without any."""
    if not os.path.lexists(path):
        return None
    data = b""
    try:
        data = read_bounded(path, DEFAULT_LIMITS.file_bytes)
        return data if config.taxonomy.parse(data).entries else None
    except CatmemError:
        return data  # something is there that might be memory
