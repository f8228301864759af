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
from catmem.text import printable, printable_json

if TYPE_CHECKING:
    from catmem.store.contract import Fault


_SECONDS = 19
"""Characters of a time stamp up to its seconds."""

WIDE, NARROW = 72, 60
"""Characters of an entry that are shown beside little else, and beside much."""


def in_json() -> bool:
    """Whether the running command was asked for JSON: its errors, which are printed outside of it, follow that too."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get("catmem.json"))


class OutputError(Exception):
    """Standard output cannot be written; ``is_unread`` where its reader has had enough."""

    is_unread = False


def emit(text: str) -> None:
    """Write data to stdout, byte for byte. Raises ``OutputError``."""
    if sys.stdout is None:
        raise OutputError("it is closed")
    try:
        # Only names of files can hold what UTF-8 cannot; in JSON its escape says the same.
        sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
        sys.stdout.buffer.flush()
    except OSError as error:
        # What could not be written is still in the buffer, and Python would try again, and fail, when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        failed = OutputError(error.strerror or str(error))
        failed.is_unread = isinstance(error, BrokenPipeError)
        raise failed from error


def emit_lines(lines: Iterable[str]) -> None:
    """Write lines for people to stdout; what a terminal would act on in them is written out."""
    emit(printable("".join(f"{line}\n" for line in lines)))


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
    try:
        sys.stderr.buffer.write((printable(text) + "\n").encode(errors="backslashreplace"))
        sys.stderr.buffer.flush()
    except OSError:
        # There is no other place to say so. Python tries again at its end what it holds back, and would end with 120.
        sys.stderr = None


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
    for error in {str(error): error for error in errors}.values():
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
    head = ("", "state", "date", "characters", "category", "entry")
    rows = (("", one["state"], one["date"] or "-", f"{one['size']:,}", one["category"], one["text"]) for one in entries)
    return columns([head, *rows], right=[3]).splitlines()


def fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    """What is not right in a store: what, where, and what to do."""
    for fault in faults:
        place = "" if fault.path is None else f"{shown_path(fault.path)}: "
        yield f"{'damage' if fault.damage else 'note'}[{fault.code}]: {place}{fault.message}"
        if fault.hint:
            yield f"  {fault.hint}"


def shown_moment(timestamp: str) -> str:
    """A time stamp in UTC, up to its seconds."""
    return f"{timestamp[:_SECONDS].replace('T', ' ')}Z"


def columns(rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows as aligned columns, two spaces between; the last column is not padded. No cell can begin another row."""
    cells = [[printable(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    lines = []
    for row in cells:
        padded = zip(row, widths, strict=False)
        aligned = [cell.rjust(width) if at in right else cell.ljust(width) for at, (cell, width) in enumerate(padded)]
        lines.append("  ".join([*aligned, row[-1]]).rstrip() + "\n")
    return "".join(lines)


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
