"""A root that is opened: its configuration, its profiles, its store and its audit log, and the files as they are now.

All that reads or writes memory works on a ``Root``; ``Workspace`` is one with every verb.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from catmem.config.access import View, visible
from catmem.config.config import Config, find_root, load_config
from catmem.config.json_schema import shown
from catmem.config.profile import (
    Profile,
    check_profile,
    find_profile,
    is_root,
    load_profile,
    one_reading,
    profile_files,
    profile_names,
    refuse_no_root,
)
from catmem.errors import CatmemError, RefusedError, UnknownNameError, UnreadableError, errors_at, wrong_type
from catmem.files import read_bounded
from catmem.model.document import Document
from catmem.names import TARGETS, known_target
from catmem.text import MAX_FILE_BYTES
from catmem.workspace.profile_memory import Cache, Notice, Reading, read_document, read_memory
from catmem.workspace.stores import backend_of, places, refuse_lost_homes

if TYPE_CHECKING:
    import subprocess

    from catmem.prompt.prompt import Prompt
    from catmem.prompt.styles import Style
    from catmem.store.audit_log import AuditLine, AuditLog
    from catmem.store.contract import Store


@dataclass(frozen=True, slots=True)
class Root:
    """A root that has been opened; ``Root.open`` makes one."""

    config: Config
    _given: Store | None = field(default=None, repr=False, compare=False)
    _cache: Cache = field(init=False, repr=False, compare=False)
    unlogged: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)
    """Operations of which the audit log has no line, since it could not be written, by how they ended."""

    def __post_init__(self) -> None:
        """Nothing is opened yet. Raises ``EditError`` (``wrong_type``) for a folder, which ``open`` takes."""
        if not isinstance(self.config, Config):
            raise wrong_type("the configuration", self.config, f"a Config ({type(self).__name__}.open takes a folder)")
        object.__setattr__(self, "_cache", Cache(self.config))

    @classmethod
    def open(cls, folder: str | Path = ".", *, search: bool = True, store: Store | None = None) -> Self:
        """Open the root that ``folder`` lies in: the nearest folder with a ``catmem.yaml``, else ``folder`` itself.

        With ``search=False`` the folder itself is the root. ``store`` takes the place of the one that the root names.
        Raises ``ConfigError`` and ``UnreadableError``.
        """
        if not isinstance(folder, str | Path):
            raise wrong_type("the folder", folder, "a text or a Path")
        root = find_root(folder) if search else None
        return cls(load_config(root or folder), store)

    @contextmanager
    def anew(self) -> Iterator[Self]:
        """The same root with ``catmem.yaml`` and the profiles as they are now, in a store of its own.

        For who runs for long and looks at all of a root: writers do not wait for it. The store is closed in the end;
        one that was given stays. Raises ``ConfigError`` and ``UnreadableError``.
        """
        now = type(self)(load_config(self.root), self._given)
        try:
            yield now
        finally:
            store = now._cache.store  # noqa: SLF001 - a root of this class
            if store is not None:
                store.close()

    @property
    def root(self) -> Path:
        """The folder of the root."""
        return self.config.root

    @property
    def store(self) -> Store:
        """The store that was given, or else that of the root, opened when it is first asked for."""
        if self._given is not None:
            return self._given
        # Two stores of one root would wait for each other's locks, so threads that come first together get one.
        with self._cache.opening:
            if self._cache.store is None:
                from catmem.workspace.stores import open_store

                names = profile_names(self.config.profiles_dir)
                self._cache.store = open_store(self.config, self.profile, names, self.parse)
            return self._cache.store

    def profiles(self) -> Mapping[str, Profile]:
        """All profiles of the root by name, in alphabetical order, but bases of others without files.

        Raises ``ConfigError`` for the first bad one.
        """
        right, wrong = _loaded_profiles(self)
        for error in wrong.values():
            raise error
        return right

    def profile(self, name: str) -> Profile:
        """One profile, checked against the taxonomy. Raises ``UnknownNameError`` and ``ConfigError``."""
        try:
            profile = find_profile(self.config, name)
        except UnknownNameError as error:
            if self.config.path is None:
                there = f"There is no catmem.yaml in {self.root}."
                error.hint = f"{there} Go to the root or name it with --root; catmem init makes one."
            raise
        check_profile(profile, self.config)
        return profile

    def path(self, name: str, target: str) -> Path:
        """Where a profile's ``user`` or ``memory`` file is, whether it exists or not.

        For an entity in a database it is a name for messages, such as ``sqlite:trinity/user``.
        """
        return self.path_of(self.profile(name), target)

    def path_of(self, profile: Profile, target: str) -> Path:
        """Where a file of a loaded ``Profile`` is, whether it exists or not."""
        return places(self.config, profile)[known_target(target)]

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self, name: str, target: str = "user") -> Reading:
        """A profile's whole document, for a person; an agent gets what ``view`` and ``list`` give."""
        profile = self.profile(name)
        path, entity = self.path_of(profile, target), f"{profile.name}/{target}"
        now = self.store.read(entity)
        return Reading(entity, now.revision, now.digest, self.parse(now.data, path))

    def view(self, name: str, target: str, *, source: str | None = None) -> View:
        """What a profile sees of its own file, or of the file of ``source``. A missing file reads as an empty one."""
        profile = self.profile(name)
        owner = self.profile(source) if source is not None else profile
        return visible(read_document(self, owner, target), target, profile, self.config.taxonomy)

    def prompt(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
        self,
        name: str,
        *,
        source: str | None = None,
        categories: Sequence[str] = (),
        budget: int | None = None,
        as_of: date | None = None,
        style: Style | None = None,
        counter: Callable[[str], int] = len,
    ) -> Prompt:
        """The prompt of a profile, from its own files or from those of the profile ``source``, as they are now.

        ``categories`` and ``budget`` narrow it; see ``ProfileMemory.narrowed``. ``as_of`` is today by default. Raises
        ``ConfigError`` and ``UnreadableError``; a file that cannot be read is never taken for an empty one.
        """
        memory = read_memory(self, name, source=source).narrowed(categories, budget)
        return memory.prompt(as_of=as_of, style=style, counter=counter)

    def warnings(self, name: str, *, source: str | None = None) -> tuple[Notice, ...]:
        """What to know before you build the prompt of a profile: tags that do not count, selectors that match nothing.

        Speaks of visible entries and declared categories only, each with its place.
        """
        return read_memory(self, name, source=source).warnings()

    def missing_files(self, name: str) -> tuple[Path, ...]:
        """The files that a profile could have and has not; in a database, the entities that hold nothing."""
        profile = self.profile(name)
        named = places(self.config, profile).items()
        return tuple(path for target, path in named if not (os.path.lexists(path) or self.bytes_of(profile, target)))

    def parse(self, data: str | bytes, path: str | Path | None = None) -> Document:
        """Parse a memory file as this root reads it: aliases stand for their categories, cards are no sections.

        What is wrong with it says the ``path``.
        """
        try:
            with errors_at(path):
                return self._cache.text(data).document
        except UnreadableError as error:
            if error.code == "not_utf8":
                error.hint = f"{error.hint} Of a profile 'catmem fsck' names the command that mends these bytes alone."
            raise

    def bytes_of(self, profile: Profile, target: str, path: Path | None = None) -> bytes:
        """The bytes of a profile's file as they are now: the one place where they are read to be shown.

        ``path`` is what ``path`` gives, for callers who have it.
        """
        path = path or self.path_of(profile, target)
        if self._given is not None or not backend_of(self.config).has_files:
            return self.store.peek(f"{profile.name}/{target}")
        # The same that the file store's `peek` does, without loading the store.
        try:
            return read_bounded(path, MAX_FILE_BYTES, follow_symlink=profile.allow_outside)
        except UnreadableError as error:
            # A link that leads nowhere is no missing file: something should be there.
            if error.code != "missing" or os.path.lexists(path):
                raise
            refuse_lost_homes(self.config, self.profile, path.parent)
            return b""


def configured_now(workspace: Root) -> Root:
    """The same root, store and count with ``catmem.yaml`` as it is now. Raises as ``Root.anew`` does."""
    now = Root(load_config(workspace.root), workspace.store)
    object.__setattr__(now, "unlogged", workspace.unlogged)
    return now


@contextmanager
def collect_errors(problems: list[CatmemError]) -> Iterator[None]:
    """Have an error of the block stand among the problems, and hide nothing else."""
    try:
        yield
    except CatmemError as error:
        problems.append(error)


def load_each(workspace: Root) -> tuple[list[Profile], list[CatmemError]]:
    """The profiles of a root that are right, by name, and what is wrong with the others.

    Bases of others without files are left out: they are no agents. Raises ``UnreadableError`` if the folder of profiles
    cannot be listed.
    """
    right, wrong = _loaded_profiles(workspace)
    return [*right.values()], [*wrong.values()]


def agent_names(workspace: Root) -> list[str]:
    """The names of profiles that are no mere bases of others, also of those that are not right."""
    right, wrong = _loaded_profiles(workspace)
    return sorted({*right, *wrong})


def broken_profiles(workspace: Root) -> dict[str, CatmemError]:
    """What is wrong with the profiles that are not right, by name, and with those whose files are where none may be."""
    right, broken = _loaded_profiles(workspace)
    for name, profile in right.items():
        try:
            places(workspace.config, profile)
        except CatmemError as error:
            broken[name] = error
    return broken


@one_reading()
def _loaded_profiles(workspace: Root) -> tuple[dict[str, Profile], dict[str, CatmemError]]:
    """Each file that is meant to be a profile, also under a name that none can have; or what is wrong with it."""
    config = workspace.config
    right: dict[str, Profile] = {}
    wrong: dict[str, CatmemError] = {}
    for file in profile_files(config.profiles_dir):
        try:
            profile = load_profile(file, config=config)
            check_profile(profile, config)
            right[file.stem] = profile
        except CatmemError as error:
            wrong[file.stem] = error
    bases = [name for name, each in right.items() if each.is_base(right.values()) and not _has_files(workspace, each)]
    return {name: each for name, each in right.items() if name not in bases}, wrong


def _has_files(workspace: Root, profile: Profile) -> bool:
    """Whether it has a file, or an entity in the store; also where that cannot be known."""
    try:
        if backend_of(workspace.config).has_files:
            return any(os.path.lexists(path) for path in places(workspace.config, profile).values())
        return any(workspace.store.head(f"{profile.name}/{target}") for target in TARGETS)
    except CatmemError:
        return True  # a read of it says why


class Entities(NamedTuple):
    """The entities that can be looked at, each with its place, and the profiles that are right.

    ``unreadable`` is what is wrong with the profiles whose entities are not among them.
    """

    paths: dict[str, Path]
    profiles: list[Profile]
    unreadable: tuple[CatmemError, ...]


def entities_of_each(workspace: Root) -> Entities:
    """The entities of all profiles that are right and keep their files where they may, written or not."""
    refuse_no_root(workspace.config)
    profiles, unreadable = load_each(workspace)
    paths: dict[str, Path] = {}
    for profile in profiles:
        with collect_errors(unreadable):
            paths |= {f"{profile.name}/{target}": path for target, path in places(workspace.config, profile).items()}
    return Entities(paths, profiles, tuple(unreadable))


@contextmanager
def hide_names(workspace: Root, actor: str | None) -> Iterator[None]:
    """Make errors say no more than the caller may know.

    A profile that was taken out of the root hears of itself what it hears of others, and not who they are. Of a
    recovery copy an agent gets the name, and not the place on this machine.
    """
    try:
        yield
    except RefusedError as error:
        if actor is not None and error.drift_backup is not None:
            name = Path(error.drift_backup).name
            error.message = error.message.replace(error.drift_backup, name)
            error.drift_backup = name
        raise
    except UnknownNameError:
        if actor is not None and actor not in profile_names(workspace.config.profiles_dir):
            hint = "It is the one that you act as. The person who runs this memory can bring it back."
            raise UnknownNameError(f"there is no profile {shown(actor)}", hint=hint) from None
        raise


# --- its audit log ----------------------------------------------------------------------------------------------------

_COUNTING = threading.Lock()


def audit_log(workspace: Root) -> AuditLog:
    """The audit log of a root, whether it was begun or not."""
    from catmem.store.audit_log import AuditLog
    from catmem.store.contract import SIDECAR

    return AuditLog(workspace.root / SIDECAR)


def log_attempt(workspace: Root, line: AuditLine) -> None:
    """Add a line to the audit log of a root: one for each attempt, whatever came of it.

    A write is not undone or refused because of its line: where that cannot be written, a warning is logged (to stderr,
    by default), and the operation is counted in ``Root.unlogged``. A folder that is no root gets no log.
    """
    if not is_root(workspace.config):
        return
    log = audit_log(workspace)
    try:
        log.append(line)
    except OSError as error:
        with _COUNTING:
            workspace.unlogged[line.status] += 1
        import logging

        logging.getLogger("catmem.audit").warning(
            "%s: the audit log cannot be written (%s), so it does not tell of this %s of %s (%s)",
            log.folder,
            error.strerror or error,
            line.op,
            ascii(line.entity_id),
            line.status,
        )


# --- what a process takes from its machine: which person acts, and git -----------------------------------------------


PERSON_VARIABLE = "CATMEM_PERSON"
"""The environment variable with the name; an empty one has none kept."""

LONGEST_NAME = 80
"""Characters that are kept of a name."""

caller_name: ContextVar[str | None] = ContextVar("caller_name", default=None)
"""The name of the person whose request is served now, ``None`` outside of one."""


def person_name() -> str | None:
    """The name of the person who acts, on one line; ``None`` where none is known, or none shall be kept."""
    said = caller_name.get()
    if said is None:
        said = os.environ.get(PERSON_VARIABLE)
    if said is None:
        import getpass  # it loads the terminal

        said = ""
        with suppress(OSError, KeyError):  # a process of a user without a name, as in a container
            said = getpass.getuser()
    return "".join(filter(str.isprintable, " ".join(said.split())))[:LONGEST_NAME].strip() or None


def run_git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git, and no program that the configuration of a repository names. Raises ``OSError``."""
    import subprocess

    # The configuration may have another author. To read the attributes of a file, git asks a watcher of the disk for
    # the state of the index, and fetches what is missing in a partial clone.
    options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    return subprocess.run(  # noqa: S603 - git with fixed words and paths
        ["git", *options, *arguments],  # noqa: S607 - the git that the user has
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"},
    )
