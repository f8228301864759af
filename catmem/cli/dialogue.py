"""The dialogue of ``catmem review``: shows one fact after the other, and does what the answers say."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from catmem.cli.output import emit, emit_json, print_error, printable, say, shown_path
from catmem.errors import CatmemError, ConfigError, NotUtf8Error, UnreadableError
from catmem.text import DEFAULT_LIMITS, decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from catmem.service.review import Answered, Due, Review

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
_STAYS = "what was answered before it is written, and running it again goes on."
_LETTERS = "k, e WORDS, x, r, s, u, q or ?"


class _Line(NamedTuple):
    """An answer as it was given: its letter, what follows it, and the number of the line."""

    letter: str
    rest: str
    number: int


class Dialogue:
    """Shows one fact after the other, and does what the answers say."""

    def __init__(self, review: Review, answers: str | None, *, as_json: bool) -> None:
        """``answers`` is the file that they are read from, ``-`` or ``None`` for standard input."""
        self.review = review
        self.as_json = as_json
        self.on_terminal = answers is None and sys.stdin is not None and sys.stdin.isatty()
        self.source = "standard input" if answers in {None, "-"} else str(answers)
        self.lines = answer_lines(answers)
        self.done: list[Answered] = []
        self.answered = 0
        self.shown = False

    def run(self) -> int:
        """Until nothing is left, or the answers end; returns how many are left."""
        total = len(self.review.due())
        if not self.as_json:
            say_passed(self.review)
        while True:
            due = self.review.next()
            if due is None:
                if self._is_over():
                    break
                continue
            number = self.answered + 1
            self._show(due, number, max(total, number))
            if not self._answer(due):
                break
        left = len(self.review.due())
        if self.as_json:
            print_json(self.review, tuple(self.done))
        if left == 0:
            self.review.finish()
        if self.as_json:
            return left
        self._say_end(left)
        return left

    def _say_end(self, left: int) -> None:
        if left:
            total = self.answered + left
            say(f"{left:,} of {total:,} {_are(left)} left. What was answered is written; run it again to go on.")
        else:
            say("All done." if self.answered else "Nothing is due.")
        if self.review.copies and self.answered:
            say("'catmem seed --all' brings this to the copies in other profiles' files.")

    def _is_over(self) -> bool:
        """Nothing is left: whether the last answer stays as it is. Only ``u`` is an answer then."""
        if self.review.round.last is None or (self.on_terminal and not self.answered):
            return True
        line = self._read("That was the last one. u undoes it, Enter ends: ", stop_at_empty=self.on_terminal)
        if line is None or line.letter != "u":
            return True
        try:
            self._undo()
        except CatmemError as error:
            if not self.on_terminal:
                raise
            print_error(error, as_json=self.as_json)
        return False

    def _show(self, due: Due, number: int, total: int) -> None:
        if self.as_json:
            return
        if self.shown:
            emit("\n")
        self.shown = True
        text = "".join(f"  {line}\n" for line in printable(due.entry.body).split("\n"))
        emit(printable(f"{number:,} of {total:,}  {due.entity}:{due.line}  {due.entry.category}\n"))
        emit(f"{text}{due.why}{_used(due)}\n")

    def _answer(self, due: Due) -> bool:
        """Take answers until one is given to this fact; ``False`` if there are no more, or for quit."""
        while True:
            line = self._read(f"{_LETTERS}: ")
            if line is None or line.letter == "q":
                return False
            try:
                if line.letter == "u":
                    self._undo()
                    return True
                answered = self._act(due, line)
            except CatmemError as error:
                from catmem.service.review import ChangedError

                if isinstance(error, ChangedError):
                    print_error(error, as_json=self.as_json)
                    return True
                if not self.on_terminal:
                    if error.code == "bad_answer":
                        raise
                    error.hint = f"{error.hint or ''} This was line {line.number} of {self.source}; {_STAYS}".strip()
                    raise
                print_error(error, as_json=False)
                continue
            if answered is not None:
                self._tell(answered)
                return True

    def _act(self, due: Due, line: _Line) -> Answered | None:
        """Do what a line says; ``None`` if that is no answer yet."""
        review = self.review
        if line.letter == "e":
            words = line.rest or self._ask_for_words(due, line)
            return review.edit(due, words) if words else None
        plain = {"k": review.keep, "x": review.expire, "r": review.remove, "s": review.skip}
        if line.letter in plain and not line.rest:
            return plain[line.letter](due)
        if not self.on_terminal and line.letter != "?":
            raise _unknown(line, self.source)
        say(_HELP)
        return None

    def _ask_for_words(self, due: Due, line: _Line) -> str | None:
        """The new words from an editor or the next line of the terminal; ``None`` if there are none."""
        if not self.on_terminal:
            raise _unknown(line, self.source)
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            words = (click.edit(due.entry.body, extension=".md") or "").strip()
        else:
            self._prompt("New words: ")
            words = next(self.lines, (0, ""))[1].strip()
        if not words or words == due.entry.body:
            say("Nothing was changed.")
            return None
        return words

    def _undo(self) -> None:
        if self.as_json:
            self.review.undo()
        else:
            take_back(self.review, as_json=False)
        self.answered = max(0, self.answered - 1)
        if self.done:
            self.done.pop()

    def _tell(self, answered: Answered) -> None:
        self.answered += 1
        self.done.append(answered)
        if self.as_json:
            return
        written = "" if answered.revision is None else f" (revision {answered.revision})"
        say(printable(f"{_DONE[answered.answer]}{written}"))
        for note in answered.notes:
            say(printable(f"note: {note}"))

    def _read(self, prompt: str, *, stop_at_empty: bool = False) -> _Line | None:
        """The next answer; ``None`` where there are no more. Empty lines are passed over, or end it."""
        self._prompt(prompt)
        for number, text in self.lines:
            letter, _, rest = text.strip().partition(" ")
            if letter:
                return _Line(letter.lower() if len(letter) == 1 else letter, rest.strip(), number)
            if stop_at_empty:
                return None
            self._prompt(prompt)
        if self.on_terminal:
            say("")
        return None

    def _prompt(self, text: str) -> None:
        if self.on_terminal and sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()


def _used(due: Due) -> str:
    """How agents used the fact, if they did."""
    if due.use is None:
        return ""
    times = "once" if due.use.times == 1 else f"{due.use.times:,} times"
    return f"; used {times}, last on {due.use.last}"


def _unknown(line: _Line, source: str) -> ConfigError:
    said = printable(f"{line.letter} {line.rest}".strip())
    shown = said if len(said) <= _WIDTH else f"{said[: _WIDTH - 1]}…"
    return ConfigError(
        f"{shown!r} is no answer",
        code="bad_answer",
        path=source if source == "standard input" else shown_path(source),
        line=line.number,
        hint=f"An answer is one of {_LETTERS}. Nothing was written for it; {_STAYS}",
    )


def answer_lines(answers: str | None) -> Iterator[tuple[int, str]]:
    """The lines of the answers with their numbers. Each is read when it is wanted, so that a pipe may be slow."""
    if answers not in {None, "-"}:
        from catmem.files import read_bounded

        data = read_bounded(str(answers), DEFAULT_LIMITS.file_bytes)
        yield from enumerate(_decoded(data, str(answers)).split("\n"), 1)
        return
    if sys.stdin is None:
        raise UnreadableError("standard input is closed", code="io", hint="Give the answers there, or with --answers.")
    stream: BinaryIO = sys.stdin.buffer
    number = 0
    while data := stream.readline(DEFAULT_LIMITS.file_bytes + 1):
        number += 1
        yield number, _decoded(data, f"standard input:{number}")


def _decoded(data: bytes, place: str) -> str:
    try:
        return decode(data)
    except NotUtf8Error as error:
        error.path, error.hint = place, f"Give answers in UTF-8; {_STAYS}"
        raise


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def say_passed(review: Review) -> None:
    """Say how many due facts this round does not ask about: answered in it, or copies, which their source answers."""
    if review.passed_over:
        say(
            f"{review.passed_over:,} more {_were(review.passed_over)} answered or skipped in this round; "
            "--restart asks again."
        )
    copies = len(review.elsewhere())
    if copies:
        say(f"{copies:,} more {_are(copies)} seeded from another profile, and asked about there.")


def take_back(review: Review, *, as_json: bool) -> None:
    """Undo the last answer, and say so."""
    undone = review.undo()
    if as_json:
        print_json(review, ())
        return
    written = "" if undone.revision is None else f" (revision {undone.revision})"
    say(printable(f"taken back in {undone.entity}{written}: {_DONE.get(undone.answer, undone.answer)}"))


def print_json(review: Review, answers: tuple[Answered, ...]) -> None:
    """What is left, and what was answered, as one JSON object."""
    emit_json(
        {
            "as_of": review.as_of.isoformat(),
            "due": [due.to_dict() for due in review.due()],
            "passed_over": review.passed_over,
            "answers": [
                {
                    "answer": each.answer,
                    "entity": each.entity,
                    "revision": each.revision,
                    "notes": list(each.notes),
                }
                for each in answers
            ],
        }
    )
