"""What the command line asks a person: what becomes of conflicts, proposals, facts that are due, and a new root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from catmem.cli.dialogue import STDIN, AnswerKey, Dialogue, Question, Reply
from catmem.cli.output import conflict_lines, emit, print_error, say, say_all
from catmem.cli.texts.entries import DONE, after, done_line, proposal_lines, revision, say_copies
from catmem.cli.texts.files import conflict_text
from catmem.config.config import Config, expand_user
from catmem.errors import CatmemError, ChangedMeanwhileError, ConfigError, EditError
from catmem.jsonable import jsonable
from catmem.merging.branches import ConflictAnswer, Disagreement
from catmem.model.document import Version
from catmem.model.merge import Conflict
from catmem.names import FILE_NAMES
from catmem.ops.review import decide
from catmem.ops.seeding import open_conflicts
from catmem.ops.table import FINDINGS, REFUSED, Outcome, Stopped
from catmem.proposals.proposal import Proposal, data_for
from catmem.registry import registry
from catmem.seeding.plan import SeedPlan
from catmem.seeding.slices import Choice
from catmem.staleness.review import Answered, Due, Review, ReviewAnswer
from catmem.text import counted, plural, printable
from catmem.workspace.workspace import Workspace
from catmem.writing.request import How

_DECIDED = "what was decided before it stays, and the rest still waits."
_ANSWERED = "what was answered before it is written, and running it again goes on."

REVIEW = Question(
    (
        AnswerKey("k", "keep", "keep: it still holds, and is verified"),
        AnswerKey("e", "edit", "edit: it says WORDS from now on, which are verified", words="WORDS"),
        AnswerKey("x", "expire", "expire: it no longer holds"),
        AnswerKey("r", "remove", "remove it (the history keeps it)"),
        AnswerKey("s", "skip", "skip it: the next run asks again"),
    ),
    quits="what was answered stays, and the next run goes on",
    refused=f"Nothing was written for it; {_ANSWERED}",
    stays=_ANSWERED,
)
PROPOSALS = Question(
    (
        AnswerKey("y", "approve", "yes: approve it"),
        AnswerKey("n", "reject", "no: reject it; the agent is shown the REASON", words="REASON"),
        AnswerKey("e", "edit", "edit: approve it, but the entry says WORDS", words="WORDS"),
        AnswerKey("s", "skip", "skip it: it still waits"),
        AnswerKey("a", "approve all", "approve all that are left of this profile in the same categories"),
    ),
    quits="what was decided stays, and the rest still waits",
    refused=f"Nothing was written for it; {_DECIDED}",
    stays=_DECIDED,
)
MERGE = Question(
    (
        AnswerKey("o", "ours", "ours: what the file says"),
        AnswerKey("t", "theirs", "theirs: what the branch says"),
        AnswerKey("b", "both", "both: the two stand one after the other (of tags, categories and titles: ours)"),
        AnswerKey("e", "edit", "edit: the entry says WORDS instead of either", words="WORDS"),
    ),
    quits="nothing is written",
)
SEED = Question(
    (
        AnswerKey("t", "target", "target: its entry stays for good"),
        AnswerKey("s", "source", "source: its entry is taken"),
        AnswerKey(
            "b", "both", "both: the two stand one after the other (of tags, categories and titles: the target's)"
        ),
        AnswerKey("l", "leave", "leave it open for now"),
    ),
    quits="this conflict and all later ones stay open, those before it are settled",
    refused="Nothing was seeded from this source.",
)


_FLAT, _HERMES = 2, 3
"""The numbers of choices."""


def _what_there_is(folder: Path) -> tuple[list[str], list[str], bool, tuple[str, Path] | None]:
    """Ask for the files to start with, specialists, whether it is Hermes Agent, and what to import."""
    others = [program for program in registry().importers if program != "hermes"]
    choices = ("nothing yet", "flat USER.md and MEMORY.md", "Hermes Agent", f"another program ({', '.join(others)})")
    say("What do you have?")
    say_all(f"  {number}  {choice}" for number, choice in enumerate(choices, 1))
    places = (each for each in (Path(), folder) if any((each / name).is_file() for name in FILE_NAMES.values()))
    flat = next(places, None)
    answer = click.prompt("Number", type=click.IntRange(1, len(choices)), default=_FLAT if flat else 1, err=True)
    if answer == _HERMES:
        return [], [], True, None
    files, other = [], None
    if answer == _FLAT:
        asked = "The files, or their folder"
        files = [click.prompt(asked, default=None if flat is None else str(flat), value_proc=_memory_place, err=True)]
    elif answer == len(choices):
        program = click.prompt("Which", type=click.Choice(others), err=True)
        other = (program, click.prompt("Its file or folder", value_proc=_place, err=True))
    asked = "Specialists, such as coder, finance (Enter: none)"
    names = click.prompt(asked, default="", show_default=False, value_proc=_specialists, err=True)
    return files, names, False, other


def _place(said: str) -> Path:
    """A file or folder, as a whole path; ``click`` asks again where none is."""
    place = Path(expand_user(said)).absolute()
    if not (said and place.exists()):
        raise click.BadParameter(f"{printable(said)} is not there.")
    return place


def _memory_place(said: str) -> str:
    """A place with memory files; ``click`` asks again where there are none."""
    from catmem.workspace.init import memory_paths

    place = expand_user(said)
    try:
        if not all(path.is_file() for path in memory_paths(Path(place))):
            raise click.BadParameter(f"{printable(place)} is not there.")
    except CatmemError as error:
        raise click.BadParameter(str(error)) from error
    return place


def _specialists(said: str) -> list[str]:
    """The names between commas and blanks; ``click`` asks again where one cannot be a profile's."""
    from catmem.workspace.init import refuse_bad_names

    names = said.replace(",", " ").split()
    try:
        refuse_bad_names(names)
    except CatmemError as error:
        raise click.BadParameter(f"{error.message}. {error.hint}") from error
    return names


class MergeDialogue(Dialogue):
    """Shows one conflict after the other and asks what becomes of it; called with each by the merge."""

    def __init__(self, config: Config, how: How) -> None:
        """``config`` says what becomes of secrets, ``how`` who acts, and whether one may be stored."""
        super().__init__(MERGE)
        self.config, self.how = config, how
        self._asked = 0

    def __call__(self, found: Disagreement) -> ConflictAnswer:
        """The answer to one conflict. Raises ``Stopped``, and ``ConfigError`` (``bad_answer``) off a terminal."""
        self._asked += 1
        emit(printable("".join(f"{line}\n" for line in conflict_lines([jsonable(found)], self._asked))))
        conflict = found.conflict
        while (reply := self.ask(without="edit" if conflict.reason == "title" else "")) is not None:
            if reply.name != "edit":
                return cast("ConflictAnswer", reply.name)
            if (own := self._own_words(reply, conflict)) is not None:
                return own
        raise Stopped("Nothing was written.", REFUSED)

    def _own_words(self, answer: Reply, conflict: Conflict) -> Version | None:
        """The entry of a conflict in other words, ``None`` for none, or for a secret that a terminal took back."""
        from catmem.cli.interface import asking_about_secrets
        from catmem.merging.branches import in_words
        from catmem.writing.policy import check_threats

        config, how, like = self.config, self.how, conflict.ours or conflict.theirs
        words = self.words(answer, "" if like is None else like.body)
        try:
            warning = asking_about_secrets(
                lambda: config,
                cast("dict[str, Any]", how),
                lambda: check_threats([words], config, to_agent=False, allow_secret=how["allow_secret"]),
            )
        except EditError as error:
            if not self.on_terminal:
                raise
            say(f"{error.message}.")
            return None
        if warning:
            say(f"warning: {warning}")
        if not words:
            say("Nothing was changed.")
        return in_words(conflict, words) if words else None


class SeedDialogue(Dialogue):
    """Shows one conflict after the other, and asks what becomes of it."""

    def __init__(self) -> None:
        """It asks until there are no more answers, about the conflicts of all sources."""
        super().__init__(SEED)
        self._is_over = False

    def plan(self, planned: Callable[..., SeedPlan]) -> SeedPlan:
        """The plan by the answers. Raises ``ConfigError`` (``bad_answer``) off a terminal."""
        plan, chosen = planned(), dict[str, Choice]()
        for name, file, found in open_conflicts(plan):
            if self._is_over:
                break
            emit(conflict_text(file, found, "\n"))
            reply = self.ask()
            self._is_over = reply is None
            if reply is not None and reply.name != "leave":
                chosen[name] = cast("Choice", reply.name)
        return planned(resolve=chosen) if chosen else plan


class ProposalDialogue(Dialogue):
    """Shows one proposal after the other, and asks what becomes of it."""

    def __init__(self, workspace: Workspace, entity: str | None, actor: str | None) -> None:
        """Those of one entity, or of all, for the profile that decides or for a person."""
        super().__init__(PROPOSALS)
        self._workspace, self._actor = workspace, actor
        found = workspace.proposals(entity, actor=actor)
        self._left = [each for each in found if each.agent != actor]
        self._status = self._skipped = 0

    def run(self) -> Outcome:
        """Until none is left, or the answers end."""
        total = len(self._left)
        while self._left:
            found = self._left[0]
            lines = proposal_lines(data_for(self._workspace, found, self._actor))
            emit(printable("\n".join((f"{total - len(self._left) + 1:,} of {total:,}", *lines, ""))))
            kind = found.agent, found.categories, "waiting"
            alike = [each for each in self._left if (each.agent, each.categories, each.state) == kind]
            if len(alike) > 1:
                say(f"a approves {len(alike)} of {found.who} in {', '.join(sorted(found.categories))}")
            try:
                reply = self.ask("n REASON, s, q or ?: " if found.state == "stale" else None)
                if reply is not None:
                    self._act(reply, found, alike)
            except ConfigError:  # what is no answer ends a pipe
                self._say_left()
                raise
            if reply is None:
                self._say_left()
                return Outcome(None, status=self._status or FINDINGS)
        say(f"{counted(self._skipped, 'proposal')} skipped." if self._skipped else "No proposal is left.")
        return Outcome(None, status=self._status)

    def _say_left(self) -> None:
        skipped = f", and {self._skipped} skipped" if self._skipped else ""
        say(f"{counted(len(self._left), 'proposal')} left{skipped}. What was decided stays; run it again to go on.")

    def _act(self, reply: Reply, found: Proposal, alike: Sequence[Proposal]) -> None:
        """Do what was answered; what is decided or skipped is left no more."""
        how, words = reply.name, reply.rest
        if how == "skip":
            self._skipped += 1
            self._left.remove(found)
            return
        if how == "edit":
            words = self.words(reply, next((each.after.body for each in found.changes if each.after), ""))
            if not words:
                say("Nothing was changed.")
                return
        elif how == "reject" and self.on_terminal:
            words = words or self.line("Reason (Enter for none): ")
        for each in alike if how == "approve all" else [found]:
            try:
                done = decide(self._workspace, how, each.id, words or None, self._actor)
                emit(printable(f"{done_line(done)}\n"))
                say_all(after(done))
            except CatmemError as error:
                print_error(error)
                if self.on_terminal:
                    continue  # it is asked about again
                self._status = REFUSED
            self._left.remove(each)


class ReviewDialogue(Dialogue):
    """Asks about one fact after the other."""

    def __init__(self, review: Review) -> None:
        """It asks what ``review`` finds due."""
        super().__init__(REVIEW)
        self._review, self._done = review, 0

    def run(self) -> int:
        """Until nothing is left, or the answers end; returns how many facts are left."""
        review, total = self._review, len(self._review.due())
        say_copies(review)
        between, going = "", True
        while going and (due := review.next()) is not None:
            emit(between + self._shown(due, total))
            between = "\n"
            going = self._answer(due)
        left = len(review.due())
        self._say_end(left)
        return left

    def _say_end(self, left: int) -> None:
        done = self._done
        if left:
            are = plural(left, "is", "are")
            written = "What was answered is written" if done else "Nothing was answered"
            say(f"{left:,} of {done + left:,} {are} left. {written}; run it again to go on.")
        else:
            say("All done." if done else "Nothing is due.")
        if self._review.copies and done:
            say("The next seed brings this to the copies: catmem seed --all.")

    def _shown(self, due: Due, total: int) -> str:
        number = self._done + 1
        place = f"{number:,} of {max(total, number):,}  {due.entity}:{due.line}  {due.entry.category}"
        body = due.entry.body.replace("\n", "\n  ")
        return printable(f"{place}\n  {body}\n{due.why}\n")

    def _answer(self, due: Due) -> bool:
        """Take answers until one is given to this fact; ``False`` if there are no more, or for quit."""
        while (reply := self.ask()) is not None:
            try:
                answered = self._act(due, reply)
            except ChangedMeanwhileError as error:
                print_error(error)
                return True
            except CatmemError as error:
                if self.on_terminal:
                    print_error(error)
                    continue
                if error.code != "bad_answer":
                    was = f"This was line {reply.number} of {STDIN}; {self.question.stays}"
                    error.hint = f"{error.hint or ''} {was}".strip()
                raise
            if answered is not None:
                self._done += 1
                say(f"{DONE[answered.answer]}{revision(answered)}")
                say_all(f"note: {note}" for note in answered.notes)
                return True
        return False

    def _act(self, due: Due, reply: Reply) -> Answered | None:
        """Do what was answered; ``None`` if nothing was changed."""
        words = self.words(reply, due.entry.body) if reply.name == "edit" else ""
        if reply.name == "edit" and not reply.rest and words in {"", due.entry.body}:
            say("Nothing was changed.")
            return None
        return self._review.answer(due, cast("ReviewAnswer", reply.name), words)


DIALOGUES: dict[str, Callable[..., Any]] = {
    "confirm": partial(click.confirm, err=True),
    "init": _what_there_is,
    "merge": MergeDialogue,
    "proposals": ProposalDialogue,
    "review": ReviewDialogue,
    "seed": SeedDialogue,
}
"""By the names by which operations ask for them."""
