"""Questions to a person, and the answers: keys at a terminal, lines from a pipe or a file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click

from catmem.cli.output import first_line, printable, say, shown_path
from catmem.errors import ConfigError, EditError, NotUtf8Error, UnreadableError
from catmem.text import DEFAULT_LIMITS, decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.config.config import Config
    from catmem.model.version import Conflict, Version
    from catmem.writing.written import How


_WIDTH = 72
_STDIN = "standard input"
_END = b"\x04\0"
"""Ctrl-D, and what a terminal makes of one that was typed ahead."""


class Reply(NamedTuple):
    """An answer as it was given: its letter, what follows it, and the number of the line."""

    letter: str
    rest: str
    number: int


class Dialogue:
    """Reads answers, and says what they may be.

    ``letters`` and ``explained`` are the answers that there are, in a line and in full. ``refused`` says what becomes
    of an answer that is not right, ``stays`` what becomes of those before it. ``keys`` are the answers that a terminal
    takes at once; what begins with another key ends with Enter, unless it ``has_only_keys``.
    """

    letters = ""
    explained = ""
    keys = ""
    has_only_keys = False
    refused = "Nothing was written."
    stays = "nothing was written."

    def __init__(self, answers: str | None = None) -> None:
        """``answers`` is the file that they are read from, ``-`` or ``None`` for standard input."""
        self.on_terminal = answers is None and sys.stdin is not None and sys.stdin.isatty()
        self.source = _STDIN if answers in {None, "-"} else str(answers)
        self._lines = self._numbered()
        self._keys = ""
        self._ahead = b""

    def read(self, prompt: str | None = None, *, passes_empty: bool = True) -> Reply | None:
        """The next answer; ``None`` where there are no more. An empty line is passed over, or is an empty answer."""
        prompt = prompt or f"{self.letters}: "
        self._prompt(prompt)
        self._keys = self.keys if self.on_terminal else ""
        for number, text in self._lines:
            letter, _, rest = text.strip().partition(" ")
            if letter or not passes_empty:
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
        self._keys = ""
        return next(self._lines, (0, ""))[1].strip()

    def explain(self, answer: Reply) -> None:
        """Say what the answers are; off a terminal, raise ``ConfigError`` (``bad_answer``) for what is none of them."""
        if not self.on_terminal and answer.letter != "?":
            raise self.unknown(answer)
        say(self.explained)

    def unknown(self, answer: Reply) -> ConfigError:
        """The error for what is no answer."""
        said = first_line(printable(f"{answer.letter} {answer.rest}".strip()), _WIDTH)
        return ConfigError(
            f"{said!r} is no answer",
            code="bad_answer",
            path=self.source if self.source == _STDIN else shown_path(self.source),
            line=answer.number,
            hint=f"An answer is one of {self.letters}. {self.refused}",
        )

    def _prompt(self, text: str) -> None:
        if self.on_terminal and sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers. Each is read when it is wanted, so that a pipe may be slow."""
        if self.source == _STDIN:
            if sys.stdin is None:
                hint = "Give the answers there, or with --answers."
                raise UnreadableError("standard input is closed", code="io", hint=hint)
            lines = iter(self._line, b"")
            for number, data in enumerate(lines, 1):
                yield number, self._decoded(data, f"{_STDIN}:{number}")
            return
        from catmem.files import read_bounded

        data = read_bounded(self.source, DEFAULT_LIMITS.file_bytes)
        yield from enumerate(self._decoded(data, self.source).split("\n"), 1)

    def _line(self) -> bytes:
        """The next line of standard input, or a key that is an answer by itself; empty at the end."""
        typed, self._ahead = self._ahead, b""
        if self._keys and not typed:
            typed = self._pressed()
            typed = typed.strip(_END)
            if not typed or (len(typed) == 1 and (self.has_only_keys or typed in self._keys.encode())):
                return typed
        if b"\n" not in typed:
            typed += sys.stdin.buffer.readline(DEFAULT_LIMITS.file_bytes + 1)
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
            typed = os.read(terminal, DEFAULT_LIMITS.file_bytes)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        shown = typed.decode(errors="replace")
        self._prompt("".join(each for each in shown if each.isprintable()) + "\n" * (shown in self._keys + "\n"))
        return typed

    def _decoded(self, data: bytes, place: str) -> str:
        try:
            return decode(data)
        except NotUtf8Error as error:
            error.path, error.hint = place, f"Give answers in UTF-8; {self.stays}"
            raise


class ConflictDialogue(Dialogue):
    """Asks what becomes of conflicts. ``how`` says who acts, and whether a secret may be stored."""

    def __init__(self, config: Config, how: How) -> None:
        """``config`` says what becomes of secrets."""
        super().__init__()
        self.config, self.how = config, how

    def own_words(self, answer: Reply, conflict: Conflict) -> Version | None:
        """The entry of a conflict in other words, ``None`` for none, or for a secret that a terminal took back.

        Off a terminal a secret that may not be stored is an ``EditError`` (``secret``).
        """
        from catmem.cli.interface import asking_about_secrets
        from catmem.merging.decisions import in_words
        from catmem.writing.terms import check_threats

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
