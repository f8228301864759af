"""Operations for git: what it merges and compares."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from catmem.errors import CatmemError, EditError, UnreadableError
from catmem.model.document import Document, Entry
from catmem.model.version import Conflict, Side, Version
from catmem.ops.table import Call, Outcome, P, operation
from catmem.text import printable

_CONFLICT = 1
_STOP = 129
"""The least status with which git gives the whole merge up."""
_File = Annotated[str, P(argument=True)]


@dataclass(frozen=True, slots=True)
class FileMerged:
    """The text of a merge, and what a person has to look at in it."""

    path: str
    text: str
    conflicts: Sequence["Conflict"] = ()


@operation(
    "merge-driver",
    examples=("catmem merge-driver %O %A %B %P", "catmem merge-driver old.md ours.md theirs.md homes/neo/USER.md"),
    formats=False,
    options_first=True,
)
def merge_driver(
    call: Call,
    *,
    base: _File,
    ours: _File,
    theirs: _File,
    name: Annotated[str | None, P(argument=True, metavar="[PATH]")] = None,
) -> Outcome:
    """Merge the files OURS and THEIRS, which come from BASE, by entry, and write the result to OURS.

    git runs this: the config line that 'catmem init --git' writes gives it %O %A %B %P. PATH is where the file stands
    in the repository; its root says what aliases mean, and a catmem.seed.lock is merged as what it is.

    The status is 1 if there are conflicts. Each stands in the file as one entry, both sides between git's marks. A file
    that is not UTF-8 or too large gets the conflict that git leaves.
    """
    name = name or ours
    try:
        done = _merged(call, name, *map(Path, (base, ours, theirs)))
    except CatmemError as error:
        _leave_to_git(call, base, ours, theirs)
        error.path, error.exit_status = name, _CONFLICT
        error.hint = "The file is as git merges it, line by line. Mend it by hand, then 'git add' it."
        raise
    except BaseException:
        _leave_to_git(call, base, ours, theirs)  # whatever it was, our side alone must not pass for the merge
        raise
    _write(Path(ours), done.text)
    return Outcome(done, status=_CONFLICT if done.conflicts else 0)


def _merged(call: Call, name: str, *sides: Path) -> FileMerged:
    from catmem.files import read_bounded
    from catmem.seeding.lockfile import LOCK_LIMIT
    from catmem.seeding.seed_lock import LOCK_NAME
    from catmem.text import DEFAULT_LIMITS

    if Path(name).name == LOCK_NAME:
        return FileMerged(name, _merged_locks(*(read_bounded(path, LOCK_LIMIT) for path in sides)))
    texts = [read_bounded(path, DEFAULT_LIMITS.file_bytes) for path in sides]
    from catmem.model.merge import merge

    parse = _reader(call, name)
    documents = [parse(text) for text in texts]
    conflicts = merge(*documents).conflicts
    return FileMerged(name, merge(*documents, precedence=_marked).text, conflicts)


def _marked(conflict: "Conflict") -> "Version | Side":
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


def _merged_locks(base: bytes, ours: bytes, theirs: bytes) -> str:
    from catmem.seeding.seed_lock import SeedLock, merge_locks, read_lock

    was, mine, other = (read_lock(side) for side in (base, ours, theirs))
    for side in (mine, other):
        if side.notes:
            raise UnreadableError(f"a side of the merge {side.notes[0]}", code="not_mergeable")
    # A base that is not whole tells nothing: then only what both sides hold is sure.
    return merge_locks(SeedLock() if was.notes else was, mine, other).to_text()


def _reader(call: Call, name: str) -> Callable[[bytes], "Document"]:
    """How the root of the file reads memory files; without a root, every level-2 heading opens a section."""
    from catmem.config.config import find_root
    from catmem.model.document import parse
    from catmem.workspace.workspace import Workspace

    root = call.named_root or find_root(Path(name).parent)
    return parse if root is None else Workspace.open(root, search=False).parse


def _leave_to_git(call: Call, base: str, ours: str, theirs: str) -> None:
    """Let git merge the lines, conflict marks and all. A file that it takes for binary stays as our side has it."""
    from catmem.workspace.root import run_git

    labels = [part for label in ("ours", "base", "theirs") for part in ("-L", label)]
    try:
        done = run_git("merge-file", *labels, "--", ours, base, theirs)
    except OSError as error:
        call.tell(f"git merge-file cannot be run: {error.strerror or error}")
        return
    if done.stderr:
        call.tell(done.stderr.rstrip("\n"))


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


def git_text(data: bytes) -> str:
    """The text for ``data``. What is no memory file is shown as it is, since git gives up on a diff that fails."""
    from catmem.model.document import parse

    try:
        document = parse(data)
    except CatmemError as error:
        return printable(f"({error.message})\n{data.decode(errors='backslashreplace')}")
    # Titles and not categories: git calls this for copies of the file that lie in no root.
    return printable("".join(f"{line}\n" for line in _text_lines(document)))


def _text_lines(document: "Document") -> Iterator[str]:
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


def _entry(entry: "Entry") -> Iterator[str]:
    lines = entry.body.split("\n")
    yield f"- {lines[0]}".rstrip()
    yield from (f"  {line}".rstrip() for line in lines[1:])
    for key, value in sorted(entry.tags.items()):
        yield f"  [{key}: {value if isinstance(value, str) else ', '.join(value)}]"
