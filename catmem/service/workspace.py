"""A root, its profiles and their memory files: the one service that every door uses. Read-only in this version.

Nothing here is cached between calls: each reads the disk as it is. A ``Session`` is for callers who need the opposite,
a prompt that stays the same until they ask for a new one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.model.document import Document, parse
from catmem.policy.access import View, visible
from catmem.policy.config import Config, find_root, load_config
from catmem.policy.problems import all_problems
from catmem.policy.profile import check_profile, find_profile, load_profiles, memory_dir
from catmem.policy.prompt import TARGETS, Prompt, build_prompt
from catmem.policy.schema import nearest
from catmem.policy.staleness import Freshness, freshness, stale_after_days
from catmem.policy.threats import BuiltinScanner
from catmem.policy.threats.batch import scan_each
from catmem.reading import read_bounded
from catmem.syntax.slug import slugify
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from catmem.model.document import Entry, Problem
    from catmem.policy.profile import Profile
    from catmem.policy.prompt import Counter
    from catmem.policy.styles import Style
    from catmem.policy.threats import Finding, Scanner

_WORTH_A_WARNING = frozenset({"bad-tag", "malformed-tags"})

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
    threats: tuple[str, ...]
    """The rules of the threat scan for which a prompt withholds the entry. People may see it, agents should not."""

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
            "threats": list(self.threats),
            "tags": self.entry.tags,
            "body": self.entry.body,
        }


class Notice(NamedTuple):
    """Something a person should know, and where; ``line`` counts from 1."""

    path: Path | None
    line: int | None
    message: str


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
        try:
            profile = find_profile(self.config, name)
        except UnknownNameError as error:
            if self.config.path is None:
                error.hint = (
                    f"No catmem.yaml was found in {self.root} or above. Go to the root or name it with --root; "
                    "catmem init makes one."
                )
            raise
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
        wanted = None if category is None else self._category(category)
        listed: list[ListedEntry] = []
        for each in TARGETS if target is None else (_known_target(target),):
            view = visible(self._document(profile, each), each, profile, self.config.taxonomy)
            entries = [entry for entry in view.entries if wanted in {None, entry.category}]
            threats = scan_each(BuiltinScanner(), [entry.body for entry in entries])
            listed += [
                self._listed(profile, view, entry, findings, as_of)
                for entry, findings in zip(entries, threats, strict=True)
            ]
        return listed

    def _listed(
        self, profile: Profile, view: View, entry: Entry, findings: Sequence[Finding], as_of: date | None
    ) -> ListedEntry:
        return ListedEntry(
            target=view.target,
            path=self._path(profile, view.target),
            line=view.document.line(entry.start),
            entry=entry,
            freshness=self._freshness(profile, entry, as_of),
            threats=tuple(sorted({finding.rule for finding in findings})),
        )

    def _category(self, name: str) -> str:
        """The category that a slug, an alias or a title names."""
        slug = slugify(name)
        return self.config.taxonomy.aliases.get(slug, slug)

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

    def problems(self, document: Document) -> tuple[Problem, ...]:
        """Everything that looks wrong in a document of this root, tags and undeclared categories included."""
        return all_problems(document, self.config)

    def warnings(self, name: str, *, source: str | None = None) -> tuple[Notice, ...]:
        """What a person should know who builds the prompt of a profile: tags that do not count, selectors that slip.

        Speaks of visible entries and declared categories only, each with its place.
        """
        profile = self.profile(name)
        owner = self.profile(source) if source is not None else profile
        found: list[Notice] = []
        for target in TARGETS:
            view = visible(self._document(owner, target), target, profile, self.config.taxonomy)
            path = self._path(owner, target)
            found += [
                Notice(path, view.document.line(problem.start), problem.message)
                for problem in view.problems(self.problems(view.document))
                if problem.rule in _WORTH_A_WARNING
            ]
            found += self._slips(profile, target, view)
        return tuple(found)

    def _slips(self, profile: Profile, target: str, view: View) -> Iterator[Notice]:
        declared = self.config.taxonomy.declared()
        known = {*declared, *(section.category for section in view.document.sections)}
        for selector in profile.selectors(target, self.config.taxonomy).unmatched(known):
            near = nearest(selector.removeprefix("!"), self.config.taxonomy.categories)
            if near:
                yield Notice(profile.path, None, f"the selector {selector!r} matches nothing; did you mean {near!r}?")

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
