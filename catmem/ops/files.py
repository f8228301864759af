"""Operations on the files of a root: make one, put them into a layout, export."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem.errors import CatmemError, ConfigError
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED, parts_of
from catmem.ops.shared import TRIED, OneFile
from catmem.ops.table import STREAMED, WRONG, Call, Outcome, P, UsageError, operation
from catmem.registry import at, registry
from catmem.resources import profile_texts
from catmem.store.contract import Change
from catmem.text import printable
from catmem.threats import SECRETS
from catmem.workspace import exporting
from catmem.workspace.change_plan import apply, write_file
from catmem.workspace.exporting import Exported, Form
from catmem.workspace.formatting import plan_files, plan_format
from catmem.workspace.history import adopt
from catmem.workspace.init import GitSetup, NewRoot, find_repository, make_root, set_up_git
from catmem.workspace.root import entities_of_each
from catmem.workspace.seen_entry import rules_in_each
from catmem.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Init:
    """What became a root, and what to do ``next``. ``uncategorized`` counts entries without a category, by target."""

    made: NewRoot
    git: GitSetup | None
    uncategorized: Mapping[str, int]
    next: Sequence[str]
    skipped: Mapping[str, CatmemError]
    """The profiles of Hermes Agent that have none here, and why."""

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
    writes=TRIED,
    apart={"from_hermes": "example profiles start with_git", "example": "profiles start", "with_git": "dry_run"},
)
def init(
    call: Call,
    *,
    named: Annotated[str | None, P(argument=True, metavar="[DIR]", folder=True)] = None,
    example: Annotated[bool, P("Write the worked example: an orchestrator and its specialists.")] = False,
    profiles: Annotated[
        Sequence[str],
        P(
            "A profile to write; repeatable: a shipped one, with those that it extends or is seeded from, or a new "
            "specialist. By default the orchestrator.",
            "--profile",
        ),
    ] = (),
    start: Annotated[
        Sequence[str],
        P(
            "Start the orchestrator's memory with a copy of this file, or of those in this folder; repeatable.",
            metavar="PATH",
            path=True,
            folder=True,
        ),
    ] = (),
    with_git: Annotated[
        bool, P("Have git merge and show memory files by entry. In an existing root, do that alone.", "--git")
    ] = False,
    from_hermes: Annotated[
        bool,
        P(
            "Make the root over the files of Hermes Agent in DIR (by default HERMES_HOME, else ~/.hermes), with a "
            "profile for each of its own. Its files stay as they are."
        ),
    ] = False,
) -> Outcome:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    At a terminal and without options it asks what you have, and which specialists you want. Elsewhere, if DIR has a
    USER.md or MEMORY.md, it writes nothing without --start. It ends with the commands to type next.

    A new specialist gets the categories of its kind, which a word of its name says, such as "tax" for finance. The
    kinds are coder, devops, designer, finance, legal, sales, marketing, writer, researcher, data, support, operations,
    people and home. Another name gets one category of that name. --dry-run shows what it gets.

    In a root, --profile alone adds specialists, and their categories to catmem.yaml. A profile that --from-hermes made
    gets the categories of its kind, while it still sees all. No other file that exists is changed, but for lines added
    to .gitignore and .gitattributes. With other content in the way nothing is written.
    """
    other = None
    folder = Path(named or ".")
    if not (example or start or from_hermes or os.path.lexists(folder / "catmem.yaml")):
        if not (profiles or with_git or call.dry_run or call.for_program) and sys.stdin.isatty():
            start, profiles, from_hermes, other = call.dialogue("init")(folder)
        else:
            _refuse_flat(folder)
    skipped: Mapping[str, CatmemError] = {}
    git = None
    if from_hermes:
        made, skipped = _over_hermes(call, named)
    else:
        made, git = _made(call, folder, profiles, start)
    is_made = bool(made.written) and not call.dry_run
    uncategorized, notes, unread = _looked_at(made) if is_made and not example else ({}, [], [])
    steps: Sequence[str] = ()
    if is_made:
        steps = made.next or (_AFTER_EXAMPLE if example else _next(made, profiles, other, uncategorized))
    for note in (*made.notes, *notes):
        call.tell(f"note: {note}")
    done = Init(made, git, uncategorized, [*steps, *unread], skipped)
    more = ({"dry_run": True} if call.dry_run else {}) | ({"skipped": list(skipped)} if from_hermes else {})
    return Outcome(done, {**jsonable(done), **more}, status=WRONG if skipped else 0)


def _refuse_flat(folder: Path) -> None:
    """Flat files in the folder may be the memory that the new root is for."""
    flat = [name for name in FILE_NAMES.values() if (folder / name).is_file()]
    if flat:
        where, them = printable(shlex.quote(shown_path(folder))), "it" if len(flat) == 1 else "them"
        raise UsageError(
            f"The folder holds {' and '.join(flat)}, and the new root would not have {them}. Nothing was written. "
            f"Add '--start {where}' to begin with a copy, or move {them} away."
        )


def _made(call: Call, folder: Path, profiles: Sequence[str], start: Sequence[str]) -> tuple[NewRoot, GitSetup | None]:
    example, with_git = call.values["example"], call.values["with_git"]
    if with_git:
        find_repository(folder)  # before anything is written
    is_root = os.path.lexists(folder / "catmem.yaml")
    git_alone = with_git and is_root and not (example or profiles or start)
    made = NewRoot(folder)
    if not git_alone:
        made = make_root(folder, example=example, profiles=profiles, start=start, dry_run=call.dry_run)
    if start and not call.dry_run:
        # With a history from the first day, what another program writes later is known as such.
        workspace = Workspace.open(made.root, search=False)
        for target, name in FILE_NAMES.items():
            copy = f"homes/orchestrator/{name}"
            if copy in made.written:
                adopt(workspace, f"orchestrator/{target}")
        workspace.store.close()
    return made, set_up_git(folder) if with_git else None


def _over_hermes(call: Call, named: str | None) -> tuple[NewRoot, Mapping[str, CatmemError]]:
    place = registry().roots.get("hermes")
    if place is None:
        raise ConfigError("no plugin makes a root over Hermes Agent", code="no_plugin", hint="Run: catmem doctor")
    made: tuple[NewRoot, Mapping[str, CatmemError]] = at(place)(named, dry_run=call.dry_run)
    return made


_AFTER_EXAMPLE = ("catmem prompt trinity --explain", "catmem access", "catmem stats --from orchestrator")


def _next(
    made: NewRoot, profiles: Sequence[str], other: tuple[str, Path] | None, loose: Mapping[str, int]
) -> list[str]:
    """The commands to type after a new root, with what is imported, and entries without a category."""
    is_new = any(name.endswith(FILE_NAMES["user"]) for name in made.written)
    first = [f'catmem add -p {made.source} -c communication-style "Prefers short answers."'] if is_new else []
    if other is not None:
        program, path = other
        place = printable(shlex.quote(str(path)))  # whole, since a "cd" to the root comes first
        first = [f"catmem import --from {program} -p orchestrator {place}", "catmem sort -p orchestrator"]
    elif loose:
        first = ["catmem sort"]
    agents = [name for name in dict.fromkeys(profiles) if name not in {made.source, "specialist"}]
    if not agents:
        return [*first, "catmem prompt orchestrator"]
    own = " ".join(f"{made.folder}/{name}.yaml" for name in agents if name not in profile_texts())
    fill_in = [f"$EDITOR {own}    # change what each may see"] if own else []
    return [*first, *fill_in, "catmem seed --all", f"catmem prompt {agents[0]}"]


def _looked_at(made: NewRoot) -> tuple[dict[str, int], list[str], list[str]]:
    """What the files of a root hold that is made over them.

    How many entries of the source have no category, by target; notes on secrets and on what cannot be read; commands
    that show entries which no profile reads.
    """
    from catmem.workspace.overview import next_steps
    from catmem.workspace.reports import list_everywhere

    root = Workspace.open(made.root, search=False)
    entries, unreadable, _ = list_everywhere(root)
    own = Counter(each.entity for each in entries if each.entry.category == UNCATEGORIZED)
    uncategorized = {target: own[f"{made.source}/{target}"] for target in TARGETS if own[f"{made.source}/{target}"]}
    rules = rules_in_each([[each.entry.raw] for each in entries])
    secret = {each.entity for each, found in zip(entries, rules, strict=True) if not SECRETS.keys().isdisjoint(found)}
    files = [os.path.relpath(root.path(*parts_of(entity)), made.root) for entity in sorted(secret)]
    notes = [f"{file} holds what looks like a secret: catmem lint --select CM605" for file in files]
    steps = next_steps(root).steps if entries else ()
    unread = [f"{each.command}    # {each.what}" for each in steps if each.kind in {"mistyped", "unread", "hidden"}]
    root.store.close()
    return uncategorized, [*notes, *dict.fromkeys(map(str, unreadable))], unread


@operation(
    "fmt",
    examples=("catmem fmt", "catmem fmt --check homes/", "catmem fmt --layout shared USER.md"),
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
    root's profiles.

    Exit status 2 if a file, or without PATHS a profile, cannot be read; all others are formatted.
    """
    writes, workspace = not (check or diff), call.root
    plan = plan_files(workspace, paths, partial(plan_format, layout=layout))
    if writes:
        with closing(workspace.store):
            plan = apply(plan, partial(write_file, workspace, change=Change(op="fmt")))
    return Outcome(plan, problems=plan.errors, status=plan.exit_status or int(bool(plan.changed) and not writes))


@dataclass(frozen=True, slots=True)
class Exports:
    """Files in a form; ``names`` are those below the folder that they were written to, ``None`` for standard output."""

    made: Sequence[Exported]
    form: Form
    names: Sequence[str] | None

    def __json__(self) -> dict[str, Any]:
        """JSON-ready: what the files hold, whatever the form."""
        return {"files": [{"profile": each.profile, "target": each.target, **each.document} for each in self.made]}


@operation(
    "export",
    examples=(
        "catmem export --format json",
        "catmem export -p trinity -t memory --format hermes > MEMORY.md",
        "catmem export --format markdown -o handbook",
        "catmem export --snapshot before.json",
    ),
    opens="read",
    apart={"snapshot": "profiles target form output"},
)
def export(
    call: Call,
    *,
    profiles: Annotated[list[str] | None, P("Whose memory. By default everyone's.")] = None,
    target: OneFile = None,
    form: Annotated[
        Form | None,
        P(
            "Everything, typed; the flat file of Hermes Agent, with § lines; or headings and bullets for people. "
            "Needed, but for --snapshot.",
            "--format",
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        P(
            "Write all rows of all entities to PATH, for 'catmem import --snapshot'; without -p, -t, --format and -o.",
            metavar="PATH",
        ),
    ] = None,
    output: Annotated[
        str, P("A folder, in which each profile gets its own; - is standard output.", "-o --output", metavar="DIR")
    ] = "-",
) -> Outcome:
    """Write the memory files of profiles in a form that other programs read.

    An export holds whole files, also categories that the profile does not see. It says what the form has no place for.
    It replaces no file.
    Flat files of Hermes Agent go to standard output one at a time (-p and -t).

    Exit status 2 if, without -p, a profile is not right; the files of all others are written.
    """
    if snapshot is not None:
        return Outcome(exporting.write_snapshot(call.root, Path(snapshot)))
    if form is None:
        missing = "Missing option '--format': 'catmem export --format markdown' is for people (json, hermes: programs)"
        raise UsageError(f"{missing}, 'catmem export --snapshot FILE' a backup for 'catmem import'.")
    unreadable: Sequence[CatmemError] = ()
    if not profiles:
        entities = entities_of_each(call.root)
        profiles = list(dict.fromkeys(parts_of(name).owner for name in entities.paths))
        unreadable = entities.unreadable
    made = exporting.export(call.root, profiles, form, target)
    if output == "-" and form == "hermes" and len(made) > 1:
        raise UsageError(f"These are {len(made)} files. Name one (-p and -t), or a folder (-o).")
    files = {each.name: each.text for each in made}
    names = None if output == "-" else exporting.write_export(files, Path(output))
    return Outcome(Exports(made, form, names), STREAMED, problems=unreadable)
