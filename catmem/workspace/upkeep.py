"""Looking after the stores of a root: faults, the ends of journals, what this machine gives, what no profile reads."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from catmem.config.config import Config
from catmem.config.json_schema import suggestion
from catmem.config.profile import Profile, is_inside, memory_dir, named_entities, profile_names, refuse_no_root
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ConfigError, NotUtf8Error, StoreError, UnreadableError
from catmem.files import read_bounded, shown_path
from catmem.names import FILE_NAMES, parts_of
from catmem.store.contract import SIDECAR, Anchor, Fault, FolderReport, LastingStore, Store
from catmem.store.files.retention import copied_name
from catmem.store.table_rows import copies
from catmem.text import MAX_FILE_BYTES, counted, few
from catmem.workspace.profile_memory import mend_hint
from catmem.workspace.root import Root, entities_of_each
from catmem.workspace.stores import backend_of, homes_there, left_stores, shown_store


def lasting_store(workspace: Root) -> LastingStore:
    """The store of a root that can be looked after."""
    refuse_no_root(workspace.config)  # a check of nothing would report that all is well
    if isinstance(workspace.store, LastingStore):
        return workspace.store
    raise StoreError("this root keeps nothing on a disk", code="not_here", hint="This command is for stores that last.")


# --- fsck ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What is not as it should be, and what was mended."""

    faults: tuple[Fault, ...]
    done: tuple[str, ...]
    unreadable: tuple[CatmemError, ...] = ()
    __json__ = "damaged faults done unreadable"

    @property
    def damaged(self) -> bool:
        """Whether anything is lost or at odds; the rest is for information."""
        return any(fault.damage for fault in self.faults)


def fsck(workspace: Root, *, repair: bool = False) -> FsckReport:
    """Look over every store of the root; with ``repair`` mend what is safe to mend first."""
    store, entities = lasting_store(workspace), entities_of_each(workspace)
    if lost := [*_lost_homes(workspace, entities.profiles)]:
        return FsckReport((*lost, *_left_databases(workspace.config)), (), entities.unreadable)
    done = store.mend() if repair else []
    found = [*look_over(workspace.config, entities.profiles, store), *_not_text(workspace, entities.paths)]
    found += _recovery_copies(workspace.root, entities.paths.values())
    return FsckReport(tuple(found), tuple(done), entities.unreadable)


def _lost_homes(workspace: Root, profiles: Iterable[Profile]) -> Iterator[Fault]:
    """Whether the folders of all memory files are gone from a root that was written to before."""
    homes = [folder for _, folder in _homes(workspace.config, profiles)]
    # What a declared entity holds lies beside them, so that nothing was written to a file may be right.
    written = (workspace.root / SIDECAR).is_dir() and not workspace.config.entities
    if backend_of(workspace.config).has_files and homes and written and not any(map(os.path.lexists, homes)):
        message = "the folders of all memory files are gone, and this root was written to before"
        yield Fault("lost_homes", message, str(homes[0]), "Bring them back from a backup, or from git.")


def _not_text(workspace: Root, places: Mapping[str, Path]) -> Iterator[Fault]:
    """Files that no write will touch, since they are not UTF-8."""
    for entity, place in places.items():
        try:
            workspace.parse(workspace.store.peek(entity))
        except NotUtf8Error as error:
            said = f"{error.message}; no tool can read or write it"
            yield Fault("not_utf8", said, str(place), mend_hint(workspace, entity), damage=False)
        except UnreadableError:
            continue  # the store has said so


def _recovery_copies(root: Path, files: Iterable[Path]) -> Iterator[Fault]:
    """The newest copy that was kept of each file, and of all rows, by their names alone."""
    beside = {at: [each for each in at.parent.glob(f"{at.name}.bak.*") if copied_name(each.name)] for at in files}
    for file, kept in {**beside, root / "all rows": copies(root)}.items():
        for newest in sorted(kept)[-1:] if file in beside else kept[-1:]:
            look = "merge {}" if file in beside else "import --snapshot {} --dry-run"
            said = f"the newest of {counted(len(kept), 'recovery copy', 'recovery copies')} of {file.name}"
            hint = f"'catmem {look.format(shlex.quote(shown_path(newest)))}' shows what is missing. Then remove it."
            yield Fault("recovery_copies", said, str(newest), hint, damage=False)


# --- anchors ------------------------------------------------------------------------------------------------------


class Anchors(NamedTuple):
    """The ends of journals, and what is wrong with the profiles that hide where others are."""

    anchors: list[dict[str, Any]]
    unreadable: tuple[CatmemError, ...]


def anchors(workspace: Root) -> Anchors:
    """The ends of all journals, by folders from the root: kept elsewhere, they reveal that one was rolled back."""
    store = lasting_store(workspace)
    ends = [{"folder": path_from(workspace.root, folder), **end} for folder, end in store.anchors()]
    # A store with a catalog knows its own journals; else profiles tell where they are.
    return Anchors(ends, () if store.has_catalog else entities_of_each(workspace).unreadable)


def path_from(root: Path, place: Path) -> str:
    """A path from the root; an entity of a database is called as it is."""
    return os.path.relpath(place, root) if place.is_absolute() else str(place)


class CheckedAnchors(NamedTuple):
    """What journals no longer hold."""

    faults: list[Fault]

    def __json__(self) -> dict[str, Any]:
        return {"held": not self.faults, "faults": self.faults}


def check_anchors(workspace: Root, text: str) -> CheckedAnchors:
    """What the journals no longer hold of the anchors in ``text``, one JSON object a line."""
    store = lasting_store(workspace)
    if not store.has_catalog:
        for error in entities_of_each(workspace).unreadable:
            raise error  # a journal that cannot be found would be taken for one that was rolled back
    anchors = [_anchor(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not anchors:
        raise _bad_anchor("there is no anchor in it")
    hint = "The journal was rolled back, replaced or purged since the anchor was taken. Compare with a backup of it."
    gone = [
        (f"no journal holds record {end['sequence']} of the store {end['store'][:8]}… as it was", folder)
        for folder, end in anchors
        if not store.holds(end)
    ]
    return CheckedAnchors([Fault("rolled_back", said, folder, hint) for said, folder in gone])


def _anchor(number: int, line: str) -> tuple[str | None, Anchor]:
    """The folder and the end of a journal that a line names."""
    try:
        said = json.loads(line)
        end: Anchor = {"store": str(said["store"]), "sequence": int(said["sequence"]), "line": str(said["line"])}
        return str(said.get("folder", "")) or None, end
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise _bad_anchor(f"line {number} is no anchor") from error


def _bad_anchor(message: str) -> ConfigError:
    return ConfigError(message, code="bad_anchor", hint="Give what 'catmem fsck --anchors' printed.")


# --- doctor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What this machine gives the stores of a root."""

    root: str
    python: str
    catmem: str
    platform: str
    folders: tuple[FolderReport, ...]
    unreadable: tuple[CatmemError, ...] = ()


def doctor(workspace: Root) -> DoctorReport:
    """What every folder of the root's profiles, or the database, gives the store."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    installed = "not installed"
    with suppress(PackageNotFoundError):
        installed = version("catmem")
    folders = tuple(lasting_store(workspace).examine())
    said = str(workspace.root), platform.python_version(), installed, platform.platform()
    return DoctorReport(*said, folders, entities_of_each(workspace).unreadable)


# --- what no profile reads: files beside another store, rows of no profile, rows that are no entries ----------------

_STRAY = "unknown_entity"
_OF_ROWS = frozenset({"changed_outside", "bad_rows"})


def unread_note(workspace: Root) -> str | None:
    """What to say before any work on a root whose store lacks what its files hold. Reads no profile."""
    config = workspace.config
    for fault in _left_databases(config):
        return f"{fault.message}. {fault.hint}".removesuffix(".")
    if backend_of(config).has_files:
        return None
    try:
        homes = ((name, config.home(name)) for name in profile_names(config.profiles_dir))
        unread = list(_unread_files(config, homes, lambda: workspace.store))
    except CatmemError:
        return None  # the work itself meets it, and tells it better
    if not unread:
        return None
    files = few([os.path.relpath(path, config.root) for _, path in unread])
    said = f"no profile reads the entries of {files}: the store is {shown_store(config.store)}"
    return f"{said}. {_remedy(config, *unread[0])}"


def _left_databases(config: Config) -> Iterator[Fault]:
    """The databases that a root of files was in, and that no whole copy brought to another store."""
    for mark, name in left_stores(config).items():
        message = f"no profile reads what is in {name}, where the memory was: the store is {config.store}"
        hint = f"Put 'store: {name}' back into catmem.yaml. Or move the files of all profiles away, and bring it there "
        hint += f"with 'catmem store copy {name} files'. If it may go, remove {path_from(config.root, mark)}."
        yield Fault("unread_database", message, str(mark), hint, damage=False)


def _remedy(config: Config, entity: str, file: Path) -> str:
    """What to do about a file that no profile reads."""
    name, target = parts_of(entity)
    path = shlex.quote(shown_path(file))
    return (
        f"'catmem store copy files {shown_store(config.store)}' brings all files there with their history, if the "
        f"store has none yet; else 'catmem import --from hermes -p {name} -t {target} {path}' adds what this one says "
        "and the store has not. Then move the file away"
    )


def row_notes(workspace: Root, name: str, target: str | None = None) -> list[str]:
    """What to say of rows of a profile's files, or of one, that are no entries, and so are not shown."""
    store, notes = workspace.store, []
    for entity in (f"{workspace.profile(name).name}/{each}" for each in ([target] if target else FILE_NAMES)):
        bad = store.bad_rows(entity)
        if bad:
            said = "; ".join(f"row {id_}: {what}" for id_, what in bad[:3])
            notes.append(f"{store.place(entity)}: {counted(len(bad), 'row')} without an entry, not shown: {said}")
    return notes


def look_over(config: Config, profiles: Iterable[Profile], store: Store) -> list[Fault]:
    """All that the store finds wrong, and what no profile reads, in true words. Raises ``StoreError``."""
    unread = [*unread_faults(config, profiles, store)]
    strays = {fault.path for fault in unread if fault.code == _STRAY}
    # No write will ever take rows of no profile in, and no command shows them.
    found = (each for each in store.verify() if each.path not in strays or each.code not in _OF_ROWS)
    return [*found, *unread]


def unread_faults(config: Config, profiles: Iterable[Profile], store: Store) -> Iterator[Fault]:
    """Rows of no profile, and files or databases that say what the store never had. Raises ``StoreError``."""
    yield from _left_databases(config)
    if backend_of(config).has_files:
        return
    known = {*named_entities(config)}
    for entity, count in sorted(store.rows().items()):
        if entity not in known:
            hint = f"{suggestion(entity, known, 'entities')} Change `entity` of these rows, or delete them."
            message = f"{counted(count, 'row')} of {entity!r}, which no profile has, so nothing reads them"
            yield Fault(_STRAY, message, store.place(entity), hint, damage=False)
    for entity, path in _unread_files(config, _homes(config, profiles), lambda: store):
        message = f"the store of this root does not have what this file of {entity} says, so it is never read"
        yield Fault("unread_file", message, str(path), f"{_remedy(config, entity, path)}.", damage=False)


def _unread_files(
    config: Config, homes: Iterable[tuple[str, Path]], store: Callable[[], Store]
) -> Iterator[tuple[str, Path]]:
    """The files with entries whose text no revision of their entity has ever had; ``store`` is opened if need be."""
    for name, folder in homes:
        for target, file in FILE_NAMES.items():
            entity, path = f"{name}/{target}", folder / file
            data = _entries(config, path)
            if data is not None and not store().has_had(entity, bytes_digest(data)):
                yield entity, path


def _homes(config: Config, profiles: Iterable[Profile]) -> Iterator[tuple[str, Path]]:
    for profile in profiles:
        with suppress(CatmemError):  # a finding of its own, for those who look at profiles
            yield profile.name, memory_dir(profile, config)


def unowned_homes(config: Config, profiles: Iterable[Profile]) -> dict[str, Path]:
    """The homes in the root with a memory file or a history that are those of no profile, right or not, by name."""
    owned = {os.path.realpath(folder) for _, folder in _homes(config, profiles)}
    others = {*profile_names(config.profiles_dir)} - {each.name for each in profiles}
    owned |= {os.path.realpath(config.home(name)) for name in others}
    top, names, found = os.path.realpath(config.root), (*FILE_NAMES.values(), SIDECAR), {}
    for name, home in homes_there(config).items():
        real, holds = os.path.realpath(home), (home / each for each in names)
        if real not in owned and is_inside(real, top) and any(map(os.path.lexists, holds)):
            found[name] = home
    return found


def _entries(config: Config, path: Path) -> bytes | None:
    """The bytes of a file with entries, or of one that is not legible; ``None`` without any."""
    if not os.path.lexists(path):
        return None
    data = b""
    try:
        data = read_bounded(path, MAX_FILE_BYTES)
        return data if config.taxonomy.parse(data).entries else None
    except CatmemError:
        return data  # something is there that might be memory
