"""``catmem init``: make a root, and tell git of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option
from catmem.cli.output import emit, emit_json, in_json, print_error, printable, say, say_all, shown_path

if TYPE_CHECKING:
    from catmem.service.setup import NewRoot

_SKIPPED = 2


@click.command(
    epilog="Examples: catmem init   catmem init --example demo   catmem init --git   catmem init --from-hermes"
)
@click.argument("named", metavar="[DIR]", required=False, type=click.Path(file_okay=False))
@click.option("--example", is_flag=True, help="Write the worked example: an orchestrator and its specialists.")
@click.option(
    "--git",
    "with_git",
    is_flag=True,
    help="Let git merge and show the memory files by entry: lines in .gitattributes and in the repository's own "
    "configuration. In a root that there is already, do that alone.",
)
@click.option(
    "--from-hermes",
    is_flag=True,
    help="Make the root over the files of Hermes Agent in DIR (by default HERMES_HOME, else ~/.hermes): a profile for "
    "each of its profiles, and nothing of its own changed.",
)
@format_option
def init(named: str | None, *, example: bool, with_git: bool, from_hermes: bool) -> None:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    No file that exists is changed, but for lines added to .gitignore and .gitattributes; with other content in the way
    nothing is written.
    """
    if from_hermes:
        if example or with_git:
            raise click.UsageError("--from-hermes makes a root over what is there: leave --example and --git out.")
        _init_from_hermes(named)
        return
    folder = "." if named is None else named
    from catmem.service.setup import NewRoot, find_repository, make_root, set_up_git

    if with_git:
        find_repository(folder)  # before anything is written
    is_root = os.path.lexists(Path(folder) / "catmem.yaml")
    made = NewRoot(Path(folder), (), ()) if with_git and is_root and not example else make_root(folder, example=example)
    git = set_up_git(folder) if with_git else None
    if in_json():
        said: dict[str, object] = {"root": str(made.root), "written": list(made.written), "kept": list(made.kept)}
        if git is not None:
            lists = {"attributes": git.attributes, "config": git.config, "warnings": git.warnings}
            said["git"] = {"repository": str(git.repository), **{name: list(each) for name, each in lists.items()}}
        emit_json(said)
        return
    where = printable(shown_path(made.root.absolute()))
    lines = [f"wrote {where}/{name}\n" for name in made.written]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {printable(line)}\n" for line in git.attributes]
        lines += [f"set {printable(line)}\n" for line in git.config]
    emit("".join(lines) if lines else "nothing to do\n")
    if git is not None:
        say_all(f"warning: {warning}" for warning in git.warnings)
    _say_next(made, where, example=example)


def _init_from_hermes(named: str | None) -> None:
    from catmem.hermes.setup_homes import find_home
    from catmem.hermes.setup_root import make_root_over

    made, skipped = make_root_over(find_home(named, option="catmem init --from-hermes DIR"))
    if in_json():
        said = {"root": str(made.root), "written": list(made.written), "kept": list(made.kept)}
        emit_json({**said, "skipped": list(skipped)})
        raise SystemExit(_SKIPPED if skipped else 0)
    where = printable(shown_path(made.root))
    emit("".join(f"wrote {where}/{name}\n" for name in made.written) if made.written else "nothing to do\n")
    if made.written:
        emit("\nNext: name in the profiles what each may read, then catmem hermes install --all --dry-run\n")
    for name, error in skipped.items():
        say(f"{name}: skipped; mend this and run it again")
        print_error(error)
    raise SystemExit(_SKIPPED if skipped else 0)


def _say_next(made: NewRoot, where: str, *, example: bool) -> None:
    place = "" if where == "." else f"cd {where} && "
    if example and made.written:
        emit(f"\nNext: {place}catmem prompt trinity --explain\n")
    elif made.written:
        emit(f"\nNext: write what you know into {where}/homes/orchestrator/USER.md, a § line between entries, then\n")
        emit(f"      {place}catmem prompt orchestrator\n")
