"""``catmem migrate``: labels in the text of entries become sections and tags."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NoReturn

import click

from catmem.cli.options import dry_run_option, format_option, open_with_store, root_option
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    emit_text,
    first_line,
    print_error,
    printable,
    read_stdin,
    say,
    shown_path,
    text_diff,
)
from catmem.errors import CatmemError
from catmem.syntax.slug import UNCATEGORIZED
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.migration import Migration
    from catmem.service.migrating import Migrated, PlannedMigration
    from catmem.service.workspace import Workspace

_WIDTH = 48
_NAMED = 8
"""How many labels that nobody declared are named."""


@click.command(
    epilog="Examples: catmem migrate --dry-run homes/neo/USER.md   catmem migrate homes/neo/USER.md   "
    "catmem migrate - < old.md > new.md"
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@dry_run_option
@root_option
@format_option
def command(files: tuple[str, ...], root_folder: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Turn labels in the text of entries, such as [COMM] or [project:x], into sections and tags.

    A label that names a category of catmem.yaml by its slug, title or an alias ([COMM] ..., Finance: ...) moves its
    entry there and leaves the text. [project:x] becomes a tag. Only entries without a category are looked at; what
    fits none stays as it is, in front of the first section.

    catmem restore takes it back for the file of a profile; of any other file a copy is kept beside it. With - the file
    is read from stdin and written to stdout.
    """
    from catmem.service.migrating import Migrated, apply_migration, files_to_migrate, plan_file, to_dict

    workspace = open_with_store(root_folder)
    if files == ("-",):
        _migrate_stdin(workspace, dry_run=dry_run, as_json=as_json)
    said = []
    status = 0
    for path, may_be_link in files_to_migrate(workspace, files).items():
        try:
            planned = plan_file(workspace, path, may_be_link=may_be_link)
            done = Migrated() if dry_run else apply_migration(workspace, planned)
        except CatmemError as error:
            # The other files are migrated all the same; the worst status is what the command ends with.
            print_error(error, as_json=as_json)
            status = max(status, error.exit_status)
            continue
        if as_json:
            said.append({**to_dict(planned, done, written=not dry_run), "path": shown_path(path)})
        else:
            _show(planned, done, dry_run=dry_run)
    if as_json:
        emit_json({"files": said, "dry_run": dry_run})
    raise SystemExit(status)


def _migrate_stdin(workspace: Workspace, *, dry_run: bool, as_json: bool) -> NoReturn:
    from pathlib import Path

    from catmem.policy.migration import plan_migration
    from catmem.service.migrating import Migrated, PlannedMigration, to_dict
    from catmem.text import DEFAULT_LIMITS

    document = workspace.parse(read_stdin(DEFAULT_LIMITS.file_bytes))
    planned = PlannedMigration(Path("-"), None, plan_migration(document, workspace.config), ())
    if as_json:
        file = {**to_dict(planned, Migrated(), written=False), "text": planned.migration.new}
        emit_json({"files": [file], "dry_run": dry_run})
    elif dry_run:
        _show(planned, Migrated(), dry_run=True)
    else:
        emit_text(planned.migration.new)
        say(f"-: {_counted(planned.migration)}")
    raise SystemExit(0)


def _show(planned: PlannedMigration, done: Migrated, *, dry_run: bool) -> None:
    name, migration = shown_path(planned.path), planned.migration
    if dry_run:
        emit(text_diff(migration.old, migration.new, f"a/{name}", f"b/{name}"))
        emit(columns(list(_rows(migration))))
    for warning in planned.warnings:
        say(printable(f"warning: {warning}"))
    verb = "nothing to migrate" if not migration.changes else "would be migrated" if dry_run else "migrated"
    emit(printable(f"{name}: {verb}: {_counted(migration)}\n"))
    if migration.title is not None:
        say(printable(f"the heading '# {migration.title}' {'would be' if dry_run else 'is'} the title of the file"))
    _say_unknown(migration)
    if done.before is not None:
        where = "" if done.revision is None else f" (revision {done.revision})"
        say(printable(f"to take it back{where}: catmem restore {planned.entity} {done.before}"))
    elif done.backup is not None:
        kept = shown_path(done.backup)
        say(printable(f"what it was is kept in {kept}; to take it back: mv {shlex.quote(kept)} {shlex.quote(name)}"))


def _counted(migration: Migration) -> str:
    counts, sections = migration.counts, len(migration.sections)
    moved = f"{counts['moved']} moved" + (f" to {counted(sections, 'category')}" if sections else "")
    entries = counted(len(migration.entries), "entry")
    return f"of {entries} without a category {moved}, {counts['tagged']} tagged, {counts['stayed']} as before"


def _rows(migration: Migration) -> Iterator[tuple[str, ...]]:
    """A row for each entry without a category: where it goes, and why."""
    if migration.entries:
        yield "line", "category", "entry", "why"
    for each in migration.entries:
        category = "-" if each.category == UNCATEGORIZED else each.category
        yield f"{each.line:>4}", category, first_line(each.entry.body, _WIDTH), printable(each.why.replace("\n", " "))


def _say_unknown(migration: Migration) -> None:
    if not migration.unknown:
        return
    named = [f"{label} ({number})" for label, number in migration.unknown.items()]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    say(printable(f"labels that name no category: {', '.join(named[:_NAMED])}{more}"))
    say("  Give them as aliases under taxonomy.categories in catmem.yaml, then run this again.")
