"""What git runs: ``catmem merge-driver``, and the text of ``catmem diff --git``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from catmem.cli.command import Command
from catmem.cli.door import given_root
from catmem.cli.options import common_options
from catmem.cli.output import emit_json, first_line, in_json, printable, say
from catmem.errors import CatmemError, EditError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catmem.model.document import Document, Entry
    from catmem.model.version import Conflict, Side, Version

_WIDTH = 100
_CONFLICT = 1
_STOP = 129
"""The least status with which git gives the whole merge up."""

_SAID = {
    "body": "both sides reworded this entry",
    "removed": "one side changed this entry and the other removed it",
    "tags": "the sides gave this entry different tags",
    "category": "the sides moved this entry to different categories; it is in that of our side",
    "title": "the sides gave the document different titles; that of our side is in the file",
}


class _Merged(NamedTuple):
    """The text of a merge, and what a person has to look at in it."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


# What follows the first file is no option, whatever it is called.
@click.command(
    cls=Command,
    context_settings={"allow_interspersed_args": False},
    examples=("catmem merge-driver %O %A %B %P", "catmem merge-driver old.md ours.md theirs.md homes/neo/USER.md"),
)
@common_options
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("name", metavar="[PATH]", required=False)
def merge_driver(base: str, ours: str, theirs: str, name: str | None) -> None:
    """Merge the files OURS and THEIRS, which come from BASE, by entry, and write the result to OURS.

    git runs this: the config line that 'catmem init --git' writes gives it %O %A %B %P. PATH is where the file stands
    in the repository; its root says what aliases mean, and a catmem.seed.lock is merged as what it is.

    The status is 1 if there are conflicts. Each stands in the file as one entry, both sides between git's marks. A file
    that is not UTF-8 or too large gets the conflict that git leaves.
    """
    name = name or ours
    try:
        merged = _merged(Path(base), Path(ours), Path(theirs), name)
    except CatmemError as error:
        _leave_to_git(base, ours, theirs)
        error.path, error.exit_status = name, _CONFLICT
        error.hint = "The file is as git merges it, line by line. Mend it by hand, then 'git add' it."
        raise
    except BaseException:
        _leave_to_git(base, ours, theirs)  # whatever it was, our side alone must not pass for the merge
        raise
    _write(Path(ours), merged.text)
    if in_json():
        emit_json(
            {"path": name, "merged": True, "conflicts": [_conflict_dict(conflict) for conflict in merged.conflicts]}
        )
    for line in _lines(name, merged.conflicts):
        say(line)
    if merged.conflicts:
        click.get_current_context().exit(_CONFLICT)


def _merged(base: Path, ours: Path, theirs: Path, name: str) -> _Merged:
    from catmem.seeding.lockfile import LOCK_LIMIT
    from catmem.seeding.seed_lock import LOCK_NAME
    from catmem.text import DEFAULT_LIMITS

    if Path(name).name == LOCK_NAME:
        return _merged_locks(*(_bytes(path, LOCK_LIMIT) for path in (base, ours, theirs)))
    sides = [_bytes(path, DEFAULT_LIMITS.file_bytes) for path in (base, ours, theirs)]
    from catmem.model.merge import merge

    parse = _reader(name)
    documents = [parse(side) for side in sides]
    conflicts = merge(*documents).conflicts
    return _Merged(merge(*documents, precedence=_marked).text, conflicts)


def _marked(conflict: Conflict) -> Version | Side:
    """What stands for a conflict: both sides between the marks of git, each with its tags. A title has no place."""
    from catmem.model.version import Version
    from catmem.syntax.scan import unclosed_spans

    ours, theirs = conflict.ours, conflict.theirs
    if conflict.reason == "title":
        return "ours"
    if any(unclosed_spans(side.text) for side in (ours, theirs) if side is not None):
        raise EditError("a side of a conflict opens a fence and does not close it", code="not_possible")
    said = ["" if side is None else f"{side.text}\n" for side in (ours, theirs)]
    text = f"<<<<<<< ours\n{said[0]}=======\n{said[1]}>>>>>>> theirs"
    place = next(side for side in (ours, theirs) if side is not None)
    return Version(place.category, text, {}, text)


def _merged_locks(base: bytes, ours: bytes, theirs: bytes) -> _Merged:
    from catmem.seeding.seed_lock import SeedLock, merge_locks, read_lock

    was, mine, other = (read_lock(side) for side in (base, ours, theirs))
    for side in (mine, other):
        if side.notes:
            raise UnreadableError(f"a side of the merge {side.notes[0]}", code="not_mergeable")
    # A base that is not whole tells nothing: then only what both sides hold is sure.
    return _Merged(merge_locks(SeedLock() if was.notes else was, mine, other).to_text())


def _bytes(path: Path, limit: int) -> bytes:
    from catmem.files import read_bounded

    return read_bounded(path, limit)


def _reader(name: str) -> Callable[[bytes], Document]:
    """How the root of the file reads memory files; without a root, every level-2 heading opens a section."""
    from catmem.config.config import find_root
    from catmem.model.document import parse
    from catmem.workspace.workspace import Workspace

    root = given_root() or find_root(Path(name).parent)
    return parse if root is None else Workspace.open(root, search=False).parse


def _leave_to_git(base: str, ours: str, theirs: str) -> None:
    """Let git merge the lines, conflict marks and all. A file that it takes for binary stays as our side has it."""
    from catmem.workspace.machine import run_git

    labels = [part for label in ("ours", "base", "theirs") for part in ("-L", label)]
    try:
        done = run_git("merge-file", *labels, "--", ours, base, theirs)
    except OSError as error:
        say(f"git merge-file cannot be run: {error.strerror or error}")
        return
    if done.stderr:
        say(done.stderr.rstrip("\n"))


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        failed = UnreadableError(
            f"cannot be written: {error.strerror or error}",
            code="not_writable",
            path=path,
            hint="git stops this merge. See to the disk, then merge again.",
        )
        failed.exit_status = _STOP
        raise failed from error


def _lines(name: str, conflicts: tuple[Conflict, ...]) -> Iterator[str]:
    if not conflicts:
        return
    count = "1 conflict" if len(conflicts) == 1 else f"{len(conflicts)} conflicts"
    yield f"{name}: {count} between entries"
    for conflict in conflicts:
        yield f"  {_SAID[conflict.reason]}:"
        for side in ("base", "ours", "theirs"):
            yield f"    {side:<7} {_shown(conflict, getattr(conflict, side))}"
    yield f"Keep one of each, take the marks out, then: git add {name}"


def _shown(conflict: Conflict, version: Version | None) -> str:
    if version is None:
        return "(not there)"
    if conflict.reason == "title":
        return first_line(version.text, _WIDTH)
    return f"{version.category}: {first_line(version.text, _WIDTH)}"


def _conflict_dict(conflict: Conflict) -> dict[str, object]:
    sides = {side: getattr(conflict, side) for side in ("base", "ours", "theirs")}
    return {
        "reason": conflict.reason,
        **{
            side: None if version is None else {"category": version.category, "text": version.text}
            for side, version in sides.items()
        },
    }


def git_text(data: bytes) -> str:
    """The text for ``data``. What is no memory file is shown as it is, since git gives up on a diff that fails."""
    from catmem.model.document import parse

    try:
        document = parse(data)
    except CatmemError as error:
        return printable(f"({error.message})\n{data.decode(errors='backslashreplace')}")
    # Titles and not categories: git calls this for copies of the file that lie in no root.
    return printable("".join(f"{line}\n" for line in _text_lines(document)))


def _text_lines(document: Document) -> Iterator[str]:
    if document.title is not None:
        yield f"# {document.title}"
    sections = document.sections
    first = sections[0].start if sections else len(document.text)
    yield from (line for entry in document.entries_between(0, first) if entry.start < first for line in _entry(entry))
    for section in sections:
        yield ""
        yield f"## {section.title}"
        for entry in document.entries_between(section.header_end, section.end):
            if section.header_end <= entry.start < section.end:
                yield from _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    lines = entry.body.split("\n")
    yield f"- {lines[0]}".rstrip()
    yield from (f"  {line}".rstrip() for line in lines[1:])
    for key, value in sorted(entry.tags.items()):
        yield f"  [{key}: {value if isinstance(value, str) else ', '.join(value)}]"
