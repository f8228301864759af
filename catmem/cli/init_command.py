"""``catmem init``: make a root, and tell git of it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import dry_run_option, format_option
from catmem.cli.output import emit, emit_json, in_json, print_error, printable, say, say_all, shown_path
from catmem.errors import ConfigError
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.registry import at, registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.errors import CatmemError
    from catmem.workspace.init import GitSetup, MadeOver, NewRoot
    from catmem.workspace.kits import NewCategory

_SKIPPED = 2


@click.command(
    cls=Command,
    examples=(
        "catmem init",
        "catmem init --example demo",
        "catmem init --profile neo --profile trinity --start USER.md --start MEMORY.md",
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
    "default the orchestrator. Another name becomes a new specialist, which sees what its kind usually needs.",
)
@click.option(
    "--start",
    metavar="PATH",
    multiple=True,
    help="Start the orchestrator's memory with a copy of this USER.md or MEMORY.md, or of those in this folder; may be "
    "given several times.",
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
@dry_run_option
@format_option
def init(  # noqa: PLR0913 - one parameter an option
    named: str | None,
    *,
    example: bool,
    profiles: tuple[str, ...],
    start: tuple[str, ...],
    with_git: bool,
    from_hermes: bool,
    dry_run: bool,
) -> None:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    On a terminal, and without an option, it asks what you have: nothing yet, flat files, Hermes Agent, or the memory of
    another program. Where it cannot ask, and DIR has a USER.md or MEMORY.md, it writes nothing until you add --start.
    It ends with the commands to type next.

    A new specialist is of a kind if its name has a usual word for it, such as "tax" for finance. The kinds are coder,
    devops, designer, finance, legal, sales, marketing, writer, researcher, data, support, operations, people and home;
    --dry-run shows what a name gets. Another name gets one category, which is called so.

    No file that exists is changed, but for lines added to .gitignore and .gitattributes; with other content in the way
    nothing is written.
    """
    from catmem.workspace.init import on_uncategorized

    _refuse_together(profiles, start, from_hermes=from_hermes, example=example, with_git=with_git, dry_run=dry_run)
    source = None
    folder = Path(named or ".")
    if not (example or start or from_hermes or os.path.lexists(folder / "catmem.yaml")):
        asks = not (profiles or with_git or dry_run or in_json()) and sys.stdin.isatty()
        start, from_hermes, source = _what_there_is(folder) if asks else _nothing_there(folder)
    skipped: Mapping[str, CatmemError] = {}
    git = None
    if from_hermes:
        made, skipped = _over_hermes(named)
    else:
        made, git = _made(folder, example=example, profiles=profiles, start=start, with_git=with_git, dry_run=dry_run)
    is_made = bool(made.written) and not dry_run
    uncategorized = _uncategorized(made.root) if is_made and not (example or from_hermes) else {}
    steps = _next(made, profiles, source, uncategorized, over=from_hermes, example=example) if is_made else []
    say_all(f"note: {note}" for note in made.notes)
    if in_json():
        said: dict[str, object] = {"root": str(made.root), "written": list(made.written), "kept": list(made.kept)}
        if git is not None:
            lists = {"attributes": git.attributes, "config": git.config, "warnings": git.warnings}
            said["git"] = {"repository": str(git.repository), **{name: list(each) for name, each in lists.items()}}
        said |= {"uncategorized": uncategorized, "next": steps, **({"dry_run": True} if dry_run else {})}
        emit_json({**said, "skipped": list(skipped)} if from_hermes else said)
        raise SystemExit(_SKIPPED if skipped else 0)
    where = printable(shown_path(made.root.absolute()))
    lines = [f"{'would write' if dry_run else 'wrote'} {where}/{name}\n" for name in made.written]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {printable(line)}\n" for line in git.attributes]
        lines += [f"set {printable(line)}\n" for line in git.config]
    lines += [f"{line}\n" for line in on_uncategorized("orchestrator", uncategorized)]
    lines += ["\n", *_table(made.categories)] if made.categories else []
    emit("".join(lines) if lines else "nothing to do\n")
    say_all(f"warning: {warning}" for warning in (git.warnings if git else ()))
    if is_made:
        place = [] if where == "." or from_hermes else [f"cd {shlex.quote(where)}"]
        emit("\nNext:\n" + "".join(f"  {step}\n" for step in place + steps))
    for name, error in skipped.items():
        say(f"{name}: skipped; mend this and run it again")
        print_error(error)
    raise SystemExit(_SKIPPED if skipped else 0)


def _refuse_together(  # noqa: PLR0913 - one parameter an option
    profiles: Sequence[str], start: Sequence[str], *, from_hermes: bool, example: bool, with_git: bool, dry_run: bool
) -> None:
    if from_hermes and (example or with_git or start):
        raise click.UsageError("--from-hermes makes a root over what is there: leave --example, --git and --start out.")
    if (profiles or start) and (example or from_hermes):
        raise click.UsageError(
            "--profile and --start say what is written into a new root: leave --example and --from-hermes out."
        )
    if dry_run and (from_hermes or with_git):
        raise click.UsageError("--dry-run shows what a new root would have: leave --from-hermes and --git out.")


def _table(categories: Sequence[NewCategory]) -> list[str]:
    """What was made for new specialists: each category, what belongs there, who reads it and who writes it."""
    wide, everybody = max(len(each.slug) for each in categories), set(categories[0].readers)
    lines = [f"{'category':<{wide}}  read by, * may write\n"]
    for each in categories:
        names = [f"{name}*" if name in each.writers else name for name in each.readers]
        is_shared = set(each.readers) == everybody and not each.writers
        lines.append(f"{each.slug:<{wide}}  {'all' if is_shared else ', '.join(names)}\n{'':<{wide}}    {each.about}\n")
    return lines


def _made(  # noqa: PLR0913 - one parameter an option
    folder: Path, *, example: bool, profiles: Sequence[str], start: Sequence[str], with_git: bool, dry_run: bool
) -> tuple[NewRoot, GitSetup | None]:
    from catmem.workspace.history import adopt
    from catmem.workspace.init import NewRoot, find_repository, make_root, set_up_git
    from catmem.workspace.workspace import Workspace

    if with_git:
        find_repository(folder)  # before anything is written
    is_root = os.path.lexists(folder / "catmem.yaml")
    git_alone = with_git and is_root and not (example or profiles or start)
    made = NewRoot(folder, (), ())
    if not git_alone:
        made = make_root(folder, example=example, profiles=profiles, start=start, dry_run=dry_run)
    if start and not dry_run:  # with a history from the first day, what another program writes later is known as such
        workspace = Workspace.open(made.root, search=False)
        for target, name in FILE_NAMES.items():
            if f"homes/orchestrator/{name}" in made.written:
                adopt(workspace, f"orchestrator/{target}")
        workspace.store.close()
    return made, set_up_git(folder) if with_git else None


def _over_hermes(named: str | None) -> MadeOver:
    place = registry().roots.get("hermes")
    if place is None:
        raise ConfigError("no plugin makes a root over Hermes Agent", code="no_plugin", hint="Run: catmem doctor")
    made: MadeOver = at(place)(named)
    return made


def _what_there_is(folder: Path) -> tuple[tuple[str, ...], bool, str | None]:
    """Ask what there is: the files to start with, whether it is Hermes Agent, and the program to import from."""
    others = [program for program in registry().importers if program != "hermes"]
    choices = ("nothing yet", "flat USER.md and MEMORY.md", "Hermes Agent", f"another program ({', '.join(others)})")
    say("What do you have?")
    say_all(f"  {number}  {choice}" for number, choice in enumerate(choices, 1))
    places = (each for each in (Path(), folder) if any((each / name).is_file() for name in FILE_NAMES.values()))
    flat = next(places, None)
    answer = click.prompt("Number", type=click.IntRange(1, len(choices)), default=2 if flat else 1, err=True)
    if answer == 2:  # noqa: PLR2004 - the number of the choice above
        return (
            (click.prompt("The files, or their folder", default=None if flat is None else str(flat), err=True),),
            False,
            None,
        )
    if answer == len(choices):
        return (), False, click.prompt("Which", type=click.Choice(others), err=True)
    return (), answer == 3, None  # noqa: PLR2004


def _nothing_there(folder: Path) -> tuple[tuple[str, ...], bool, str | None]:
    """The same without a question: flat files in the folder may be the memory that the new root is for."""
    flat = [name for name in FILE_NAMES.values() if (folder / name).is_file()]
    if flat:
        where, them = printable(shlex.quote(shown_path(folder))), "it" if len(flat) == 1 else "them"
        raise click.UsageError(
            f"The folder holds {' and '.join(flat)}, and the new root would not have {them}. Nothing was written. "
            f"Add '--start {where}' to begin with a copy, or move {them} away."
        )
    return (), False, None


def _next(  # noqa: PLR0913 - what was made, and how
    made: NewRoot, profiles: Sequence[str], source: str | None, loose: Mapping[str, int], *, over: bool, example: bool
) -> list[str]:
    """The commands to type after this one."""
    from catmem.resources import profile_texts

    if example:
        return ["catmem prompt trinity --explain", "catmem access", "catmem stats --from orchestrator"]
    if over:
        sort = "catmem sort -p NAME    # and name in its profile what it may read"
        return [f"cd {printable(shown_path(made.root.absolute()))}", sort, "catmem hermes install --all --dry-run"]
    first = ['catmem add -p orchestrator -c communication-style "Prefers short answers."']
    if source is not None:
        first = [f"catmem import --from {source} -p orchestrator PATH", "catmem sort -p orchestrator"]
    elif loose:
        first = ["catmem sort"]
    agents = [name for name in dict.fromkeys(profiles) if name not in {"orchestrator", "specialist"}]
    if not agents:
        return [*first, "catmem prompt orchestrator"]
    own = " ".join(f"profiles/{name}.yaml" for name in agents if name not in profile_texts())
    fill_in = [f"$EDITOR {own}    # change what each may see"] if own else []
    return [*first, *fill_in, "catmem seed --all", f"catmem prompt {agents[0]}"]


def _uncategorized(root: Path) -> dict[str, int]:
    """How many entries of the orchestrator's files have no category, by target; of none, the target is left out."""
    from catmem.model.document import parse

    found = {}
    for target, name in FILE_NAMES.items():
        path = root / "homes" / "orchestrator" / name
        entries = parse(path.read_bytes() if path.exists() else b"").entries
        found[target] = sum(each.category == UNCATEGORIZED for each in entries)
    return {target: count for target, count in found.items() if count}
