"""The dialogue of a recovery copy: one difference after the other, and whether it is brought over."""

from __future__ import annotations

from collections.abc import Sequence

from catmem.cli.dialogue import Dialogue
from catmem.cli.output import emit
from catmem.cli.questions import RECONCILE
from catmem.cli.texts.branches import lines_of
from catmem.merging.reconciling import Difference


def _chosen(differences: Sequence[Difference]) -> list[Difference] | None:
    """Show each difference, and ask whether it is brought over: none is after ``q``; ``None`` off a terminal."""
    dialogue = Dialogue(RECONCILE)
    if not dialogue.on_terminal:
        return None
    chosen: list[Difference] = []
    for index, each in enumerate(differences):
        emit(lines_of(each))
        reply = dialogue.ask()
        if reply is None:
            return []
        if reply.name == "bring all":
            return [*chosen, *differences[index:]]
        chosen += [each] if reply.name == "bring" else []
    return chosen


DIALOGUE = _chosen
