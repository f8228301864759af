"""The dialogue of a recovery copy: one difference after the other, and whether it is brought over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.dialogue import Dialogue
from catmem.cli.output import emit
from catmem.cli.texts.branches import lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.merging.reconciling import Difference


class ChoiceDialogue(Dialogue):
    """Shows one difference after the other, and asks whether it is brought over."""

    letters = "b, s, a, q or ?"
    explained = """\
  b        bring it over
  s        skip it
  a        bring over this one and all that are left
  q        quit: nothing is written"""

    def choose(self, differences: Sequence[Difference]) -> list[Difference]:
        """Those that are to be brought over; none after ``q``, or where the answers end."""
        chosen: list[Difference] = []
        for index, each in enumerate(differences):
            emit(lines_of(each))
            while (line := self.read()) is not None and (line.letter not in {"b", "s", "a", "q"} or line.rest):
                self.explain(line)
            if line is None or line.letter == "q":
                return []
            if line.letter == "a":
                return [*chosen, *differences[index:]]
            chosen += [each] if line.letter == "b" else []
        return chosen


DIALOGUE = ChoiceDialogue
