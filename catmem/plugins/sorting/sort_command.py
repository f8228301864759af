"""``catmem sort``: the entries without a category, each with a proposal, sorted into sections in one revision."""

from __future__ import annotations

import shlex
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.asking import answer_of, command_of
from catmem.cli.command import Command
from catmem.cli.options import (
    common_options,
    dry_run_option,
    open_with_store,
    profile_option,
    refuse_beside,
    target_option,
)
from catmem.cli.output import emit, emit_json, in_json, printable, read_stdin, say, say_all, shown_path, text_diff
from catmem.errors import CatmemError, ConfigError, RefusedError, UnreadableError
from catmem.files import os_errors, read_bounded
from catmem.names import STAYS
from catmem.text import DEFAULT_LIMITS, counted, decode, few, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.plugins.sorting.proposals import SortLine
    from catmem.plugins.sorting.sort_files import Sorted, SortPlan
    from catmem.workspace.workspace import Workspace


_KEPT = "catmem-sort-"
"""How the names of lists in the temporary folder begin."""
_FAULT = "#! "
"""How a comment begins that says what is wrong in a list."""


@click.command(
    cls=Command,
    examples=(
        "catmem sort",
        "catmem sort --yes --unsure",
        "catmem sort --ask 'llm -m MODEL' --yes",
        "catmem sort notes.md > list.txt",
        "catmem sort notes.md --read list.txt",
    ),
)
@click.argument("file", required=False)
@profile_option(required=False)
@target_option
@click.option("--read", "to_read", metavar="LIST", help="Sort as an edited list says; - for standard input.")
@click.option(
    "--ask",
    "given",
    metavar="[CMD]",
    is_flag=False,
    flag_value="",
    help="Let a model guess: this shell command gets the list and prints its answer. Without CMD: that of CATMEM_ASK.",
)
@click.option("--yes", is_flag=True, help="Take what is sure; all else stays, and what would be removed.")
@click.option("--unsure", is_flag=True, help="As --yes, and take the best guess for the other entries too.")
@dry_run_option
@common_options
def sort(  # noqa: PLR0913 - one parameter an option
    file: str | None,
    profile: str | None,
    target: str | None,
    *,
    to_read: str | None,
    given: str | None,
    yes: bool,
    unsure: bool,
    dry_run: bool,
) -> None:
    """Sort the entries without a category into sections, in one revision a file.

    Each entry has a best guess, by the words of the categories and of the entries that they have; ? marks one that is
    not sure. Secrets, duplicates, hostile text and entries of several facts are marked. On a terminal your editor opens
    with the list. Elsewhere it is printed: keep it, edit it, and give it back with --read. Without -p and -t both files
    of the orchestrator come, one after the other; a printed list is of the first that needs it.

    No word of an entry changes. New categories are declared in catmem.yaml. catmem restore takes it all back; of a
    file that is no profile's a copy is kept beside it. To a model goes no entry with a secret or hostile text.
    """
    refuse_beside("to_read", "given", "yes", "unsure", why="the list says what to do.")
    if file is not None and (profile is not None or target is not None):
        raise click.UsageError("Name a profile with -p, or a FILE.")
    if in_json() and not (yes or unsure or to_read):
        raise click.UsageError("The list is text. --format json goes with --yes, --unsure or --read.")

    from catmem.plugins.sorting.sort_files import plan_sort, unsorted_elsewhere

    command = None if given is None else command_of(given)
    workspace = open_with_store()
    plan = plan_sort(workspace, profile or (None if file else _only_profile(workspace)), target, file=file)
    if not plan.lines and not in_json():
        number = len(plan.document.entries)
        every = f"Nothing to sort: every entry of {plan.name} has a category ({number:,})."
        say(every if number else f"{plan.name} has no entries.")
        return
    say_all(_on_wordless(plan, asked=to_read is not None or command is not None))
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    others = [] if target or in_json() else unsorted_elsewhere(plan)
    in_turn = to_read is None and (yes or unsure or at_terminal)
    # Each is read when its turn comes: the sort of the one before may have declared categories.
    plans: Iterator[SortPlan] = chain([plan], (plan_sort(workspace, *other.split("/")) for other in others if in_turn))
    if command is not None:
        plans = iter([_asked(each, command) for each in plans])
    if to_read is not None:
        _read_list(plan, to_read, dry_run=dry_run)
    elif yes or unsure:
        for each in plans:
            _finish(each, each.harmless(unsure=unsure), dry_run=dry_run, unseen=True)
    elif at_terminal:
        all(_edit(each, dry_run=dry_run) for each in plans)
    else:
        emit(next(plans).to_text())
        say("Nothing was written. Edit this list and give it to --read, or take what is sure with --yes.")
    for other in [] if in_turn else others:
        say("{0}/{1} has entries without a category too: catmem sort -p {0} -t {1}".format(*other.split("/")))


def _on_wordless(plan: SortPlan, *, asked: bool) -> Iterator[str]:
    """Which categories nothing is guessed for, unless a list or a model was ``asked``."""
    names = plan.proposer.wordless if plan.entity else []
    if names and not asked:
        yield (
            f"Little is guessed for {few(names)}: no words are known but the {plural(len(names), 'name')}. Sort some "
            f"entries by hand first, or give words in catmem.yaml: categories: {{{names[0]}: {{aliases: [a, b]}}}}."
        )


def _only_profile(workspace: Workspace) -> str:
    """The one profile there is, or the one of tier 1."""
    names = list(workspace.profiles())
    for those in (names, [name for name in names if workspace.profile(name).tier == 1]):
        if len(those) == 1:
            return those[0]
    few = ", ".join([*names[:8], *(["…"] if names[8:] else [])])
    raise click.UsageError(f"Name a profile with -p, or a FILE.{f' There are {few}.' if names else ''}")


# --- lists ---------------------------------------------------------------------------------------------------------


def _chosen(plan: SortPlan, path: str) -> Sequence[SortLine]:
    from catmem.plugins.sorting.sort_list import read_list

    limit = DEFAULT_LIMITS.file_bytes
    try:
        return plan.chosen(read_list(decode(read_stdin(limit) if path == "-" else read_bounded(path, limit))))
    except (ConfigError, UnreadableError) as error:
        error.path = error.path or ("standard input" if path == "-" else path)
        raise


def _read_list(plan: SortPlan, path: str, *, dry_run: bool) -> None:
    """Sort as a list says. One that was kept in the temporary folder is then removed."""
    _finish(plan, _chosen(plan, path), dry_run=dry_run)
    if not dry_run and _is_kept(Path(path)):
        with os_errors("cannot be removed", path=path, hint="The file is sorted. Remove this list yourself."):
            Path(path).unlink()


def _command(plan: SortPlan, path: str | Path) -> str:
    profile, _, target = (plan.entity or "").partition("/")
    whose = f"-p {profile} -t {target}" if profile else shlex.quote(shown_path(plan.path))
    return f"catmem sort {whose} --read {shlex.quote(shown_path(path))}"


def _temporary(text: str) -> Path:
    """A file of this user alone with a list."""
    with tempfile.NamedTemporaryFile(prefix=_KEPT, suffix=".txt", delete=False) as stream:
        stream.write(text.encode())
    return Path(stream.name)


def _is_kept(path: Path) -> bool:
    """Whether a list is one that ``_temporary`` made, which is of no use once it is applied."""
    folder = Path(tempfile.gettempdir())
    return path.name.startswith(_KEPT) and path.is_file() and path.parent.resolve() == folder.resolve()


@contextmanager
def _kept(plan: SortPlan, path: Path) -> Iterator[None]:
    """Whatever goes wrong, keep the list that a person made, and say where it is."""
    try:
        yield
    except CatmemError as error:
        then = "Then" if isinstance(error, RefusedError) else "Mend it, then"
        error.hint = f"{error.hint or 'Nothing was written.'}\n  Your list is kept. {then}: {_command(plan, path)}"
        raise


def _edit(plan: SortPlan, *, dry_run: bool) -> bool:
    """Sort by a list in an editor, which opens again until the list is right, emptied, or left as it was.

    ``False`` if nothing is to be written: the list was emptied, or not saved the first time.
    """
    text: str | None = plan.to_text()
    path = _temporary(str(text))
    made = path.stat().st_mtime_ns
    while text is not None:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            path.unlink(missing_ok=True)
            raise click.ClickException(f"{error.message} Nothing was written.") from None
        edited = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        is_empty = all(not line.strip() or line.startswith("#") for line in edited.splitlines())
        if is_empty or (edited == text and path.stat().st_mtime_ns == made):
            say(f"The list {'is empty' if is_empty else 'was not saved'}: nothing was written.")
            path.unlink(missing_ok=True)
            return False
        with _kept(plan, path):
            text = None if edited == text else _with_faults(plan, edited)
            if text is None:
                _finish(plan, _chosen(plan, str(path)), dry_run=dry_run)
            else:
                path.write_text(text, encoding="utf-8")
    if dry_run:
        say(f"the list is kept: {_command(plan, path)}")
    else:
        path.unlink(missing_ok=True)
    return True


def _with_faults(plan: SortPlan, text: str) -> str | None:
    """A list with what is wrong in it as comments at its top; ``None`` if nothing is."""
    from catmem.plugins.sorting.sort_list import read_list

    own, faults = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_FAULT)), ""
    for _ in range(2):  # the comments move the lines that they name
        try:
            plan.chosen(read_list(faults + own))
        except ConfigError as error:
            faults = "".join(f"{_FAULT}{each.strip()}\n" for each in str(error.hint).splitlines())
    return faults + own if faults else None


# --- a model -------------------------------------------------------------------------------------------------------


def _asked(plan: SortPlan, command: str) -> SortPlan:
    """The plan with the proposals of a command."""
    from catmem.plugins.sorting.sort_list import question, read_proposals

    private = sum(line.private for line in plan.lines)
    if private:
        say(f"{plan.name}: {counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    if private == len(plan.lines):
        return plan
    answer = read_proposals(answer_of(command, question(plan.lines, plan.categories)))
    return replace(plan, lines=plan.checker.proposed(answer))


# --- the end -------------------------------------------------------------------------------------------------------


def _finish(plan: SortPlan, lines: Sequence[SortLine], *, dry_run: bool, unseen: bool = False) -> None:
    from catmem.plugins.sorting.sort_files import apply_sort

    done = apply_sort(plan, lines, dry_run=dry_run, unseen=unseen)
    if in_json():
        emit_json({**done.to_dict(), "dry_run": dry_run})
    else:
        _show(plan, done, [line for line in lines if line.secret and line.choice == STAYS], dry_run=dry_run)


def _show(plan: SortPlan, done: Sorted, kept: Sequence[SortLine], *, dry_run: bool) -> None:
    from catmem.plugins.sorting.sort_list import beginning
    from catmem.plugins.sorting.sort_list import shown as shown_text

    migration, shown = done.planned.migration, shown_path(plan.path)
    if dry_run:
        emit(text_diff(migration.old, migration.new, f"a/{shown}", f"b/{shown}"))
    would = "would be " if dry_run else ""
    counts = ", ".join(f"{category} {number:,}" for category, number in done.counts.items())
    emit(printable(f"{plan.name}: {would if migration.changes else 'not '}sorted: {counts}\n"))
    for part in done.parts:
        emit(f"  {part.number}.{part.part}  {part.choice} | {beginning(shown_text(part))}\n")
    for slug, title in done.declared.items():
        emit(printable(f"{would}declared in catmem.yaml: {slug} ({title})\n"))
    say_all(f"warning: {warning}" for warning in done.planned.warnings)
    say_all(f"no specialist reads {category} in {plan.path.name}" for category in done.unread)
    backup = shlex.quote(shown_path(done.done.backup or ""))
    if done.done.before is not None:
        say(f"to take it back (revision {done.done.revision}): catmem restore {plan.entity} {done.done.before}")
    elif done.done.backup is not None:
        say(f"to take it back: mv {backup} {shlex.quote(shown)}")
    for line in done.secrets:
        say(f"the secret on line {line.line} {would or 'is '}out of the file, not of its history")
    if kept:
        say(f"what looks like a secret {would or 'was '}left in {plan.name}: {counted(len(kept), 'entry')}")
    if (done.secrets or (kept and plan.entity)) and not dry_run:
        say("Replace each where it was issued. Then erase it for good:")
        ids = dict.fromkeys(line.entry.id for line in (*done.secrets, *kept))
        say_all([f"  catmem purge {plan.entity} {each} --yes" for each in ids] if plan.entity else [f"  rm {backup}"])
        say("Copies outside still have it, such as the file that 'init --start' read: erase it there yourself.")
