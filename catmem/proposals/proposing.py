"""Making a proposal of a write that waits, with what keeps proposals from piling up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple
from uuid import uuid4

from catmem.config.config import Approval
from catmem.errors import ProposalError
from catmem.proposals.proposal import ProposalReader, ProposalState, ProposedChange, changes_of, safe_text
from catmem.store.contract import PERSON, PROPOSAL, Change, Current, Revision
from catmem.workspace.root import Root
from catmem.writing.gate import Attempt
from catmem.writing.matching import parse_for_write

_LOOKED_AT = 50
"""So many ended proposals of an agent are held against a new one at most."""


class _DecidedMeanwhileError(Exception):
    """What a proposal was to follow is not what waits any more."""


class NewProposal(NamedTuple):
    """A proposal that was made: its id, and those whose place it takes.

    ``repeated``: it was made before, with the same changes or under this ``op_id``, and is in this ``state`` now.
    """

    id: str
    instead_of: tuple[str, ...] = ()
    repeated: bool = False
    state: ProposalState = "waiting"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the writer beside the id."""
        if self.state != "waiting":
            return (f"it is {self.state} by now",)
        again = ("it waits already",) if self.repeated else ()
        return again + tuple(f"it takes the place of {name}, which changed the same entry" for name in self.instead_of)


def proposed_before(workspace: Root, first: Revision) -> NewProposal:
    """What the answer to a retry says of the proposal."""
    name = str(first.note[PROPOSAL]["id"])
    made = ProposalReader(workspace, first.entity).find(name)
    return NewProposal(name, repeated=True, state="replaced" if made is None else made.state)


def propose(attempt: Attempt, current: Current, data: bytes, change: Change) -> NewProposal:
    """Keep what a write makes (``data``) of what is there as a proposal."""
    while True:
        try:
            return _propose(attempt, current, data, change)
        except _DecidedMeanwhileError:
            continue  # another decision or proposal came between the look and the lock


def _propose(attempt: Attempt, current: Current, data: bytes, change: Change) -> NewProposal:
    reader, agent = ProposalReader(attempt.workspace, attempt.entity), str(change.note.get("actor") or PERSON)
    old, new = (parse_for_write(attempt.workspace.parse, attempt.entity, each) for each in (current.data, data))
    would = changes_of(old, new, None, [action.get("action") for action in change.note.get("actions", ())])
    tips = reader.tips(agent)
    own = [reader.read(each, None) for each in tips]
    again = next((each for each in own if is_same(each.changes, would)), None)
    if again is not None:
        attempt.op = "propose"
        return NewProposal(again.id, repeated=True, state=again.state)
    replaced = [each for each in own if _overlap(each.changes, would)]
    _refuse_rejected(reader, agent, would, change.note.get("reason"))
    policy = attempt.workspace.config.approval or Approval()
    waiting = len(tips) - len(replaced)
    if agent != PERSON and waiting >= policy.most:
        raise ProposalError(
            f"{agent} has {waiting:,} proposals waiting for {attempt.entity}, and {policy.most:,} may wait "
            "(approval.most)",
            code="too_many_proposals",
            hint="Nothing was written. Wait until a person has decided on them, or withdraw one.",
        )
    said = {"id": f"p-{uuid4().hex[:10]}", "base": current.revision}

    def update(_: Current) -> bytes:
        if {each.revision for each in reader.tips(agent)} != {each.revision for each in tips}:
            raise _DecidedMeanwhileError
        return data

    merges, note = tuple(each.revision for each in replaced), {**change.note, PROPOSAL: said}
    waits = replace(change, op="propose", note=note, waits=True, merges=merges, keeps_note=True)
    attempt.commit(current.revision, update, waits)
    return NewProposal(said["id"], tuple(each.id for each in replaced))


def is_same(one: Sequence[ProposedChange], other: Sequence[ProposedChange]) -> bool:
    """Whether two proposals make the same of the same entries, but for the day on which they were made."""
    return sorted(map(_described, one)) == sorted(map(_described, other))


def _described(change: ProposedChange, *, folds: bool = False) -> str:
    said: list[object] = []
    for side in filter(None, change[:2]):
        tags = sorted((key, each) for key, each in side.tags.items() if key != "created")
        said.append((side.category, " ".join(side.body.split()) if folds else side.body, tags))
    return repr((change.before is None, said))


def _overlap(one: Sequence[ProposedChange], other: Sequence[ProposedChange]) -> bool:
    """Whether two proposals change the same entry."""
    pinned = [each.before[:2] for each in one if each.before is not None]
    return any(each.before is not None and each.before[:2] in pinned for each in other)


def _refuse_rejected(reader: ProposalReader, agent: str, would: Sequence[ProposedChange], reason: object) -> None:
    """Raise ``ProposalError`` for what was rejected, also beside other changes, unless it comes with another reason."""
    # What the agent withdrew or replaced itself does not count: it could end a person's "no" so.
    rejected = (past for past in reader.past(agent) if past.state == "rejected")
    wanted = {_described(each, folds=True) for each in would}
    for past in islice(rejected, _LOOKED_AT):
        refused = {_described(each, folds=True) for each in past.changes}
        if past.reason == reason and refused <= wanted and bool(refused) == bool(wanted):
            said = "" if past.decision is None or not past.decision.reason else f": {safe_text(past.decision.reason)}"
            raise ProposalError(
                f"this was proposed before as {past.id}, and rejected{said}",
                code="rejected_before",
                hint="Nothing was written. Propose it again only with a reason that is new.",
            )
