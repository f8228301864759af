"""``catmem fmt`` and ``catmem migrate``: files put into one layout, and labels made sections and tags."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NoReturn

import click

from catmem.cli.command import Command
from catmem.cli.options import common_options, dry_run_option, open_to_read, open_workspace
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    emit_text,
    first_line,
    in_json,
    print_error,
    print_unreadable,
    printable,
    read_stdin,
    say,
    say_all,
    shown_path,
    text_diff,
)
from catmem.errors import CatmemError
from catmem.names import UNCATEGORIZED
from catmem.text import counted, plural, unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.model.layout import Layout
    from catmem.workspace.formatting import PlannedFormat
    from catmem.workspace.migrating import Migrated, PlannedMigration
    from catmem.workspace.migration import Migration, Proposed
    from catmem.workspace.workspace import Workspace

_REPEATED_WIDTH = 60
_ENTRY_WIDTH = 48
_MOST_LABELS = 8
"""How many categories for undeclared labels are named."""


@click.command(
    cls=Command,
    examples=("catmem fmt", "catmem fmt --check homes/", "catmem fmt --layout shared USER.md", "catmem fmt -"),
)
@click.argument("paths", nargs=-1)
@click.option(
    "--layout",
    type=click.Choice(["plain", "shared"]),
    help="plain for catmem and people, shared for files that stock Hermes Agent edits too. By default each file's own.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit 1 if anything would.")
@common_options
def fmt(paths: tuple[str, ...], layout: Layout | None, *, check: bool, diff: bool) -> None:
    """Put memory files into one layout. The words of every entry stay as they are.

    PATHS are Markdown files, or folders in which every USER.md and MEMORY.md counts; without any, the files of the
    root's profiles. With - the file is read from stdin and written to stdout.

    Exit status 2 if a file, or without PATHS a profile, is not right; all others are formatted.
    """
    from catmem.workspace.formatting import apply_format, memory_files, plan_format

    workspace = open_workspace()
    if paths == ("-",):
        _format_stdin(workspace, layout, check=check, diff=diff)
    changed: list[str] = []
    status = 0
    files = memory_files(workspace, paths)
    for path, may_be_link in files.links.items():
        try:
            planned = plan_format(workspace, path, layout, may_be_link=may_be_link)
            if planned.changes and not (check or diff):
                apply_format(workspace, planned)
        except CatmemError as error:
            # The other files are formatted all the same; the worst status is what the command ends with.
            print_error(error)
            status = max(status, error.exit_status)
            continue
        _warn(planned)
        if planned.changes:
            changed.append(shown_path(path))
            if diff and not in_json():
                emit(text_diff(planned.old, planned.new, f"a/{changed[-1]}", f"b/{changed[-1]}"))
    writes = not (check or diff)
    if in_json():
        unreadable = [error.to_dict() for error in files.unreadable]
        emit_json({"files": len(files.links), "changed": changed, "written": writes, "unreadable": unreadable})
    else:
        for name in () if diff else changed:
            emit(f"{'formatted' if writes else 'would format'} {printable(name)}\n")
        count, done = len(files.links), "changed" if writes else "would be changed"
        say(f"{len(changed)} of {count} {plural(count, 'file')} {done}")
    status = max(status, print_unreadable(files.unreadable))
    raise SystemExit(status or int(bool(changed) and not writes))


def _format_stdin(workspace: Workspace, layout: Layout | None, *, check: bool, diff: bool) -> NoReturn:
    from catmem.text import DEFAULT_LIMITS
    from catmem.workspace.formatting import format_document

    document = workspace.parse(read_stdin(DEFAULT_LIMITS.file_bytes))
    _, text = format_document(document, layout)
    if in_json():
        emit_json({"files": 1, "changed": ["-"] * (text != document.text), "written": False, "text": text})
    elif diff:
        emit(text_diff(document.text, text, "a/-", "b/-"))
    elif not check:
        emit_text(text)
    raise SystemExit(int((check or diff) and text != document.text))


def _warn(planned: PlannedFormat) -> None:
    path = shown_path(planned.path)
    say_all(f"warning: {warning}" for warning in unmerged_warnings(path, planned.new))
    for raw in planned.repeated:
        said = "stands more than once; stock Hermes Agent keeps only the first"
        say(f"warning: {path}: {said}: {first_line(raw, _REPEATED_WIDTH)}")


@click.command(
    cls=Command,
    examples=(
        "catmem migrate --dry-run homes/neo/USER.md",
        "catmem migrate --declare homes/neo/USER.md",
        "catmem migrate - < old.md > new.md",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--declare",
    "declares",
    is_flag=True,
    help="First declare in catmem.yaml a category for each label that names none; without it they are only proposed. "
    "A label that begins the name of one category, declared or named by a profile, goes to that one.",
)
@dry_run_option
@common_options
def migrate(files: tuple[str, ...], *, declares: bool, dry_run: bool) -> None:
    """Turn labels in the text of entries, such as [COMM] or [project:x], into sections and tags.

    A label that names a category of catmem.yaml by its slug, title or an alias ([COMM] ..., Finance: ...) moves its
    entry there and leaves the text. [project:x] becomes a tag. Only entries without a category are looked at; what
    fits none stays as it is, in front of the first section.

    catmem restore takes it back for the file of a profile; of any other file a copy is kept beside it. With - the file
    is read from stdin and written to stdout.
    """
    from catmem.text import DEFAULT_LIMITS
    from catmem.workspace.migrating import Migrated, apply_migration, named_categories, to_dict
    from catmem.workspace.migration import propose

    data = read_stdin(DEFAULT_LIMITS.file_bytes) if files == ("-",) else None
    workspace = open_to_read()
    declared: tuple[Proposed, ...] = ()
    if declares:
        workspace, declared = _declared(workspace, files, data, dry_run=dry_run)
    if data is None:
        click.get_current_context().call_on_close(workspace.store.close)
    said: list[dict[str, object]] = []
    migrations: list[Migration] = []
    status = 0
    for planned in _plans(workspace, files, data):
        try:
            if isinstance(planned, CatmemError):
                raise planned
            done = Migrated() if dry_run or data is not None else apply_migration(workspace, planned)
        except CatmemError as error:
            # The other files are migrated all the same; the worst status is what the command ends with.
            print_error(error)
            status = max(status, error.exit_status)
            continue
        migrations.append(planned.migration)
        if in_json():
            text = {} if data is None else {"text": planned.migration.new}
            written = not dry_run and data is None
            said.append({**to_dict(planned, done, written=written), "path": shown_path(planned.path), **text})
        elif data is not None and not dry_run:
            emit_text(planned.migration.new)
            say_all(f"warning: {warning}" for warning in planned.warnings)
            say(f"-: {_counted(planned.migration)}")
        else:
            _show(planned, done, dry_run=dry_run)
    left = propose(migrations, workspace.config.taxonomy, named_categories(workspace))
    if in_json():
        named = {"declared": declared, "proposed": left}
        emit_json({"files": said, "dry_run": dry_run, **{key: [x._asdict() for x in of] for key, of in named.items()}})
    else:
        _say_proposed(left)
    raise SystemExit(status)


def _plans(workspace: Workspace, files: Sequence[str], data: bytes | None) -> Iterator[PlannedMigration | CatmemError]:
    """The plan of each file, or of what stood on standard input; or what is wrong with it."""
    from pathlib import Path

    from catmem.workspace.formatting import memory_files
    from catmem.workspace.migrating import plan_file, with_warnings
    from catmem.workspace.migration import plan_migration

    try:
        if data is not None:
            yield with_warnings(workspace, Path("-"), None, plan_migration(workspace.parse(data), workspace.config))
            return
    except CatmemError as error:
        yield error
        return
    for path, may_be_link in memory_files(workspace, files).links.items():
        try:
            yield plan_file(workspace, path, may_be_link=may_be_link)
        except CatmemError as error:
            yield error


def _declared(
    workspace: Workspace, files: Sequence[str], data: bytes | None, *, dry_run: bool
) -> tuple[Workspace, tuple[Proposed, ...]]:
    """Declare what labels name, and the workspace as it is then; what is wrong with files is said when they migrate."""
    from catmem.workspace.migrating import PlannedMigration, declare, named_categories, plan_declaration
    from catmem.workspace.migration import propose

    plans = [each.migration for each in _plans(workspace, files, data) if isinstance(each, PlannedMigration)]
    found = propose(plans, workspace.config.taxonomy, named_categories(workspace))
    proposed = tuple(each for each in found if not each.may_be)
    if not proposed:
        say("no label is without a category: nothing to declare")
        return workspace, ()
    declaration = plan_declaration(workspace.config, proposed)
    if not dry_run and declaration.new != declaration.old:
        declare(declaration)
    if not in_json():
        if dry_run and data is None:
            emit(text_diff(declaration.old, declaration.new, "a/catmem.yaml", "b/catmem.yaml"))
        say(f"catmem.yaml {'would declare' if dry_run else 'declares'} these categories:")
        _say_rows(proposed)
    return type(workspace)(declaration.config), proposed


def _show(planned: PlannedMigration, done: Migrated, *, dry_run: bool) -> None:
    name, migration = shown_path(planned.path), planned.migration
    if dry_run:
        emit(text_diff(migration.old, migration.new, f"a/{name}", f"b/{name}"))
        emit(columns(_rows(migration)))
    say_all(f"warning: {warning}" for warning in planned.warnings)
    verb = "nothing to migrate" if not migration.changes else "would be migrated" if dry_run else "migrated"
    emit(printable(f"{name}: {verb}: {_counted(migration)}\n"))
    if migration.title is not None:
        say(f"the heading '# {migration.title}' {'would be' if dry_run else 'is'} the title of the file")
    if done.before is not None:
        where = "" if done.revision is None else f" (revision {done.revision})"
        say(f"to take it back{where}: catmem restore {planned.entity} {done.before}")
    elif done.backup is not None:
        kept = shown_path(done.backup)
        say(f"what it was is kept in {kept}; to take it back: mv {shlex.quote(kept)} {shlex.quote(name)}")


def _counted(migration: Migration) -> str:
    counts, sections = migration.counts, len(migration.sections)
    moved = f"{counts['moved']} moved" + (f" to {counted(sections, 'category')}" if sections else "")
    entries = counted(len(migration.entries), "entry")
    return f"of {entries} without a category {moved}, {counts['tagged']} tagged, {counts['stayed']} as before"


def _rows(migration: Migration) -> Iterator[tuple[str, ...]]:
    if migration.entries:
        yield "line", "category", "entry", "why"
    for each in migration.entries:
        category = "-" if each.category == UNCATEGORIZED else each.category
        yield (
            f"{each.line:>4}",
            category,
            first_line(each.entry.body, _ENTRY_WIDTH),
            printable(each.why.replace("\n", " ")),
        )


def _say_proposed(proposed: Sequence[Proposed]) -> None:
    clear = [each for each in proposed if not each.may_be]
    if clear:
        say("labels that name no category; --declare would declare these in catmem.yaml:")
        _say_rows(clear)
        say("  Or give the labels there as aliases of another category, and run this again.")
    for each in proposed:
        if each.may_be:
            may_be = " or ".join(each.may_be)
            say(f"[{'], ['.join(each.labels)}] may be {may_be}: give it to one as an alias, and run this again")


def _say_rows(proposed: Sequence[Proposed]) -> None:
    rows = [
        (
            "",
            f"{each.slug}: {{title: {each.title}}}" if each.title else each.slug,
            counted(each.entries, "entry"),
            f"[{'], ['.join(each.labels)}]" + (f" (did you mean {each.near}?)" if each.near else ""),
        )
        for each in proposed[:_MOST_LABELS]
    ]
    say_all(columns(rows).splitlines())
    if len(proposed) > _MOST_LABELS:
        say(f"  and {len(proposed) - _MOST_LABELS} more")
