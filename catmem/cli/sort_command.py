"""``catmem sort``: the entries without a category, each with a proposal, sorted into sections in one revision."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import tempfile
import termios
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import (
    common_options,
    dry_run_option,
    open_with_store,
    profile_option,
    refuse_beside,
    target_option,
)
from catmem.cli.output import (
    emit,
    emit_json,
    in_json,
    printable,
    read_stdin,
    say,
    say_all,
    shown_path,
    text_diff,
)
from catmem.errors import CatmemError, ConfigError, RefusedError, UnreadableError
from catmem.text import DEFAULT_LIMITS, counted, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catmem.sorting.proposals import SortLine
    from catmem.sorting.sort_files import Sorted, SortPlan
    from catmem.sorting.sort_list import ReadList
    from catmem.workspace.workspace import Workspace

_KEYS = """\
  Enter    what is proposed
  1, 2, 3  one of the likely categories
  n        another category, or a new one: you are asked for its name
  d        drop it: the history keeps it
  s        secret: drop it, and learn how to erase it
  p        part it: each of its facts comes by itself
  k        skip it: it stays without a category
  u        back to the one before
  q        stop: write what was chosen, the rest stays
  Ctrl-D   stop, and write nothing"""


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
@click.option("--ask-each", is_flag=True, help="Ask for one entry after the other, a key each.")
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
@click.option("--yes", is_flag=True, help="Take the proposals as they are; what would be removed stays.")
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
    dry_run: bool,
) -> None:
    """Sort the entries without a category into sections, in one revision.

    Each entry is proposed a category, by the words of the categories and of the entries that they have. Secrets,
    duplicates, hostile text, dates and entries of several facts are marked. On a terminal your editor opens with a line
    for each entry; without an editor you are asked for one after the other. Elsewhere the list is printed.

    No word of an entry changes. New categories are declared in catmem.yaml. catmem restore takes it all back; of a
    file that is no profile's a copy is kept beside it.
    """
    refuse_beside("to_read", "command", "ask_each", "yes", why="the list says what to do.")
    refuse_beside("yes", "ask_each", "to_write", why="it asks nothing, and writes the file.")
    refuse_beside("to_write", "ask_each", "dry_run", why="nothing is sorted yet.")
    if file is not None and (profile is not None or target is not None):
        raise click.UsageError("Name a profile with -p, or a FILE.")
    workspace = open_with_store()
    plan = workspace.plan_sort(_only_profile(workspace, profile, file), target, file=file)
    if not plan.lines:
        _say_nothing(plan)
        return
    if command is not None:
        plan = _asked(plan, command)
    if to_write is not None:
        if to_read is not None:
            plan = replace(plan, lines=plan.checker.carried(_read(to_read)))
        _write_list(plan, to_write)
    elif to_read is not None:
        _finish(plan, _chosen(plan, to_read), dry_run=dry_run)
    elif yes:
        _finish(plan, [_unharmed(line) for line in plan.lines], dry_run=dry_run)
    elif ask_each or (_on_terminal() and not _has_editor()):
        chosen = _Questions(plan).run()
        _finish(plan, chosen, dry_run=dry_run, kept=lambda: _keep(_text(replace(plan, lines=tuple(chosen)))))
    elif _on_terminal():
        _edit(plan, dry_run=dry_run)
    else:
        _print_list(plan)


def _only_profile(workspace: Workspace, profile: str | None, file: str | None) -> str | None:
    if profile is not None or file is not None:
        return profile
    names = list(workspace.profiles())
    if len(names) != 1:
        raise click.UsageError(f"Name a profile with -p, or a FILE.{f' There are {_few(names)}.' if names else ''}")
    return names[0]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")  # noqa: PLR2004 - as many as a line has


def _on_terminal() -> bool:
    return not in_json() and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _has_editor() -> bool:
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR"))


def _say_nothing(plan: SortPlan) -> None:
    entries = len(plan.document.entries)
    if in_json():
        _finish(plan, (), dry_run=False)
    elif not entries:
        say(f"{plan.name} has no entries.")
    else:
        say(f"Nothing to sort: every entry of {plan.name} has a category ({entries:,}).")


def _unharmed(line: SortLine) -> SortLine:
    """The line, with nothing removed that no person looked at."""
    from catmem.sorting.proposals import DROP, SECRET, STAYS

    if line.choice == SECRET:
        return replace(line, choice=STAYS)
    return replace(line, choice=line.likely[0] if line.likely else STAYS) if line.choice == DROP else line


# --- lists ---------------------------------------------------------------------------------------------------------


def _text(plan: SortPlan) -> str:
    from catmem.sorting.sort_list import as_text

    return as_text(plan.lines, plan.name, plan.document.digest, plan.titles, plan.proposer.is_sure)


def _print_list(plan: SortPlan) -> None:
    from catmem.sorting.sort_list import as_data

    if in_json():
        emit_json(as_data(plan.lines, plan.name, plan.document.digest, plan.titles))
        return
    emit(_text(plan))
    say("Nothing was written. --write LIST.txt and --read LIST.txt sort by an edited list, --yes as proposed.")


def _write_list(plan: SortPlan, to_write: str) -> None:
    from catmem.files import os_errors
    from catmem.sorting.sort_list import as_data
    from catmem.text import printable_json

    as_lines = to_write.endswith(".txt")
    data = as_data(plan.lines, plan.name, plan.document.digest, plan.titles)
    text = _text(plan) if as_lines else printable_json(data, indent=2) + "\n"
    if to_write == "-":
        emit(text)
        return
    with os_errors("cannot be written", path=to_write, hint="Choose a file that is not there yet."):
        # It may hold what is secret.
        descriptor = os.open(to_write, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
    say(f"wrote {counted(len(plan.lines), 'entry')} to {shown_path(to_write)}; sort with: {_again(plan, to_write)}")


def _read(path: str) -> ReadList:
    from catmem.files import read_bounded
    from catmem.sorting.sort_list import read_list

    limit = DEFAULT_LIMITS.file_bytes
    try:
        return read_list(decode(read_stdin(limit) if path == "-" else read_bounded(path, limit)))
    except UnreadableError as error:
        error.path, error.hint = error.path or path, f"{error.hint or ''} Nothing was written.".strip()
        raise


def _chosen(plan: SortPlan, path: str) -> Sequence[SortLine]:
    try:
        return plan.chosen(_read(path))
    except ConfigError as error:
        error.path = None if path == "-" else path
        raise


def _keep(text: str) -> Path:
    """A file of this user alone with a list."""
    descriptor, name = tempfile.mkstemp(prefix="catmem-sort-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return Path(name)


def _again(plan: SortPlan, path: str | Path) -> str:
    profile, _, target = (plan.entity or "").partition("/")
    whose = f"-p {profile} -t {target}" if profile else shlex.quote(shown_path(plan.path))
    return f"catmem sort {whose} --read {shlex.quote(shown_path(path))}"


def _edit(plan: SortPlan, *, dry_run: bool) -> None:
    """Let a person edit the list, and once more for the parts of what is split."""
    from catmem.sorting.proposals import SPLIT
    from catmem.sorting.sort_list import read_list

    path = _keep(_text(plan))
    while True:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            path.unlink(missing_ok=True)
            raise click.ClickException(f"{error.message} Nothing was written.") from None
        text = path.read_text(encoding="utf-8", errors="replace")
        read = read_list(text)
        if not read.rows and not read.faults:
            path.unlink()
            say("The list is empty: nothing was written.")
            return
        try:
            chosen = plan.chosen(read)
        except CatmemError as error:
            _kept(error, plan, path)
            raise
        if not any(line.choice == SPLIT for line in chosen):
            break
        plan = plan.with_lines(chosen)
        path.write_text(_text(plan), encoding="utf-8")
    _finish(plan, chosen, dry_run=dry_run, kept=lambda: path)
    if not dry_run:
        path.unlink(missing_ok=True)
    else:
        say(f"the list is kept: {_again(plan, path)}")


def _kept(error: CatmemError, plan: SortPlan, path: Path) -> None:
    if isinstance(error, RefusedError):
        new = "sorted-list.txt"
        after = f"For one that keeps your choices: {_again(plan, path)} --write {new}"
    else:
        after = f"Mend it, then: {_again(plan, path)}"
    error.path = str(path) if error.code == "bad_list" else error.path
    error.hint = f"{error.hint or 'Nothing was written.'}\n  Your list is kept in {path}. {after}"


# --- a model -------------------------------------------------------------------------------------------------------


def _asked(plan: SortPlan, command: str) -> SortPlan:
    """The plan with the proposals of a command, which are held against it."""
    from catmem.sorting.sort_list import question, read_answer

    private = sum(line.private for line in plan.lines)
    if private:
        say(f"{counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    asked = question(plan.lines, plan.titles).encode()
    try:
        words = shlex.split(command) or [""]
        done = subprocess.run(words, input=asked, stdout=subprocess.PIPE, check=False)  # noqa: S603 - the user names it
        failed = f"ended with status {done.returncode}" if done.returncode else ""
    except (OSError, ValueError) as error:
        failed = f"cannot be run: {getattr(error, 'strerror', None) or error}"
    if failed:
        hint = "Nothing was written. The command gets the prompt on standard input, and prints JSON."
        raise ConfigError(f"the command of --ask {failed}", code="ask_failed", hint=hint)
    try:
        text = decode(done.stdout)
    except UnreadableError as error:
        error.hint = "The command of --ask printed it. Nothing was written."
        raise
    return replace(plan, lines=plan.checker.proposed(read_answer(text)))


# --- one by one ----------------------------------------------------------------------------------------------------


class _Questions:
    """One entry after the other: a key each on a terminal, else a line each."""

    def __init__(self, plan: SortPlan) -> None:
        self._plan = plan
        self._lines = list(plan.lines)
        self._on_terminal = sys.stdin is not None and sys.stdin.isatty()

    def run(self) -> list[SortLine]:
        """The lines with what was chosen."""
        at = 0
        with self._keys():
            while at < len(self._lines):
                self._show(at)
                at = self._answer(at)
        return self._lines

    @contextmanager
    def _keys(self, *, by_key: bool = True) -> Iterator[None]:
        """A terminal that gives each key as it is typed, or each line. What was typed ahead is not lost."""
        if not self._on_terminal:
            yield
            return
        before = termios.tcgetattr(sys.stdin)
        mode = [*before]
        mode[3] = mode[3] & ~(termios.ICANON | termios.ECHO) if by_key else mode[3] | termios.ICANON | termios.ECHO
        termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
        try:
            yield
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)

    def _show(self, at: int) -> None:
        line = self._lines[at]
        say(f"\n{at + 1:,} of {len(self._lines):,}  line {line.line}")
        say("\n".join(f"  {each}" for each in printable(line.text).split("\n")))
        say_all(f"  ({mark})" for mark in line.marks)
        likely = "  ".join(f"{number} {each}" for number, each in enumerate(line.likely, 1))
        self._prompt(f"[{line.choice}]  {likely}  n d s p k u q ? ")

    def _answer(self, at: int) -> int:
        """Take answers until one is given; the place of the entry that comes next."""
        from catmem.sorting.proposals import STAYS

        while True:
            key, rest = self._read()
            if key == "u":
                return max(0, at - 1)
            if key == "q":
                self._lines[at:] = [replace(each, choice=STAYS) for each in self._lines[at:]]
                return len(self._lines)
            line = self._lines[at]
            parts = self._plan.proposer.parted(line) if key == "p" and not line.part else ()
            if len(parts) > 1:
                self._lines[at : at + 1] = parts
                return at
            choice = self._choice(line, key, rest)
            if choice is not None:
                self._lines[at] = replace(line, choice=choice)
                self._prompt(f"{choice}\n")
                return at + 1
            self._prompt("? ")

    def _choice(self, line: SortLine, key: str, rest: str) -> str | None:
        """What a key chooses for a line; ``None``, and why, for one that chooses nothing."""
        from catmem.sorting.proposals import DROP, SECRET, STAYS

        plain = {"": line.choice, "d": DROP, "s": SECRET, "k": STAYS}
        plain |= {str(number): each for number, each in enumerate(line.likely, 1)}
        if key in plain:
            return plain[key]
        if key == "n":
            try:
                return self._plan.checker.choice_for(rest or self._words("Category: "))
            except ConfigError as error:
                if error.code == "no_answer":
                    raise
                say(error.message)
                return None
        say("It has one part." if key == "p" else _KEYS)
        return None

    def _read(self) -> tuple[str, str]:
        if not self._on_terminal:
            key, _, rest = self._words("").partition(" ")
            return key.lower(), rest.strip()
        terminal = sys.stdin.fileno()
        key = os.read(terminal, 1).decode(errors="replace")
        if key in {"", "\x04"}:
            raise click.Abort
        while key == "\x1b" and select.select([terminal], [], [], 0)[0]:
            os.read(terminal, 1)  # an arrow is an escape and letters, and these are no answers
        return key.strip().lower(), ""

    def _words(self, prompt: str) -> str:
        self._prompt(prompt)
        with self._keys(by_key=False):
            data = sys.stdin.buffer.readline(DEFAULT_LIMITS.file_bytes) if sys.stdin is not None else b""
        if not data:
            hint = "Nothing was written. q ends the questions and writes what was chosen."
            raise ConfigError("the answers ended before the entries did", code="no_answer", hint=hint)
        return data.decode(errors="replace").strip()

    def _prompt(self, text: str) -> None:
        if self._on_terminal and sys.stderr is not None:
            sys.stderr.write(printable(text))
            sys.stderr.flush()


# --- the end -------------------------------------------------------------------------------------------------------


def _finish(
    plan: SortPlan, lines: Sequence[SortLine], *, dry_run: bool, kept: Callable[[], Path] | None = None
) -> None:
    """Write what was chosen, and say so; what goes wrong names where the list is ``kept``."""
    from catmem.sorting.sort_files import apply_sort

    try:
        done = apply_sort(plan, lines, dry_run=dry_run)
    except CatmemError as error:
        if kept is not None:
            _kept(error, plan, kept())
        raise
    if in_json():
        emit_json({**done.to_dict(), "dry_run": dry_run})
    else:
        _show(plan, done, dry_run=dry_run)


def _show(plan: SortPlan, done: Sorted, *, dry_run: bool) -> None:
    from catmem.sorting.sort_files import unsorted_elsewhere

    migration, name = done.planned.migration, plan.name
    if dry_run:
        shown = shown_path(plan.path)
        emit(text_diff(migration.old, migration.new, f"a/{shown}", f"b/{shown}"))
    would = "would be " if dry_run else ""
    counts = ", ".join(f"{category} {number:,}" for category, number in done.counts.items())
    emit(printable(f"{name}: {would if migration.changes else 'not '}sorted: {counts}\n"))
    for slug, title in done.declared.items():
        emit(printable(f"{would}declared in catmem.yaml: {slug} ({title})\n"))
    say_all(f"warning: {warning}" for warning in done.planned.warnings)
    if done.done.before is not None:
        say(f"to take it back (revision {done.done.revision}): catmem restore {plan.entity} {done.done.before}")
    elif done.done.backup is not None:
        backup, path = shown_path(done.done.backup), shown_path(plan.path)
        say(f"what it was is kept in {backup}; to take it back: mv {shlex.quote(backup)} {shlex.quote(path)}")
    say_all(_of_secrets(plan, done, dry_run=dry_run))
    for entity, number in unsorted_elsewhere(plan).items():
        profile, _, target = entity.partition("/")
        say(f"{entity} has {counted(number, 'entry')} without a category: catmem sort -p {profile} -t {target}")


def _of_secrets(plan: SortPlan, done: Sorted, *, dry_run: bool) -> Iterator[str]:
    """What to do about the secrets that were taken out: no words of theirs are printed."""
    for line in done.secrets:
        yield f"the secret on line {line.line} {'would be' if dry_run else 'is'} out of the file, not of its history"
    if not done.secrets or dry_run:
        return
    yield "Replace each where it was issued. Then erase it for good:"
    if plan.entity is None:
        yield f"  rm {shlex.quote(shown_path(done.done.backup or ''))}"
    else:
        ids = dict.fromkeys(line.entry.id for line in done.secrets)
        yield from (f"  catmem purge {plan.entity} {each} --yes" for each in ids)
