"""What wakes a watch: the system, which tells of changes in folders; a database; or else a look now and then."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Protocol

from catmem.errors import CatmemError
from catmem.policy.prompt import TARGETS
from catmem.service.profiles import load_each
from catmem.service.stores import locate, sql_store
from catmem.store.files.places import folders_of, mark_of
from catmem.store.files.store import FileStore

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from catmem.service.workspace import Workspace
    from catmem.store.files.folder import Place
    from catmem.store.files.places import Mark
    from catmem.store.sql.store import SqlStore

LOG = logging.getLogger("catmem.watching")

LOOK_EVERY = 0.25
"""Seconds between looks at what does not tell of itself."""
LOOK_EVERY_HEARD = 0.5
"""The same at a database that tells of commits, and not of what others do to its rows."""
LOOK_ANYWAY = 2.0
"""And at folders of which the system tells: changes that another machine makes to them, it does not see."""
SHARE = 20.0
"""Of all time, looks may take one part in so many, as long as they still come once in ``LONGEST``."""
LONGEST = 0.75
_SETTLED, _GATHERED = 20, 100
"""Milliseconds without another change in which a change is taken as whole, and after which it is told in any case."""
_LISTEN = 3600.0
_LISTEN_AGAIN = 1.0


class Signals(Protocol):
    """Tells which entities may have changed."""

    def everything(self) -> Collection[str]:
        """All entities. Whatever happens after this call, ``wait`` tells."""
        ...

    def wait(self) -> Collection[str]:
        """The entities to which something may have happened since; returns after a while in any case."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


def signals_of(workspace: Workspace, stopped: threading.Event) -> Signals:
    """What wakes a watch of this root, until it is ``stopped``. Raises ``StoreError``."""
    database = sql_store(workspace.store)
    if database is not None:
        return DatabaseSignals(database, stopped)
    if isinstance(workspace.store, FileStore):
        return FolderSignals(workspace, stopped)
    return PlainSignals(workspace, stopped)


# --- files ---------------------------------------------------------------------------------------------------------


class FolderSignals:
    """The folders of a root's files, as the system tells of them, and as a look now and then finds them."""

    def __init__(self, workspace: Workspace, stopped: threading.Event, *, native: bool = True) -> None:
        """``native=False`` looks only."""
        self._workspace = workspace
        self._stopped = stopped
        self._native = native
        self._places: dict[str, Place] = {}
        self._marks: dict[str, Mark] = {}
        self._armed: Mapping[str, tuple[int, int]] = {}
        self._notify: _Notify | None = None
        self._pause = LOOK_EVERY

    def everything(self) -> Collection[str]:
        """See ``Signals``."""
        self._find()
        self._arm()
        self._changed()
        return list(self._places)

    def wait(self) -> Collection[str]:
        """See ``Signals``."""
        notify = self._notify
        if notify is None:
            self._stopped.wait(self._pause)
            return self._looked()
        found = notify.watch(_GATHERED, _SETTLED, int(LOOK_ANYWAY * 1000), self._stopped)
        if found == "timeout":
            return self._looked()
        if isinstance(found, str):
            return []
        touched = {folder for _, path in found for folder in (path, os.path.dirname(path))}  # noqa: PTH120 - texts
        if self._plan() != self._armed:
            return self.everything()  # a folder came, went, or is another one
        return [
            entity
            for entity, place in self._places.items()
            if any(str(folder) in touched for folder in folders_of(place))
        ]

    def _looked(self) -> Collection[str]:
        begun = time.monotonic()
        self._find()
        if self._notify is not None and self._plan() != self._armed:
            return self.everything()
        changed = self._changed()
        self._pause = _paused(LOOK_EVERY, time.monotonic() - begun)
        return changed

    def _changed(self) -> Collection[str]:
        """The entities where something else stands than before."""
        marks = {entity: mark_of(place) for entity, place in self._places.items()}
        changed = [entity for entity, mark in marks.items() if self._marks.get(entity) != mark]
        self._marks = marks
        return changed

    def _find(self) -> None:
        """Where the files of all profiles are; one that is not right now has its files where they were."""
        profiles, _ = load_each(self._workspace)
        known = {profile.name: profile for profile in profiles}
        for name in known:
            for target in TARGETS:
                try:
                    place = locate(self._workspace.config, known.__getitem__, f"{name}/{target}")
                except CatmemError:
                    continue  # it leads out of the root; lint says so
                self._places[f"{name}/{target}"] = place

    def _plan(self) -> dict[str, tuple[int, int]]:
        """The folders to watch, each with what it is: what may hold a file or a part of its history, and what is above.

        Whatever is not there yet begins to be in a folder above it that is.
        """
        plan: dict[str, tuple[int, int]] = {}
        missing: set[str] = set()
        for place in self._places.values():
            folders = [*folders_of(place), *_above(place)]
            for folder in map(str, folders):
                if folder in plan or folder in missing:
                    continue
                try:
                    found = os.stat(folder)  # noqa: PTH116 - many, and texts
                except OSError:
                    missing.add(folder)
                else:
                    plan[folder] = found.st_dev, found.st_ino
        profiles = self._workspace.config.profiles_dir
        if profiles.is_dir():
            found = profiles.stat()
            plan[str(profiles)] = found.st_dev, found.st_ino
        return plan

    def _arm(self) -> None:
        """Watch the folders that there are now. What they were before counts no more."""
        if not self._native:
            return
        for _ in range(5):
            plan = self._plan()
            before, self._notify = self._notify, _notified(plan)
            if before is not None:
                before.close()
            self._armed = plan
            if self._plan() == plan:
                return  # nothing was put in the place of another meanwhile

    def close(self) -> None:
        """See ``Signals``."""
        if self._notify is not None:
            self._notify.close()


def _above(place: Place) -> list[os.PathLike[str]]:
    """The folders above that of a file, up to its root."""
    parts = range(len(place.folder))
    return [place.root.joinpath(*place.folder[:count]) for count in parts]


class _Notify(Protocol):
    """What the library watchfiles gives."""

    def watch(
        self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: threading.Event, /
    ) -> set[tuple[int, str]] | str: ...

    def close(self) -> None: ...


def _notified(folders: Collection[str]) -> _Notify | None:
    """The system's own news of these folders; ``None`` where it has none to give."""
    if not folders:
        return None
    try:
        from watchfiles._rust_notify import RustNotify
    except ImportError:
        return None
    try:
        notify: _Notify = RustNotify(sorted(folders), False, False, 0, False, True)  # noqa: FBT003 - as it takes them
    except (OSError, RuntimeError) as error:
        LOG.warning("the system does not tell of changes, so folders are looked at: %s", ascii(str(error)))
        return None
    return notify


# --- databases -----------------------------------------------------------------------------------------------------


class DatabaseSignals:
    """The marks of a database's entities, looked at often, and at once where it tells of a commit."""

    def __init__(self, store: SqlStore, stopped: threading.Event) -> None:
        """``store`` is the watch's own."""
        self._store = store
        self._stopped = stopped
        self._marks: Mapping[str, object] = {}
        self._heard = threading.Event()
        self._closed = False
        self._pause = LOOK_EVERY
        self._listener: threading.Thread | None = None

    def everything(self) -> Collection[str]:
        """See ``Signals``."""
        self._marks = self._store.marks()
        if self._store.tells and self._marks and self._listener is None:
            self._listener = threading.Thread(target=self._listen, name="catmem-listen", daemon=True)
            self._listener.start()
        return list(self._marks)

    def wait(self) -> Collection[str]:
        """See ``Signals``."""
        self._heard.wait(self._pause)
        self._heard.clear()
        if self._stopped.is_set():
            return []
        begun, before = time.monotonic(), self._marks
        if not before:
            return self.everything()
        self._marks = self._store.marks()
        took = time.monotonic() - begun
        self._pause = LOOK_EVERY_HEARD if self._listener is not None else _paused(LOOK_EVERY, took)
        changed = [entity for entity, mark in self._marks.items() if before.get(entity) != mark]
        return [*changed, *(entity for entity in before if entity not in self._marks)]

    def _listen(self) -> None:
        """Wake the watch at each commit. What is missed is found by looking."""
        while not self._is_over():
            try:
                for _ in self._store.listen(_LISTEN, self._is_over):
                    self._heard.set()
            except CatmemError:
                self._stopped.wait(_LISTEN_AGAIN)  # whoever looks tells of the trouble
        self._heard.set()

    def _is_over(self) -> bool:
        return self._closed or self._stopped.is_set()

    def close(self) -> None:
        """See ``Signals``."""
        self._closed = True
        if self._listener is not None:
            self._listener.join()


# --- anything else -------------------------------------------------------------------------------------------------


class PlainSignals:
    """Any store: all of it is looked at, as often as that is fair."""

    def __init__(self, workspace: Workspace, stopped: threading.Event) -> None:
        """Nothing of the store is known but the contract."""
        self._workspace = workspace
        self._stopped = stopped
        self._looked = time.monotonic()

    def everything(self) -> Collection[str]:
        """See ``Signals``."""
        self._looked = time.monotonic()
        names = [f"{profile.name}/{target}" for profile in load_each(self._workspace)[0] for target in TARGETS]
        return sorted({*names, *self._workspace.store.entities()})

    def wait(self) -> Collection[str]:
        """See ``Signals``."""
        self._stopped.wait(_paused(LOOK_EVERY, time.monotonic() - self._looked))
        return self.everything()

    def close(self) -> None:
        """Nothing is open."""


def _paused(least: float, took: float) -> float:
    """How long to wait after a look that took so long."""
    return max(least, min(SHARE * took, LONGEST))
