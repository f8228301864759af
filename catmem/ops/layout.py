"""Operations on the layout of files: fmt, migrate."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from catmem.jsonable import jsonable
from catmem.ops.shared import DryRun
from catmem.ops.table import Call, Outcome, P, operation
from catmem.store.contract import Change
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.change_plan import ChangePlan, FileChange
from catmem.workspace.formatting import Declaration
from catmem.workspace.migration import Proposed
from catmem.workspace.workspace import Workspace


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
    from catmem.workspace.change_plan import apply, write_file
    from catmem.workspace.formatting import format_document, memory_files, plan_files, plan_format

    writes, workspace = not (check or diff), call.root
    if list(paths) == ["-"]:
        document = workspace.parse(call.stdin(DEFAULT_LIMITS.file_bytes))
        _, new = format_document(document, layout)
        made = FileChange(Path("-"), None, document.text.encode(), new.encode())
        return Outcome(made, {**jsonable(made), "text": new}, status=int(made.changes and not writes))
    plan = plan_files(
        memory_files(workspace, paths), lambda path, link: plan_format(workspace, path, layout, may_be_link=link)
    )
    if writes:
        with closing(workspace.store):
            plan = apply(plan, partial(write_file, workspace, change=Change(op="fmt")))
    return Outcome(plan, problems=plan.errors, status=plan.exit_status or int(bool(plan.changed) and not writes))


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
    from catmem.workspace.change_plan import apply
    from catmem.workspace.formatting import named_categories, write_migrated
    from catmem.workspace.migration import propose

    data = call.stdin(DEFAULT_LIMITS.file_bytes) if list(files) == ["-"] else None
    workspace = call.root
    declared: Sequence[Proposed] = ()
    if declares:
        workspace, declared = _declared(call, files, data, dry_run=dry_run)
    plan = _planned(workspace, files, data)
    if not dry_run and data is None:
        with closing(workspace.store):
            plan = apply(plan, partial(write_migrated, workspace))
    found = [each.about for each in plan.changes]
    left = propose(found, workspace.config.taxonomy, named_categories(workspace))
    call.show(plan)
    call.show(left)
    said = {**jsonable(plan), "dry_run": dry_run, "declared": declared, "proposed": left}
    if data is not None:
        said["text"] = found[0].new if found else None
    return Outcome(None, jsonable(said), plan.errors)


def _planned(workspace: "Workspace", files: Sequence[str], data: bytes | None) -> ChangePlan:
    """The migration of each file, or of what stood on standard input."""
    from catmem.workspace.formatting import MemoryFiles, memory_files, migrated, plan_files, plan_migrated
    from catmem.workspace.migration import plan_migration

    def plan(path: Path, link: bool) -> FileChange:  # noqa: FBT001 - a file, and whether it may be a link
        if data is None:
            return plan_migrated(workspace, path, may_be_link=link)
        return migrated(workspace, path, None, plan_migration(workspace.parse(data), workspace.config))

    return plan_files(MemoryFiles({Path("-"): True}) if data is not None else memory_files(workspace, files), plan)


def _declared(
    call: Call, files: Sequence[str], data: bytes | None, *, dry_run: bool
) -> "tuple[Workspace, Sequence[Proposed]]":
    """Declare what labels name, and the workspace as it is then; what is wrong with files is said when they migrate."""
    from catmem.workspace.formatting import declare, named_categories, plan_declaration
    from catmem.workspace.migration import propose

    workspace = call.root
    plans = [each.about for each in _planned(workspace, files, data).changes]
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
