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

from catmem.cli.asking import answer_of
from catmem.cli.command import Command
from catmem.cli.dialogue import Dialogue
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
from catmem.text import DEFAULT_LIMITS, counted, decode, printable_json

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
        "catmem sort -p trinity",
        "catmem sort -p trinity --ask-each",
        "catmem sort notes.md --write list.json",
        "catmem sort -p trinity --ask 'llm -m MODEL'",
    ),
)
@click.argument("file", required=False)
@profile_option(required=False)
@target_option
@click.option("--ask-each", is_flag=True, help="Ask for one entry after the other.")
@click.option(
    "--write",
    "to_write",
    metavar="LIST",
    help="Write the list and change nothing: lines to edit where LIST ends in .txt, else JSON; - for standard output.",
)
@click.option("--read", "to_read", metavar="LIST", help="Sort as a list says that --write made; - for standard input.")
@click.option(
    "--ask",
    "command",
    metavar="CMD",
    help="Give a prompt to this command, and take the JSON that it prints as proposals. Secrets are left out.",
)
@click.option("--yes", is_flag=True, help="Take the sure proposals; all else stays, and what would be removed.")
@click.option("--unsure", is_flag=True, help="As --yes, and take the best guess for the other entries too.")
@dry_run_option
@common_options
def sort(  # noqa: PLR0913 - one parameter an option
    file: str | None,
    profile: str | None,
    target: str | None,
    *,
    ask_each: bool,
    to_write: str | None,
    to_read: str | None,
    command: str | None,
    yes: bool,
    unsure: bool,
    dry_run: bool,
) -> None:
    """Sort the entries without a category into sections, in one revision.

    Each entry is proposed a category if one is sure, by the words of the categories and of the entries that they have.
    Secrets, duplicates, hostile text, dates and entries of several facts are marked. On a terminal your editor opens
    with a line for each entry; without an editor you are asked for one after the other. Elsewhere the list is printed.

    No word of an entry changes. New categories are declared in catmem.yaml. catmem restore takes it all back; of a
    file that is no profile's a copy is kept beside it.
    """
    refuse_beside("to_read", "command", "ask_each", "yes", "to_write", why="the list says what to do.")
    refuse_beside("yes", "ask_each", "to_write", why="it asks nothing, and writes the file.")
    refuse_beside("unsure", "ask_each", "to_write", "to_read", why="it asks nothing, and writes the file.")
    refuse_beside("to_write", "ask_each", "dry_run", why="nothing is sorted yet.")
    if file is not None and (profile is not None or target is not None):
        raise click.UsageError("Name a profile with -p, or a FILE.")
    workspace = open_with_store()
    whose = profile or (None if file else _only_profile(workspace))
    plan = workspace.plan_sort(whose, target, file=file)
    at_terminal = not in_json() and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if not plan.lines and not in_json():
        number = len(plan.document.entries)
        every = f"Nothing to sort: every entry of {plan.name} has a category ({number:,})."
        say(every if number else f"{plan.name} has no entries.")
        return
    if command is not None:
        plan = _asked(plan, command)
    if to_write is not None:
        _write_list(plan, to_write)
    elif to_read is not None:
        _read_list(plan, to_read, dry_run=dry_run)
    elif yes or unsure:
        both = file is None and target is None and not in_json()
        _take(plan, command, unsure=unsure, both=both, dry_run=dry_run)
    elif ask_each or (at_terminal and not (os.environ.get("VISUAL") or os.environ.get("EDITOR"))):
        lines = _Questions(plan).run()
        with _kept(plan, lines):
            _finish(plan, lines, dry_run=dry_run)
    elif at_terminal:
        _edit(plan, dry_run=dry_run)
    elif in_json():
        emit_json(plan.to_dict())
    else:
        emit(plan.to_text())
        say("Nothing was written. --write LIST.txt and --read LIST.txt sort by an edited list, --yes as proposed.")


def _take(plan: SortPlan, command: str | None, *, unsure: bool, both: bool, dry_run: bool) -> None:
    """Sort as proposed; ``both``: the other file of the profile too."""
    from catmem.sorting.sort_files import plan_sort, unsorted_elsewhere
    from catmem.workspace.root import configured_now

    others = unsorted_elsewhere(plan) if both else {}
    _finish(plan, plan.harmless(unsure=unsure), dry_run=dry_run, goes_on=bool(others))
    for entity in others:
        other = plan_sort(configured_now(plan.workspace), *entity.split("/"))
        _take(other if command is None else _asked(other, command), command, unsure=unsure, both=False, dry_run=dry_run)


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
    text = plan.to_text() if path.endswith(".txt") else printable_json(plan.to_dict(), indent=2) + "\n"
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
def _kept(plan: SortPlan, made: Path | Sequence[SortLine]) -> Iterator[None]:
    """Whatever goes wrong, keep the list that a person made, and say where it is."""
    try:
        yield
    except CatmemError as error:
        path = made if isinstance(made, Path) else _temporary(plan.to_text(made))
        then = "Then" if isinstance(error, RefusedError) else "Mend it, then"
        error.hint = f"{error.hint or 'Nothing was written.'}\n  Your list is kept. {then}: {_command(plan, path)}"
        raise


def _edit(plan: SortPlan, *, dry_run: bool) -> None:
    """Sort by a list in an editor, which opens again until the list is right, emptied, or left as it was."""
    text: str | None = plan.to_text()
    path = _temporary(str(text))
    while text is not None:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            path.unlink(missing_ok=True)
            raise click.ClickException(f"{error.message} Nothing was written.") from None
        edited = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if all(not line.strip() or line.startswith("#") for line in edited.splitlines()):
            say("The list is empty: nothing was written.")
            path.unlink(missing_ok=True)
            return
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
    from catmem.sorting.sort_list import question, read_json

    private = sum(line.private for line in plan.lines)
    if private:
        say(f"{counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    answer = read_json(answer_of(command, question(plan.lines, plan.titles)))
    return replace(plan, lines=plan.checker.proposed(answer))


# --- one by one ----------------------------------------------------------------------------------------------------


class _Questions(Dialogue):
    """One entry after the other. An answer is a letter, or what a list has in front of the bar."""

    keys = "123456789dspkuq?"
    explained = """\
  Enter     what is proposed
  1, 2, 3   one of the likely categories
  finance   a category, by its name, and Enter; +Errands makes a new one
            (a space goes before a name that begins with one of the letters below)
  d         drop it: the history keeps it
  s         secret: drop it, and learn how to erase it
  p         part it: each of its facts comes by itself
  k         skip it: it stays without a category
  u         back to the one before
  q         stop: write what was chosen, the rest stays
  Ctrl-D    stop, and write nothing"""

    def __init__(self, plan: SortPlan) -> None:
        super().__init__()
        self._plan = plan
        self._chosen = list(plan.lines)
        self._checker = plan.checker

    def run(self) -> list[SortLine]:
        """The lines with what was chosen."""
        at = 0
        while at < len(self._chosen):
            line = self._chosen[at]
            say(f"\n{at + 1:,} of {len(self._chosen):,}  line {line.line}")
            say("\n".join(f"  {each}" for each in printable(line.text).split("\n")))
            say_all(f"  ({mark})" for mark in line.marks)
            at = self._answer(at)
        return self._chosen

    def _answer(self, at: int) -> int:
        """Take answers until one is given; the place of the entry that comes next."""
        from catmem.sorting.proposals import DROP, SECRET, SPLIT, STAYS

        line = self._chosen[at]
        likely = {str(number): each for number, each in enumerate(line.likely, 1)}
        words = {**likely, "d": DROP, "s": SECRET, "p": SPLIT, "k": STAYS}
        shown = "".join(f"  {number} {each}" for number, each in likely.items())
        while True:
            answer = self.read(printable(f"[{line.choice}]{shown}  d s p k u q ? "), passes_empty=False)
            if answer is None:
                if self.on_terminal:
                    raise click.Abort
                hint = "Nothing was written. q ends the questions and writes what was chosen."
                raise ConfigError("the answers ended before the entries did", code="no_answer", hint=hint)
            given = f"{answer.letter} {answer.rest}".strip()
            if given == "u":
                return max(0, at - 1)
            if given == "q":
                self._chosen[at:] = [replace(each, choice=STAYS) for each in self._chosen[at:]]
                return len(self._chosen)
            if given == "?":
                self.explain(answer)
                continue
            try:
                chosen = self._checker.answered(line, words.get(given, given)) if given else line
            except ConfigError as error:
                if not self.on_terminal:
                    error.path, error.line, error.hint = self.source, answer.number, self.refused
                    raise
                say(f"{error.message} (? explains)")
                continue
            self._checker.learn(chosen.choice)
            parts = self._plan.proposer.parted(chosen) if chosen.choice == SPLIT else [chosen]
            self._chosen[at : at + 1] = parts
            return at + (len(parts) == 1)


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
    from catmem.sorting.sort_list import shown as shown_text

    migration, shown = done.planned.migration, shown_path(plan.path)
    if dry_run:
        emit(text_diff(migration.old, migration.new, f"a/{shown}", f"b/{shown}"))
    would = "would be " if dry_run else ""
    counts = ", ".join(f"{category} {number:,}" for category, number in done.counts.items())
    emit(printable(f"{plan.name}: {would if migration.changes else 'not '}sorted: {counts}\n"))
    for part in done.parts:
        emit(f"  {part.number}.{part.part}  {part.choice} | {shown_text(part)}\n")
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
