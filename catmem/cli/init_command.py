"""``catmem init``: make a root, and tell git of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import format_option
from catmem.cli.output import emit, emit_json, in_json, print_error, printable, say, say_all, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.errors import CatmemError
    from catmem.hermes.setup_root import MadeOver
    from catmem.workspace.init import GitSetup, NewRoot

_SKIPPED = 2


@click.command(
    cls=Command,
    examples=(
        "catmem init",
        "catmem init --example demo",
        "catmem init --profile neo --profile trinity",
        "catmem init --git",
        "catmem init --from-hermes",
    ),
)
@click.argument("named", metavar="[DIR]", required=False, type=click.Path(file_okay=False))
@click.option("--example", is_flag=True, help="Write the worked example: an orchestrator and its specialists.")
@click.option(
    "--profile",
    "profiles",
    metavar="NAME",
    multiple=True,
    help="A shipped profile to write, with those that it extends or is seeded from; may be given several times. By "
    "default the orchestrator.",
)
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
def init(named: str | None, *, example: bool, profiles: tuple[str, ...], with_git: bool, from_hermes: bool) -> None:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    No file that exists is changed, but for lines added to .gitignore and .gitattributes; with other content in the way
    nothing is written.
    """
    if from_hermes and (example or with_git):
        raise click.UsageError("--from-hermes makes a root over what is there: leave --example and --git out.")
    if profiles and (example or from_hermes):
        raise click.UsageError(
            "--profile names what is written into a new root: leave --example and --from-hermes out."
        )
    skipped: Mapping[str, CatmemError] = {}
    git = None
    if from_hermes:
        made, skipped = _over_hermes(named)
    else:
        folder = Path("." if named is None else named)
        made, git = _made(folder, example=example, profiles=profiles, with_git=with_git)
    say_all(f"note: {note}" for note in made.notes)
    if in_json():
        said: dict[str, object] = {"root": str(made.root), "written": list(made.written), "kept": list(made.kept)}
        if git is not None:
            lists = {"attributes": git.attributes, "config": git.config, "warnings": git.warnings}
            said["git"] = {"repository": str(git.repository), **{name: list(each) for name, each in lists.items()}}
        emit_json({**said, "skipped": list(skipped)} if from_hermes else said)
        raise SystemExit(_SKIPPED if skipped else 0)
    where = printable(shown_path(made.root.absolute()))
    lines = [f"wrote {where}/{name}\n" for name in made.written]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {printable(line)}\n" for line in git.attributes]
        lines += [f"set {printable(line)}\n" for line in git.config]
    emit("".join(lines) if lines else "nothing to do\n")
    say_all(f"warning: {warning}" for warning in (git.warnings if git else ()))
    if made.written:
        emit(f"\nNext: {_next(where, profiles, example=example, from_hermes=from_hermes)}")
    for name, error in skipped.items():
        say(f"{name}: skipped; mend this and run it again")
        print_error(error)
    raise SystemExit(_SKIPPED if skipped else 0)


def _made(folder: Path, *, example: bool, profiles: Sequence[str], with_git: bool) -> tuple[NewRoot, GitSetup | None]:
    from catmem.workspace.init import NewRoot, find_repository, make_root, set_up_git

    if with_git:
        find_repository(folder)  # before anything is written
    is_root = os.path.lexists(folder / "catmem.yaml")
    git_alone = with_git and is_root and not (example or profiles)
    made = NewRoot(folder, (), ()) if git_alone else make_root(folder, example=example, profiles=profiles)
    return made, set_up_git(folder) if with_git else None


def _over_hermes(named: str | None) -> MadeOver:
    from catmem.hermes.setup_homes import find_home
    from catmem.hermes.setup_root import make_root_over

    return make_root_over(find_home(named, option="catmem init --from-hermes DIR"))


def _next(where: str, profiles: Sequence[str], *, example: bool, from_hermes: bool) -> str:
    if from_hermes:
        return "name in the profiles what each may read, then catmem hermes install --all --dry-run\n"
    place = "" if where == "." else f"cd {where} && "
    if example:
        return f"{place}catmem prompt trinity --explain\n"
    first = f"write what you know into {where}/homes/orchestrator/USER.md, a § line between entries, then\n"
    other = next((f"{name} --from orchestrator" for name in profiles if name != "orchestrator"), "orchestrator")
    return f"{first}      {place}catmem prompt {other}\n"
