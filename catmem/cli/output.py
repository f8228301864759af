"""What the command line prints: data to stdout as UTF-8 whatever the locale, messages to stderr."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from catmem.errors import (
    AmbiguousError,
    CatmemError,
    MergeConflictError,
    OverBudgetError,
    RefusedError,
    UnreadableError,
)
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import is_declared
from catmem.text import printable, printable_json, text_diff

if TYPE_CHECKING:
    from catmem.ops.table import Call
    from catmem.store.contract import Fault
    from catmem.writing.written import Written


_SECONDS = 19
"""Characters of a time stamp up to its seconds."""

WIDE, NARROW = 72, 60
"""Characters of an entry that are shown beside little else, and beside much."""


def in_json() -> bool:
    """Whether the running command was asked for JSON: its errors, which are printed outside of it, follow that too."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get("catmem.json"))


def emit(text: str) -> None:
    """Write data to stdout, byte for byte. Raises ``UnreadableError`` (``not_writable``), and ``BrokenPipeError``."""
    if sys.stdout is None:
        raise _no_output("it is closed")
    try:
        # Only names of files can hold what UTF-8 cannot; in JSON its escape says the same.
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # the reader of the output has had enough; click ends the command
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
    """Write a message to stderr, if there is one; what a terminal would act on in it is written out."""
    if sys.stderr is None:
        return
    sys.stderr.buffer.write((printable(text) + "\n").encode(errors="backslashreplace"))
    sys.stderr.buffer.flush()


def say_all(messages: Iterable[str]) -> None:
    """Write messages to stderr, a line each."""
    for message in messages:
        say(message)


def print_error(error: CatmemError, seen: set[tuple[str, ...]] | None = None) -> None:
    """Say what happened, where, and what to do next; as one JSON object for programs that asked for JSON.

    Of several errors that are printed with the same ``seen``, what to do next is said once where it is the same.
    """
    if in_json():
        say(printable_json({"error": jsonable(error)}))
        return
    if error.path is not None:
        error.path = shown_path(error.path)
    say(f"error[{error.code}]: {error}")
    way_on = (*_particulars(error), *([error.hint] if error.hint else []))
    seen = set() if seen is None else seen
    if way_on not in seen:
        say_all(f"  {line}" for line in way_on)
        seen.add(way_on)


def print_unreadable(errors: Sequence[CatmemError]) -> int:
    """Say what could not be looked at, when all else is said; the exit status for that, 0 for nothing."""
    for error in errors:
        print_error(error)
    return max((error.exit_status for error in errors), default=0)


def _particulars(error: CatmemError) -> Iterator[str]:
    """What one kind of error knows and a person can act on."""
    if isinstance(error, AmbiguousError):
        ids = [f"{place['id']}  " for place in error.places] or [""] * len(error.candidates)
        found = zip(ids, error.candidates, strict=True)
        yield from (f"{number}. {name}{body}" for number, (name, body) in enumerate(found, 1))
    elif isinstance(error, OverBudgetError) and error.could_go:
        yield "These could go:"
        yield from _could_go(error.could_go)
    elif isinstance(error, MergeConflictError):
        yield from conflict_lines(error.conflicts)
    elif isinstance(error, RefusedError):
        if error.expected is not None:
            yield f"expected {error.expected}, found {error.found or 'nothing'}"
        if error.drift_backup is not None and error.drift_backup not in error.message:
            copy = shown_path(error.drift_backup)
            if error.code == "drift":
                yield f"'catmem merge {shlex.quote(copy)}' shows what the file lacks of this copy"
            else:
                yield f"What others wrote was copied to {copy}"


def _could_go(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [("", "state", "date", "characters", "category", "entry")]
    for entry in entries:
        size, text = f"{entry['size']:,}", printable(entry["text"])
        rows.append(("", entry["state"], entry["date"] or "-", size, entry["category"], text))
    return columns(rows, right=[3]).splitlines()


def fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    """What is not right in a store: what, where, and what to do."""
    for fault in faults:
        place = "" if fault.path is None else f"{shown_path(fault.path)}: "
        yield printable(f"{'damage' if fault.damage else 'note'}[{fault.code}]: {place}{fault.message}\n")
        if fault.hint:
            yield printable(f"  {fault.hint}\n")


def shown_moment(timestamp: str) -> str:
    """A time stamp in UTC, up to its seconds."""
    return f"{timestamp[:_SECONDS].replace('T', ' ')}Z"


def columns(rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows as aligned columns, two spaces between; the last column is not padded. No cell can begin another row."""
    cells = [[cell.replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    lines = []
    for row in cells:
        padded = zip(row, widths, strict=False)
        aligned = [cell.rjust(width) if at in right else cell.ljust(width) for at, (cell, width) in enumerate(padded)]
        lines.append("  ".join([*aligned, row[-1]]).rstrip() + "\n")
    return "".join(lines)


TOOK_BACK = "took back a revision"
"""What the line for people says of an undo."""


def show_written(written: Written, done: str, call: Call, *, to_agent: bool = False) -> None:
    """One line for people: ``done`` ("added to") with the category, where, revision, size; or a diff for a dry run."""
    say_all(f"warning: {warning}" for warning in written.warnings)
    if written.waiting is not None:
        where = f"{written.entity} as {written.waiting}"
        emit(printable(f"waiting in {where}: nothing is written until a person says yes\n"))
        say_all(written.notes[1:])
        say(f"'catmem proposals {written.waiting}{root_words()}' shows it, with --approve a person makes it so")
    elif not written.changed:
        notes, about_file = _notes(written)
        emit(printable(f"{'; '.join(notes) or 'it says that already'}; nothing written\n"))
        say_all(about_file)
    elif call.dry_run:
        _show_tried_out(written, done, to_agent=to_agent)
    else:
        _show_done(written, done)


def _show_tried_out(written: Written, done: str, *, to_agent: bool) -> None:
    if to_agent:
        emit(printable(f"would be {done}{_category(written)} in {written.entity}:\n"))
        lines = (line for entry in written.entries for line in entry.raw.split("\n"))
        emit(printable("".join(f"  {line}".rstrip() + "\n" for line in lines)))
    else:
        emit(text_diff(written.before, written.after, f"a/{written.entity}", f"b/{written.entity}"))
    say_all(written.notes if written.branch else _notes(written)[0])
    whole = f"The branch of {written.entity}" if written.branch else written.entity
    say(f"Nothing was written. {whole} would have {_size(written)}.")


def _show_done(written: Written, done: str) -> None:
    revision = f" ({'branch' if written.branch else 'revision'} {written.revision})"
    size = "" if written.usage.limit is None else f", {_size(written)}"
    emit(printable(f"{done}{_category(written)} in {written.entity}{revision}{size}\n"))
    say_all(written.notes)
    # An agent may write what it may not take back.
    aside = written.bounded or written.branch or written.repeated or is_declared(written.entity)
    if not aside and done != TOOK_BACK:  # how to make it again stands in the notes
        undo = f"catmem undo {shlex.quote(written.entity)} --expected {written.revision}{root_words()}"
        say(f"'{undo}' takes it back")


def _notes(written: Written) -> tuple[Sequence[str], Sequence[str]]:
    """The notes on what was asked, and those on the file: the last ones, if others had written to it."""
    asked = len(written.notes) - bool(written.adopted) - written.branch
    return written.notes[:asked], written.notes[asked:]


def _category(written: Written) -> str:
    return f" {written.entries[0].category}" if written.entries else ""


def _size(written: Written) -> str:
    limit = "" if written.usage.limit is None else f" of {written.usage.limit:,}"
    return f"{written.usage.size:,}{limit} characters"


def given_root() -> str | None:
    """What ``--root`` says."""
    root: str | None = click.get_current_context().meta.get("catmem.root")
    return root


def root_words() -> str:
    """What a command to type next has behind it: `` --root DIR``, where a root was named."""
    root = given_root()
    return f" --root {shlex.quote(root)}" if root else ""


CONFLICT_REASONS = {
    "body": "both sides reworded this entry",
    "removed": "one side changed this entry and the other removed it",
    "tags": "the sides gave this entry different tags",
    "category": "the sides moved this entry to different categories",
    "title": "the sides gave the document different titles",
    "content": "both sides changed this place",
}
"""Why two sides conflict."""


def conflict_lines(conflicts: Sequence[Mapping[str, Any]], first: int = 1) -> Iterator[str]:
    """Conflicts, as JSON-ready data, numbered from ``first`` on, with the whole texts of their sides."""
    for number, found in enumerate(conflicts, first):
        where = f" in {found['category']}" if found["category"] else ""
        yield f"{number}. branch {found['branch']}{where}: {CONFLICT_REASONS[found['reason']]}"
        yield from side_lines([*_sides(found)])


def side_lines(sides: Sequence[tuple[str, str | None]], indent: str = "   ") -> Iterator[str]:
    """What each side of a conflict says, behind its name."""
    width = max(len(name) for name, _ in sides) + 1
    for name, text in sides:
        line, *more = ("(not there)" if text is None else text).split("\n")
        yield f"{indent}{f'{name}:':<{width}} {line}"
        yield from (f"{indent}{'':<{width}} {line}" for line in more)


def _sides(found: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    yield "base", found["base"]
    for side in ("ours", "theirs"):
        yield f"{side} ({found[f'{side}_by']})", found[side]
    if "taken" in found:
        yield "taken", found["taken"]
