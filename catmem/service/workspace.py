"""A root, its profiles and their memory files: the one service that every door uses. Read-only in this version.

Nothing here is cached between calls: each reads the disk as it is. A ``Session`` is for callers who need the opposite,
a prompt that stays the same until they ask for a new one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.model.document import Document, parse
from catmem.policy.access import View, visible
from catmem.policy.config import Config, find_root, load_config
from catmem.policy.profile import check_profile, find_profile, load_profiles, memory_dir
from catmem.policy.prompt import TARGETS, Prompt, build_prompt
from catmem.policy.staleness import Freshness, freshness, stale_after_days
from catmem.reading import read_bounded
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from catmem.model.document import Entry
    from catmem.policy.profile import Profile
    from catmem.policy.prompt import Counter
    from catmem.policy.styles import Style
    from catmem.policy.threats import Scanner

FILE_NAMES = {"user": "USER.md", "memory": "MEMORY.md"}
"""The file of each target, in the folder of a profile."""


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """One visible entry with its place and its state on a day."""

    target: str
    path: Path
    line: int
    entry: Entry
    freshness: Freshness

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data."""
        day = self.freshness.day
        return {
            "target": self.target,
            "category": self.entry.category,
            "line": self.line,
            "id": self.entry.id,
            "state": self.freshness.state,
            "date": None if day is None else day.isoformat(),
            "tags": self.entry.tags,
            "body": self.entry.body,
        }


@dataclass(frozen=True, slots=True)
class Workspace:
    """A root that has been opened. ``Workspace.open`` makes one."""

    config: Config

    @classmethod
    def open(cls, folder: str | Path = ".", *, search: bool = True) -> Workspace:
        """Open the root that ``folder`` lies in: the nearest folder with a ``catmem.yaml``, else ``folder`` itself.

        With ``search=False`` the folder itself is the root. Raises ``ConfigError`` and ``UnreadableError``.
        """
        root = find_root(folder) if search else None
        return cls(load_config(root or folder))

    @property
    def root(self) -> Path:
        """The folder of the root."""
        return self.config.root

    def profiles(self) -> Mapping[str, Profile]:
        """All profiles of the root by name, in alphabetical order. Raises ``ConfigError`` for the first bad one."""
        return load_profiles(self.config.profiles_dir, self.config)

    def profile(self, name: str) -> Profile:
        """One profile, checked against the taxonomy. Raises ``UnknownNameError`` and ``ConfigError``."""
        profile = find_profile(self.config, name)
        check_profile(profile, self.config)
        return profile

    def path(self, name: str, target: str) -> Path:
        """Where a profile's ``user`` or ``memory`` file is, whether it exists or not."""
        return self._path(self.profile(name), target)

    def view(self, name: str, target: str, *, source: str | None = None) -> View:
        """What a profile sees of its own file, or of the file of ``source``. A missing file reads as an empty one."""
        profile = self.profile(name)
        owner = self.profile(source) if source is not None else profile
        return visible(self._document(owner, target), target, profile, self.config.taxonomy)

    def list(
        self, name: str, *, target: str | None = None, category: str | None = None, as_of: date | None = None
    ) -> list[ListedEntry]:
        """The entries that a profile sees in its own files, ``user`` before ``memory``, each file in its order.

        ``category`` keeps one category (an alias will do); one that the profile does not see lists nothing, as if it
        were not there.
        """
        profile = self.profile(name)
        wanted = None if category is None else self.config.taxonomy.aliases.get(category, category)
        listed: list[ListedEntry] = []
        for each in TARGETS if target is None else (_known_target(target),):
            view = visible(self._document(profile, each), each, profile, self.config.taxonomy)
            path = self._path(profile, each)
            listed += [
                ListedEntry(each, path, view.document.line(entry.start), entry, self._freshness(profile, entry, as_of))
                for entry in view.entries
                if wanted in {None, entry.category}
            ]
        return listed

    def prompt(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
        self,
        name: str,
        *,
        source: str | None = None,
        as_of: date | None = None,
        style: Style | None = None,
        scanner: Scanner | None = None,
        counter: Counter = len,
    ) -> Prompt:
        """The prompt of a profile, from its own files or from those of the profile ``source``, as they are on disk now.

        ``as_of`` is today by default. Raises ``ConfigError`` and ``UnreadableError``; a file that cannot be read is
        never taken for an empty one.
        """
        profile = self.profile(name)
        owner = self.profile(source) if source is not None else profile
        return build_prompt(
            {target: self._document(owner, target) for target in TARGETS},
            profile,
            as_of=as_of or _today(),
            config=self.config,
            style=style,
            scanner=scanner,
            counter=counter,
        )

    def session(self, name: str, *, as_of: date | None = None, style: Style | None = None) -> Session:
        """A session whose prompt stays as it is first asked for."""
        return Session(self, name, as_of, style)

    def missing_files(self, name: str) -> tuple[Path, ...]:
        """The files that a profile could have and has not."""
        profile = self.profile(name)
        paths = [self._path(profile, target) for target in TARGETS]
        return tuple(path for path in paths if not os.path.lexists(path))

    def parse(self, data: str | bytes) -> Document:
        """Parse a memory file as this root reads it: aliases stand for their categories, cards are no sections."""
        taxonomy = self.config.taxonomy
        declared = taxonomy.declared() if taxonomy.card_titles else None
        return parse(data, declared, aliases=taxonomy.aliases)

    def _path(self, profile: Profile, target: str) -> Path:
        return memory_dir(profile, self.config) / FILE_NAMES[_known_target(target)]

    def _document(self, profile: Profile, target: str) -> Document:
        path = self._path(profile, target)
        try:
            data = read_bounded(path, DEFAULT_LIMITS.file_bytes, follow_symlink=profile.allow_outside)
        except UnreadableError as error:
            # A link that leads nowhere is no missing file: something should be there.
            if error.code == "missing" and not os.path.lexists(path):
                return self.parse("")
            raise
        try:
            return self.parse(data)
        except CatmemError as error:
            error.path = str(path)
            raise

    def _freshness(self, profile: Profile, entry: Entry, as_of: date | None) -> Freshness:
        tags = entry.tags
        limit = stale_after_days(entry.category, tags, profile, self.config)
        return freshness(tags, as_of=as_of or _today(), stale_after=limit)


@dataclass(slots=True)
class Session:
    """One conversation of an agent: its prompt is built once and stays, whatever is written, until ``refresh``.

    So a provider's prefix cache holds over a whole conversation.
    """

    workspace: Workspace
    profile: str
    as_of: date | None = None
    style: Style | None = None
    _prompt: Prompt | None = field(default=None, init=False, repr=False)

    @property
    def prompt(self) -> Prompt:
        """The prompt as it was when it was first asked for, or at the last ``refresh``."""
        return self._prompt or self.refresh()

    def refresh(self) -> Prompt:
        """Build the prompt anew from what is on disk now."""
        self._prompt = self.workspace.prompt(self.profile, as_of=self.as_of, style=self.style)
        return self._prompt


def _known_target(target: str) -> str:
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{target!r} is not a target", code="unknown_target", hint="Use 'user' (USER.md) or 'memory' (MEMORY.md)."
        )
    return target


def _today() -> date:
    return date.today()  # noqa: DTZ011 - the day where the person is, who wrote the dates
