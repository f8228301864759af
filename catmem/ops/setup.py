"""Operations that make a root: init."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from catmem.errors import CatmemError, ConfigError
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.ops.shared import DryRun
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.registry import at, registry
from catmem.text import printable
from catmem.workspace.init import GitSetup, NewRoot

_SKIPPED = 2


@dataclass(frozen=True, slots=True)
class Init:
    """What became a root, and what to do ``next``. ``uncategorized`` counts entries without a category, by target."""

    made: "NewRoot"
    git: "GitSetup | None"
    uncategorized: Mapping[str, int]
    next: Sequence[str]
    over: bool
    """Whether it is one over what Hermes Agent keeps; ``skipped`` are its profiles that have none here."""
    skipped: Mapping[str, CatmemError]

    def __json__(self) -> dict[str, Any]:
        made, git = self.made, {} if self.git is None else {"git": self.git}
        said = {"root": made.root, "written": made.written, "kept": made.kept, **git}
        return {**said, "uncategorized": self.uncategorized, "next": self.next}


@operation(
    "init",
    examples=(
        "catmem init",
        "catmem init --example demo",
        "catmem init --profile neo --profile trinity --start USER.md --start MEMORY.md",
        "catmem init --git",
        "catmem init --from-hermes",
    ),
    rooted=False,
)
def init(
    call: Call,
    *,
    named: Annotated[str | None, P(argument=True, metavar="[DIR]", folder=True)] = None,
    example: Annotated[bool, P("Write the worked example: an orchestrator and its specialists.")] = False,
    profiles: Annotated[
        Sequence[str],
        P(
            "A shipped profile to write, with those that it extends or is seeded from; may be given several times. By "
            "default the orchestrator. Another name becomes a new specialist, which sees what its kind usually needs.",
            "--profile",
            metavar="NAME",
        ),
    ] = (),
    start: Annotated[
        Sequence[str],
        P(
            "Start the orchestrator's memory with a copy of this USER.md or MEMORY.md, or of those in this folder; may "
            "be given several times.",
            metavar="PATH",
        ),
    ] = (),
    with_git: Annotated[
        bool,
        P(
            "Let git merge and show the memory files by entry: lines in .gitattributes and in the repository's own "
            "configuration. In a root that there is already, do that alone.",
            "--git",
        ),
    ] = False,
    from_hermes: Annotated[
        bool,
        P(
            "Make the root over the files of Hermes Agent in DIR (by default HERMES_HOME, else ~/.hermes): a profile "
            "for each of its profiles, and nothing of its own changed."
        ),
    ] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    On a terminal, and without an option, it asks what you have (nothing yet, flat files, Hermes Agent, or the memory of
    another program), and for the name of the first specialist. Where it cannot ask, and DIR has a USER.md or MEMORY.md,
    it writes nothing until you add --start.
    It ends with the commands to type next.

    A new specialist is of a kind if its name has a usual word for it, such as "tax" for finance. The kinds are coder,
    devops, designer, finance, legal, sales, marketing, writer, researcher, data, support, operations, people and home;
    --dry-run shows what a name gets. Another name gets one category, which is called so.

    In a root, --profile alone adds specialists, and their categories to catmem.yaml. Else no file that exists is
    changed, but for lines added to .gitignore and .gitattributes; with other content in the way nothing is written.
    """
    if from_hermes and (example or with_git or start):
        raise UsageError("--from-hermes makes a root over what is there: leave --example, --git and --start out.")
    if (profiles or start) and (example or from_hermes):
        raise UsageError(
            "--profile and --start say what is written into a new root: leave --example and --from-hermes out."
        )
    if dry_run and (from_hermes or with_git):
        raise UsageError("--dry-run shows what a new root would have: leave --from-hermes and --git out.")
    source = None
    folder = Path(named or ".")
    if not (example or start or from_hermes or os.path.lexists(folder / "catmem.yaml")):
        if not (profiles or with_git or dry_run or call.for_program) and sys.stdin.isatty():
            start, profiles, from_hermes, source = call.dialogue("init")(folder)
        else:
            _refuse_flat(folder)
    skipped: Mapping[str, CatmemError] = {}
    git = None
    if from_hermes:
        made, skipped = _over_hermes(named)
    else:
        made, git = _made(folder, example=example, profiles=profiles, start=start, with_git=with_git, dry_run=dry_run)
    is_made = bool(made.written) and not dry_run
    uncategorized = _uncategorized(made.root) if is_made and not (example or from_hermes) else {}
    steps = _next(made, profiles, source, uncategorized, over=from_hermes, example=example) if is_made else []
    for note in made.notes:
        call.tell(f"note: {note}")
    done = Init(made, git, uncategorized, steps, from_hermes, skipped)
    more = {"dry_run": True} if dry_run else {"skipped": list(skipped)} if from_hermes else {}
    return Outcome(done, {**jsonable(done), **more}, status=_SKIPPED if skipped else 0)


def _refuse_flat(folder: Path) -> None:
    """Flat files in the folder may be the memory that the new root is for."""
    flat = [name for name in FILE_NAMES.values() if (folder / name).is_file()]
    if flat:
        where, them = printable(shlex.quote(shown_path(folder))), "it" if len(flat) == 1 else "them"
        raise UsageError(
            f"The folder holds {' and '.join(flat)}, and the new root would not have {them}. Nothing was written. "
            f"Add '--start {where}' to begin with a copy, or move {them} away."
        )


def _made(
    folder: Path, *, example: bool, profiles: Sequence[str], start: Sequence[str], with_git: bool, dry_run: bool
) -> "tuple[NewRoot, GitSetup | None]":
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


def _over_hermes(named: str | None) -> tuple[NewRoot, Mapping[str, CatmemError]]:
    place = registry().roots.get("hermes")
    if place is None:
        raise ConfigError("no plugin makes a root over Hermes Agent", code="no_plugin", hint="Run: catmem doctor")
    made: tuple[NewRoot, Mapping[str, CatmemError]] = at(place)(named)
    return made


def _next(
    made: "NewRoot", profiles: Sequence[str], source: str | None, loose: Mapping[str, int], *, over: bool, example: bool
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
