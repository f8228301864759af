"""Files that were put into a layout, or migrated, as people read them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from catmem.cli.output import columns, emit, emit_text, first_line, printable, say, say_all, shown_path, text_diff
from catmem.names import UNCATEGORIZED
from catmem.ops.layout import Declared, Formatted
from catmem.ops.table import Call
from catmem.text import counted, plural
from catmem.workspace.file_change import FileChange
from catmem.workspace.formatting import MigratedFile
from catmem.workspace.migration import Migration, Proposed

_ENTRY_WIDTH = 48
_MOST_LABELS = 8
"""How many categories for undeclared labels are named."""


def diff_of(file: FileChange) -> str:
    """What would change in a file."""
    name = shown_path(file.path)
    return text_diff(file.before, file.after, f"a/{name}", f"b/{name}")


def _formatted_text(done: FileChange, call: Call) -> None:
    if call.values["diff"]:
        emit(diff_of(done))
    elif not call.values["check"]:
        emit_text(done.after)


def _formatted(done: Formatted, call: Call) -> None:
    writes = not (call.values["check"] or call.values["diff"])
    for name, planned in done.changed.items():
        if call.values["diff"]:
            emit(diff_of(planned))
        else:
            emit(f"{'formatted' if writes else 'would format'} {printable(name)}\n")
    verb = "changed" if writes else "would be changed"
    say(f"{len(done.changed)} of {done.count} {plural(done.count, 'file')} {verb}")


def _declared(done: Declared, call: Call) -> None:
    dry_run, declaration = call.values["dry_run"], done.declaration
    if dry_run and list(call.values["files"]) != ["-"]:
        emit(text_diff(declaration.old, declaration.new, "a/catmem.yaml", "b/catmem.yaml"))
    say(f"catmem.yaml {'would declare' if dry_run else 'declares'} these categories:")
    _say_rows(done.proposed)


def _migrated(done: MigratedFile, call: Call) -> None:
    dry_run, file, migration = call.values["dry_run"], done.file, done.migration
    name = shown_path(file.path)
    if list(call.values["files"]) == ["-"] and not dry_run:
        emit_text(migration.new)
        say_all(f"warning: {warning}" for warning in file.warnings)
        say(f"-: {_counted(migration)}")
        return
    if dry_run:
        emit(diff_of(file))
        emit(columns(_rows(migration)))
    say_all(f"warning: {warning}" for warning in file.warnings)
    verb = "nothing to migrate" if not migration.changes else "would be migrated" if dry_run else "migrated"
    emit(printable(f"{name}: {verb}: {_counted(migration)}\n"))
    if migration.title is not None:
        say(f"the heading '# {migration.title}' {'would be' if dry_run else 'is'} the title of the file")
    if file.backup is not None:
        say(f"what it was is kept in {shown_path(file.backup)}; {taking_back(file)}")
    elif file.restore is not None:
        say(taking_back(file))


def taking_back(file: FileChange) -> str:
    """How a person takes back what was written to a file."""
    if file.backup is None:
        return f"to take it back (revision {file.revision}): catmem restore {file.entity} {file.restore}"
    return f"to take it back: mv {shlex.quote(shown_path(file.backup))} {shlex.quote(shown_path(file.path))}"


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


def _left(proposed: tuple[Proposed, ...], _: Call) -> None:
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


TEXTS = {
    FileChange: _formatted_text, Formatted: _formatted, MigratedFile: _migrated,
    Declared: _declared, tuple: _left,
}  # fmt: skip
