"""Operations on the layout of files: fmt, migrate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem.errors import CatmemError
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.ops.shared import DryRun
from catmem.ops.table import Call, Outcome, P, operation
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.file_change import FileChange
from catmem.workspace.formatting import Declaration, MigratedFile
from catmem.workspace.migration import Migration, Proposed
from catmem.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Formatted:
    """Which of how many files are not in their layout, or were not until now, by the names that people read."""

    count: int
    changed: "Mapping[str, FileChange]"


@operation(
    "fmt",
    examples=("catmem fmt", "catmem fmt --check homes/", "catmem fmt --layout shared USER.md", "catmem fmt -"),
    opens="root",
)
def fmt(
    call: Call,
    *,
    paths: Annotated[Sequence[str], P(argument=True)] = (),
    layout: Annotated[
        Literal["plain", "shared"] | None,
        P(
            "plain for catmem and people, shared for files that stock Hermes Agent edits too. By default each file's "
            "own."
        ),
    ] = None,
    check: Annotated[bool, P("Write nothing; exit 1 if a file would change.")] = False,
    diff: Annotated[bool, P("Write nothing; print what would change, and exit 1 if anything would.")] = False,
) -> Outcome:
    """Put memory files into one layout. The words of every entry stay as they are.

    PATHS are Markdown files, or folders in which every USER.md and MEMORY.md counts; without any, the files of the
    root's profiles. With - the file is read from stdin and written to stdout.

    Exit status 2 if a file, or without PATHS a profile, is not right; all others are formatted.
    """
    from catmem.workspace.file_change import FileChange
    from catmem.workspace.formatting import apply_format, format_document, memory_files, plan_format

    writes, workspace = not (check or diff), call.root
    if list(paths) == ["-"]:
        document = workspace.parse(call.stdin(DEFAULT_LIMITS.file_bytes))
        _, new = format_document(document, layout)
        changes = new != document.text
        said: dict[str, Any] = {"files": 1, "changed": ["-"] * changes, "written": False, "text": new}
        return Outcome(FileChange(Path("-"), None, document.text, new), said, status=int(changes and not writes))
    changed = {}
    status = 0
    files = memory_files(workspace, paths)
    with closing(workspace.store) if writes else nullcontext():
        for path, may_be_link in files.links.items():
            try:
                planned = plan_format(workspace, path, layout, may_be_link=may_be_link)
                if writes:
                    apply_format(workspace, planned)
            except CatmemError as error:
                # The other files are formatted all the same; the worst status is what the command ends with.
                call.tell(error)
                status = max(status, error.exit_status)
                continue
            for warning in planned.warnings:
                call.tell(f"warning: {warning}")
            if planned.changes:
                changed[shown_path(path)] = planned
    unreadable = jsonable(files.unreadable)
    said = {"files": len(files.links), "changed": list(changed), "written": writes, "unreadable": unreadable}
    status = max([status, *(each.exit_status for each in files.unreadable)]) or int(bool(changed) and not writes)
    return Outcome(Formatted(len(files.links), changed), said, files.unreadable, status)


@dataclass(frozen=True, slots=True)
class Declared:
    """The categories that catmem.yaml declares now, or would."""

    declaration: "Declaration"
    proposed: "Sequence[Proposed]"


@operation(
    "migrate",
    examples=(
        "catmem migrate --dry-run homes/neo/USER.md",
        "catmem migrate --declare homes/neo/USER.md",
        "catmem migrate - < old.md > new.md",
    ),
    opens="read",
)
def migrate(
    call: Call,
    *,
    files: Annotated[Sequence[str], P(argument=True, metavar="FILE...")],
    declares: Annotated[
        bool,
        P(
            "First declare in catmem.yaml a category for each label that names none; without it they are only "
            "proposed. A label that begins the name of one category, declared or named by a profile, goes to that one.",
            "--declare",
        ),
    ] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Turn labels in the text of entries, such as [COMM] or [project:x], into sections and tags.

    A label that names a category of catmem.yaml by its slug, title or an alias ([COMM] ..., Finance: ...) moves its
    entry there and leaves the text. [project:x] becomes a tag. Only entries without a category are looked at; what
    fits none stays as it is, in front of the first section.

    catmem restore takes it back for the file of a profile; of any other file a copy is kept beside it. With - the file
    is read from stdin and written to stdout.
    """
    from catmem.workspace.formatting import apply_migration, migration_dict, named_categories
    from catmem.workspace.migration import propose

    data = call.stdin(DEFAULT_LIMITS.file_bytes) if list(files) == ["-"] else None
    workspace = call.root
    declared: Sequence[Proposed] = ()
    if declares:
        workspace, declared = _declared(call, files, data, dry_run=dry_run)
    said: list[dict[str, object]] = []
    migrations: list[Migration] = []
    status = 0
    with nullcontext() if data is not None else closing(workspace.store):
        for planned in _plans(workspace, files, data):
            try:
                if isinstance(planned, CatmemError):
                    raise planned
                done = planned if dry_run or data is not None else apply_migration(workspace, planned)
            except CatmemError as error:
                # The other files are migrated all the same; the worst status is what the command ends with.
                call.tell(error)
                status = max(status, error.exit_status)
                continue
            migrations.append(done.migration)
            text = {} if data is None else {"text": done.migration.new}
            written = not dry_run and data is None
            said.append({**migration_dict(done, written=written), "path": shown_path(done.file.path), **text})
            call.show(done)
        left = propose(migrations, workspace.config.taxonomy, named_categories(workspace))
    named = {"declared": declared, "proposed": left}
    lists = {key: [each._asdict() for each in some] for key, some in named.items()}
    call.show(left)
    return Outcome(None, {"files": said, "dry_run": dry_run, **lists}, status=status)


def _plans(workspace: "Workspace", files: Sequence[str], data: bytes | None) -> "Iterator[MigratedFile | CatmemError]":
    """The plan of each file, or of what stood on standard input; or what is wrong with it."""
    from catmem.workspace.formatting import memory_files, plan_file, with_warnings
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
    call: Call, files: Sequence[str], data: bytes | None, *, dry_run: bool
) -> "tuple[Workspace, Sequence[Proposed]]":
    """Declare what labels name, and the workspace as it is then; what is wrong with files is said when they migrate."""
    from catmem.workspace.formatting import MigratedFile, declare, named_categories, plan_declaration
    from catmem.workspace.migration import propose

    workspace = call.root
    plans = [each.migration for each in _plans(workspace, files, data) if isinstance(each, MigratedFile)]
    found = propose(plans, workspace.config.taxonomy, named_categories(workspace))
    proposed = tuple(each for each in found if not each.may_be)
    if not proposed:
        call.tell("no label is without a category: nothing to declare")
        return workspace, ()
    declaration = plan_declaration(workspace.config, proposed)
    if not dry_run and declaration.new != declaration.old:
        declare(declaration)
    call.show(Declared(declaration, proposed))
    return type(workspace)(declaration.config), proposed
