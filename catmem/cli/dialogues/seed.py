"""The dialogue of a seed: one conflict after the other, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.output import emit, show_written
from catmem.cli.questions import SEED
from catmem.cli.texts.seeding import conflict_text
from catmem.model.version import Conflict, Version
from catmem.ops.seeding import open_conflicts
from catmem.seeding.plan import SeedPlan
from catmem.seeding.slices import Choice, FilePlan, conflict_id
from catmem.workspace.root import Root
from catmem.writing.operation import Operation
from catmem.writing.written import How


class SeedDialogue(ConflictDialogue):
    """Shows one conflict after the other, and asks what becomes of it. Own words go to both sides."""

    def __init__(self, workspace: Root, how: How) -> None:
        """Own words are written to the sources in ``workspace``."""
        super().__init__(SEED, workspace.config, how)
        self._workspace = workspace

    def plan(self, planned: Callable[..., SeedPlan]) -> SeedPlan:
        """The plan by the answers. Own words are written to the source, and the target takes them from there."""
        plan = planned()
        answers: dict[str, Choice | Version | None] = {}
        own: dict[str, Version] = {}
        operations: dict[str, list[Operation]] = {}
        for _, file, found in open_conflicts(plan):
            answer = self._answer_to(file, found)
            if isinstance(answer, Version):
                entry = _side(file.source, found, ours=None)
                if entry not in own:
                    operations.setdefault(file.source, []).extend(_in_source(found, answer))
                # The source holds one wording: where other words were given for another target, that is asked again.
                answer = answer if own.setdefault(entry, answer).body == answer.body else None
            answers[_side(file.target, found, theirs=None)] = answer
        for source, each in operations.items():
            if not self._write(source, each, plan.read[source].digest):
                return plan
        plan = planned() if operations else plan
        chosen: dict[str, Choice] = {}
        for name, file, found in open_conflicts(plan):
            answer = answers.get(_side(file.target, found, theirs=None))
            if answer is not None:
                chosen[name] = "source" if isinstance(answer, Version) else answer
        return planned(resolve=chosen) if chosen else plan

    def _write(self, source: str, operations: Sequence[Operation], digest: str) -> bool:
        """Write own words to a file of the source; false if they wait for a person."""
        from catmem.writing.write import write_operations

        name, _, target = source.partition("/")
        how: How = {**self.how, "expected": digest}
        written = write_operations(self._workspace, name, operations, target=target, **how)
        show_written(written, "settled in", self.how)
        return written.waiting is None

    def _answer_to(self, plan: FilePlan, conflict: Conflict) -> Choice | Version | None:
        """The answer to one conflict, ``None`` to leave it. Raises ``ConfigError`` (``bad_answer``) off a terminal."""
        if self.is_over:
            return None
        emit(conflict_text(plan, conflict, "\n"))
        answer = self.settle(conflict)
        return None if answer == "leave" else cast("Choice | Version | None", answer)


def _side(entity: str, conflict: Conflict, **other: None) -> str:
    """An id of a conflict that names one of its sides alone."""
    return conflict_id(entity, replace(conflict, reason="body", **other))


def _in_source(conflict: Conflict, own: Version) -> list[Operation]:
    """What makes the entry of the source say ``own``; one that the source removed comes back."""
    from catmem.writing.operation import Operation

    theirs = conflict.theirs
    if theirs is None:
        return [Operation("add", content=own.body, category=own.category, tags={"created": None, **own.tags})]
    tags = {**dict.fromkeys(theirs.tags), **own.tags}
    place = theirs.category
    done = [Operation("replace", content=own.body, old_text=theirs.id, category=place, tags=tags, confirm=True)]
    moved = Operation("move", old_text=own.body, category=place, to_category=own.category)
    return done if place == own.category else [*done, moved]


DIALOGUE = SeedDialogue
