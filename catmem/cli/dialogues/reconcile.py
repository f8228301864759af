"""The dialogue of a recovery copy: one difference after the other, and whether it is brought over."""

from __future__ import annotations

from collections.abc import Sequence

from catmem.cli.dialogue import Dialogue
from catmem.cli.output import emit
from catmem.cli.questions import RECONCILE
from catmem.cli.texts.branches import lines_of
from catmem.merging.reconciling import Difference


class ChoiceDialogue(Dialogue):
    """Shows one difference after the other, and asks whether it is brought over."""

    def __init__(self) -> None:
        """From standard input."""
        super().__init__(RECONCILE)

    def choose(self, differences: Sequence[Difference]) -> list[Difference]:
        """Those that are to be brought over; none after ``q``, or where the answers end."""
        chosen: list[Difference] = []
        for index, each in enumerate(differences):
            emit(lines_of(each))
            reply = self.ask()
            if reply is None:
                return []
            if reply.name == "bring all":
                return [*chosen, *differences[index:]]
            chosen += [each] if reply.name == "bring" else []
        return chosen


DIALOGUE = ChoiceDialogue
