"""The questions of ``catmem review``."""

from __future__ import annotations

from typing import cast

from catmem.cli.dialogue import Dialogue, Reply
from catmem.cli.output import emit, in_json, print_error, printable, say, say_all
from catmem.cli.questions import REVIEW
from catmem.cli.texts.review import DONE, are, revision, say_passed, taken_back
from catmem.errors import CatmemError
from catmem.staleness.due import Due
from catmem.staleness.review import Answered, Review, ReviewAnswer


class ReviewDialogue(Dialogue):
    """Asks about one fact after the other."""

    def __init__(self, review: Review, answers: str | None) -> None:
        """``answers`` is the file that they are read from, ``-`` or ``None`` for standard input."""
        super().__init__(REVIEW, answers)
        self._review = review
        self._done: list[Answered] = []
        self._answered = 0

    def run(self) -> tuple[list[Answered], int]:
        """Until nothing is left, or the answers end; returns the answers, and how many are left."""
        review = self._review
        total = len(review.due())
        if not in_json():
            say_passed(review)
        going = True
        shown = 0
        while going:
            due = review.next()
            if due is None:
                going = self._goes_back()
            else:
                self._show(due, max(total, self._answered + 1), first=not shown)
                shown += 1
                going = self._answer(due)
        left = len(review.due())
        if not in_json():
            self._say_end(left)
        return self._done, left

    def _say_end(self, left: int) -> None:
        if left:
            total = self._answered + left
            say(f"{left:,} of {total:,} {are(left)} left. What was answered is written; run it again to go on.")
        else:
            say("All done." if self._answered else "Nothing is due.")
        if self._review.copies and self._answered:
            from catmem.workspace.root import load_each
            from catmem.workspace.stores import hermes_edits

            config, profiles = self._review.workspace.config, load_each(self._review.workspace)[0]
            in_hermes = any(hermes_edits(config, profile) for profile in profiles if profile.seed_from)
            brings = "catmem hermes sync --all" if in_hermes else "catmem seed --all"
            say(f"'{brings}' brings this to the copies in other profiles' files.")

    def _goes_back(self) -> bool:
        """Nothing is left: whether the last answer is taken back. Only ``u`` is an answer then."""
        if self._review.round.last is None or (self.on_terminal and not self._answered):
            return False
        line = self.read("That was the last one. u undoes it, Enter ends: ", passes_empty=not self.on_terminal)
        if line is None or line.letter != "u":
            return False
        try:
            self._undo()
        except CatmemError as error:
            if not self.on_terminal:
                raise
            print_error(error)
        return True

    def _show(self, due: Due, total: int, *, first: bool) -> None:
        if in_json():
            return
        text = "".join(f"  {line}\n" for line in printable(due.entry.body).split("\n"))
        used = ""
        if due.use is not None:
            times = "once" if due.use.times == 1 else f"{due.use.times:,} times"
            used = f"; used {times}, last on {due.use.last}"
        if not first:
            emit("\n")
        place = f"{due.entity}:{due.line}  {due.entry.category}"
        emit(printable(f"{self._answered + 1:,} of {total:,}  {place}\n"))
        emit(f"{text}{due.why}{used}\n")

    def _answer(self, due: Due) -> bool:
        """Take answers until one is given to this fact; ``False`` if there are no more, or for quit."""
        from catmem.errors import ChangedMeanwhileError

        while (reply := self.ask()) is not None:
            try:
                if reply.name == "undo":
                    self._undo()
                    return True
                answered = self._act(due, reply)
            except ChangedMeanwhileError as error:
                print_error(error)
                return True
            except CatmemError as error:
                if self.on_terminal:
                    print_error(error)
                    continue
                if error.code != "bad_answer":
                    was = f"This was line {reply.number} of {self.source}; {self.question.stays}"
                    error.hint = f"{error.hint or ''} {was}".strip()
                raise
            if answered is not None:
                self._tell(answered)
                return True
        return False

    def _act(self, due: Due, reply: Reply) -> Answered | None:
        """Do what was answered; ``None`` if nothing was changed."""
        words = self.words(reply, due.entry.body) if reply.name == "edit" else ""
        if reply.name == "edit" and not reply.rest and words in {"", due.entry.body}:
            say("Nothing was changed.")
            return None
        return self._review.answer(due, cast("ReviewAnswer", reply.name), words)

    def _undo(self) -> None:
        undone = self._review.undo()
        if not in_json():
            taken_back(undone)
        self._answered = max(0, self._answered - 1)
        if self._done:
            self._done.pop()

    def _tell(self, answered: Answered) -> None:
        self._answered += 1
        self._done.append(answered)
        if not in_json():
            say(f"{DONE[answered.answer]}{revision(answered)}")
            say_all(f"note: {note}" for note in answered.notes)


DIALOGUE = ReviewDialogue
