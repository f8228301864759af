"""Making a proposal of a write that waits, with what keeps proposals from piling up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from catmem import clock
from catmem.config.approval import Approval
from catmem.errors import ProposalError
from catmem.proposals.proposal import ProposalReader, changes_of
from catmem.store.contract import PERSON, PROPOSAL
from catmem.writing.matching import legible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.proposals.proposal import Proposal, ProposedChange
    from catmem.store.contract import Change
    from catmem.workspace.root import Root
    from catmem.writing.gate import Attempt

_MOST_COUNTED = 99
"""How often the same proposal is recorded; a flood of it stops here."""

_LOOKED_AT = 50
"""So many ended proposals of an agent are held against a new one at most."""


def propose(workspace: Root, attempt: Attempt, base: str, data: bytes, change: Change) -> str:
    """Keep what a write makes (``data``) of revision ``base`` as a proposal; returns its id.

    The same proposal of the same agent is counted again, under its id. One on the same entry takes the place of the
    one before, unless the policy stacks them. Raises ``ProposalError`` (``too_many_proposals``, ``rejected_before``).
    """
    policy, entity = workspace.config.approval or Approval(), attempt.entity
    reader = ProposalReader(workspace, entity)
    agent = str(change.note.get("actor") or PERSON)
    names = [action.get("action") for action in change.note.get("actions", ())]
    would = changes_of(reader.document(base), legible(workspace.parse, entity, data), None, names)
    own = [each for each in reader.open() if each.agent == agent]
    same = next((each for each in own if is_same(each.changes, would)), None)
    if same is not None and same.count >= _MOST_COUNTED and same.state != "expired":
        attempt.op = "propose"
        return same.id
    _refuse_rejected(reader, agent, would, change.note.get("reason"))
    older = [same] if same else [] if policy.stacks else [each for each in own if _overlap(each.changes, would)]
    if agent != PERSON and len(own) - len(older) >= policy.most:
        raise ProposalError(
            f"{agent} has {len(own):,} proposals waiting for {entity}, and {policy.most:,} may wait (approval.most)",
            code="too_many_proposals",
            hint="Nothing was written. Wait until a person has decided on them, or withdraw one.",
        )
    now = clock.now()
    said: dict[str, Any] = {
        "id": same.id if same else f"p-{uuid4().hex[:10]}",
        "base": base,
        "until": (clock.today() + timedelta(days=policy.days)).isoformat(),
    }
    if same:
        said |= {"count": same.count + 1, "since": same.timestamp}
    said.setdefault("since", clock.timestamp(now))
    note = {**change.note, PROPOSAL: said}
    merges = tuple(each.revision for each in older)
    waiting = replace(change, op="propose", note=note, waits=True, merges=merges, keeps_note=True)
    attempt.commit(base, lambda _: data, waiting)
    return str(said["id"])


def is_same(one: Sequence[ProposedChange], other: Sequence[ProposedChange]) -> bool:
    """Whether two proposals make the same of the same entries."""
    return _said(one) == _said(other)


def _said(changes: Sequence[ProposedChange]) -> list[tuple[str, ...]]:
    """What the changes are, apart from the days on which they were made."""
    return sorted(
        tuple(
            part
            for side in (each.before, each.after)
            for part in (("", "", "") if side is None else (side.category, side.body, repr(_undated(side.tags))))
        )
        for each in changes
    )


def _undated(tags: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - the tags of a version
    return sorted((key, value) for key, value in tags.items() if key not in {"created", "verified_date"})


def _overlap(one: Sequence[ProposedChange], other: Sequence[ProposedChange]) -> bool:
    """Whether two proposals change the same entry."""
    pinned = [(each.before.category, each.before.body) for each in one if each.before is not None]
    return any(each.before is not None and (each.before.category, each.before.body) in pinned for each in other)


def _refuse_rejected(reader: ProposalReader, agent: str, would: Sequence[ProposedChange], reason: object) -> None:
    """Raise ``ProposalError`` for what was rejected, unless it comes with another reason."""
    for past in islice(reader.past(agent), _LOOKED_AT):
        if past.state == "rejected" and past.reason == reason and is_same(past.changes, would):
            said = "" if past.decision is None or not past.decision.reason else f": {past.decision.reason}"
            raise ProposalError(
                f"this was proposed before as {past.id}, and rejected{said}",
                code="rejected_before",
                hint="Nothing was written. Propose it again only with a reason that is new.",
            )


def proposed_again(workspace: Root, entity: str, op_id: str) -> Proposal | None:
    """The proposal that was made under an ``op_id``; ``None`` if that made none."""
    record = next((each for each in workspace.store.log(entity) if each.op_id == op_id), None)
    if record is None or not record.is_proposal:
        return None
    return ProposalReader(workspace, entity).find(str(record.note[PROPOSAL]["id"]))
