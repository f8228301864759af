"""Looking after a root's stores: is all well, the ends of the journals, and what this machine gives."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.profile import profile_names, refuse_no_root
from catmem.digest import record_dict
from catmem.errors import CatmemError, ConfigError, NotUtf8Error, StoreError, UnreadableError
from catmem.store.contract import Fault, LastingStore
from catmem.workspace.root import entities_of_each
from catmem.workspace.unread import look_over, unread_faults

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from catmem.config.profile import Profile
    from catmem.store.contract import Anchor, FolderReport
    from catmem.workspace.root import Root


def lasting_store(workspace: Root) -> LastingStore:
    """The store of a root that can be looked after.

    Raises ``StoreError`` (``not_here``) for one that lives as long as its process, and ``ConfigError`` (``no_root``)
    for a folder that is no root: a check of nothing would report that all is well.
    """
    refuse_no_root(workspace.config)
    store = workspace.store
    if not isinstance(store, LastingStore):
        raise StoreError(
            "this root keeps nothing on a disk", code="not_here", hint="This command is for stores that last."
        )
    return store


# --- fsck ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What is not as it should be, and what was mended.

    ``unreadable`` is what is wrong with profiles; files whose place only they tell were not looked at.
    """

    faults: tuple[Fault, ...]
    done: tuple[str, ...]
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def damaged(self) -> bool:
        """Whether anything is lost or at odds; the rest is for information."""
        return any(fault.damage for fault in self.faults)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {"damaged": self.damaged, **record_dict(self)}


def fsck(workspace: Root, *, repair: bool = False) -> FsckReport:
    """Look over every store of the root; with ``repair`` mend what is safe to mend first."""
    store = lasting_store(workspace)
    done = store.mend() if repair else []
    entities = entities_of_each(workspace)
    found = look_over(workspace.config, entities.profiles, store)
    return FsckReport((*found, *_not_text(workspace, entities.names)), tuple(done), entities.unreadable)


def _not_text(workspace: Root, entities: Iterable[str]) -> Iterator[Fault]:
    """Files that no write will touch, since they are not UTF-8."""
    for entity in entities:
        try:
            workspace.parse(workspace.store.peek(entity))
        except NotUtf8Error as error:
            owner, _, target = entity.partition("/")
            yield Fault(
                "not_utf8",
                f"{error.message}; no tool can read or write it",
                str(workspace.path(owner, target)),
                f"'catmem repair {entity}' shows how it could be mended.",
                damage=False,
            )
        except UnreadableError:
            continue  # the store has said so


# --- anchors ------------------------------------------------------------------------------------------------------

NOT_CHECKED = "not_checked"
"""The code of an anchor that may be of a history which could not be looked at."""


@dataclass(frozen=True, slots=True)
class JournalAnchor:
    """The end of one folder's journal: kept elsewhere, it reveals that a journal was rolled back."""

    folder: str
    store: str
    sequence: int
    line: str

    def to_dict(self) -> dict[str, Any]:
        """The anchor as JSON-ready data."""
        return record_dict(self)


class Anchors(NamedTuple):
    """The ends of journals. ``unreadable`` is what is wrong with the profiles that hide where others are."""

    ends: list[JournalAnchor]
    unreadable: tuple[CatmemError, ...]


def anchors(workspace: Root) -> Anchors:
    """The ends of all journals of the root. Folders are paths from the root."""
    store = lasting_store(workspace)
    ends = [
        JournalAnchor(path_from(workspace.root, folder), end["store"], end["sequence"], end["line"])
        for folder, end in store.anchors()
    ]
    # A store with a catalog knows its own journals; else profiles tell where they are.
    return Anchors(ends, () if store.has_catalog else entities_of_each(workspace).unreadable)


def path_from(root: Path, place: Path) -> str:
    """A path from the root; an entity of a database is called as it is."""
    return os.path.relpath(place, root) if place.is_absolute() else str(place)


class CheckedAnchors(NamedTuple):
    """What journals no longer hold. ``unreadable`` as that of ``Anchors``."""

    faults: list[Fault]
    unreadable: tuple[CatmemError, ...]


def check_anchors(workspace: Root, text: str) -> CheckedAnchors:
    """What the journals no longer hold of the anchors in ``text``, one JSON object a line."""
    store = lasting_store(workspace)
    if not text.strip():
        raise ConfigError("there is no anchor in it", code="bad_anchor", hint="Give what 'catmem anchor' printed.")
    entities = None if store.has_catalog else entities_of_each(workspace)
    seen = None
    if entities is not None and entities.unreadable:
        paths = (workspace.path(*name.split("/")) for name in entities.names)
        seen = {path_from(workspace.root, path.parent) for path in paths}
    faults = [
        fault
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
        for fault in _check(store, number, line, seen)
    ]
    return CheckedAnchors(faults, () if entities is None else entities.unreadable)


def _check(store: LastingStore, number: int, line: str, seen: Container[str] | None) -> Iterator[Fault]:
    """``seen`` are the folders that can be looked at, ``None`` for all."""
    try:
        said = json.loads(line)
        end: Anchor = {"store": str(said["store"]), "sequence": int(said["sequence"]), "line": str(said["line"])}
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ConfigError(
            f"line {number} is no anchor", code="bad_anchor", hint="Give what 'catmem anchor' printed."
        ) from error
    folder = str(said.get("folder", "")) or None
    held = store.holds(end)
    if not held and seen is not None and folder not in seen:
        yield Fault(
            NOT_CHECKED,
            f"no journal that could be looked at holds record {end['sequence']} of the store {end['store'][:8]}…",
            folder,
            "It may be that of a profile that is not right. Mend the profiles, then check again.",
            damage=False,
        )
    elif not held:
        yield Fault(
            "rolled_back",
            f"no journal holds record {end['sequence']} of the store {end['store'][:8]}… as it was",
            folder,
            "The journal was rolled back, replaced or purged since the anchor was taken. Compare with a backup of it.",
        )


# --- doctor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What this machine gives the stores of a root.

    ``unreadable`` is what is wrong with profiles, of whose folders nothing is known.
    """

    root: str
    python: str
    catmem: str
    platform: str
    folders: tuple[FolderReport, ...]
    unreadable: tuple[CatmemError, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return record_dict(self)


def doctor(workspace: Root) -> DoctorReport:
    """Try what the store makes use of in every folder of the root's profiles; nothing is left behind."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("catmem")
    except PackageNotFoundError:
        installed = "not installed"
    store = lasting_store(workspace)
    entities = entities_of_each(workspace)
    others = {*profile_names(workspace.config.profiles_dir)} - {each.name for each in entities.profiles}
    bases = {os.path.realpath(workspace.config.home(name)) for name in others}  # without files, so not looked at
    folders = [
        # What no profile reads is reported where there is nothing else to say.
        report if report.note is not None else report._replace(note=_unread(workspace, entities.profiles, store))
        for report in store.examine()
        if os.path.lexists(report.path) or os.path.realpath(report.path) not in bases
    ]
    said = str(workspace.root), platform.python_version(), installed, platform.platform()
    return DoctorReport(*said, tuple(folders), entities.unreadable)


def _unread(workspace: Root, profiles: Sequence[Profile], store: LastingStore) -> str | None:
    unread = unread_faults(workspace.config, profiles, store)
    return "\n  ".join(f"{fault.path}: {fault.message}. {fault.hint}" for fault in unread) or None
