"""What the command line asks a person, and how it reads the answers: keys at a terminal, lines from a pipe.

It asks what becomes of conflicts, proposals, facts that are due, and a new root.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from select import select
from typing import Any, NamedTuple, cast

import click

from catmem.cli.interface import asking_about_secrets
from catmem.cli.output import WIDE, conflict_lines, emit, print_error, say, say_all
from catmem.cli.texts import DONE, after, conflict_text, done_line, proposal_lines, revision, say_copies
from catmem.config.config import Config, expand_user
from catmem.errors import CatmemError, ChangedMeanwhileError, ConfigError, EditError, UnreadableError, errors_at
from catmem.jsonable import jsonable
from catmem.merging.branches import ConflictAnswer, Disagreement, in_words
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
from catmem.text import MAX_FILE_BYTES, counted, decode, first_line, plural, printable
from catmem.workspace.init import memory_paths, refuse_bad_names
from catmem.workspace.workspace import Workspace
from catmem.writing.policy import check_threats
from catmem.writing.request import How

_NARROWEST = len("e WORDS")
_STDIN = "standard input"
_END = b"\x04\0"
"""Ctrl-D, and what a terminal makes of one that was typed ahead."""
_SAME_WORD = 0.4
"""Seconds within which a further key belongs to the one before."""


class AnswerKey(NamedTuple):
    """An answer that a question has: its letter, its name, what it does, and what words may follow it."""

    letter: str
    name: str
    does: str
    words: str = ""


class Reply(NamedTuple):
    """What a person said: the letter, what follows it, the number of the line, and the name of the answer it is."""

    letter: str
    rest: str
    number: int
    name: str = ""


class Dialogue:
    """Asks a question, and reads what is answered; at a terminal an answer is one key, and words are asked for then."""

    def __init__(
        self,
        answers: Sequence[AnswerKey],
        quits: str,
        refused: str = "Nothing was written.",
        stays: str = "nothing was written.",
    ) -> None:
        """``q`` and ``?`` go with all ``answers``.

        ``quits`` and ``refused`` say what becomes of all for ``q`` and for a wrong answer, ``stays`` of those before.
        """
        self._answers = {each.letter: each for each in answers}
        self._quits, self._refused, self.stays = quits, refused, stays
        self.on_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._lines = self._numbered()
        self._by_key = False
        self._ahead = b""

    @property
    def _letters(self) -> str:
        return f"{', '.join(f'{each.letter} {each.words}'.strip() for each in self._answers.values())}, q or ?"

    @property
    def _explained(self) -> str:
        rows = [(f"{each.letter} {each.words}".strip(), each.does) for each in self._answers.values()]
        width = max(_NARROWEST, *(len(letter) for letter, _ in rows))
        return "\n".join(f"  {letter:<{width}}  {does}" for letter, does in [*rows, ("q", f"quit: {self._quits}")])

    def ask(self, prompt: str | None = None, *, without: str = "") -> Reply | None:
        """The next answer of the question, but for ``without``; ``None`` for ``q`` and where there are no more."""
        while (reply := self._read(prompt or f"{self._letters}: ")) is not None and reply.letter != "q":
            answer = self._answers.get(reply.letter)
            if answer is not None and answer.name != without and (answer.words or not reply.rest):
                return reply._replace(name=answer.name)
            if not self.on_terminal and reply.letter != "?":
                raise self._unknown(reply)
            say(self._explained)
        return None

    def _read(self, prompt: str) -> Reply | None:
        """What is said next; ``None`` where there is no more. An empty line is passed over."""
        self._prompt(prompt)
        self._by_key = self.on_terminal
        for number, text in self._lines:
            letter, _, rest = text.strip().partition(" ")
            if letter:
                return Reply(letter.lower() if len(letter) == 1 else letter, rest.strip(), number)
            self._prompt(prompt)
        if self.on_terminal:
            say("")
        return None

    def words(self, answer: Reply, body: str) -> str:
        """The words of an answer, else from an editor that shows ``body``, else from the next line of the terminal."""
        if answer.rest:
            return answer.rest
        if not self.on_terminal:
            raise self._unknown(answer)
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            return (click.edit(body, extension=".md") or "").strip()
        return self.line("New words: ")

    def line(self, prompt: str) -> str:
        """The next line as it is, empty where there are no more."""
        self._prompt(prompt)
        self._by_key = False
        return next(self._lines, (0, ""))[1].strip()

    def _unknown(self, answer: Reply) -> ConfigError:
        said = first_line(printable(f"{answer.letter} {answer.rest}".strip()), WIDE)
        return ConfigError(
            f"{said!r} is no answer",
            code="bad_answer",
            path=_STDIN,
            line=answer.number,
            hint=f"An answer is one of {self._letters}. {self._refused}",
        )

    def _prompt(self, text: str) -> None:
        if self.on_terminal and sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers. Each is read when it is wanted, so that a pipe may be slow."""
        if sys.stdin is None:
            raise UnreadableError("standard input is closed", code="io", hint="Give the answers there.")
        for number, data in enumerate(iter(self._line, b""), 1):
            with errors_at(f"{_STDIN}:{number}", hint=f"Give answers in UTF-8; {self.stays}"):
                text = decode(data)
            yield number, text

    def _line(self) -> bytes:
        """The next line of standard input, or a key that is an answer by itself; empty at the end."""
        typed, self._ahead = self._ahead, b""
        if self._by_key and not typed:
            typed = self._pressed().strip(_END)
            if len(typed) <= 1:
                return typed
        if b"\n" not in typed:
            typed += sys.stdin.buffer.readline(MAX_FILE_BYTES + 1)
        line, end, self._ahead = typed.partition(b"\n")
        return line + end

    def _pressed(self) -> bytes:
        """What is typed first, as soon as it is: a key, or all that was typed ahead."""
        import termios

        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        at_once = [*before[:3], before[3] & ~(termios.ICANON | termios.ECHO), *before[4:]]
        termios.tcsetattr(terminal, termios.TCSADRAIN, at_once)
        try:
            typed = os.read(terminal, MAX_FILE_BYTES)
            # Who types a word gives no answer with its first letter, and none to the next question with the others.
            while not typed.endswith(b"\n") and select([terminal], [], [], _SAME_WORD)[0]:
                typed += os.read(terminal, MAX_FILE_BYTES)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        shown = typed.decode(errors="replace")
        self._prompt("".join(each for each in shown if each.isprintable()) + "\n" * (len(shown) == 1))
        return typed


# --- a new root ------------------------------------------------------------------------------------------------------

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
    place = Path(expand_user(said)).absolute()
    if not (said and place.exists()):
        raise click.BadParameter(f"{printable(said)} is not there.")
    return place


def _memory_place(said: str) -> str:
    """A place with memory files; ``click`` asks again where there are none."""
    place = expand_user(said)
    try:
        if not all(path.is_file() for path in memory_paths(Path(place))):
            raise click.BadParameter(f"{printable(place)} is not there.")
    except CatmemError as error:
        raise click.BadParameter(str(error)) from error
    return place


def _specialists(said: str) -> list[str]:
    """The names between commas and blanks; ``click`` asks again where one cannot be a profile's."""
    names = said.replace(",", " ").split()
    try:
        refuse_bad_names(names)
    except CatmemError as error:
        raise click.BadParameter(f"{error.message}. {error.hint}") from error
    return names


# --- conflicts -------------------------------------------------------------------------------------------------------


def _merge(config: Config, how: How) -> Callable[[Disagreement], ConflictAnswer]:
    """What shows one conflict after the other and asks what becomes of it, for who acts as ``how`` says.

    It raises ``Stopped``, and ``ConfigError`` (``bad_answer``) off a terminal.
    """
    answers = (
        AnswerKey("o", "ours", "ours: what the file says"),
        AnswerKey("t", "theirs", "theirs: what the branch says"),
        AnswerKey("b", "both", "both: the two stand one after the other (of tags, categories and titles: ours)"),
        AnswerKey("e", "edit", "edit: the entry says WORDS instead of either", words="WORDS"),
    )
    dialogue, numbers = Dialogue(answers, quits="nothing is written"), count(1)

    def settled(found: Disagreement) -> ConflictAnswer:
        emit(printable("".join(f"{line}\n" for line in conflict_lines([jsonable(found)], next(numbers)))))
        conflict = found.conflict
        while (reply := dialogue.ask(without="edit" if conflict.reason == "title" else "")) is not None:
            if reply.name != "edit":
                return cast("ConflictAnswer", reply.name)
            like = conflict.ours or conflict.theirs
            words = dialogue.words(reply, "" if like is None else like.body)
            if (own := _own_words(words, conflict, config, how)) is not None:
                return own
        raise Stopped("Nothing was written.", REFUSED)

    return settled


def _own_words(words: str, conflict: Conflict, config: Config, how: How) -> Version | None:
    """The entry of a conflict in other words, ``None`` for none, or for a secret that a terminal took back."""
    try:
        warning = asking_about_secrets(
            lambda: config,
            cast("dict[str, Any]", how),
            lambda: check_threats([words], config, to_agent=False, allow_secret=how["allow_secret"]),
        )
    except EditError as error:
        if not sys.stdin.isatty():
            raise
        say(f"{error.message}.")
        return None
    if warning:
        say(f"warning: {warning}")
    if not words:
        say("Nothing was changed.")
    return in_words(conflict, words) if words else None


def _seed() -> Callable[[Callable[..., SeedPlan]], SeedPlan]:
    """What asks about the conflicts of one source after the other, until there are no more answers.

    It gives the plan by the answers, and raises ``ConfigError`` (``bad_answer``) off a terminal.
    """
    both = "both: the two stand one after the other (of tags, categories and titles: the target's)"
    answers = (
        AnswerKey("t", "target", "target: its entry stays for good"),
        AnswerKey("s", "source", "source: its entry is taken"),
        AnswerKey("b", "both", both),
        AnswerKey("l", "leave", "leave it open for now"),
    )
    dialogue = Dialogue(
        answers,
        quits="this conflict and all later ones stay open, those before it are settled",
        refused="Nothing was seeded from this source.",
    )
    is_over = False

    def settled(planned: Callable[..., SeedPlan]) -> SeedPlan:
        nonlocal is_over
        plan, chosen = planned(), dict[str, Choice]()
        for name, file, found in open_conflicts(plan):
            if is_over:
                break
            emit(conflict_text(file, found, "\n"))
            reply = dialogue.ask()
            is_over = reply is None
            if reply is not None and reply.name != "leave":
                chosen[name] = cast("Choice", reply.name)
        return planned(resolve=chosen) if chosen else plan

    return settled


# --- proposals -------------------------------------------------------------------------------------------------------

_DECIDED = "what was decided before it stays, and the rest still waits."


class ProposalDialogue(Dialogue):
    """Shows one proposal after the other, and asks what becomes of it."""

    def __init__(self, workspace: Workspace, entity: str | None, actor: str | None) -> None:
        """Those of one entity, or of all, for the profile that decides or for a person."""
        answers = (
            AnswerKey("y", "approve", "yes: approve it"),
            AnswerKey("n", "reject", "no: reject it; the agent is shown the REASON", words="REASON"),
            AnswerKey("e", "edit", "edit: approve it, but the entry says WORDS", words="WORDS"),
            AnswerKey("s", "skip", "skip it: it still waits"),
            AnswerKey("a", "approve all", "approve all that are left of this profile in the same categories"),
        )
        quits = "what was decided stays, and the rest still waits"
        super().__init__(answers, quits, f"Nothing was written for it; {_DECIDED}", _DECIDED)
        self._workspace, self._actor = workspace, actor
        found = workspace.proposals(entity, actor=actor)
        self._left = [each for each in found if each.agent != actor]
        self._status = self._skipped = self._failed = 0

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
        said = {"skipped": self._skipped, "refused, and waiting still": self._failed}
        rest = [f"{counted(count, 'proposal')} {how}." for how, count in said.items() if count]
        say(" ".join(rest) or "No proposal is left.")
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
                self._failed += 1
            self._left.remove(each)


# --- facts that are due ----------------------------------------------------------------------------------------------

_ANSWERED = "what was answered before it is written, and running it again goes on."


def _review(review: Review) -> int:
    """Ask about one fact after the other, until none is left or the answers end; how many are left."""
    answers = (
        AnswerKey("k", "keep", "keep: it still holds, and is verified"),
        AnswerKey("e", "edit", "edit: it says WORDS from now on, which are verified", words="WORDS"),
        AnswerKey("x", "expire", "expire: it no longer holds"),
        AnswerKey("r", "remove", "remove it (the history keeps it)"),
        AnswerKey("s", "skip", "skip it: the next run asks again"),
    )
    quits = "what was answered stays, and the next run goes on"
    dialogue = Dialogue(answers, quits, f"Nothing was written for it; {_ANSWERED}", _ANSWERED)
    done, total, between = 0, len(review.due()), ""
    say_copies(review)
    while (due := review.next()) is not None:
        place = f"{done + 1:,} of {max(total, done + 1):,}  {due.entity}:{due.line}  {due.entry.category}"
        body = due.entry.body.replace("\n", "\n  ")
        emit(between + printable(f"{place}\n  {body}\n{due.why}\n"))
        between = "\n"
        try:
            answered = _answered(dialogue, review, due)
        except ChangedMeanwhileError as error:
            print_error(error)  # it is asked about as it is now
            continue
        if answered is None:
            break
        done += 1
        say(f"{DONE[answered.answer]}{revision(answered)}")
        say_all(f"note: {note}" for note in answered.notes)
    left = len(review.due())
    if left:
        written = "What was answered is written" if done else "Nothing was answered"
        say(f"{left:,} of {done + left:,} {plural(left, 'is', 'are')} left. {written}; run it again to go on.")
    else:
        say("All done." if done else "Nothing is due.")
    if review.copies and done:
        say("The next seed brings this to the copies: catmem seed --all.")
    return left


def _answered(dialogue: Dialogue, review: Review, due: Due) -> Answered | None:
    """Take answers until one is given to this fact; ``None`` if there are no more, or for quit."""
    while (reply := dialogue.ask()) is not None:
        try:
            words = dialogue.words(reply, due.entry.body) if reply.name == "edit" else ""
            if reply.name != "edit" or reply.rest or words not in {"", due.entry.body}:
                return review.answer(due, cast("ReviewAnswer", reply.name), words)
            say("Nothing was changed.")
        except ChangedMeanwhileError:
            raise
        except CatmemError as error:
            if not dialogue.on_terminal:
                if error.code != "bad_answer":
                    was = f"This was line {reply.number} of {_STDIN}; {dialogue.stays}"
                    error.hint = f"{error.hint or ''} {was}".strip()
                raise
            print_error(error)
    return None


DIALOGUES: dict[str, Callable[..., Any]] = {
    "confirm": partial(click.confirm, err=True),
    "init": _what_there_is,
    "merge": _merge,
    "proposals": ProposalDialogue,
    "review": _review,
    "seed": _seed,
}
"""By the names by which operations ask for them."""
