"""What the command line prints: data to stdout as UTF-8 whatever the locale, messages to stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from catmem import text as texts
from catmem.errors import AmbiguousError, MergeConflictError, OverBudgetError, RefusedError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from catmem.errors import CatmemError
    from catmem.model.document import Entry
    from catmem.service.profile_memory import Reading
    from catmem.service.workspace import Workspace
    from catmem.service.writing.written import How, Written
    from catmem.store.contract import Fault

printable = texts.printable
"""What stands in a text of somebody else's, for a terminal."""
printable_json = texts.printable_json


def emit(text: str) -> None:
    """Write data to stdout, byte for byte. Raises ``UnreadableError`` (``not_writable``), and ``BrokenPipeError``."""
    if sys.stdout is None:
        raise _no_output("it is closed")
    try:
        # Only names of files can hold what UTF-8 cannot; in JSON its escape says the same.
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # whoever read the output has had enough; click ends the command
    except OSError as error:
        # What could not be written is still in the buffer, and Python would try again, and fail, when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise _no_output(error.strerror or str(error)) from error


def _no_output(why: str) -> UnreadableError:
    return UnreadableError(
        f"standard output cannot be written: {why}",
        code="not_writable",
        hint="What was written so far is not whole. Check where the output goes.",
    )


def emit_text(text: str) -> None:
    """Write a text as it is to a file or a program; a terminal gets escapes for what it would act on."""
    emit(printable(text) if sys.stdout is not None and sys.stdout.isatty() else text)


def emit_json(value: object) -> None:
    """Write one JSON value to stdout, indented, keys in the order that the documentation gives."""
    emit(printable_json(value, indent=2) + "\n")


def read_stdin(limit: int) -> bytes:
    """What stdin holds, at most one byte over ``limit``, so that more than that is noticed and never all read."""
    if sys.stdin is None:
        raise UnreadableError("standard input is closed", code="io", hint="Give the text on standard input, or a file.")
    return sys.stdin.buffer.read(limit + 1)


def say(text: str) -> None:
    """Write a message to stderr, if there is one."""
    if sys.stderr is None:
        return
    sys.stderr.buffer.write((text + "\n").encode(errors="backslashreplace"))
    sys.stderr.buffer.flush()


def warn_of(file: Reading) -> None:
    """Say why the history of a file was not looked at, if it was not."""
    if file.warning is not None:
        say(printable(f"warning: {file.warning}"))


def warn_of_rows(workspace: Workspace, profile: str, target: str | None = None) -> None:
    """Say which rows of a profile's files, or of one of them, are not shown, since they are no entries."""
    from catmem.service.backends import backend_of

    if backend_of(workspace.config).has_files:
        return
    from catmem.service.unread import row_notes

    for note in row_notes(workspace, profile, target):
        say(printable(f"warning: {note}"))


def print_error(error: CatmemError, *, as_json: bool) -> None:
    """Say what happened, where, and what to do next; as one JSON object for programs that asked for JSON."""
    if as_json:
        say(printable_json({"error": error.to_dict()}))
        return
    if error.path is not None:
        error.path = shown_path(error.path)
    say(f"error[{error.code}]: {printable(str(error))}")
    for line in _particulars(error):
        say(f"  {line}")
    if error.hint:
        say(f"  {printable(error.hint)}")


def print_unreadable(errors: Sequence[CatmemError], *, as_json: bool) -> int:
    """Say what could not be looked at, when all else is said; the exit status for that, 0 for nothing."""
    for error in errors:
        print_error(error, as_json=as_json)
    return max((error.exit_status for error in errors), default=0)


def _particulars(error: CatmemError) -> Iterator[str]:
    """What one kind of error knows and a person can act on."""
    if isinstance(error, AmbiguousError):
        ids = [f"{place['id']}  " for place in error.places] or [""] * len(error.candidates)
        told = zip(ids, error.candidates, strict=True)
        yield from (f"{number}. {name}{printable(body)}" for number, (name, body) in enumerate(told, 1))
    elif isinstance(error, OverBudgetError) and error.could_go:
        yield "These could go:"
        yield from _could_go(error.could_go)
    elif isinstance(error, MergeConflictError):
        from catmem.cli.conflicts import conflict_lines

        yield from (printable(line) for line in conflict_lines(error.conflicts))
    elif isinstance(error, RefusedError):
        if error.expected is not None:
            yield f"expected {printable(error.expected)}, found {printable(error.found or 'nothing')}"
        if error.drift_backup is not None:
            yield f"What others wrote was copied to {printable(shown_path(error.drift_backup))}"


def _could_go(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    rows: list[tuple[str, ...]] = [("", "state", "date", "characters", "category", "entry")]
    for entry in entries:
        size, text = f"{entry['size']:,}".rjust(len("characters")), printable(entry["text"])
        rows.append(("", entry["state"], entry["date"] or "-", size, entry["category"], text))
    return columns(rows).rstrip("\n").split("\n")


def fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    """What is not right in a store: what, where, and what to do."""
    for fault in faults:
        place = "" if fault.path is None else f"{shown_path(fault.path)}: "
        yield printable(f"{'damage' if fault.damage else 'note'}[{fault.code}]: {place}{fault.message}\n")
        if fault.hint:
            yield printable(f"  {fault.hint}\n")


def shown_path(path: str | Path) -> str:
    """The path from the working folder where it lies below it, else as it is."""
    text = os.fspath(path)
    relative = os.path.relpath(text) if os.path.isabs(text) else text  # noqa: PTH117 - text in, text out
    return text if relative.startswith("..") else relative


def first_line(body: str, width: int) -> str:
    """The first line of a body, at most ``width`` characters, with ``…`` where something follows."""
    line, _, rest = body.partition("\n")
    if len(line) > width:
        return printable(line[: width - 1]) + "…"
    return printable(line) + (" …" if rest else "")


def columns(rows: list[tuple[str, ...]]) -> str:
    """Rows as aligned columns, two spaces between; the last column is not padded. No cell can begin another row."""
    if not rows:
        return ""
    rows = [tuple(cell.replace("\n", "\\n") for cell in row) for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def show_written(written: Written, done: str, how: How, *, as_json: bool) -> None:
    """One line for people: ``done`` ("added to") with the category, where, revision, size; or a diff for a dry run.

    A dry run of a profile (``actor``) shows the entries that it touches and no lines around them, which may be none of
    the profile's business. Where the write has an entry left out of the prompt for its budget, stderr says so.
    """
    dry_run = bool(how.get("dry_run"))
    crowded = written.crowded
    if as_json:
        emit_json({**written.to_dict(), "dry_run": dry_run})
        return
    _show(written, done, how)
    if crowded is not None:
        name = crowded.profile
        said = f"{name}'s prompt {'would be' if dry_run else 'is'} {crowded.over()}"
        say(printable(f"{said} 'catmem prompt {name} --explain' shows which."))


def _show(written: Written, done: str, how: How) -> None:
    dry_run = bool(how.get("dry_run"))
    for warning in written.warnings:
        say(printable(f"warning: {warning}"))
    # The last notes are about the file and no part of what was asked, if others had written to it.
    asked = len(written.notes) - bool(written.adopted) - written.branch
    notes, about_file = written.notes[:asked], written.notes[asked:]
    if not written.changed:
        emit(printable(f"{'; '.join(notes) or 'it says that already'}; nothing written\n"))
        _say_all(about_file)
        return
    if dry_run:
        if how.get("actor") is None:
            emit(text_diff(written.before, written.after, f"a/{written.entity}", f"b/{written.entity}"))
        else:
            emit(printable(f"would be {done}{_category(written)} in {written.entity}:\n"))
            emit("".join(_shown(entry) for entry in written.entries))
        _say_all(notes if not written.branch else written.notes)
        whole = f"The branch of {written.entity}" if written.branch else written.entity
        say(f"Nothing was written. {whole} would have {_size(written)}.")
        return
    revision = f" ({'branch' if written.branch else 'revision'} {written.revision})"
    usage = "" if written.usage.limit is None else f", {_size(written)}"
    emit(printable(f"{done}{_category(written)} in {written.entity}{revision}{usage}\n"))
    _say_all(written.notes)


def _say_all(notes: tuple[str, ...]) -> None:
    for note in notes:
        say(printable(note))


def text_diff(before: str, after: str, old_name: str, new_name: str) -> str:
    """A unified diff for people: what a terminal would act on is written out, carriage returns too."""
    from catmem.model.unified import unified_diff

    # Split at LF alone, as the format does. A carriage return is shown, since it may be all that changes.
    old, new = (_lines(printable(text.replace("\r\n", "\\r\\n"))) for text in (before, after))
    lines = unified_diff(old, new, printable(old_name), printable(new_name))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _category(written: Written) -> str:
    return f" {written.entries[0].category}" if written.entries else ""


def _size(written: Written) -> str:
    usage = written.usage
    return f"{usage.size:,}{'' if usage.limit is None else f' of {usage.limit:,}'} characters"


def _shown(entry: Entry) -> str:
    return printable("".join(f"  {line}".rstrip() + "\n" for line in entry.raw.split("\n")))
