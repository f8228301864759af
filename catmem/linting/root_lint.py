"""Lint of a root on disk: find and read the files, run the rules, write fixes.

A file that cannot be read is a finding, and all others are looked at all the same. What is wrong in the configuration
is among ``errors``; the rules that judge by it are off then.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeAlias

from catmem import clock
from catmem.config.config import CONFIG_NAME, Config, load_config
from catmem.config.json_schema import shown
from catmem.config.profile import Profile, load_profile, memory_dir, profile_files
from catmem.config.yamlfile import YAML_LIMIT, YamlFile, parse_yaml
from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.files import read_bounded, real_path
from catmem.linting.linted import Context, Fixed, LintedFile, LintedYaml, fix_all, lint_file, lint_root
from catmem.linting.rule import Diagnostic, LintResult, LintSettings, read_settings
from catmem.names import FILE_NAMES, Target, parts_of
from catmem.store.contract import Change, Store
from catmem.text import MAX_FILE_BYTES
from catmem.workspace.change_plan import FileChange, write_file
from catmem.workspace.root import Root
from catmem.workspace.stores import backend_of, entity_name, memory_files_below, open_store

_TARGETS: tuple[Target, ...] = ("user", "memory")


@dataclass(frozen=True, slots=True)
class LintSource:
    """A memory file to look at, by its path from the root; of a database an ``entity``, such as ``sqlite:neo/user``."""

    name: str
    path: Path
    owner: str | None = None
    target: Target | None = None
    may_be_link: bool = False
    entity: str | None = None


Sources: TypeAlias = "dict[str, LintSource | LintedYaml]"
"""Files by name. Those in YAML were read when the root was opened."""


class LintRoot:
    """A root as lint finds it: its YAML files, the profiles that are right, and what is wrong (``failed``)."""

    def __init__(self, config: Config, failed: CatmemError | None = None) -> None:
        self.config = config
        self.has_files = backend_of(config).has_files
        """Whether entities are files of the root."""
        self.real = os.path.realpath(config.root)
        self.failed = failed
        self.settings = LintSettings()
        self.profiles: dict[str, Profile] = {}
        self.yaml: dict[str, LintedYaml] = {}
        self._owners: dict[str, tuple[Profile, Target]] = {}
        self._unread: set[str] = set()
        """Where memory files of profiles would be, if they were not in a database."""
        path = config.root / CONFIG_NAME
        if os.path.lexists(path):
            self._add("config", path)
        for path in profile_files(config.profiles_dir):
            self._add("profile", path)

    @staticmethod
    def absolute(path: str | Path) -> Path:
        return Path(os.path.abspath(path))  # noqa: PTH100 - as the user names it

    def name(self, path: str | Path) -> str:
        """The path from the root, with ``/``; absolute if it lies outside."""
        absolute = os.fspath(self.absolute(path))
        for root in (os.fspath(self.config.root), self.real):
            if absolute.startswith(root + os.sep):
                return absolute[len(root) + 1 :].replace(os.sep, "/")
        return absolute.replace(os.sep, "/")

    def profile(self, name: str) -> Profile:
        """A profile that is right; the rules on profiles tell of the others. Raises ``UnknownNameError``."""
        if name not in self.profiles:
            raise UnknownNameError(f"the profile {shown(name)} is not there, or not right")
        return self.profiles[name]

    def memory(self, path: Path, *, named: bool = False) -> LintSource:
        name = self.name(path)
        found = self._owners.get(os.path.join(self.real, name))  # noqa: PTH118 - text in, text out
        if found is None and named:
            found = self._owners.get(os.path.realpath(path))
        if found is None:
            return LintSource(name, path, may_be_link=named)
        profile, target = found
        return LintSource(name, path, profile.name, target, may_be_link=named or profile.allow_outside)

    def sources(self) -> Sources:
        memory = [*map(self.memory, memory_files_below(self.config.root, self.config.root))]
        memory = [each for each in memory if os.path.join(self.real, each.name) not in self._unread]  # noqa: PTH118
        memory += [self.memory(Path(real)) for real in self._owners if os.path.lexists(real)]
        for owner in self.profiles if not self.has_files else ():
            for target in _TARGETS:
                name = entity_name(self.config, f"{owner}/{target}")
                memory.append(LintSource(name, Path(name), owner, target, entity=f"{owner}/{target}"))
        return {**self.yaml, **{each.name: each for each in memory}}

    def named(self, paths: Iterable[str | Path]) -> Sources:
        """The files that paths name, those of folders included."""
        found: Sources = {}
        for given in paths:
            path = Path(given)
            if not os.fspath(given) or not os.path.lexists(path):
                message = "no such file or folder" if os.fspath(given) else "the path is empty"
                raise UnreadableError(message, code="missing", path=given, hint="Check the path.")
            name = self.name(path)
            if path.is_dir():
                inside = "" if real_path(path) == Path(self.real) else f"{name}/"
                found.update((each, yaml) for each, yaml in self.yaml.items() if each.startswith(inside))
                sources = map(self.memory, memory_files_below(path, self.config.root))
                found.update((source.name, source) for source in sources)
            elif name in self.yaml:
                found[name] = self.yaml[name]
            elif path.suffix.lower() in {".md", ".markdown"}:
                found[name] = self.memory(path, named=True)
            else:
                raise UnreadableError(
                    "is neither Markdown by its name nor a profile or catmem.yaml of this root",
                    code="not_markdown",
                    path=given,
                    hint="Name memory files, folders, or YAML files of the root (--root says which).",
                )
        return found

    def _add(self, kind: Literal["config", "profile"], path: Path) -> None:
        name, data, file, profile = self.name(path), b"", YamlFile(None, {}), None
        error: CatmemError | None = None
        try:
            data = read_bounded(path, YAML_LIMIT)
            file = parse_yaml(data, path)
        except CatmemError as wrong:
            error = wrong
        if kind == "config":
            try:
                self.settings = read_settings(self.config.lint, path=self.config.path, positions=file.positions)
            except CatmemError as wrong:
                self.failed = wrong
            error = self.failed or error
        elif error is None:
            profile, error = self._profile(path)
        self.yaml[name] = LintedYaml(name, data, error, kind, file, profile)

    def _profile(self, path: Path) -> tuple[Profile | None, CatmemError | None]:
        profile = None
        try:
            profile = load_profile(path, config=self.config)
            self.profiles[profile.name] = profile
            folder = memory_dir(profile, self.config)
        except CatmemError as error:
            return profile, error
        for target in _TARGETS:
            file = os.fspath(folder / FILE_NAMES[target])
            if self.has_files:
                self._owners[file] = (profile, target)
            else:
                self._unread.add(file)
        return profile, None


# --- lint of a root on disk: read the files, run the rules, write fixes ----------------------------------------------


_BY_CONFIGURATION = (
    *("CM103", "CM302", "CM303", "CM307", "CM406", "CM409", "CM410"),
    *("CM501", "CM502"),
)
"""Rules that judge by what ``catmem.yaml`` says: without it they would find what is not so."""


class Linter:
    """Lint of one root with one choice of rules and files. Make one with ``Linter.open``."""

    def __init__(self, root: LintRoot, settings: LintSettings, as_of: date, paths: Sequence[str | Path]) -> None:
        """Find the files; none but those of YAML is read yet. Raises ``UnreadableError`` for a path."""
        self.root, self.settings, self.as_of = root, settings, as_of
        self.errors = [] if root.failed is None else [root.failed]
        self.errors += [file.error for file in root.yaml.values() if file.error and file.error is not root.failed]
        named = root.named(paths) if paths else None
        # A folder that is no root has no files but those that are named.
        every = root.sources() if named is None or root.config.path is not None else {}
        self._sources = dict(sorted({**every, **(named or {})}.items()))
        self._wanted = frozenset(self._sources if named is None else named)
        self._looked: dict[str, tuple[LintedFile, list[Diagnostic]]] = {}
        """What each memory file came to: the rounds of ``fix`` look at changed files alone."""
        self._opened: Store | None = None

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        paths: Sequence[str | Path] = (),
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        as_of: date | None = None,
    ) -> Linter:
        """Lint of the root ``folder``; reports on ``paths``. Raises ``ConfigError`` and ``UnreadableError``."""
        failed = None
        try:
            config = load_config(folder)
        except CatmemError as error:
            if not os.path.isdir(folder):  # noqa: PTH112 - a text or a path
                raise
            config, failed = Config(LintRoot.absolute(folder)), error
            ignore = (*ignore, *_BY_CONFIGURATION)
        root = LintRoot(config, failed)
        return cls(root, root.settings.narrowed(select, ignore), clock.day(as_of), tuple(paths))

    # --- looking -------------------------------------------------------------------------------------------------

    def run(self, overlay: Mapping[str, str] | None = None) -> LintResult:
        """Everything that the rules find, in order. Files in ``overlay`` are taken to have the text in it."""
        root, settings = self.root, self.settings
        context = Context(
            root.config,
            self.as_of,
            root.profiles,
            rule_options=settings.options,
            yaml=root.yaml,
        )
        found: list[Diagnostic] = []
        files: dict[str, LintedFile] = {}
        for name, source in self._sources.items():
            if isinstance(source, LintedYaml):
                found += lint_file(source, context, settings)
                continue
            file = self._linted(source, overlay or {})
            known = self._looked.get(name)
            if known is None or known[0] is not file:
                known = self._looked[name] = file, lint_file(file, context, settings)
            found += known[1]
            if file.data or file.error is None:
                files[name] = file
        found += lint_root(files, context, settings, lambda name: root.yaml.get(name) or files[name])
        wanted = sorted((each for each in found if each.path in self._wanted), key=attrgetter("sort_key"))
        return LintResult(tuple(wanted), len(self._wanted), self.text, tuple(self.errors), settings.min_severity)

    def once(self, found: Iterable[Diagnostic]) -> list[tuple[Diagnostic, tuple[Diagnostic, ...]]]:
        """Each finding once, in order, in the file of the lowest tier, with those of copies of its entry."""
        groups: dict[tuple[object, ...], list[Diagnostic]] = {}
        seen: Counter[tuple[str, ...]] = Counter()
        for each in found:
            of_file = "" if each.end > each.start else each.path  # what has no place in it is of that file alone
            what = (each.code, each.message, each.fingerprint, of_file)
            groups.setdefault((*what, seen[(each.path, *what)]), []).append(each)
            seen[(each.path, *what)] += 1
        ranked = (sorted(group, key=lambda each: (self._tier(each.path), each.sort_key)) for group in groups.values())
        return sorted(((first, tuple(others)) for first, *others in ranked), key=lambda pair: pair[0].sort_key)

    def _tier(self, name: str) -> int:
        profile = self.root.profiles.get(parts_of(self.entity(name) or "").owner)
        return 0 if profile is None else profile.tier

    def entity(self, name: str) -> str | None:
        """What a file is, such as ``trinity/user``; ``None`` for one that is no profile's memory file."""
        source = self._sources.get(name)
        return f"{source.owner}/{source.target}" if isinstance(source, LintSource) and source.owner else None

    def file(self, name: str) -> LintedFile | LintedYaml | None:
        """A file as it is now; ``None`` for what is no file of this run."""
        source = self._sources.get(name)
        return self._linted(source, {}) if isinstance(source, LintSource) else self.root.yaml.get(name)

    def text(self, name: str) -> str | None:
        file = self.file(name)
        return None if file is None else file.text

    def _linted(self, source: LintSource, overlay: Mapping[str, str]) -> LintedFile:
        """A memory file, read and parsed; the file of the last run if it has the same bytes still."""
        try:
            data = self._read(source) if source.name not in overlay else overlay[source.name].encode()
        except CatmemError as error:
            return LintedFile(source.name, b"", error, owner=source.owner, target=source.target)
        known, _ = self._looked.get(source.name, (None, ()))
        if known is not None and known.error is None and known.data == data:
            return known
        return LintedFile.from_bytes(source.name, data, self.root.config, owner=source.owner, target=source.target)

    def _read(self, source: LintSource) -> bytes:
        if source.entity is not None:
            return self._database().peek(source.entity)
        return read_bounded(source.path, MAX_FILE_BYTES, follow_symlink=source.may_be_link)

    def _database(self) -> Store:
        if self._opened is None:
            self._opened = open_store(self.root.config, self.root.profile)
        return self._opened

    def close(self) -> None:
        """Let go of what is open; the next call opens it again."""
        if self._opened is not None:
            self._opened.close()

    # --- fixing --------------------------------------------------------------------------------------------------

    def fix(self, *, unsafe: bool = False) -> Fixed:
        """What fixing the memory files comes to; nothing is written. Rules are run again after each round."""
        memory = {name for name, source in self._sources.items() if isinstance(source, LintSource)}
        return fix_all(
            lambda name: self.text(name) or "",
            lambda texts: [each for each in self.run(texts).diagnostics if each.path in memory],
            self.root.config.taxonomy.parse,
            unsafe=unsafe,
        )

    def planned(self, name: str, new: str) -> FileChange:
        source = self._sources[name]
        if not isinstance(source, LintSource):
            raise TypeError(f"{name} is no memory file")
        return FileChange(source.path, self.entity(name), (self.text(name) or "").encode(), new.encode())

    def write(self, change: FileChange) -> FileChange:
        """Write a fixed text, through the store where the file is in one; raises if it is another by now."""
        workspace = Root(self.root.config, self._database()) if change.entity else Root(self.root.config)
        return write_file(workspace, change, Change(op="lint"))
