"""``catmem fmt``: put memory files into one layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from catmem.cli.options import format_option, open_workspace, root_option
from catmem.cli.output import (
    emit,
    emit_json,
    emit_text,
    first_line,
    print_error,
    print_unreadable,
    printable,
    read_stdin,
    say,
    shown_path,
    text_diff,
)
from catmem.errors import CatmemError
from catmem.text import plural, unmerged_warnings

if TYPE_CHECKING:
    from catmem.model.layout import Layout
    from catmem.service.formatting import PlannedFormat
    from catmem.service.workspace import Workspace


_WIDTH = 60


@click.command(
    epilog="Examples: catmem fmt   catmem fmt --check homes/   catmem fmt --layout shared USER.md   catmem fmt -"
)
@click.argument("paths", nargs=-1)
@click.option(
    "--layout",
    type=click.Choice(["plain", "shared"]),
    help="plain for catmem and people, shared for files that stock Hermes Agent edits too. By default each file's own.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit 1 if anything would.")
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    paths: tuple[str, ...],
    layout: Layout | None,
    root_folder: str | None,
    *,
    check: bool,
    diff: bool,
    as_json: bool,
) -> None:
    """Put memory files into one layout. The words of every entry stay as they are.

    PATHS are Markdown files, or folders in which every USER.md and MEMORY.md counts; without any, the files of the
    root's profiles. With - the file is read from stdin and written to stdout.

    Exit status 2 if a file, or without PATHS a profile, is not right; all others are formatted.
    """
    from catmem.service.formatting import apply_format, memory_files, plan_format

    workspace = open_workspace(root_folder)
    if paths == ("-",):
        _format_stdin(workspace, layout, check=check, diff=diff, as_json=as_json)
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
            print_error(error, as_json=as_json)
            status = max(status, error.exit_status)
            continue
        _warn(planned)
        if planned.changes:
            changed.append(shown_path(path))
            if diff and not as_json:
                emit(text_diff(planned.old, planned.new, f"a/{changed[-1]}", f"b/{changed[-1]}"))
    writes = not (check or diff)
    if as_json:
        unreadable = [error.to_dict() for error in files.unreadable]
        emit_json({"files": len(files.links), "changed": changed, "written": writes, "unreadable": unreadable})
    else:
        for name in () if diff else changed:
            emit(f"{'formatted' if writes else 'would format'} {printable(name)}\n")
        count, done = len(files.links), "changed" if writes else "would be changed"
        say(f"{len(changed)} of {count} {plural(count, 'file')} {done}")
    status = max(status, print_unreadable(files.unreadable, as_json=as_json))
    raise SystemExit(status or int(bool(changed) and not writes))


def _format_stdin(workspace: Workspace, layout: Layout | None, *, check: bool, diff: bool, as_json: bool) -> NoReturn:
    from catmem.service.formatting import format_document
    from catmem.text import DEFAULT_LIMITS

    document = workspace.parse(read_stdin(DEFAULT_LIMITS.file_bytes))
    _, text = format_document(document, layout)
    if as_json:
        emit_json({"files": 1, "changed": ["-"] * (text != document.text), "written": False, "text": text})
    elif diff:
        emit(text_diff(document.text, text, "a/-", "b/-"))
    elif not check:
        emit_text(text)
    raise SystemExit(int((check or diff) and text != document.text))


def _warn(planned: PlannedFormat) -> None:
    for warning in unmerged_warnings(shown_path(planned.path), planned.new):
        say(printable(f"warning: {warning}"))
    for raw in planned.repeated:
        path, beginning = printable(shown_path(planned.path)), first_line(raw, _WIDTH)
        say(f"warning: {path}: stands more than once; stock Hermes Agent keeps only the first: {beginning}")
