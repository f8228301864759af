"""Lint of a root on disk: read the files, run the rules, keep what was found, write fixes.

A file that cannot be read is a finding, and all others are looked at all the same. What is wrong in the configuration
is among ``errors``; lint then works on what is left of it.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError
from catmem.policy.config import Config, find_root, read_config
from catmem.policy.lint.baseline import read_baseline, without_old
from catmem.policy.lint.diagnostic import Diagnostic
from catmem.policy.lint.engine import FileResult, finished, lint_file, lint_root, lint_store, lint_yaml
from catmem.policy.lint.facts import FileFacts, facts_of
from catmem.policy.lint.fixing import Fixed, fix_all
from catmem.policy.lint.linted import Context, LintedFile, LintedStore, LintedYaml, RootFacts
from catmem.policy.lint.rule import all_rules
from catmem.policy.lint.settings import Settings, read_settings
from catmem.reading import read_bounded
from catmem.service import gate
from catmem.service.clock import today
from catmem.service.linting.cache import LintCache, tool_digest
from catmem.service.linting.sources import Root, Source
from catmem.service.linting.stores import faults
from catmem.service.stores import open_store, parse_file
from catmem.service.writing.rewrite import rewrite_file
from catmem.store.contract import Change
from catmem.store.lasting import SIDECAR
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from catmem.model.document import Document
    from catmem.store.contract import Store

_BASELINE_LIMIT = 1 << 26
_BY_CONFIGURATION = (
    *("CM103", "CM112", "CM302", "CM303", "CM307", "CM309", "CM403", "CM405", "CM406", "CM409", "CM410"),
    *("CM501", "CM502", "CM503", "CM607", "CM608"),
)
"""Rules that judge by what ``catmem.yaml`` says: without it they would find what is not so."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a run found. ``errors`` are what was wrong in the configuration; ``notes`` are for people."""

    diagnostics: tuple[Diagnostic, ...]
    files: int
    errors: tuple[CatmemError, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """2 where the configuration is not right, 1 with an error or warning that counts, else 0."""
        if self.errors:
            return 2
        return int(any(each.severity != "hint" and not each.suppressed for each in self.diagnostics))


@dataclass(frozen=True, slots=True)
class _Read:
    """A memory file as it was read."""

    data: bytes
    error: CatmemError | None


@dataclass(slots=True)
class Linter:
    """Lint of one root with one choice of rules and files. Make one with ``Linter.open``."""

    root: Root
    settings: Settings
    as_of: date
    paths: tuple[str | Path, ...] = ()
    keep: bool = True
    errors: list[CatmemError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _sources: dict[str, Source] = field(default_factory=dict)
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
        keep: bool = True,
    ) -> Linter:
        """Lint of the root that ``folder`` lies in; with ``search=False`` ``folder`` itself is the root.

        ``paths`` are the files and folders to report on, by default the whole root; rules across files look at the
        whole root in any case. ``keep`` is whether results are kept for the next run. Raises ``ConfigError`` for a code
        in ``select`` or ``ignore`` that no rule has, and ``UnreadableError`` for a path that is not there.
        Where ``catmem.yaml`` is wrong the rules see what is right in it; where nothing of it can be read, those that
        judge by it are off.
        """
        where = (find_root(folder) if search else None) or folder
        failed: tuple[CatmemError, ...]
        try:
            config, failed = read_config(where)
        except CatmemError as error:
            if not os.path.isdir(where):  # noqa: PTH112 - a text or a path
                raise
            config, failed = Config(Root.absolute(where)), (error,)
            ignore = (*ignore, *_BY_CONFIGURATION)
        errors: list[CatmemError] = [*failed]
        root = Root(config, failed)
        said = Settings()
        try:
            said = read_settings(config.lint, path=config.path, positions=root.config_positions)
        except CatmemError as error:
            errors.append(error)
            root.blame(error)
        linter = cls(root, said.narrowed(select, ignore), as_of or today(), tuple(paths), keep, errors)
        linter.errors += [file.error for file in root.yaml.values() if file.error and file.error not in errors]
        linter._find()
        return linter

    def _find(self) -> None:
        named = self.root.named(self.paths) if self.paths else None
        # A folder that is no root has no files but those that are named.
        every = self.root.sources() if named is None or self.root.config.path is not None else {}
        self._sources = dict(sorted({**every, **(named or {})}.items()))
        self._wanted = frozenset(self._sources if named is None else named)

    # --- looking -------------------------------------------------------------------------------------------------

    def run(self, overlay: Mapping[str, str] | None = None) -> Found:
        """Everything that the rules find, in order. Files in ``overlay`` are taken to have the text in it."""
        with _collector_at_rest():
            return self._run(overlay or {})

    def _run(self, overlay: Mapping[str, str]) -> Found:
        context = Context(
            self.root.config,
            self.as_of,
            self.root.profiles,
            rule_options=self.settings.options,
            schemas=self.root.schemas,
        )
        results: dict[str, FileResult] = {}
        work = _Work(self, context, overlay, LintCache(self._cache_folder(), self._key()))
        for name, source in self._sources.items():
            results[name] = work.yaml(name) if source.kind != "memory" else work.memory(source)
        others = [*work.across(), *self._store_diagnostics(context)]
        if not overlay:
            work.cache.write()
            self.notes = [work.cache.note] if work.cache.note else []
        found = [each for each in finished(results, others, self.settings) if self._is_wanted(each)]
        return Found(tuple(found), len(self._wanted), tuple(self.errors), tuple(self.notes))

    def without_baseline(self, found: Found, path: Path) -> Found:
        """The same with the findings of a baseline suppressed; one that is not right is among the errors."""
        try:
            old = read_baseline(read_bounded(path, _BASELINE_LIMIT), path)
        except CatmemError as error:
            return Found(found.diagnostics, found.files, (*found.errors, error), found.notes)
        return Found(tuple(without_old(found.diagnostics, old)), found.files, found.errors, found.notes)

    def text(self, name: str) -> str | None:
        """The text of a file of the last run as it is now; ``None`` if it cannot be read."""
        yaml = self.root.yaml.get(name)
        if yaml is not None:
            return yaml.text
        source = self._sources.get(name)
        return None if source is None else self.linted(source).text

    def source(self, name: str) -> Source:
        """The file of a name."""
        return self._sources[name]

    def linted(self, source: Source, overlay: Mapping[str, str] | None = None) -> LintedFile:
        """A memory file, read and parsed."""
        read = self.read(source, overlay or {})
        if read.error is not None:
            return LintedFile(source.name, b"", read.error, None, source.owner, source.target)
        return LintedFile.of(source.name, read.data, self.root.config, owner=source.owner, target=source.target)

    def read(self, source: Source, overlay: Mapping[str, str]) -> _Read:
        """The bytes of a memory file, or why there are none."""
        if source.name in overlay:
            return _Read(overlay[source.name].encode(), None)
        try:
            if source.entity is not None:
                return _Read(self._database().peek(source.entity), None)
            return _Read(read_bounded(source.path, DEFAULT_LIMITS.file_bytes, follow_symlink=source.may_be_link), None)
        except CatmemError as error:
            return _Read(b"", error)

    def _database(self) -> Store:
        """The store of a root that keeps its entities in a database."""
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
        return path in self._wanted or (path not in self._sources and (not self.paths or self._is_below(path)))

    def _is_below(self, path: str) -> bool:
        names = [self.root.name(given) for given in self.paths]
        return any(path.startswith(f"{name}/") for name in names)

    def _cache_folder(self) -> Path | None:
        config = self.root.config
        return config.root / SIDECAR if self.keep and config.path is not None else None

    def _key(self) -> str:
        """A digest of all that decides what is found in a file, besides its bytes."""
        rules = all_rules().values()
        day = self.as_of.isoformat() if any(rule.dated for rule in rules) else ""
        yaml = [[name, bytes_digest(file.data)] for name, file in self.root.yaml.items()]
        return content_digest([tool_digest(), self.settings.to_dict(), yaml, day])

    def _store_diagnostics(self, context: Context) -> list[Diagnostic]:
        if self._store is None:
            self._store = lint_store(LintedStore("", faults(self.root, self.as_of)), context, self.settings)
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
        return parse_file(self.root.config, text) if source is not None and source.kind == "memory" else None

    def write(self, name: str, old: str, new: str) -> None:
        """Write a file's fixed text: through the store where the file is in one, else in its place.

        Raises ``RefusedError`` or ``ChangedMeanwhileError`` if it is no longer ``old``, ``StoreError`` and
        ``UnreadableError``; the file is then as it was.
        """
        from catmem.service.formatting import commit_file, has_journal
        from catmem.service.workspace import Workspace

        source = self._sources[name]
        before, after = old.encode(), new.encode()
        if source.entity is not None:
            workspace = Workspace(self.root.config, self._database())
            expected, change = bytes_digest(before), Change(op="lint")
            gate.commit(workspace, source.entity, expected, lambda _: after, change)
        elif source.kind == "memory" and (source.owner is not None or has_journal(source.path)):
            entity = None if source.owner is None else f"{source.owner}/{source.target}"
            workspace = Workspace(self.root.config)
            commit_file(workspace, source.path, entity, (before, after), Change(op="lint"))
        else:
            rewrite_file(source.path, before, after)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Without searches for circles: a run makes very many small values and no circles of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Work:
    """One run: results by path, from what was kept where the bytes are the same."""

    def __init__(self, linter: Linter, context: Context, overlay: Mapping[str, str], cache: LintCache) -> None:
        self.linter, self.context, self.overlay, self.cache = linter, context, overlay, cache
        self._digests: dict[str, str] = {}
        self._facts: dict[str, FileFacts] = {}

    def yaml(self, name: str) -> FileResult:
        file = self.linter.root.yaml[name]
        # The digests of all YAML files are part of the key, so what was kept is right whatever they mean to each other.
        # What is wrong with one may lie outside of it: a home that became a link.
        digest = content_digest([bytes_digest(file.data), str(file.error)])
        kept = self.cache.get(name, digest) if not self.overlay and file.data else None
        if kept is not None:
            return _result(kept)
        found = lint_yaml(file, self.context, self.linter.settings)
        if file.data:
            self.cache.put(name, digest, _kept(found))
        return found

    def memory(self, source: Source) -> FileResult:
        read = self.linter.read(source, self.overlay)
        if read.error is not None:
            file = LintedFile(source.name, b"", read.error, None, source.owner, source.target)
            return lint_file(file, self.context, self.linter.settings)
        digest = bytes_digest(read.data)
        self._digests[source.name] = digest
        kept = self.cache.get(source.name, digest)
        if kept is not None:
            return _result(kept)
        config = self.linter.root.config
        file = LintedFile.of(source.name, read.data, config, owner=source.owner, target=source.target)
        found = lint_file(file, self.context, self.linter.settings)
        if found.facts is not None:
            self._facts[source.name] = found.facts
        self.cache.put(source.name, digest, _kept(found))
        return found

    def across(self) -> list[Diagnostic]:
        """What the rules across files find: as it was, if no file has changed."""
        state = content_digest(self._digests)
        kept = self.cache.root
        if kept is not None and kept[0] == state:
            return [Diagnostic.from_dict(each) for each in kept[1]]
        facts = {name: self._facts_of(name, digest) for name, digest in self._digests.items()}
        diagnostics = lint_root(RootFacts(facts), self.context, self.linter.settings, self._source)
        self.cache.root = [state, [each.to_dict() for each in diagnostics]]
        return diagnostics

    def _facts_of(self, name: str, digest: str) -> FileFacts:
        source = self.linter.source(name)
        facts = self._facts.get(name)
        if facts is None:
            said = self.cache.get_facts(name, digest)
            if said is not None:
                facts = FileFacts.from_json(said, path=name, owner=source.owner, target=source.target)
            else:
                facts = facts_of(self.linter.linted(source, self.overlay))
        self.cache.put_facts(name, digest, facts.to_json())
        return facts

    def _source(self, name: str) -> LintedFile | LintedYaml:
        yaml = self.linter.root.yaml.get(name)
        return yaml if yaml is not None else self.linter.linted(self.linter.source(name), self.overlay)


def _kept(found: FileResult) -> dict[str, Any] | None:
    """The form in which a result is kept: ``None`` where there is nothing to say, as for most files."""
    return found.to_dict() if found.diagnostics or found.marks else None


def _result(kept: Sequence[Any]) -> FileResult:
    (said,) = kept
    return FileResult.from_dict(said, None) if said else FileResult()
