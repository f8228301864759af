"""The dialogue of proposals: one after the other, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.dialogue import Dialogue
from catmem.cli.output import emit, print_error, printable, say, say_all
from catmem.cli.texts.proposals import after, done_line, lines_of
from catmem.errors import CatmemError, ConfigError
from catmem.ops.proposals import decide, shown
from catmem.ops.table import Outcome
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.cli.dialogue import Reply
    from catmem.proposals.proposal import Proposal
    from catmem.workspace.workspace import Workspace

_LEFT, _REFUSED = 1, 3
_HELP = """\
  y         yes: approve it
  n REASON  no: reject it; the agent is shown the REASON
  e WORDS   edit: approve it, but the entry says WORDS
  s         skip it: it still waits
  a         approve all that are left of this profile in the same categories
  q         quit: what was decided stays, and the rest still waits"""


class ProposalDialogue(Dialogue):
    """Shows one proposal after the other, and asks what becomes of it."""

    keys = "ynesaq?"
    has_only_keys = True
    letters = "y, n REASON, e WORDS, s, a, q or ?"
    explained = _HELP
    stays = "what was decided before it stays, and the rest still waits."
    refused = f"Nothing was written for it; {stays}"

    def __init__(self, workspace: Workspace, entity: str | None, actor: str | None) -> None:
        """Those of one entity, or of all, for the profile that decides or for a person."""
        super().__init__()
        self._workspace, self._actor = workspace, actor
        found = workspace.proposals(entity, actor=actor)
        self._left = [each for each in found if each.state != "expired" and each.agent != actor]
        self._status = self._skipped = 0

    def run(self) -> Outcome:
        """Until none is left, or the answers end."""
        total = len(self._left)
        while self._left:
            found = self._left[0]
            lines = lines_of(shown(self._workspace, found, self._actor))
            emit(printable("\n".join((f"{total - len(self._left) + 1:,} of {total:,}", *lines, ""))))
            kind = found.agent, found.categories, "waiting"
            alike = [each for each in self._left if (each.agent, each.categories, each.state) == kind]
            if len(alike) > 1:
                say(f"a approves {len(alike)} of {found.who} in {', '.join(sorted(found.categories))}")
            line = self.read("n REASON, s, q or ?: " if found.state == "stale" else None)
            if line is None or line.letter == "q":
                self._say_left()
                return Outcome(None, status=self._status or _LEFT)
            try:
                self._act(line, found, alike)
            except ConfigError:  # what is no answer ends a pipe
                self._say_left()
                raise
        say(f"{counted(self._skipped, 'proposal')} skipped." if self._skipped else "No proposal is left.")
        return Outcome(None, status=self._status)

    def _say_left(self) -> None:
        skipped = f", and {self._skipped} skipped" if self._skipped else ""
        left = counted(len(self._left), "proposal")
        say(f"{left} left{skipped}. What was decided stays; run it again to go on.")

    def _act(self, line: Reply, found: Proposal, alike: Sequence[Proposal]) -> None:
        """Do what a line says; what is decided or skipped is left no more."""
        letter, words = line.letter, line.rest
        if letter not in {"y", "n", "e", "s", "a"} or (letter in {"y", "s", "a"} and words):
            self.explain(line)
            return
        if letter == "e":
            words = self.words(line, next((each.after.body for each in found.changes if each.after), ""))
            if not words:
                say("Nothing was changed.")
                return
        elif letter == "n" and self.on_terminal:
            words = words or self.line("Reason (Enter for none): ")
        self._skipped += letter == "s"
        for each in (letter == "a" and alike) or [found]:
            try:
                if letter != "s":
                    done = decide(self._workspace, letter, each.id, words or None, self._actor)
                    emit(printable(f"{done_line(done)}\n"))
                    say_all(after(done))
            except CatmemError as error:
                print_error(error)
                if self.on_terminal:
                    continue  # it is asked about again
                self._status = _REFUSED
            self._left.remove(each)


DIALOGUE = ProposalDialogue
