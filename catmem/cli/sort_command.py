"""``catmem sort``: the entries without a category, each with a proposal, sorted into sections in one revision."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
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
from catmem.text import DEFAULT_LIMITS, counted, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.sorting.proposals import SortLine
    from catmem.sorting.sort_files import Sorted, SortPlan
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
        "catmem sort notes.md --write list.txt",
    ),
)
@click.argument("file", required=False)
@profile_option(required=False)
@target_option
@click.option("--write", "to_write", metavar="LIST", help="Write the list and change nothing; - for standard output.")
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
    to_write: str | None,
    to_read: str | None,
    given: str | None,
    yes: bool,
    unsure: bool,
    dry_run: bool,
) -> None:
    """Sort the entries without a category into sections, in one revision a file.

    Each entry has a best guess, by the words of the categories and of the entries that they have; ? marks one that is
    not sure. Secrets, duplicates, hostile text and entries of several facts are marked. On a terminal your editor opens
    with the list. Elsewhere it is printed. Without -p and -t both files of the orchestrator are sorted, one after the
    other.

    No word of an entry changes. New categories are declared in catmem.yaml. catmem restore takes it all back; of a
    file that is no profile's a copy is kept beside it. To a model goes no entry with a secret or hostile text.
    """
    refuse_beside("to_read", "given", "yes", "unsure", "to_write", why="the list says what to do.")
    refuse_beside("yes", "to_write", why="it asks nothing, and writes the file.")
    refuse_beside("unsure", "to_write", why="it asks nothing, and writes the file.")
    refuse_beside("to_write", "dry_run", why="nothing is sorted yet.")
    if file is not None and (profile is not None or target is not None):
        raise click.UsageError("Name a profile with -p, or a FILE.")
    command = None if given is None else command_of(given)
    workspace = open_with_store()
    plan = workspace.plan_sort(profile or (None if file else _only_profile(workspace)), target, file=file)
    if not plan.lines and not in_json():
        number = len(plan.document.entries)
        every = f"Nothing to sort: every entry of {plan.name} has a category ({number:,})."
        say(every if number else f"{plan.name} has no entries.")
        return
    one = file is not None or target is not None or to_write is not None or to_read is not None or in_json()
    plans = [plan] if one else [plan, *_others(plan)]
    if command is not None:
        plans = [_asked(each, command) for each in plans]
    if to_write is not None:
        _write_list(plans[0], to_write)
    elif to_read is not None:
        _read_list(plan, to_read, dry_run=dry_run)
    elif yes or unsure:
        for each in plans:
            _finish(_now(each), each.harmless(unsure=unsure), dry_run=dry_run, goes_on=each is not plans[-1])
    elif in_json():
        emit_json(plans[0].to_dict())
    elif all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        for each in plans:
            if not _edit(_now(each), dry_run=dry_run, goes_on=each is not plans[-1]):
                return
    else:
        emit("\n".join(each.to_text() for each in plans))
        say("Nothing was written. --write LIST and --read LIST sort by an edited list, --yes takes what is sure.")


def _others(plan: SortPlan) -> Iterator[SortPlan]:
    """The plans of the other files of the same profile that have entries without a category."""
    from catmem.sorting.sort_files import plan_sort, unsorted_elsewhere

    for entity in unsorted_elsewhere(plan):
        yield plan_sort(plan.workspace, *entity.split("/"))


def _now(plan: SortPlan) -> SortPlan:
    """The plan with the configuration as it is now: the sort of another file may have declared categories."""
    from catmem.workspace.root import configured_now

    return plan if plan.workspace.config.path is None else replace(plan, workspace=configured_now(plan.workspace))


def _only_profile(workspace: Workspace) -> str:
    """The one profile there is, or the one of tier 1."""
    names = list(workspace.profiles())
    for those in (names, [name for name in names if workspace.profile(name).tier == 1]):
        if len(those) == 1:
            return those[0]
    few = ", ".join([*names[:8], *(["…"] if names[8:] else [])])
    raise click.UsageError(f"Name a profile with -p, or a FILE.{f' There are {few}.' if names else ''}")


# --- lists ---------------------------------------------------------------------------------------------------------


def _write_list(plan: SortPlan, path: str) -> None:
    text = plan.to_text()
    if path == "-":
        emit(text)
        return
    with os_errors("cannot be written", path=path, hint="Choose a file that is not there yet."):
        # It may hold what is secret.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
    say(f"wrote {counted(len(plan.lines), 'entry')} to {shown_path(path)}; sort with: {_command(plan, path)}")


def _chosen(plan: SortPlan, path: str) -> Sequence[SortLine]:
    from catmem.sorting.sort_list import read_list

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


def _edit(plan: SortPlan, *, dry_run: bool, goes_on: bool) -> bool:
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
                _finish(plan, _chosen(plan, str(path)), dry_run=dry_run, goes_on=goes_on)
            else:
                path.write_text(text, encoding="utf-8")
    if dry_run:
        say(f"the list is kept: {_command(plan, path)}")
    else:
        path.unlink(missing_ok=True)
    return True


def _with_faults(plan: SortPlan, text: str) -> str | None:
    """A list with what is wrong in it as comments at its top; ``None`` if nothing is."""
    from catmem.sorting.sort_list import read_list

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
    from catmem.sorting.sort_list import question, read_proposals

    private = sum(line.private for line in plan.lines)
    if private:
        say(f"{plan.name}: {counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    if private == len(plan.lines):
        return plan
    answer = read_proposals(answer_of(command, question(plan.lines, plan.categories)))
    return replace(plan, lines=plan.checker.proposed(answer))


# --- the end -------------------------------------------------------------------------------------------------------


def _finish(plan: SortPlan, lines: Sequence[SortLine], *, dry_run: bool, goes_on: bool = False) -> None:
    from catmem.sorting.sort_files import apply_sort

    done = apply_sort(plan, lines, dry_run=dry_run)
    if in_json():
        emit_json({**done.to_dict(), "dry_run": dry_run})
    else:
        _show(plan, done, dry_run=dry_run, goes_on=goes_on)


def _show(plan: SortPlan, done: Sorted, *, dry_run: bool, goes_on: bool) -> None:
    from catmem.sorting.sort_files import unsorted_elsewhere
    from catmem.sorting.sort_list import beginning
    from catmem.sorting.sort_list import shown as shown_text

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
    if done.secrets and not dry_run:
        say("Replace each where it was issued. Then erase it for good:")
        ids = dict.fromkeys(line.entry.id for line in done.secrets)
        say_all([f"  catmem purge {plan.entity} {each} --yes" for each in ids] if plan.entity else [f"  rm {backup}"])
        say("Copies outside still have it, such as the file that 'init --start' read: erase it there yourself.")
    for entity, number in ({} if goes_on else unsorted_elsewhere(plan)).items():
        profile, _, target = entity.partition("/")
        say(f"{entity} has {counted(number, 'entry')} without a category: catmem sort -p {profile} -t {target}")
