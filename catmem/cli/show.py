"""``catmem show``: what a memory file says, or what a profile sees of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import (
    format_option,
    open_to_read,
    open_with_store,
    open_workspace,
    profile_option,
    root_option,
    target_option,
)
from catmem.cli.output import emit, emit_json, printable, read_stdin, warn_of, warn_of_rows
from catmem.errors import CatmemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.model.document import Document, Problem
    from catmem.service.workspace import Workspace


@click.command(
    epilog="Examples: catmem show USER.md   catmem show --format json - < USER.md   catmem show -p trinity -t memory"
)
@click.argument("file", required=False)
@profile_option(required=False)
@target_option
@root_option
@format_option
def command(
    file: str | None, profile: str | None, target: str | None, root_folder: str | None, *, as_json: bool
) -> None:
    """Show what FILE says: its categories, entries, tags and problems. FILE may be - for stdin.

    With -p the same for a profile's own file, reduced to what the profile may see; with --format json also the
    revision and digest of the file, as --expected takes them.
    """
    if (file is None) == (profile is None):
        raise click.UsageError("Name either a FILE or a profile (-p NAME).")
    if target is not None and profile is None:
        raise click.UsageError("--target goes with --profile.")
    if profile is not None:
        workspace = open_with_store(root_folder) if as_json else open_to_read(root_folder)
        warn_of_rows(workspace, profile, target or "user")
        said, document, problems = _seen(workspace, profile, target or "user", as_json=as_json)
    else:
        workspace, document = _read(str(file), root_folder)
        problems = workspace.problems(document)
        said = document.form(document.title, document.by_category, problems)
    if as_json:
        emit_json(said)
    else:
        emit("".join(_lines(said)))
        emit("".join(_problem_lines(document, problems)))


def _seen(
    workspace: Workspace, profile: str, target: str, *, as_json: bool
) -> tuple[dict[str, Any], Document, tuple[Problem, ...]]:
    """What a profile may see of its file; as JSON with what names the text that was read."""
    from catmem.policy.access import visible
    from catmem.service.profile_memory import seen_file

    if not as_json:
        view = workspace.view(profile, target)
        problems = view.problems(workspace.problems(view.document))
        return view.to_dict(problems), view.document, problems
    file = seen_file(workspace, profile, target)
    warn_of(file)
    view = visible(file.document, target, workspace.profile(profile), workspace.config.taxonomy)
    problems = view.problems(workspace.problems(file.document))
    return {**view.to_dict(problems), "files": {target: file.to_dict()}}, file.document, problems


def _read(file: str, root_folder: str | None) -> tuple[Workspace, Document]:
    """The document, and the workspace of its root: that says what its aliases mean, wherever the command is run."""
    from catmem.files import read_bounded
    from catmem.service.workspace import Workspace
    from catmem.text import DEFAULT_LIMITS

    if file == "-":
        workspace = open_workspace(root_folder)
        return workspace, workspace.parse(read_stdin(DEFAULT_LIMITS.file_bytes))
    data = read_bounded(file, DEFAULT_LIMITS.file_bytes)
    workspace = open_workspace(root_folder) if root_folder else Workspace.open(Path(file).absolute().parent)
    try:
        return workspace, workspace.parse(data)
    except CatmemError as error:
        error.path = file
        raise


def _problem_lines(document: Document, problems: tuple[Problem, ...]) -> Iterator[str]:
    if problems:
        yield "\nproblems\n"
    for problem in problems:
        yield printable(f"  line {document.line(problem.start)}: {problem.rule}: {problem.message}\n")


def _lines(said: dict[str, Any]) -> Iterator[str]:
    if said["title"]:
        yield f"{printable(said['title'])}\n\n"
    if not said["categories"]:
        yield "(no entries)\n"
    width = max((len(str(entry["line"])) for entries in said["categories"].values() for entry in entries), default=0)
    for category, entries in said["categories"].items():
        yield f"{printable(category)} ({len(entries)})\n"
        for entry in entries:
            first, *others = printable(entry["body"]).split("\n")
            yield f"  {entry['line']:>{width}}  {first}\n".rstrip() + "\n"
            yield from (f"  {'':{width}}  {line}".rstrip() + "\n" for line in others)
            if entry["tags"]:
                yield f"  {'':{width}}  [{', '.join(_tag(key, value) for key, value in entry['tags'].items())}]\n"


def _tag(key: str, value: str | list[str]) -> str:
    return printable(f"{key}: {value}" if isinstance(value, str) else f"{key}: {', '.join(value)}")
