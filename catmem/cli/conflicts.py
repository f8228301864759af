"""Conflicts of a merge as a person sees them, and the dialogue that decides them one by one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from catmem.cli.dialogue import answer_lines
from catmem.cli.output import emit, printable, say
from catmem.errors import ConfigError
from catmem.service.merging.decisions import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catmem.model.version import Version
    from catmem.service.merging.decisions import Answer, Disagreement

SAID = {
    "body": "both sides reworded this entry",
    "removed": "one side changed this entry and the other removed it",
    "tags": "the sides gave this entry different tags",
    "category": "the sides moved this entry to different categories",
    "title": "the sides gave the document different titles",
}
_NARROWEST = 18
"""Characters that the names of sides have at least, so that most lists look alike."""
_HELP = """\
  o        ours: what the file says
  t        theirs: what the branch says
  b        both: the two stand one after the other (of tags, categories and titles: ours)
  e WORDS  edit: the entry says WORDS instead of either
  q        quit: nothing is written"""
_LETTERS = "o, t, b, e WORDS, q or ?"
_ANSWERS: dict[str, Any] = {"o": "ours", "t": "theirs", "b": "both"}


class Quit(Exception):  # noqa: N818 - no error: somebody has had enough
    """Whoever was asked does not go on, so nothing is written."""


def conflict_line(found: Disagreement) -> str:
    """A conflict in a line, without its texts."""
    told = found.to_dict()
    where = f" in {told['category']}" if told["category"] else ""
    return f"branch {found.branch}{where}: {SAID[found.conflict.reason]}"


def conflict_lines(conflicts: Sequence[Mapping[str, Any]], first: int = 1) -> Iterator[str]:
    """Conflicts, as JSON-ready data, numbered from ``first`` on, with the whole texts of their sides.

    One that was decided has ``taken``, which is told too.
    """
    width = max([_NARROWEST, *(len(name) for found in conflicts for name, _ in _sides(found))])
    for number, found in enumerate(conflicts, first):
        where = f" in {found['category']}" if found["category"] else ""
        yield f"{number}. branch {found['branch']}{where}: {SAID[found['reason']]}"
        for name, text in _sides(found):
            line, *more = ("(not there)" if text is None else text).split("\n")
            yield f"   {name:<{width}} {line}"
            yield from (f"   {'':<{width}} {line}" for line in more)


def _sides(found: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What stands below a conflict, each part with its name."""
    yield "base:", found["base"]
    for side in ("ours", "theirs"):
        yield f"{side} ({found[f'{side}_by']}):", found[side]
    if "taken" in found:
        yield "taken:", found["taken"]


class _Line(NamedTuple):
    """An answer: its letter, what follows it, and the number of the line."""

    letter: str
    rest: str
    number: int


class ConflictDialogue:
    """Shows one conflict after the other and asks what becomes of it; called with each by the merge."""

    def __init__(self) -> None:
        """Answers come from standard input, a terminal or not."""
        self.on_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._lines = answer_lines(None)
        self._asked = 0

    def __call__(self, found: Disagreement) -> Answer:
        """The answer to one conflict. Raises ``Quit``, and ``ConfigError`` (``bad_answer``) off a terminal."""
        self._asked += 1
        emit(printable("".join(f"{line}\n" for line in conflict_lines([found.to_dict()], self._asked))))
        while True:
            line = self._read()
            if line.letter == "q":
                raise Quit
            if line.letter in _ANSWERS and not line.rest:
                answer: Answer = _ANSWERS[line.letter]
                return answer
            if line.letter == "e" and found.conflict.reason != "title":
                edited = self._edited(found, line)
                if edited is not None:
                    return edited
                say("Nothing was changed.")
                continue
            if not self.on_terminal and line.letter != "?":
                raise _unknown(line)
            say(_HELP)

    def _edited(self, found: Disagreement, line: _Line) -> Version | None:
        """The entry with other words."""
        sides = (found.conflict.ours, found.conflict.theirs)
        like = next(version for version in sides if version is not None)
        words = line.rest or self._ask_for_words(like.body, line)
        return in_words(found.conflict, words) if words else None

    def _ask_for_words(self, body: str, line: _Line) -> str:
        if not self.on_terminal:
            raise _unknown(line)
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            return (click.edit(body, extension=".md") or "").strip()
        self._prompt("New words: ")
        return next(self._lines, (0, ""))[1].strip()

    def _read(self) -> _Line:
        """The next answer; where there are no more, nobody decides any further."""
        self._prompt(f"{_LETTERS}: ")
        for number, text in self._lines:
            letter, _, rest = text.strip().partition(" ")
            if letter:
                return _Line(letter.lower() if len(letter) == 1 else letter, rest.strip(), number)
            self._prompt(f"{_LETTERS}: ")
        raise Quit

    def _prompt(self, text: str) -> None:
        if self.on_terminal and sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()


def _unknown(line: _Line) -> ConfigError:
    said = printable(f"{line.letter} {line.rest}".strip())[:72]
    return ConfigError(
        f"{said!r} is no answer",
        code="bad_answer",
        path="standard input",
        line=line.number,
        hint=f"An answer is one of {_LETTERS}. Nothing was written.",
    )
