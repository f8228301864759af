"""Lint of a root on disk: read the files, ask the stores, run the rules, write fixes.

A file that cannot be read is a finding, and all others are looked at all the same. What is wrong in the configuration
is among ``errors``; lint then works on what is left of it.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from catmem import clock
from catmem.config.config import CONFIG_NAME, Config, find_root, read_config
from catmem.config.json_schema import shown
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, UnknownNameError
from catmem.files import read_bounded, rewrite_file
from catmem.linting.diagnostic import rank
from catmem.linting.engine import lint_file, lint_root, lint_store
from catmem.linting.fixing import Fixed, fix_all
from catmem.linting.linted import Context, LintedFile, StoreFault
from catmem.linting.settings import LintSettings, read_settings
from catmem.linting.sources import LintRoot, LintSource
from catmem.names import FILE_NAMES
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.retention import copies_in
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.stores import open_store
from catmem.workspace.upkeep import look_over
from catmem.writing import gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from catmem.config.profile import Profile
    from catmem.linting.diagnostic import Diagnostic, Severity
    from catmem.model.document import Document
    from catmem.store.contract import Revision, Store


_BY_CONFIGURATION = (
    *("CM103", "CM112", "CM302", "CM303", "CM307", "CM309", "CM403", "CM405", "CM406", "CM409", "CM410"),
    *("CM501", "CM502", "CM503", "CM607", "CM608"),
)
"""Rules that judge by what ``catmem.yaml`` says: without it they would find what is not so."""


@dataclass(frozen=True, slots=True)
class LintResult:
    """What a run found. ``errors`` are what was wrong in the configuration.

    Findings milder than ``min_severity`` are not shown, and do not make a run fail.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: int
    errors: tuple[CatmemError, ...] = ()
    min_severity: Severity = "hint"

    @property
    def exit_status(self) -> int:
        """2 where the configuration is not right, 1 with an error or warning that is shown, else 0."""
        if self.errors:
            return 2
        mildest = min(rank("warning"), rank(self.min_severity))
        return int(any(rank(each.severity) <= mildest for each in self.diagnostics))


@dataclass(slots=True)
class Linter:
    """Lint of one root with one choice of rules and files. Make one with ``Linter.open``."""

    root: LintRoot
    settings: LintSettings
    as_of: date
    paths: tuple[str | Path, ...] = ()
    errors: list[CatmemError] = field(default_factory=list)
    begins: Callable[[str], None] | None = None
    """Called with what a run looks at next: a file, or a rule across files."""
    _sources: dict[str, LintSource] = field(default_factory=dict)
    _looked: dict[str, tuple[LintedFile, list[Diagnostic]]] = field(default_factory=dict)
    """What each memory file came to: the rounds of ``fix`` look at changed files alone."""
    _wanted: frozenset[str] = frozenset()
    _store: list[Diagnostic] | None = None
    _opened: Store | None = None

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
        cls,
        folder: str | Path = ".",
        *,
        search: bool = True,
        paths: Sequence[str | Path] = (),
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        as_of: date | None = None,
        min_severity: Severity | None = None,
    ) -> Linter:
        """Lint of the root that ``folder`` lies in; with ``search=False`` ``folder`` itself is the root.

        ``paths`` are the files and folders to report on, by default the whole root; rules across files look at the
        whole root in any case. Raises ``ConfigError`` for a code in ``select`` or ``ignore`` that no rule has, and
        ``UnreadableError`` for a path that is not there. Where ``catmem.yaml`` is wrong the rules see what is right in
        it; where nothing of it can be read, those that judge by it are off.
        """
        where = (find_root(folder) if search else None) or folder
        failed: tuple[CatmemError, ...]
        try:
            config, failed = read_config(where)
        except CatmemError as error:
            if not os.path.isdir(where):  # noqa: PTH112 - a text or a path
                raise
            config, failed = Config(LintRoot.absolute(where)), (error,)
            ignore = (*ignore, *_BY_CONFIGURATION)
        errors: list[CatmemError] = [*failed]
        root = LintRoot(config, failed)
        said = LintSettings()
        file = root.yaml.get(CONFIG_NAME)
        try:
            said = read_settings(config.lint, path=config.path, positions=file.positions if file else None)
        except CatmemError as error:
            errors.append(error)
            root.blame(error)
        linter = cls(root, said.narrowed(select, ignore, min_severity), as_of or clock.today(), tuple(paths), errors)
        linter.errors += [file.error for file in root.yaml.values() if file.error and file.error not in errors]
        named = root.named(paths) if paths else None
        # A folder that is no root has no files but those that are named.
        every = root.sources() if named is None or config.path is not None else {}
        linter._sources = dict(sorted({**every, **(named or {})}.items()))
        linter._wanted = frozenset(linter._sources if named is None else named)
        return linter

    # --- looking -------------------------------------------------------------------------------------------------

    def run(self, overlay: Mapping[str, str] | None = None) -> LintResult:
        """Everything that the rules find, in order. Files in ``overlay`` are taken to have the text in it."""
        context = Context(
            self.root.config,
            self.as_of,
            self.root.profiles,
            rule_options=self.settings.options,
            schemas=self.root.schemas,
            config_file=self.root.yaml.get(CONFIG_NAME),
        )
        found: list[Diagnostic] = []
        files: dict[str, LintedFile] = {}
        for number, (name, source) in enumerate(self._sources.items(), 1):
            if self.begins is not None:
                self.begins(f"file {number} of {len(self._sources)}, {name}")
            if source.kind != "memory":
                found += lint_file(self.root.yaml[name], context, self.settings)
                continue
            file = self.linted(source, overlay)
            known = self._looked.get(name)
            if known is None or known[0] is not file:
                known = self._looked[name] = file, lint_file(file, context, self.settings)
            found += known[1]
            if file.data or file.error is None:
                files[name] = file
        found += lint_root(
            files, context, self.settings, lambda name: self.root.yaml.get(name) or files[name], self.begins
        )
        found += self._store_diagnostics(context)
        wanted = sorted(filter(self._is_wanted, found), key=attrgetter("sort_key"))
        return LintResult(tuple(wanted), len(self._wanted), tuple(self.errors), self.settings.min_severity)

    def once(self, found: Iterable[Diagnostic]) -> list[tuple[Diagnostic, tuple[Diagnostic, ...]]]:
        """Each finding once, in order, in the file of the lowest tier, with those of copies of its entry."""
        groups: dict[tuple[object, ...], list[Diagnostic]] = {}
        seen: Counter[tuple[str, ...]] = Counter()
        for each in found:
            what = (each.code, each.message, each.fingerprint)
            groups.setdefault((*what, seen[(each.path, *what)]), []).append(each)
            seen[(each.path, *what)] += 1
        ranked = (sorted(group, key=lambda each: (self._tier(each.path), each.sort_key)) for group in groups.values())
        return sorted(((first, tuple(others)) for first, *others in ranked), key=lambda pair: pair[0].sort_key)

    def _tier(self, path: str) -> int:
        source = self._sources.get(path)
        profile = self.root.profiles.get(source.owner) if source is not None and source.owner else None
        return 0 if profile is None else profile.tier

    def text(self, name: str) -> str | None:
        """The text of a file of the last run as it is now; ``None`` if it cannot be read."""
        yaml = self.root.yaml.get(name)
        if yaml is not None:
            return yaml.text
        source = self._sources.get(name)
        return None if source is None else self.linted(source).text

    def source(self, name: str) -> LintSource:
        """The file of a name."""
        return self._sources[name]

    def linted(self, source: LintSource, overlay: Mapping[str, str] | None = None) -> LintedFile:
        """A memory file, read and parsed; the file of the last run if it has the same bytes still."""
        try:
            data = self._read(source, overlay or {})
        except CatmemError as error:
            return LintedFile(source.name, b"", error, owner=source.owner, target=source.target)
        known = self._looked.get(source.name)
        if known is not None and known[0].error is None and known[0].data == data:
            return known[0]
        return LintedFile.of(source.name, data, self.root.config, owner=source.owner, target=source.target)

    def _read(self, source: LintSource, overlay: Mapping[str, str]) -> bytes:
        if source.name in overlay:
            return overlay[source.name].encode()
        if source.entity is not None:
            return self._database().peek(source.entity)
        return read_bounded(source.path, DEFAULT_LIMITS.file_bytes, follow_symlink=source.may_be_link)

    def _database(self) -> Store:
        if self._opened is None:
            self._opened = open_store(self.root.config, self.root.profiles.__getitem__)
        return self._opened

    def close(self) -> None:
        """Let go of what is open; the next call opens it again."""
        if self._opened is not None:
            self._opened.close()

    def _is_wanted(self, diagnostic: Diagnostic) -> bool:
        path = diagnostic.path
        # What a store keeps is no file of ours; it counts when the folder around it was asked for.
        below = any(path.startswith(f"{self.root.name(given)}/") for given in self.paths)
        return path in self._wanted or (path not in self._sources and (below or not self.paths))

    def _store_diagnostics(self, context: Context) -> list[Diagnostic]:
        if self._store is None:
            self._store = lint_store(list(faults(self.root, self.as_of)), context, self.settings)
        return self._store

    # --- fixing --------------------------------------------------------------------------------------------------

    def fix(self, *, unsafe: bool = False) -> Fixed:
        """What fixing the memory files comes to; nothing is written. Rules are run again after each round."""
        memory = {name for name, source in self._sources.items() if source.kind == "memory"}
        return fix_all(
            lambda name: self.text(name) or "",
            lambda texts: [each for each in self.run(texts).diagnostics if each.path in memory],
            self._document,
            unsafe=unsafe,
        )

    def _document(self, name: str, text: str) -> Document | None:
        source = self._sources.get(name)
        return self.root.config.taxonomy.parse(text) if source is not None and source.kind == "memory" else None

    def write(self, name: str, old: str, new: str) -> None:
        """Write a file's fixed text: through the store where the file is in one, else in its place.

        Raises ``RefusedError`` or ``ChangedMeanwhileError`` if it is no longer ``old``, ``StoreError`` and
        ``UnreadableError``; the file is then as it was.
        """
        from catmem.workspace.formatting import commit_file, has_journal
        from catmem.workspace.root import Root

        source = self._sources[name]
        before, after = old.encode(), new.encode()
        if source.entity is not None:
            workspace = Root(self.root.config, self._database())
            expected, change = bytes_digest(before), Change(op="lint")
            gate.commit(workspace, source.entity, expected, lambda _: after, change)
        elif source.kind == "memory" and (source.owner is not None or has_journal(source.path)):
            entity = None if source.owner is None else f"{source.owner}/{source.target}"
            workspace = Root(self.root.config)
            commit_file(workspace, source.path, entity, (before, after), Change(op="lint"))
        else:
            rewrite_file(source.path, before, after)


# --- stores --------------------------------------------------------------------------------------------------------


def faults(root: LintRoot, as_of: date) -> tuple[StoreFault, ...]:
    """What is not right in the stores of the root's profiles that have been used, and which copies are left over.

    ``as_of`` is the day on which branches have their age.
    """
    copies = (fault for folder in sorted(root.with_copies()) for fault in _copies(root, folder))
    return (*_lost_homes(root), *_in_stores(root, as_of), *copies)


def _lost_homes(root: LintRoot) -> Iterator[StoreFault]:
    """That the folders of all memory files are gone, although this root was written to."""
    folders = list(root.homes().values())
    written = os.path.join(root.real, SIDECAR)  # noqa: PTH118 - text
    if root.has_files and folders and os.path.isdir(written) and not any(map(os.path.lexists, folders)):  # noqa: PTH112
        message = "the folders of all memory files are gone, and this root was written to before"
        yield StoreFault("lost_homes", root.name(folders[0]), message, "Bring them back from a backup, or from git.")


def _in_stores(root: LintRoot, as_of: date) -> Iterator[StoreFault]:
    used = [name for name, home in root.homes().items() if os.path.lexists(os.path.join(home, SIDECAR))]  # noqa: PTH118
    if not used and root.has_files and not root.config.entities:
        return
    try:
        with closing(open_store(root.config, partial(_profile, root), used)) as store:
            found = look_over(root.config, root.profiles.values(), store)
            branches = [(entity, branch) for entity in store.entities() for branch in store.branches(entity)[1:]]
            branches = [(entity, branch) for entity, branch in branches if not branch.is_proposal]
    except CatmemError as error:
        yield _of(root, error)
        return
    for fault in found:
        # What another store than that of files calls its own is no path.
        is_path = fault.path and os.path.isabs(fault.path)  # noqa: PTH117 - a text
        place = root.name(fault.path or "") if is_path else fault.path or ""
        yield StoreFault(fault.code, place, fault.message, fault.hint)
    for entity, branch in branches:
        yield _of_branch(root, entity, branch, as_of)


def _profile(root: LintRoot, name: str) -> Profile:
    """A profile that is right; the rules on profiles tell of the others. Raises ``UnknownNameError``."""
    if name not in root.profiles:
        raise UnknownNameError(f"the profile {shown(name)} is not there, or not right")
    return root.profiles[name]


def _of_branch(root: LintRoot, entity: str, branch: Revision, as_of: date) -> StoreFault:
    name, _, target = entity.partition("/")
    home = root.homes().get(name)
    path = root.name(os.path.join(home, FILE_NAMES[target])) if home else ""  # noqa: PTH118 - text in, text out
    message = f"{entity} has a branch that is not merged: {branch.revision}, by {branch.agent}, {_age(branch, as_of)}"
    return StoreFault("branch", path, message, f"Run: catmem merge {entity} {branch.revision}")


def _age(branch: Revision, as_of: date) -> str:
    """How old a branch is, in days of this place; a clock may have been ahead."""
    try:
        days = (as_of - datetime.fromisoformat(branch.timestamp).astimezone().date()).days
    except ValueError:
        return f"of {branch.timestamp}"
    return f"{days} day{'' if days == 1 else 's'} old" if days > 0 else "of today"


def _copies(root: LintRoot, path: Path) -> Iterator[StoreFault]:
    try:
        found = copies_in(path, sorted(FILE_NAMES.values()))
    except OSError as error:
        yield StoreFault("io", root.name(path), f"the folder cannot be read: {error.strerror or error}")
        return
    except CatmemError as error:
        yield _of(root, error)
        return
    for file, copies in found.items():
        for copy in copies:
            message = f"this is a copy of {file}, kept when a write would have lost what another writer wrote"
            yield StoreFault("backup", root.name(path / copy), message, f"Compare it with {file}, then remove it.")


def _of(root: LintRoot, error: CatmemError) -> StoreFault:
    return StoreFault(error.code, root.name(error.path) if error.path else "", error.message, error.hint or "")
