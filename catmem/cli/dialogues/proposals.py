"""The dialogue of proposals: one after the other, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence

from catmem.cli.dialogue import Dialogue, Reply
from catmem.cli.output import emit, print_error, printable, say, say_all
from catmem.cli.questions import PROPOSALS
from catmem.cli.texts.proposals import after, done_line, lines_of
from catmem.errors import CatmemError, ConfigError
from catmem.ops.proposals import decide
from catmem.ops.table import Outcome
from catmem.proposals.disclosure import data_for
from catmem.proposals.proposal import Proposal
from catmem.text import counted
from catmem.workspace.workspace import Workspace

_LEFT, _REFUSED = 1, 3


class ProposalDialogue(Dialogue):
    """Shows one proposal after the other, and asks what becomes of it."""

    def __init__(self, workspace: Workspace, entity: str | None, actor: str | None) -> None:
        """Those of one entity, or of all, for the profile that decides or for a person."""
        super().__init__(PROPOSALS)
        self._workspace, self._actor = workspace, actor
        found = workspace.proposals(entity, actor=actor)
        self._left = [each for each in found if each.is_open and each.agent != actor]
        self._status = self._skipped = 0

    def run(self) -> Outcome:
        """Until none is left, or the answers end."""
        total = len(self._left)
        while self._left:
            found = self._left[0]
            lines = lines_of(data_for(self._workspace, found, self._actor))
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
                return Outcome(None, status=self._status or _LEFT)
        say(f"{counted(self._skipped, 'proposal')} skipped." if self._skipped else "No proposal is left.")
        return Outcome(None, status=self._status)

    def _say_left(self) -> None:
        skipped = f", and {self._skipped} skipped" if self._skipped else ""
        left = counted(len(self._left), "proposal")
        say(f"{left} left{skipped}. What was decided stays; run it again to go on.")

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
                self._status = _REFUSED
            self._left.remove(each)


DIALOGUE = ProposalDialogue
