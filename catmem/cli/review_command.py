"""``catmem review``: the facts that are due, one by one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.dialogue import Dialogue, Reply
from catmem.cli.options import as_of_option, category_option, common_options, open_with_store, refuse_undeclared
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    first_line,
    in_json,
    print_error,
    print_unreadable,
    printable,
    say,
    say_all,
)
from catmem.errors import CatmemError
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.staleness.due import Due, DueState
    from catmem.staleness.review import Answered, Review

_WIDTH = 72
_HELP = """\
  k        keep: it still holds, and is verified
  e WORDS  edit: it says WORDS from now on, which are verified
  x        expire: it no longer holds
  r        remove it (the history keeps it)
  s        skip it in this round
  u        undo the last answer
  q        quit: what was answered stays, and the next run goes on"""
_DONE = {
    "keep": "kept and verified",
    "edit": "changed and verified",
    "expire": "expired",
    "remove": "removed",
    "skip": "skipped",
}


@click.command(
    cls=Command,
    examples=(
        "catmem review",
        "catmem review -p trinity --state stale",
        "catmem review --list --format json",
        "catmem review --answers answers.txt",
    ),
)
@click.option(
    "-p",
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    help="Only the memory of this profile; may be given several times. By default all.",
)
@category_option
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["stale", "expired", "unverified", "future"]),
    help="Only facts that are this; may be given several times. future: dated in the future.",
)
@click.option("--list", "only_list", is_flag=True, help="List what is due, and ask nothing.")
@click.option(
    "--answers",
    metavar="FILE",
    help="Read the answers from FILE, one a line, - for standard input. By default from standard input.",
)
@click.option("--undo", is_flag=True, help="Take the last answer back, that of an earlier run too, and ask nothing.")
@click.option("--restart", is_flag=True, help="Begin a new round: ask again about what was skipped in this one.")
@as_of_option
@common_options
def review(  # noqa: PLR0913 - one parameter an option
    profiles: tuple[str, ...],
    category: str | None,
    states: tuple[DueState, ...],
    *,
    only_list: bool,
    answers: str | None,
    undo: bool,
    restart: bool,
    as_of: date | None,
) -> None:
    """Walk the facts that are due, one by one: keep, edit, expire, remove or skip each.

    Due is what is expired, dated in the future, without a date, or stale, in this order, and of each the facts that
    agents used most. Each answer is written at once. A review that was stopped goes on where it was.

    The answers: k keeps and verifies, e WORDS gives it other words, x says that it no longer holds, r removes it, s
    skips it in this round, u takes the last answer back, q quits, ? explains. At a terminal one key is enough, and e
    ends with Enter; from a pipe or a file each answer is a line.

    Exit status 1: some are left without an answer.
    """
    from catmem.proposals.proposal import proposals
    from catmem.staleness.ages import notes_of
    from catmem.staleness.review import Review

    if only_list + undo + restart > 1:
        raise click.UsageError("--list, --undo and --restart exclude each other.")
    if answers is not None and (only_list or undo):
        raise click.UsageError("--answers is for a review that asks; --list and --undo ask nothing.")
    workspace = open_with_store()
    refuse_undeclared(workspace, category)
    review = Review.open(workspace, profiles=profiles, category=category, states=states, as_of=as_of, restart=restart)
    left = 0
    if only_list:
        _list(review)
    elif undo:
        _take_back(review)
    else:
        left = _ReviewDialogue(review, answers).run()
    say_all(f"note: {note}" for note in ([review.round.note] if review.round.note else []))
    say_all(f"note: {note}" for note in notes_of(workspace))
    waiting = len(proposals(workspace).proposals)
    if waiting and not in_json():
        say(f"{counted(waiting, 'proposal')} of agents: 'catmem proposals --interactive' goes through what waits.")
    status = print_unreadable(review.unreadable)
    if status or left:
        sys.exit(status or 1)


def _list(review: Review) -> None:
    if in_json():
        _print_json(review, ())
        return
    due = review.due()
    rows = ((f"{each.entity}:{each.line}", each.entry.category, each.why, each.entry.body) for each in due)
    emit(columns((*place, first_line(body, _WIDTH)) for *place, body in rows))
    if not due:
        say("Nothing is due.")
    _say_passed(review)


def _say_passed(review: Review) -> None:
    """Say how many due facts this round does not ask about: answered in it, or copies, which their source answers."""
    if review.passed_over:
        was = "was" if review.passed_over == 1 else "were"
        say(f"{review.passed_over:,} more {was} answered or skipped in this round; --restart asks again.")
    copies = len(review.elsewhere())
    if copies:
        say(f"{copies:,} more {_are(copies)} seeded from another profile, and asked about there.")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _take_back(review: Review) -> None:
    undone = review.undo()
    if in_json():
        _print_json(review, ())
    else:
        _say_taken_back(undone)


def _say_taken_back(undone: Answered) -> None:
    said = _DONE.get(undone.answer, undone.answer)
    say(f"taken back in {undone.entity}{_revision(undone)}: {said}")


def _revision(answered: Answered) -> str:
    return "" if answered.revision is None else f" (revision {answered.revision})"


def _print_json(review: Review, answers: Sequence[Answered]) -> None:
    emit_json(
        {
            "as_of": review.as_of.isoformat(),
            "due": [due.to_dict() for due in review.due()],
            "passed_over": review.passed_over,
            "answers": [
                {"answer": each.answer, "entity": each.entity, "revision": each.revision, "notes": list(each.notes)}
                for each in answers
            ],
        }
    )


class _ReviewDialogue(Dialogue):
    keys = "kxrsuq?"
    letters = "k, e WORDS, x, r, s, u, q or ?"
    explained = _HELP
    stays = "what was answered before it is written, and running it again goes on."
    refused = f"Nothing was written for it; {stays}"

    def __init__(self, review: Review, answers: str | None) -> None:
        super().__init__(answers)
        self._review = review
        self._done: list[Answered] = []
        self._answered = 0

    def run(self) -> int:
        """Until nothing is left, or the answers end; returns how many are left."""
        review = self._review
        total = len(review.due())
        if not in_json():
            _say_passed(review)
        going = True
        shown = 0
        while going:
            due = review.next()
            if due is None:
                going = self._goes_back()
            else:
                self._show(due, max(total, self._answered + 1), first=not shown)
                shown += 1
                going = self._answer(due)
        left = len(review.due())
        if in_json():
            _print_json(review, self._done)
        if left == 0:
            review.finish()
        if not in_json():
            self._say_end(left)
        return left

    def _say_end(self, left: int) -> None:
        if left:
            total = self._answered + left
            say(f"{left:,} of {total:,} {_are(left)} left. What was answered is written; run it again to go on.")
        else:
            say("All done." if self._answered else "Nothing is due.")
        if self._review.copies and self._answered:
            from catmem.workspace.root import load_each
            from catmem.workspace.stores import hermes_edits

            config, profiles = self._review.workspace.config, load_each(self._review.workspace)[0]
            in_hermes = any(hermes_edits(config, profile) for profile in profiles if profile.seed_from)
            brings = "catmem hermes sync --all" if in_hermes else "catmem seed --all"
            say(f"'{brings}' brings this to the copies in other profiles' files.")

    def _goes_back(self) -> bool:
        """Nothing is left: whether the last answer is taken back. Only ``u`` is an answer then."""
        if self._review.round.last is None or (self.on_terminal and not self._answered):
            return False
        line = self.read("That was the last one. u undoes it, Enter ends: ", passes_empty=not self.on_terminal)
        if line is None or line.letter != "u":
            return False
        try:
            self._undo()
        except CatmemError as error:
            if not self.on_terminal:
                raise
            print_error(error)
        return True

    def _show(self, due: Due, total: int, *, first: bool) -> None:
        if in_json():
            return
        text = "".join(f"  {line}\n" for line in printable(due.entry.body).split("\n"))
        used = ""
        if due.use is not None:
            times = "once" if due.use.times == 1 else f"{due.use.times:,} times"
            used = f"; used {times}, last on {due.use.last}"
        if not first:
            emit("\n")
        place = f"{due.entity}:{due.line}  {due.entry.category}"
        emit(printable(f"{self._answered + 1:,} of {total:,}  {place}\n"))
        emit(f"{text}{due.why}{used}\n")

    def _answer(self, due: Due) -> bool:
        """Take answers until one is given to this fact; ``False`` if there are no more, or for quit."""
        from catmem.errors import ChangedMeanwhileError

        while True:
            line = self.read()
            if line is None or line.letter == "q":
                return False
            try:
                if line.letter == "u":
                    self._undo()
                    return True
                answered = self._act(due, line)
            except ChangedMeanwhileError as error:
                print_error(error)
                return True
            except CatmemError as error:
                if self.on_terminal:
                    print_error(error)
                    continue
                if error.code != "bad_answer":
                    error.hint = (
                        f"{error.hint or ''} This was line {line.number} of {self.source}; {self.stays}".strip()
                    )
                raise
            if answered is not None:
                self._tell(answered)
                return True

    def _act(self, due: Due, line: Reply) -> Answered | None:
        """Do what a line says; ``None`` if that is no answer yet."""
        review = self._review
        plain = {"k": review.keep, "x": review.expire, "r": review.remove, "s": review.skip}
        if line.letter == "e":
            words = self.words(line, due.entry.body)
            if line.rest or words not in {"", due.entry.body}:
                return review.edit(due, words)
            say("Nothing was changed.")
        elif line.letter in plain and not line.rest:
            return plain[line.letter](due)
        else:
            self.explain(line)
        return None

    def _undo(self) -> None:
        undone = self._review.undo()
        if not in_json():
            _say_taken_back(undone)
        self._answered = max(0, self._answered - 1)
        if self._done:
            self._done.pop()

    def _tell(self, answered: Answered) -> None:
        self._answered += 1
        self._done.append(answered)
        if not in_json():
            say(f"{_DONE[answered.answer]}{_revision(answered)}")
            say_all(f"note: {note}" for note in answered.notes)
