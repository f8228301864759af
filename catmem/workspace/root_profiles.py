"""The profiles of a root: whether there are any, which are right, with their entities, and what is wrong with others.

Whoever goes over all profiles goes on without those that are not right, and tells of them in the end: the slip of one
hides nobody else's memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from catmem.config.json_schema import shown
from catmem.config.profile import YAML_SUFFIXES, check_profile, load_profile, profile_names, refuse_no_root
from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.names import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.workspace.root import Root


def load_each(workspace: Root) -> tuple[list[Profile], list[CatmemError]]:
    """The profiles of a root that are right, by name, and what is wrong with the others.

    Raises ``UnreadableError`` if the folder of profiles cannot be listed.
    """
    loaded = _each(workspace.config)
    profiles = {each.name: each for each in loaded.values() if not isinstance(each, CatmemError)}
    return list(profiles.values()), [each for each in loaded.values() if isinstance(each, CatmemError)]


def broken_profiles(workspace: Root) -> dict[str, CatmemError]:
    """What is wrong with the profiles that are not right, by name, and with those whose files are where none may be.

    Raises as ``load_each``.
    """
    broken: dict[str, CatmemError] = {}
    for file, loaded in _each(workspace.config).items():
        try:
            if isinstance(loaded, CatmemError):
                raise loaded
            workspace.path_of(loaded, "user")
        except CatmemError as error:
            broken[file.stem] = error
    return broken


def _each(config: Config) -> dict[Path, Profile | CatmemError]:
    """Each file that is meant to be a profile, also under a name that none can have; or what is wrong with it."""
    profile_names(config.profiles_dir)  # raises if the folder cannot be listed
    loaded: dict[Path, Profile | CatmemError] = {}
    for file in sorted(config.profiles_dir.iterdir()) if config.profiles_dir.is_dir() else ():
        if file.suffix in YAML_SUFFIXES and not file.name.startswith("."):
            try:
                loaded[file] = profile = load_profile(file, config=config)
                check_profile(profile, config)
            except CatmemError as error:
                loaded[file] = error
    return loaded


class Entities(NamedTuple):
    """The entities that can be looked at, and the profiles that are right.

    ``unreadable`` is what is wrong with the profiles whose entities are not among them.
    """

    names: list[str]
    profiles: list[Profile]
    unreadable: tuple[CatmemError, ...]


def entities_of_each(workspace: Root) -> Entities:
    """The entities of all profiles that are right and keep their files where they may, written or not.

    Raises ``ConfigError`` where no root is, and as ``load_each``.
    """
    refuse_no_root(workspace.config)
    profiles, unreadable = load_each(workspace)
    names: list[str] = []
    for profile in profiles:
        try:
            workspace.path_of(profile, "user")
        except CatmemError as error:
            unreadable.append(error)
        else:
            names += [f"{profile.name}/{target}" for target in TARGETS]
    return Entities(names, profiles, tuple(unreadable))


@contextmanager
def discreet(workspace: Root, actor: str | None) -> Iterator[None]:
    """What is told of names that are not there, where there may be no names at all, or not that of the one who asks.

    A name that is not found is no word of the folder of profiles, if that is away: raises ``UnreadableError``. And a
    profile that was taken out of the root hears of itself what it hears of others, and not who they are.
    """
    try:
        yield
    except UnknownNameError:
        config = workspace.config
        if config.path is not None and not config.profiles_dir.is_dir():
            raise UnreadableError(
                "the folder of profiles is not there",
                code="missing",
                path=config.profiles_dir,
                hint="Bring it back, or set 'profiles' in catmem.yaml to where it is.",
            ) from None
        if actor is not None and actor not in profile_names(config.profiles_dir):
            raise UnknownNameError(
                f"there is no profile {shown(actor)}",
                hint="It is the one that you act as. Whoever runs this memory can bring it back.",
            ) from None
        raise
