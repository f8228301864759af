"""What a person says of a proposal: yes, yes in other words, or no.

The store keeps the decision under an ``op_id`` that is the proposal's, so that of two decisions at once one counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from catmem.config.profile import profile_names
from catmem.digest import content_digest
from catmem.errors import CatmemError, EditError, ForbiddenError, OperationCollisionError, ProposalError
from catmem.model.document import Version
from catmem.model.edit import replace_entry
from catmem.model.merge import merge
from catmem.names import parts_of
from catmem.proposals.proposal import (
    Proposal,
    ProposalReader,
    ProposalState,
    ProposedChange,
    changes_of,
    may_decide,
    proposal,
    safe_text,
)
from catmem.seeding.plan import seed_chain
from catmem.staleness.freshness import unverified
from catmem.store.contract import DECISION, PERSON, Change, Current
from catmem.text import MAX_ENTRY_CHARS, size_of
from catmem.workspace.history import limit_of_entity
from catmem.workspace.reports import list_everywhere
from catmem.workspace.root import Root, load_each
from catmem.writing import gate
from catmem.writing.matching import parse_for_write
from catmem.writing.policy import body_of, check_threats, checked_reason
from catmem.writing.request import Operation
from catmem.writing.write import write_operations
from catmem.writing.written import over_budget


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided on a proposal; ``notes`` tell where other words than the proposed ones were written too."""

    proposal: Proposal
    verdict: ProposalState
    revision: str | None
    changed: bool
    notes: tuple[str, ...] = ()
    __json__ = "id=proposal.id entity=proposal.entity verdict revision changed notes"


def approve(
    workspace: Root, name: str, *, words: str | None = None, actor: str | None = None, allow_secret: bool = False
) -> Decided:
    """Write what the proposal ``name`` says, if every entry that it changes is still as it was then."""
    found = _open(workspace, name, actor, "approve")
    if found.agent != PERSON and found.agent not in profile_names(workspace.config.profiles_dir):
        raise ProposalError(
            f"{found.id} was proposed by {found.agent}, and there is no such profile any more",
            code="no_proposer",
            hint=f"Nothing was written. Reject it (catmem proposals --reject {found.id}), or make the change yourself.",
        )
    warning = None
    if words is not None:
        if actor is not None:
            raise ForbiddenError(
                f"{actor} may not approve other words than those that were proposed",
                hint=f"Nothing was written. Approve {found.id} as it is or reject it; a person may give other words.",
            )
        warning = check_threats([words], workspace.config, to_agent=False, allow_secret=allow_secret)
    approval = _ApprovedText(workspace, found, actor, words)
    said = {"verdict": "approved", **({} if words is None else {"reworded": True})}
    done = _decide(workspace, found, said, actor, approval)
    notes = [] if words is None else _reworded(workspace, found, words, allow_secret=allow_secret)
    return replace(done, notes=(*([f"warning: {warning}"] if warning else []), *notes))


def reject(workspace: Root, name: str, *, reason: str | None = None, actor: str | None = None) -> Decided:
    """Close the proposal ``name``; the proposer is shown the ``reason``. A profile withdraws its own."""
    found = _open(workspace, name, actor, "reject")
    reason = checked_reason(reason, workspace.config, to_agent=actor is not None)
    verdict = "withdrawn" if found.agent == actor else "rejected"
    return _decide(workspace, found, {"verdict": verdict, **({"reason": reason} if reason else {})}, actor)


def _reworded(workspace: Root, found: Proposal, words: str, *, allow_secret: bool) -> Iterator[str]:
    """Give a person's words to the specialists that hold the proposed ones: else these would be proposed again."""
    yield f"{found.entity} says: {words}"
    name, target = parts_of(found.entity)
    made = {change.after.body for change in found.changes if change.after is not None}
    heirs = {each.name for each in load_each(workspace)[0] if name == each.seed_from or each.name == found.agent}
    seen, unreadable, _ = list_everywhere(workspace, target=target)
    for error in unreadable:
        yield f"not looked at, so it may have other words: {error}"
    for entity, entry in ((each.entity, each.entry) for each in seen if each.entry.body in made):
        owner = parts_of(entity).owner
        if owner not in heirs - {name}:
            continue
        operation = Operation("replace", content=words, old_text=entry.id, category=entry.category, confirm=True)
        try:
            done = write_operations(workspace, owner, [operation], target=target, allow_secret=allow_secret)
            yield f"{entity} says it in these words too (revision {done.revision})"
        except CatmemError as error:
            yield f"{entity} still has the words that were proposed: {error.message}"


def _open(workspace: Root, name: str, actor: str | None, verb: str) -> Proposal:
    """A proposal that ``actor`` may decide on now."""
    found = proposal(workspace, name, actor=actor)
    if actor is not None:
        _refuse_decider(workspace, found, actor, verb)
    if found.decision is not None:
        ended = found.decision
        why = ended.reason if actor is None or ended.reason is None else safe_text(ended.reason)
        # No agent is shown the name of a person, or the number of a revision that it may not see.
        by = f" by {ended.by} in revision {ended.revision}" if actor is None else ""
        raise ProposalError(
            f"{found.id} was {ended.verdict}{by}" + (f" ({why})" if why else ""),
            hint="Nothing was written. 'catmem proposals' lists those that wait.",
        )
    return found


def _refuse_decider(workspace: Root, found: Proposal, actor: str, verb: str) -> None:
    """Raise ``ForbiddenError`` for a profile that may not decide: the proposer, and what takes its memory from it."""
    if found.agent == actor:
        if verb == "reject":
            return  # it withdraws its own
        raise ForbiddenError(f"{actor} may not approve what it proposed", hint="A person may.")
    acting = workspace.profile(actor)
    if not may_decide(workspace, found, acting):
        raise ForbiddenError(
            f"{actor} may not {verb} proposals for {', '.join(sorted(found.categories))}",
            hint="A person may, and a profile whose may_approve names these categories.",
        )
    if found.agent in seed_chain(workspace.profile, acting)[1:]:
        raise ForbiddenError(
            f"{actor} is seeded from {found.agent}, so it may not {verb} what that one proposed", hint="A person may."
        )


class _ApprovedText:
    """The update that brings a proposal into the text that is there, under the lock of the store."""

    def __init__(self, workspace: Root, found: Proposal, actor: str | None, words: str | None) -> None:
        reader = ProposalReader(workspace, found.entity)
        self._parse, self._found, self.words = workspace.parse, found, words
        if found.state == "stale":
            raise self._stale()
        self._base, self._branch = reader.document(found.base), reader.document(found.revision)
        self._limit = limit_of_entity(workspace, found.entity)
        record = next(each for each in workspace.store.log(found.entity) if each.revision == found.revision)
        self.actions = list(record.note.get("actions", ()))
        """What it does to entries, as the record of the write would have said it."""
        self.changed = False
        made = [(change, change.after) for change in found.changes if change.after is not None]
        if words is not None and len(made) != 1:
            raise EditError(
                f"{found.id} makes {len(made)} entries, and other words can be given for one",
                code="bad_operation",
                hint="Nothing was written. Approve or reject it as it is, or reject it and make the change yourself.",
            )
        for change, proposed in made:
            self._make(change, proposed, words, dates=actor is None)

    def _make(self, change: ProposedChange, proposed: Version, words: str | None, *, dates: bool) -> None:
        """Give the entry that a change makes other words, and the day of a person's yes if it is a verified fact."""
        entry = next(each for each in self._branch.entries if proposed.same_as(Version.from_entry(each)))
        body, tags = (entry.body, entry.tags) if words is None else (body_of(words), unverified(entry.tags))
        approved = change._replace(after=Version(entry.category, body, tags, "")).approved
        if dates and approved is not None:
            tags = approved.tags
        if body == entry.body and tags == entry.tags:
            return
        edited = replace_entry(self._branch, entry, body, tags=None if tags == entry.tags else tags)
        self._branch = edited.document
        new = edited.entry
        if new is not None and len(new.raw) > MAX_ENTRY_CHARS:
            raise EditError(
                f"an entry may have {MAX_ENTRY_CHARS:,} characters, and this one has {len(new.raw):,}",
                code="too_large",
                hint="Nothing was written. Split it, or keep it elsewhere and name the place.",
            )
        if new is not None:
            self.actions = [each | {"id": new.id} if each["id"] == entry.id else each for each in self.actions]

    def __call__(self, current: Current) -> bytes:
        document = parse_for_write(self._parse, self._found.entity, current.data)
        changes = changes_of(self._base, self._branch, document)
        merged = merge(self._base, document, self._branch)
        if merged.conflicts or any(change.is_stale for change in changes):
            raise self._stale()
        new = self._parse(merged.text)
        before, size = size_of(document.text), size_of(new.text)
        if self._limit is not None and size > max(self._limit, before):
            raise over_budget(self._found.entity, before, size, self._limit, ())
        self.changed = merged.text != document.text
        return merged.text.encode()

    def _stale(self) -> ProposalError:
        found = self._found
        return ProposalError(
            f"{found.id} is stale: an entry that it changes is another one by now",
            code="stale_proposal",
            hint=f"Nothing was written. 'catmem proposals {found.id}' shows both texts. Reject it, and make the change "
            "on what is there now.",
        )


def _decide(
    workspace: Root, found: Proposal, said: dict[str, Any], actor: str | None, update: _ApprovedText | None = None
) -> Decided:
    """Record a verdict, and what is ``said`` of it: a merge of the branch for a yes, a drop for a no."""
    verdict: ProposalState = said["verdict"]
    done = "dropped" if update is None else "merged"
    note: dict[str, Any] = {"target": parts_of(found.entity).target, "actor": actor, done: [found.revision]}
    note[DECISION] = {"proposal": found.id, "proposed_by": found.who, **said}
    if update is not None and update.actions:
        note["actions"] = update.actions
    change = Change(
        op="merge",
        agent=actor or PERSON,
        op_id=f"{gate.DECIDES}{found.id}",
        request=content_digest([said, actor, None if update is None else update.words]),
        note=note,
        on_drift=workspace.config.on_drift_of_texts,
        merges=(found.revision,),
    )

    def decide(current: Current) -> bytes:
        tips = [each.revision for each in workspace.store.branches(found.entity) if each.is_proposal]
        if found.revision not in tips:
            raise OperationCollisionError(found.id)
        return current.data if update is None else update(current)

    with gate.Attempt(workspace, found.entity, verdict, actor or PERSON) as trying:
        try:
            written = trying.commit(None, decide, change, approved=True)
        except OperationCollisionError:
            raise ProposalError(
                f"{found.id} was decided on at the same moment",
                hint="Nothing was written. 'catmem proposals' shows what became of it.",
            ) from None
    return Decided(found, verdict, written.revision, update is not None and update.changed)
