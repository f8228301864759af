"""The operations sort and tidy: entries sorted into sections, and what memory says twice."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from tempfile import TemporaryFile
from typing import Annotated, Any

from catmem.config.profile import refuse_no_root
from catmem.errors import ConfigError, UnreadableError, errors_at
from catmem.files import read_bounded, shown_path
from catmem.jsonable import jsonable
from catmem.names import parts_of
from catmem.ops.shared import DryRun, OneFile
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.sorting.sort_files import SortPlan, apply_sort, plan_sort, unsorted_elsewhere
from catmem.plugins.sorting.sort_lines import LABELLED, SortLine, question, read_list, read_proposals
from catmem.plugins.sorting.tidying import list_tidy, propose_tidy
from catmem.text import MAX_FILE_BYTES, counted, decode, few, plural
from catmem.workspace.change_plan import ChangePlan
from catmem.workspace.init import kits, starting_categories
from catmem.workspace.workspace import Workspace

_SortedProfile = Annotated[str | None, P("The profile whose memory this is.")]


@dataclass(frozen=True, slots=True)
class SortedFile:
    """A file that was sorted as ``lines`` say, or would be."""

    plan: SortPlan
    done: ChangePlan
    lines: Sequence[SortLine]


@operation(
    "sort",
    examples=(
        "catmem sort",
        "catmem sort --yes --unsure",
        "catmem sort --ask 'llm -m MODEL' --yes",
        "catmem sort notes.md > list.txt",
        "catmem sort notes.md --read list.txt",
    ),
    apart={"to_read": "command yes unsure", "file": "profile target"},
)
def sort(
    call: Call,
    *,
    file: Annotated[str | None, P(argument=True)] = None,
    profile: _SortedProfile = None,
    target: OneFile = None,
    to_read: Annotated[
        str | None, P("Sort as an edited list says; - for standard input.", "--read", metavar="LIST")
    ] = None,
    command: Annotated[
        str | None,
        P("Let a model guess: this shell command gets the list and prints its answer.", "--ask", metavar="CMD"),
    ] = None,
    yes: Annotated[bool, P("Take what is sure; all else stays, and what would be removed.")] = False,
    unsure: Annotated[
        bool, P("As --yes, and take the best guess for the other entries. What has only a weak guess stays.")
    ] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Sort the entries without a category into sections, in one revision a file.

    Each entry has a best guess, by the words of the categories and of their entries; ? marks one that is not sure.
    Secrets, duplicates, hostile text and entries of several facts are marked. At a terminal your editor opens with the
    list. Elsewhere it is printed: edit it, and give it back with --read. Without -p and -t both files of the
    orchestrator come, one after the other; a printed list is of the first that needs it.

    No word of an entry changes. New categories are declared in catmem.yaml. 'catmem restore' takes a sort back; beside
    a file of no profile a copy is kept. A model gets no entry with a secret or hostile text.
    """
    if call.for_program and not (yes or unsure or to_read):
        raise UsageError("The list is text. --format json goes with --yes, --unsure or --read.")
    workspace = call.root
    plan = plan_sort(workspace, profile or (None if file else _only_profile(workspace)), target, file=file)
    if not plan.lines and not call.for_program:
        number = len(plan.document.entries)
        every = f"Nothing to sort: every entry of {plan.name} has a category ({number:,})."
        call.tell(every if number else f"{plan.name} has no entries.")
        return Outcome(None)
    _tell_of_wordless(call, plan, asked=to_read is not None or command is not None)
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    others = [] if target or call.for_program else unsorted_elsewhere(plan)
    in_turn = to_read is None and (yes or unsure or at_terminal)
    # Each is read when its turn comes: the sort of the one before may have declared categories.
    plans: Iterator[SortPlan] = chain([plan], (plan_sort(workspace, *parts_of(other)) for other in others if in_turn))
    plans = map(partial(_tell_of_labels, call), plans)
    if command is not None:
        plans = iter([_asked(call, each, command) for each in plans])
    said = None
    if to_read is not None:
        said = finish(call, plan, chosen(call, plan, to_read))
    elif yes or unsure:
        for each in plans:
            said = finish(call, each, each.harmless(unsure=unsure))
    elif at_terminal:
        edit = call.dialogue("catmem.plugins.sorting.texts")
        all(edit(call, each) for each in plans)
    else:
        call.show(next(plans))
    for other in [] if in_turn else others:
        name, their = parts_of(other)
        call.tell(f"{other} has entries without a category too: catmem sort -p {name} -t {their}{call.root_words}")
    return Outcome(None, said)


def _tell_of_labels(call: Call, plan: SortPlan) -> SortPlan:
    if labelled := sum(LABELLED in line.marks for line in plan.lines):
        call.tell(
            f"{counted(labelled, 'entry')} of {plan.name} {plural(labelled, 'has a label', 'have labels')} such as "
            f"[COMM], which a sort leaves there. First run: catmem migrate {shlex.quote(shown_path(plan.path))}"
            f"{call.root_words} (--declare for new names)"
        )
    return plan


def _tell_of_wordless(call: Call, plan: SortPlan, *, asked: bool) -> None:
    """Which categories nothing is guessed for, unless a list or a model was ``asked``; and whether all are general."""
    if plan.entity and plan.categories.keys() <= {*kits()["shared"], *starting_categories()}:
        call.tell("All categories here are for everybody. 'catmem init --profile NAME' adds those of a specialist.")
    names = plan.proposer.wordless if plan.entity else []
    if names and not asked:
        call.tell(
            f"Little is guessed for {few(names)}: no words are known but the {plural(len(names), 'name')}. Sort some "
            f"entries first, or write into catmem.yaml: taxonomy: {{categories: {{{names[0]}: {{aliases: [a, b]}}}}}}."
        )


def _only_profile(workspace: Workspace) -> str:
    """The one profile there is, or the one of tier 1."""
    refuse_no_root(workspace.config)
    names = list(workspace.profiles())
    for those in (names, [name for name in names if workspace.profile(name).tier == 1]):
        if len(those) == 1:
            return those[0]
    raise UsageError(f"Name a profile with -p, or a FILE.{f' There are {few(names)}.' if names else ''}")


def chosen(call: Call, plan: SortPlan, path: str) -> Sequence[SortLine]:
    """What the list in a file says of each entry."""
    limit = MAX_FILE_BYTES
    try:
        read = read_list(decode(call.stdin(limit) if path == "-" else read_bounded(path, limit)))
        lines = plan.chosen(read)
    except (ConfigError, UnreadableError) as error:
        error.path = error.path or ("standard input" if path == "-" else path)
        raise
    if left := len(lines) - len(read.rows):
        call.tell(f"{counted(left, 'entry')} without a line in the list {plural(left, 'stays', 'stay')} as before")
    return lines


def _asked(call: Call, plan: SortPlan, command: str) -> SortPlan:
    """The plan with the proposals of a command."""
    private = sum(line.private for line in plan.lines)
    if private:
        call.tell(f"{plan.name}: {counted(private, 'entry')} with a secret or hostile text left out of the prompt")
    if private == len(plan.lines):
        return plan
    answer = read_proposals(answer_of(command, question(plan.lines, plan.categories)))
    return replace(plan, lines=plan.checker.proposed(answer))


def finish(call: Call, plan: SortPlan, lines: Sequence[SortLine]) -> dict[str, Any]:
    """Sort a file, and show it; gives what programs read of it."""
    dry_run = call.values["dry_run"]
    done = ChangePlan((apply_sort(plan, lines, dry_run=dry_run),), done=not dry_run)
    call.show(SortedFile(plan, done, lines))
    return {**jsonable(done), "dry_run": dry_run}


@operation("tidy", examples=("catmem tidy", "catmem tidy -p trinity"), opens="read")
def tidy(
    call: Call,
    *,
    profile: _SortedProfile = None,
    propose: Annotated[bool, P("Have each entry that may go wait as a proposal, for 'catmem proposals'.")] = False,
) -> Outcome:
    """List what memory says twice, and what you should look at together. No file is changed.

    The first list has entries with the same words. The second has entries of one profile that share rare words, and may
    differ in a number, a time or a date: the most alike first, at most one pair for five entries.
    """
    found = list_tidy(call.open("store" if propose else "read"), profile)
    notes: tuple[str, ...] = ()
    if found.private:
        private = counted(found.private, "entry")
        notes = (f"{private} with a secret or hostile text left out; see catmem lint --select CM6",)
    if propose:
        proposed = propose_tidy(call.root, [each for each in found.suggestions if each.operations])
        return Outcome(proposed, {"proposed": jsonable(proposed)}, problems=found.problems, notes=notes)
    said = jsonable({"suggestions": found.suggestions, "private": found.private, "problems": found.problems})
    return Outcome(found, said, problems=found.problems, notes=notes)


_LONGEST = 600
"""Seconds that a command may take."""
_HINT = "Nothing was written. The command gets the prompt on standard input, and prints the answer."


def answer_of(command: str, prompt: str) -> str:
    """What a command of the user's shell answers. Raises ``ConfigError`` (``ask_failed``) and ``UnreadableError``."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    # Files and no pipes: what the command left running may hold its output open, and is not waited for.
    with TemporaryFile() as asked, TemporaryFile() as answer:
        asked.write(prompt.encode())
        asked.seek(0)
        try:
            # In a session of its own, so that all that it started ends with it.
            running = subprocess.Popen(  # noqa: S603 - the user names it
                [shell, "-c", command], stdin=asked, stdout=answer, start_new_session=True
            )
        except OSError as error:
            raise _failed(f"cannot be run by {shell}: {error.strerror}") from error
        with running:
            try:
                status = running.wait(_LONGEST)
            except subprocess.TimeoutExpired as error:
                raise _failed(f"gave no answer within {_LONGEST:,} seconds, and was ended") from error
            finally:
                with suppress(ProcessLookupError):  # what it started and left behind ends too
                    os.killpg(running.pid, signal.SIGKILL)
        if status:
            program = next((word for word in command.split() if "=" not in word), "")  # what follows may be a secret
            raise _failed(f"ended with status {status}: {program}")
        answer.seek(0)
        with errors_at(hint=_HINT):
            return decode(answer.read())


def _failed(why: str) -> ConfigError:
    return ConfigError(f"the command of --ask {why}", code="ask_failed", hint=_HINT)
