"""What a write did, or would do, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import emit, emit_json, printable, say
from catmem.model.unified import unified_diff

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.service.writing.written import How, Written


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
