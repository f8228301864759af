"""The dialogue of a merge: one conflict after the other, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.output import conflict_lines, emit, printable
from catmem.jsonable import jsonable
from catmem.ops.branches import CONFLICT
from catmem.ops.table import Stopped

if TYPE_CHECKING:
    from catmem.merging.decisions import Answer, Disagreement

_HELP = """\
  o        ours: what the file says
  t        theirs: what the branch says
  b        both: the two stand one after the other (of tags, categories and titles: ours)
  e WORDS  edit: the entry says WORDS instead of either
  q        quit: nothing is written"""
_ANSWERS: dict[str, Literal["ours", "theirs", "both"]] = {"o": "ours", "t": "theirs", "b": "both"}


class MergeDialogue(ConflictDialogue):
    """Shows one conflict after the other and asks what becomes of it; called with each by the merge."""

    keys = "otbq?"
    letters = "o, t, b, e WORDS, q or ?"
    explained = _HELP
    _asked = 0

    def __call__(self, found: Disagreement) -> Answer:
        """The answer to one conflict. Raises ``Stopped``, and ``ConfigError`` (``bad_answer``) off a terminal."""
        self._asked += 1
        emit(printable("".join(f"{line}\n" for line in conflict_lines([jsonable(found)], self._asked))))
        while True:
            line = self.read()
            if line is None or line.letter == "q":
                raise Stopped("Nothing was written.", CONFLICT)
            if line.letter in _ANSWERS and not line.rest:
                return _ANSWERS[line.letter]
            if line.letter == "e" and found.conflict.reason != "title":
                own = self.own_words(line, found.conflict)
                if own is not None:
                    return own
            else:
                self.explain(line)


DIALOGUE = MergeDialogue
