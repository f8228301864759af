"""A root whose store has a clock of its own, so that a history of months is written in a moment."""

import os
from datetime import UTC, date, datetime, time
from functools import partial

from catmem.staleness.lineage import freshness_of
from catmem.store.files.file_store import FileStore
from catmem.store.files.system import System
from catmem.workspace.stores import locate, merge_files
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

LATER = date(2027, 6, 1)
"""A day after everything that a test does."""


class Calendar(System):
    """A system on which it is noon of ``day``."""

    def __init__(self, day: date) -> None:
        super().__init__()
        self.day = day

    def now(self) -> datetime:
        return datetime.combine(self.day, time(12), tzinfo=UTC)


class Aging:
    """The root in ``folder`` with the profile neo, and whoever works on it at the days they say."""

    def __init__(self, folder, config="") -> None:
        self.folder = folder
        self.system = Calendar(date(2026, 1, 1))
        put(folder / "catmem.yaml", f"version: 1\n{config}")
        put(folder / "profiles" / "neo.yaml", "user_memory_categories: ['*']\nmemory_categories: ['*']\n")
        self.workspace: Workspace | None = None
        self.path = folder / "homes" / "neo" / "USER.md"

    def open(self) -> Workspace:
        """The root, opened anew: what another process would see."""
        self.close()
        config = Workspace.open(self.folder).config
        self.workspace = Workspace.open(self.folder, store=self._store(config))
        return self.workspace

    def close(self) -> None:
        """Let go of the store that was opened last."""
        if self.workspace is not None:
            self.workspace.store.close()

    def _store(self, config):
        profile = Workspace(config).profile
        return FileStore(
            lambda entity: locate(config, profile, entity),
            ["neo/user"],
            merge=partial(merge_files, config),
            system=self.system,
        )

    def on(self, day: str) -> Workspace:
        """The root on a day; what catmem records from now on is of that day."""
        self.system.day = date.fromisoformat(day)
        return self.open()

    def outsider(self, text: str, day: str) -> None:
        """Somebody else writes the file on a day."""
        put(self.path, text)
        moment = datetime.combine(date.fromisoformat(day), time(12), tzinfo=UTC).timestamp()
        os.utime(self.path, (moment, moment))

    def clocks(self, as_of: date = LATER) -> dict[str, tuple[str | None, str | None]]:
        """Basis and day of each entry, by its body, as a new process tells them."""
        workspace = self.open()
        document = workspace.view("neo", "user").document
        profile = workspace.profile("neo")
        found = freshness_of(workspace, profile, "neo/user", document, document.entries, as_of=as_of, reader=None)
        return {
            entry.body: (each.basis, None if each.day is None else each.day.isoformat())
            for entry, each in zip(document.entries, found, strict=True)
        }
