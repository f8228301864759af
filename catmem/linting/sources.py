"""Which files lint looks at: memory files, profiles, ``catmem.yaml`` and schemas of a root, or those that are named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from catmem.config.config import CONFIG_NAME
from catmem.config.json_schema import shown
from catmem.config.profile import load_profile, memory_dir
from catmem.config.yamlfile import YAML_LIMIT, YamlFile, parse_yaml
from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.files import read_bounded
from catmem.linting.linted import LintedYaml
from catmem.linting.settings import LintSettings, read_settings
from catmem.names import FILE_NAMES
from catmem.workspace.stores import backend_of, entity_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.linting.linted import Target

_YAML = (".yaml", ".yml")
_NOT_OURS = frozenset({"node_modules", "__pycache__", "venv"})
_TARGETS: tuple[Target, ...] = ("user", "memory")


@dataclass(frozen=True, slots=True)
class LintSource:
    """A memory file to look at. ``name`` is its path from the root, with ``/``; absolute for a file outside of it.

    ``may_be_link`` is whether the file may be reached by a symbolic link: only where the user named it. In a database
    ``entity`` is what it is, and ``name`` and ``path`` are such as ``sqlite:trinity/user``.
    """

    name: str
    path: Path
    owner: str | None = None
    target: Target | None = None
    may_be_link: bool = False
    entity: str | None = None


Sources: TypeAlias = "dict[str, LintSource | LintedYaml]"
"""Files by name. Those in YAML were read when the root was opened."""


class LintRoot:
    """A root as lint finds it: its YAML files, read, and the profiles that are right.

    ``config`` is what is left where ``catmem.yaml`` is broken, the defaults where nothing is; ``failed`` are the errors
    then, and that of its ``lint`` settings.
    """

    def __init__(self, config: Config, failed: Sequence[CatmemError] = ()) -> None:
        """Read every YAML file of the root once."""
        self.config = config
        self.has_files = backend_of(config).has_files
        """Whether entities are files of the root."""
        self.real = os.path.realpath(config.root)
        self.failed = [*failed]
        self.settings = LintSettings()
        self.profiles: dict[str, Profile] = {}
        self.schemas: dict[str, object] = {}
        self.yaml: dict[str, LintedYaml] = {}
        self._owners: dict[str, tuple[Profile, Target]] = {}
        self._unread: set[str] = set()
        """Where memory files of profiles would be, if they were not in a database."""
        self._with_copies: set[Path] = set()
        path = config.root / CONFIG_NAME
        if os.path.lexists(path):
            self._add("config", path)
        for path in _children(config.profiles_dir, _YAML):
            self._add("profile", path)
        for path in _children(config.root / "schemas", (".json", *_YAML)) if config.path is not None else ():
            self._add("schema", path)

    @staticmethod
    def absolute(path: str | Path) -> Path:
        """The path from the top, links kept."""
        return Path(os.path.abspath(path))  # noqa: PTH100 - as the user names it

    def name(self, path: str | Path) -> str:
        """The path from the root, with ``/``; absolute if it lies outside."""
        absolute = os.fspath(self.absolute(path))
        for root in (os.fspath(self.config.root), self.real):
            if absolute.startswith(root + os.sep):
                return absolute[len(root) + 1 :].replace(os.sep, "/")
        return absolute.replace(os.sep, "/")

    def path(self, name: str) -> Path:
        """The path of a name."""
        return self.config.root / name

    def profile(self, name: str) -> Profile:
        """A profile that is right; the rules on profiles tell of the others. Raises ``UnknownNameError``."""
        if name not in self.profiles:
            raise UnknownNameError(f"the profile {shown(name)} is not there, or not right")
        return self.profiles[name]

    def memory(self, path: Path, *, named: bool = False) -> LintSource:
        """The memory file at a path, with whose it is."""
        name = self.name(path)
        found = self._owners.get(os.path.join(self.real, name))  # noqa: PTH118 - text in, text out
        if found is None and named:
            found = self._owners.get(os.path.realpath(path))
        if found is None:
            return LintSource(name, path, may_be_link=named)
        profile, target = found
        return LintSource(name, path, profile.name, target, may_be_link=named or profile.allow_outside)

    def sources(self) -> Sources:
        """Every file of the root."""
        memory = [*map(self.memory, self._below(self.config.root))]
        memory = [each for each in memory if os.path.join(self.real, each.name) not in self._unread]  # noqa: PTH118
        memory += [self.memory(Path(real)) for real in self._owners if os.path.lexists(real)]
        for owner in self.profiles if not self.has_files else ():
            for target in _TARGETS:
                name = entity_name(self.config, f"{owner}/{target}")
                memory.append(LintSource(name, Path(name), owner, target, entity=f"{owner}/{target}"))
        return {**self.yaml, **{each.name: each for each in memory}}

    def named(self, paths: Iterable[str | Path]) -> Sources:
        """The files that paths name, those of folders included.

        Raises ``UnreadableError``: ``missing``, and ``not_markdown`` for a file that lint knows nothing of.
        """
        found: Sources = {}
        for given in paths:
            path = Path(given)
            if not os.fspath(given) or not os.path.lexists(path):
                message = "no such file or folder" if os.fspath(given) else "the path is empty"
                raise UnreadableError(message, code="missing", path=given, hint="Check the path.")
            name = self.name(path)
            if path.is_dir():
                inside = "" if path.resolve() == Path(self.real) else f"{name}/"
                found.update((each, yaml) for each, yaml in self.yaml.items() if each.startswith(inside))
                found.update((source.name, source) for source in map(self.memory, self._below(path)))
            elif name in self.yaml:
                found[name] = self.yaml[name]
            elif path.suffix.lower() in {".md", ".markdown"}:
                found[name] = self.memory(path, named=True)
            else:
                raise UnreadableError(
                    "is neither Markdown by its name nor a profile, schema or catmem.yaml of this root",
                    code="not_markdown",
                    path=given,
                    hint="Name memory files, folders, or YAML files of the root (--root says which).",
                )
        return found

    def _below(self, folder: Path) -> Iterator[Path]:
        """Whatever is called as a memory file is, and the folders that cannot be listed; other roots are left out."""
        closed: list[Path] = []
        names = set(FILE_NAMES.values())
        for where, folders, files in os.walk(folder, onerror=lambda error: closed.append(Path(error.filename))):
            if CONFIG_NAME in files and Path(where) not in {folder, self.config.root}:
                folders.clear()
                continue
            if any(".bak." in name for name in files):
                self._with_copies.add(Path(where))
            odd = [name for name in folders if name in names]
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_OURS)
            yield from (Path(where, name) for name in (*odd, *files) if name in names)
        yield from closed

    def _add(self, kind: Literal["config", "profile", "schema"], path: Path) -> None:
        name, data, file, profile = self.name(path), b"", YamlFile(None, {}), None
        errors: list[CatmemError] = []
        try:
            data = read_bounded(path, YAML_LIMIT)
            file = parse_yaml(data, path)
        except CatmemError as wrong:
            errors = [wrong]
        if kind == "config":
            try:
                self.settings = read_settings(self.config.lint, path=self.config.path, positions=file.positions)
            except CatmemError as wrong:
                self.failed.append(wrong)
            errors = self.failed or errors
        elif kind == "schema" and not errors:
            self.schemas[path.name] = file.data
        elif not errors:
            profile, errors = self._profile(path)
        self.yaml[name] = LintedYaml(name, data, next(iter(errors), None), kind, *file, profile, tuple(errors[1:]))

    def _profile(self, path: Path) -> tuple[Profile | None, list[CatmemError]]:
        profile = None
        try:
            profile = load_profile(path, config=self.config)
            self.profiles[profile.name] = profile
            folder = memory_dir(profile, self.config)
        except CatmemError as error:
            return profile, [error]
        for target in _TARGETS:
            file = os.fspath(folder / FILE_NAMES[target])
            if self.has_files:
                self._owners[file] = (profile, target)
            else:
                self._unread.add(file)
        return profile, []

    def with_copies(self) -> set[Path]:
        """The folders in which ``sources`` saw something called like a backup, and those of profiles elsewhere."""
        outside = {Path(home) for home in self.homes().values() if not home.startswith(self.real + os.sep)}
        return self._with_copies | {home for home in outside if home.is_dir()}

    def homes(self) -> Mapping[str, str]:
        """The folder of the memory files of each profile that has one."""
        return {profile.name: os.path.dirname(path) for path, (profile, _) in self._owners.items()}  # noqa: PTH120


def _children(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder with these suffixes, sorted; hidden ones left out. Raises ``UnreadableError``."""
    try:
        found = [path for path in folder.iterdir() if path.suffix in suffixes and not path.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"the folder cannot be read: {error.strerror or error}"
        raise UnreadableError(message, code="io", path=folder, hint="Check its rights.") from error
    return sorted(found)
