"""Questions to a person, and the answers: keys at a terminal, lines from a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from select import select
from typing import NamedTuple

import click

from catmem.cli.output import WIDE, say
from catmem.errors import ConfigError, UnreadableError, errors_at
from catmem.text import MAX_FILE_BYTES, decode, first_line, printable

_NARROWEST = len("e WORDS")
STDIN = "standard input"
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


@dataclass(frozen=True, slots=True)
class Question:
    """What a person may answer. ``q`` and ``?`` go with every question.

    ``refused`` says what becomes of an answer that is not right, ``stays`` what becomes of those before it. At a
    terminal an answer is one key; words are asked for then.
    """

    answers: tuple[AnswerKey, ...]
    quits: str
    refused: str = "Nothing was written."
    stays: str = "nothing was written."

    @property
    def letters(self) -> str:
        """The answers in a line."""
        return f"{', '.join(f'{each.letter} {each.words}'.strip() for each in self.answers)}, q or ?"

    @property
    def explained(self) -> str:
        """The answers, a line each, with what they do."""
        rows = [(f"{each.letter} {each.words}".strip(), each.does) for each in self.answers]
        width = max(_NARROWEST, *(len(letter) for letter, _ in rows))
        return "\n".join(f"  {letter:<{width}}  {does}" for letter, does in [*rows, ("q", f"quit: {self.quits}")])

    def answer(self, reply: Reply) -> AnswerKey | None:
        """The answer that a reply is, ``None`` for none."""
        found = next((each for each in self.answers if each.letter == reply.letter), None)
        return None if found is None or (reply.rest and not found.words) else found


class Reply(NamedTuple):
    """What a person said: the letter, what follows it, the number of the line, and the name of the answer it is."""

    letter: str
    rest: str
    number: int
    name: str = ""


class Dialogue:
    """Asks a question, and reads what is answered."""

    def __init__(self, question: Question) -> None:
        """The answers come from standard input."""
        self.question = question
        self.on_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._lines = self._numbered()
        self._by_key = False
        self._ahead = b""

    def ask(self, prompt: str | None = None, *, without: str = "") -> Reply | None:
        """The next answer of the question, but for ``without``; ``None`` for ``q`` and where there are no more."""
        while (reply := self.read(prompt)) is not None and reply.letter != "q":
            answer = self.question.answer(reply)
            if answer is not None and answer.name != without:
                return reply._replace(name=answer.name)
            if not self.on_terminal and reply.letter != "?":
                raise self.unknown(reply)
            say(self.question.explained)
        return None

    def read(self, prompt: str | None = None) -> Reply | None:
        """What is said next; ``None`` where there is no more. An empty line is passed over."""
        prompt = prompt or f"{self.question.letters}: "
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
            raise self.unknown(answer)
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            return (click.edit(body, extension=".md") or "").strip()
        return self.line("New words: ")

    def line(self, prompt: str) -> str:
        """The next line as it is, empty where there are no more."""
        self._prompt(prompt)
        self._by_key = False
        return next(self._lines, (0, ""))[1].strip()

    def unknown(self, answer: Reply) -> ConfigError:
        """The error for what is no answer."""
        said = first_line(printable(f"{answer.letter} {answer.rest}".strip()), WIDE)
        return ConfigError(
            f"{said!r} is no answer",
            code="bad_answer",
            path=STDIN,
            line=answer.number,
            hint=f"An answer is one of {self.question.letters}. {self.question.refused}",
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
            with errors_at(f"{STDIN}:{number}", hint=f"Give answers in UTF-8; {self.question.stays}"):
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
