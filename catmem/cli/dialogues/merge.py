"""The dialogue of a merge: one conflict after the other, and what becomes of it."""

from __future__ import annotations

from typing import cast

from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.output import conflict_lines, emit, printable
from catmem.cli.questions import MERGE
from catmem.config.config import Config
from catmem.jsonable import jsonable
from catmem.merging.decisions import Answer, Disagreement
from catmem.ops.branches import CONFLICT
from catmem.ops.table import Stopped
from catmem.writing.written import How


class MergeDialogue(ConflictDialogue):
    """Shows one conflict after the other and asks what becomes of it; called with each by the merge."""

    def __init__(self, config: Config, how: How) -> None:
        """``config`` says what becomes of secrets."""
        super().__init__(MERGE, config, how)
        self._asked = 0

    def __call__(self, found: Disagreement) -> Answer:
        """The answer to one conflict. Raises ``Stopped``, and ``ConfigError`` (``bad_answer``) off a terminal."""
        self._asked += 1
        emit(printable("".join(f"{line}\n" for line in conflict_lines([jsonable(found)], self._asked))))
        answer = self.settle(found.conflict)
        if answer is None:
            raise Stopped("Nothing was written.", CONFLICT)
        return cast("Answer", answer)


DIALOGUE = MergeDialogue
