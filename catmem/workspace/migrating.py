"""Migrate memory files on disk: plan each (``catmem.workspace.migration``), write it so that it can be taken back.

A file of a profile is written through the store, and ``catmem restore`` takes the migration back. Of any other file a
copy is kept beside it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from catmem.config.access import visible, visible_categories
from catmem.config.config import CONFIG_NAME, config_of
from catmem.config.declaring import with_categories
from catmem.config.json_schema import known_tags
from catmem.config.profile import ORCHESTRATOR_TIER, limit_of, refuse_no_root
from catmem.config.yamlfile import YAML_LIMIT
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, UnreadableError
from catmem.files import read_bounded, rewrite_file
from catmem.names import HERMES_FOLDER, TARGETS, UNCATEGORIZED, slugify
from catmem.store.contract import Change
from catmem.store.files.retention import keep_copy
from catmem.text import DEFAULT_LIMITS, counted, plural, size_of, unmerged_warnings
from catmem.workspace.formatting import commit_file, entity_at
from catmem.workspace.migration import plan_migration
from catmem.workspace.root import load_each
from catmem.writing import gate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from catmem.config.config import Config
    from catmem.workspace.migration import Migration, Proposed
    from catmem.workspace.root import Root


@dataclass(frozen=True, slots=True)
class PlannedMigration:
    """One file and what becomes of it. ``entity`` is the profile's entity that the file is, ``None`` for any other."""

    path: Path
    entity: str | None
    migration: Migration
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was written. ``revision`` is the new one, ``before`` the one to restore, where the file is an entity."""

    revision: str | None = None
    before: str | None = None
    backup: Path | None = None


def plan_file(workspace: Root, path: Path, *, may_be_link: bool = True) -> PlannedMigration:
    """Read a file and plan its migration. Raises ``UnreadableError`` and ``EditError``, with the path."""
    data = read_bounded(path, DEFAULT_LIMITS.file_bytes, follow_symlink=may_be_link)
    try:
        shared = path.resolve().parent.name == HERMES_FOLDER
        migration = plan_migration(workspace.parse(data), workspace.config, shared=shared)
    except CatmemError as error:
        error.path = str(path)
        raise
    return with_warnings(workspace, path, entity_at(workspace, path), migration)


def with_warnings(workspace: Root, path: Path, entity: str | None, migration: Migration) -> PlannedMigration:
    """The migration of a file with what to know of it."""
    warnings = [*unmerged_warnings(path.name, migration.new), *_undeclared(migration, workspace.config)]
    warnings += warnings_of(workspace, entity, migration) if entity and migration.changes else []
    if workspace.config.path is not None:
        unread = unread_of(workspace, entity, migration.sections)
        warnings += [f"no specialist reads {category} in {path.name}" for category in unread]
    return PlannedMigration(path, entity, migration, tuple(warnings))


def apply_migration(
    workspace: Root, planned: PlannedMigration, change: Change | None = None, expected: str | None = None
) -> Migrated:
    """Write a planned text, if it is another one; ``change`` is what the history says, ``expected`` what was read."""
    if not planned.migration.changes:
        return Migrated()
    old, new = planned.migration.old.encode(), planned.migration.new.encode()
    change = change or Change(op="migrate", note={"migrated": planned.migration.counts})
    if planned.entity is not None:
        store = workspace.store
        expected = expected or bytes_digest(old)
        revision = gate.commit(workspace, planned.entity, expected, lambda _: new, change).revision
        found = next(each for each in store.log(planned.entity) if each.revision == revision)
        return Migrated(revision, found.parents[0])
    backup, made = keep_copy(planned.path, old)
    try:
        commit_file(workspace, planned.path, None, (old, new), change)
    except CatmemError:
        if made and _still_holds(planned.path, old):
            backup.unlink(missing_ok=True)  # there is nothing to take back
        raise
    return Migrated(backup=backup)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The text of ``catmem.yaml`` before and after some categories are declared in it, and what it then says."""

    old: str
    new: str
    config: Config


def plan_declaration(config: Config, proposed: Iterable[Proposed]) -> Declaration:
    """What declaring categories makes of ``catmem.yaml``; their labels are aliases in the configuration alone."""
    refuse_no_root(config)
    path = config.root / CONFIG_NAME
    old, proposed = read_bounded(path, YAML_LIMIT).decode(), list(proposed)
    missing = {each.slug: each.title for each in proposed if each.slug not in config.taxonomy.categories}
    new = with_categories(old, missing, path) if missing else old
    config = config_of(config.root, new)
    categories = dict(config.taxonomy.categories)
    for each in proposed:
        aliases = {*map(slugify, each.labels)} - {each.slug}
        known = categories[each.slug]
        categories[each.slug] = known._replace(aliases=(*known.aliases, *sorted(aliases)))
    return Declaration(old, new, replace(config, taxonomy=replace(config.taxonomy, categories=categories)))


def declare(declaration: Declaration) -> None:
    """Write ``catmem.yaml``. Raises ``ChangedMeanwhileError`` and ``UnreadableError``; the file is then as it was."""
    rewrite_file(declaration.config.root / CONFIG_NAME, declaration.old.encode(), declaration.new.encode())


def named_categories(workspace: Root) -> set[str]:
    """The categories that profiles name, declared or not."""
    taxonomy = workspace.config.taxonomy
    profiles = load_each(workspace)[0]
    return {name for each in profiles for target in TARGETS for name in each.selectors(target, taxonomy).names}


def _still_holds(path: Path, data: bytes) -> bool:
    try:
        return read_bounded(path, DEFAULT_LIMITS.file_bytes) == data
    except UnreadableError:
        return False  # in doubt the copy stays


def _undeclared(migration: Migration, config: Config) -> Iterator[str]:
    """Tags that labels became and that the root does not declare."""
    made = {tag for each in migration.entries if each.label for tag in each.tags}
    unknown = sorted(made.difference(known_tags(config.tag_schemas)))
    if unknown:
        tags = f"{plural(len(unknown), 'tag')} without effect: {', '.join(unknown)}"
        yield f"{tags}; 'tags' in catmem.yaml does not declare {'it' if len(unknown) == 1 else 'them'}"


def warnings_of(workspace: Root, entity: str, migration: Migration) -> Iterator[str]:
    """What the owner's prompt no longer has, and a limit that the headers go over."""
    name, _, target = entity.partition("/")
    owner, config = workspace.profile(name), workspace.config
    old, new = (workspace.parse(text) for text in (migration.old, migration.new))
    read_before = {*visible(old, target, owner, config.taxonomy).categories}
    read_after = {*visible(new, target, owner, config.taxonomy).categories}
    if UNCATEGORIZED in read_before:
        now = Counter(each.category for each in migration.entries if each.category not in read_after)
        for category, number in now.items():
            where = "without a category" if category == UNCATEGORIZED else f"in {category}"
            entries = counted(number, "entry")
            yield f"the prompt of {name} has {entries} and will not have {'it' if number == 1 else 'them'} {where}"
    size, limit = size_of(migration.new), limit_of(owner, target, config)
    if limit is not None and size > limit:
        yield f"{entity} has {size:,} characters with its headers, over its limit of {limit:,}"


def unread_of(workspace: Root, entity: str | None, categories: Iterable[str]) -> Iterator[str]:
    """Those categories of a file of tier 1, or of no profile, that no specialist reads in it, if there are any."""
    return (category for category, readers in readers_of(workspace, entity, categories).items() if not readers)


def readers_of(workspace: Root, entity: str | None, categories: Iterable[str]) -> dict[str, list[str]]:
    """The specialists that read each category of a file of tier 1, or of no profile; empty if there are none."""
    taxonomy = workspace.config.taxonomy
    name, _, target = (entity or "").partition("/")
    profiles = load_each(workspace)[0]
    specialists = [each for each in profiles if each.tier != ORCHESTRATOR_TIER and not each.is_base(profiles)]
    if not specialists or (name and workspace.profile(name).tier != ORCHESTRATOR_TIER):
        return {}
    readers: dict[str, list[str]] = {category: [] for category in categories}
    targets = [target] if target else TARGETS
    for profile in specialists:
        seen = (visible_categories([*readers], each, profile, taxonomy) for each in targets)
        for category in {category for each in seen for category in each}:
            readers[category].append(profile.name)
    return readers


def to_dict(planned: PlannedMigration, done: Migrated, *, written: bool) -> dict[str, Any]:
    """A file's migration as JSON-ready data."""
    migration = planned.migration
    return {
        "path": str(planned.path),
        "entity": planned.entity,
        "changed": migration.changes,
        "written": written and migration.changes,
        "revision": done.revision,
        "restore": done.before,
        "backup": None if done.backup is None else str(done.backup),
        "title": migration.title,
        "counts": migration.counts,
        "unknown": [{"label": label, "entries": number} for label, number in migration.unknown.items()],
        "entries": [each.to_dict() for each in migration.entries],
        "warnings": list(planned.warnings),
    }
