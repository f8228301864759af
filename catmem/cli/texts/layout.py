"""Files that were put into a layout, or migrated, as people read them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from catmem.cli.output import columns, emit, emit_text, first_line, printable, say, say_all, shown_path, text_diff
from catmem.names import UNCATEGORIZED
from catmem.ops.layout import Declared
from catmem.ops.table import Call
from catmem.text import counted, plural
from catmem.workspace.change_plan import ChangePlan, FileChange
from catmem.workspace.migration import Migration, Proposed

_ENTRY_WIDTH = 48
_MOST_LABELS = 8
"""How many categories for undeclared labels are named."""


def show_plan(plan: ChangePlan, call: Call, done: str, said: Callable[[FileChange], str] | None = None) -> None:
    """What becomes of files: a diff where nothing is written, else what was ``done``, and how it is taken back.

    Of files that stay as they are only what is ``said`` of the entries is shown.
    """
    for each in plan.changes:
        if each.changes and not plan.done and not call.values.get("check"):
            emit(diff_of(each))
        say_all(f"warning: {warning}" for warning in each.warnings)
        verb = (done if plan.done else f"would be {done}") if each.changes else f"not {done}"
        if said or (each.changes and (plan.done or call.values.get("check"))):
            about = f": {said(each)}" if said else f" (revision {each.revision})" if each.revision else ""
            emit(printable(f"{each.entity or each.name}: {verb}{about}\n"))
        if each.backup is not None or (said and each.revision):
            say(taking_back(each))
    say_all(plan.notes)


def diff_of(file: FileChange) -> str:
    """What would change in a file."""
    return text_diff(file.before, file.after, f"a/{file.name}", f"b/{file.name}")


def taking_back(file: FileChange) -> str:
    """How a person takes back what was written to a file."""
    if file.path is None or file.backup is None:
        return f"to take it back (revision {file.revision}): catmem restore {file.entity} {file.restore}"
    return f"to take it back: mv {shlex.quote(shown_path(file.backup))} {shlex.quote(file.name)}"


def _of_stdin(done: FileChange, call: Call) -> None:
    if call.values["diff"]:
        emit(diff_of(done))
    elif not call.values["check"]:
        emit_text(done.after)


def _plan(plan: ChangePlan, call: Call) -> None:
    if call.operation.name == "migrate":
        _migrated(plan, call)
        return
    show_plan(plan, call, "formatted")
    verb, count = "changed" if plan.done else "would be changed", len(plan.changes)
    say(f"{len(plan.changed)} of {count} {plural(count, 'file')} {verb}")


def _migrated(plan: ChangePlan, call: Call) -> None:
    if list(call.values["files"]) == ["-"] and not call.values["dry_run"]:
        for each in plan.changes:
            emit_text(each.after)
            say_all(f"warning: {warning}" for warning in each.warnings)
            say(f"-: {_counted(each.about)}")
        return
    show_plan(plan, call, "migrated", lambda each: _counted(each.about))
    for each in plan.changes:
        if not plan.done:
            emit(columns(_rows(each.about)))
        if each.about.title is not None:
            verb = "is" if plan.done else "would be"
            say(f"the heading '# {each.about.title}' {verb} the title of the file")


def _declared(done: Declared, call: Call) -> None:
    dry_run, declaration = call.values["dry_run"], done.declaration
    if dry_run and list(call.values["files"]) != ["-"]:
        emit(text_diff(declaration.old, declaration.new, "a/catmem.yaml", "b/catmem.yaml"))
    say(f"catmem.yaml {'would declare' if dry_run else 'declares'} these categories:")
    _say_rows(done.proposed)


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


TEXTS = {FileChange: _of_stdin, ChangePlan: _plan, Declared: _declared, tuple: _left}
