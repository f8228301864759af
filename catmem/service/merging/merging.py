"""Merging branches into the head: one revision, whose parents are the head and all that was merged.

::

    head ──┐
    base ──┼─ three-way merge by entry ── conflicts ── who wins? ──> text ──> commit, if the head is still that
    branch ┘        (of several branches one after the other)                 └── else all of it again
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.digest import content_digest
from catmem.errors import DriftError, EditError, MergeConflictError, StaleError
from catmem.policy.profile import limit_of
from catmem.service import gate
from catmem.service.history import entity_of, refuse_bounded
from catmem.service.merging.branches import open_branches
from catmem.service.merging.deciding import Answer, Ask, Disagreement, How, Settling, asking
from catmem.service.merging.past import NOW, Past
from catmem.service.merging.plan import Joined, MergePlan
from catmem.service.seen_entry import findings_in, value_texts
from catmem.service.writing.budget import Usage
from catmem.service.writing.view import checked_expected
from catmem.service.writing.written import on_adoption, on_restoration, on_two_wordings
from catmem.store.contract import PERSON, Change, is_branch, repeated, sees, stale
from catmem.text import size_of, unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.version import Version
    from catmem.service.gate import Attempt
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Current, Revision, Snapshot

_ATTEMPTS = 8
"""How often a merge is made again because somebody wrote in the meantime."""


@dataclass(slots=True)
class _Planner:
    """Plans merges of one entity, again and again if need be; answers that were given stay given."""

    workspace: Workspace
    entity: str
    named: tuple[str, ...]
    how: How
    drop: bool
    known: dict[str, Answer] = field(default_factory=dict)

    def plan(self) -> MergePlan:
        past = Past(self.workspace, self.entity)
        ask = asking(self.workspace, past, self.how)
        chosen, notes = self._chosen(past)
        before = past.data.decode(errors="backslashreplace")
        if self.drop or not chosen:
            return MergePlan(
                self.entity,
                past.head,
                past.digest,
                chosen,
                before,
                before,
                notes=notes,
                drop=self.drop,
                named=self.named,
            )
        return self._joined(past, ask, chosen, notes)

    def _chosen(self, past: Past) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The branches that are meant and not merged yet, the oldest first; and what to say of the others."""
        if not self.named:
            return tuple(each.revision for each in reversed(open_branches(self.workspace, self.entity))), ()
        chosen: list[str] = []
        notes: list[str] = []
        for name in dict.fromkeys(self.named):
            if not is_branch(name):
                raise EditError(
                    f"{name} is no branch of {self.entity}",
                    code="not_a_branch",
                    hint=f"A branch has a letter, such as 8a: 'catmem branches {self.entity}' lists them. To go back "
                    f"to an old revision there is catmem restore {self.entity} {name}.",
                )
            past.record(name)
            if name in past.bases(past.head, name):
                notes.append(_done_before(past, name))
            else:
                chosen.append(name)
        return tuple(chosen), tuple(notes)

    def _joined(self, past: Past, ask: Ask, chosen: Sequence[str], notes: tuple[str, ...]) -> MergePlan:
        head, ours = past.head, past.document(past.head)
        text = ours.text
        left: list[Disagreement] = []
        settled: list[tuple[Disagreement, Answer]] = []
        doubles: list[tuple[Version, Version]] = []
        for branch in chosen:
            base = past.base(head, branch)
            settling = Settling(past, branch, head, base, ask, self.known)
            merged = past.merge(head, branch, settling)
            text = merged.text
            doubles += merged.doubles
            left += settling.left
            settled += settling.settled
            # The next branch meets what this one has become, with all that led to it.
            joined = f"{head}+{branch}"
            past.put(joined, (head, branch), PERSON, text.encode())
            head = joined
        return MergePlan(
            entity=self.entity,
            head=past.head,
            digest=past.digest,
            merged=tuple(chosen),
            before=ours.text,
            after=text,
            conflicts=tuple(left),
            settled=tuple(settled),
            notes=notes,
            warnings=(*self._warnings(ours.text, text), *map(on_two_wordings, doubles)),
            named=self.named,
        )

    def _warnings(self, before: str, after: str) -> tuple[str, ...]:
        """What a merge does all the same: it loses nothing because a file is long or an entry looks hostile."""
        found = [*unmerged_warnings(self.entity, after)]
        limit = _limit(self.workspace, self.entity)
        size = size_of(after)
        if limit is not None and size > limit:
            found.append(f"the file has {size:,} characters now, {size - limit:,} over its limit of {limit:,}")
        was = Counter(entry.raw for entry in self.workspace.parse(before).entries)
        for entry in self.workspace.parse(after).entries:
            if entry.raw in was:
                continue
            threats = findings_in([entry.body, *entry.tags, *value_texts(entry.tags.values())])
            if threats:
                rules = ", ".join(sorted({finding.rule for finding in threats}))
                found.append(f"a prompt will withhold an entry of {entry.category}: {rules}")
        return tuple(found)


def plan_merge(
    workspace: Workspace, entity: str, branches: Sequence[str] = (), *, precedence: How = None, drop: bool = False
) -> MergePlan:
    """What merging ``branches``, by default all, into the head would do; nothing is written. See ``merge``."""
    return _Planner(workspace, entity_of(workspace, entity), tuple(branches), precedence, drop).plan()


def merge(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Workspace,
    entity: str,
    branches: Sequence[str] = (),
    *,
    precedence: How = None,
    drop: bool = False,
    actor: str | None = None,
    dry_run: bool = False,
    expected: str | int | None = None,
    op_id: str | None = None,
) -> Joined:
    """Bring ``branches``, by default all, together with the head, as one revision that has them all as parents.

    ``precedence`` says what becomes of conflicts (``How``); ``drop`` closes the branches and takes nothing from them.
    ``expected`` is the head that the caller saw: without it, whatever is there is merged, with it the merge is refused
    if that is another one by now. Under the same ``op_id`` it is made once. Only a person and a tier-1 profile may.
    Raises ``ForbiddenError``, ``MergeConflictError`` with what nobody decided (a dry run tells it in its plan instead),
    ``UnknownRevisionError``, ``EditError`` (``not_a_branch``, ``not_possible``), ``ConfigError`` (``unknown_agent``)
    and ``RefusedError``.
    """
    agent = actor or PERSON
    with gate.attempt(workspace, str(entity), op="merge", agent=agent, prev=expected, recorded=not dry_run) as trying:
        if actor is not None:
            refuse_bounded(workspace, actor, "merge branches")
        trying.entity = entity_of(workspace, entity)
        if drop and precedence is not None:
            raise EditError(
                "precedence decides conflicts, and drop takes nothing from the branches",
                code="bad_operation",
                hint="Nothing was written. Give one of the two.",
            )
        planner = _Planner(workspace, trying.entity, tuple(branches), precedence, drop)
        asked = _Asked(actor, checked_expected(expected), op_id, dry_run)
        return _merged(workspace, planner, trying, asked)


class _Asked(NamedTuple):
    """How a merge is made: by whom, on which head, under which ``op_id``, and whether it is only tried out."""

    actor: str | None
    expected: str | None
    op_id: str | None
    dry_run: bool


def _merged(workspace: Workspace, planner: _Planner, trying: Attempt, asked: _Asked) -> Joined:
    attempts = _ATTEMPTS
    while True:
        plan = planner.plan()
        is_seen = asked.expected is None or sees(asked.expected, None if plan.head == NOW else plan.head, plan.digest)
        first = None if asked.dry_run or (is_seen and plan.merged) else _made_before(workspace, planner, asked)
        if first is not None:
            return replace(_result(workspace, plan, None), revision=first.revision, digest=first.digest, repeated=True)
        if not is_seen:
            raise stale(plan.entity, str(asked.expected), plan.digest if plan.head == NOW else plan.head)
        if asked.dry_run or not plan.merged:
            return _result(workspace, plan, None)
        if plan.conflicts:
            raise _undecided(plan)
        attempts -= 1
        try:
            return _result(workspace, plan, _commit(plan, trying, asked))
        except (StaleError, DriftError) as error:
            # Somebody wrote in the meantime, so what they wrote is merged too. Strict roots refuse an outsider once.
            strict = error.code == "drift" and workspace.config.on_drift == "refuse"
            if not attempts or strict or error.code not in {"stale_prev", "drift"}:
                raise


def _made_before(workspace: Workspace, planner: _Planner, asked: _Asked) -> Revision | None:
    """The revision that this very merge made, if it was made. Raises ``OperationCollisionError``."""
    if asked.op_id is None:
        return None
    first = next((each for each in workspace.store.log(planner.entity) if each.op_id == asked.op_id), None)
    if first is None:
        return None
    change = Change(op_id=asked.op_id, request=_request(planner.named, asked.actor, drop=planner.drop))
    return first if repeated(first, change) else None


def _request(branches: Sequence[str], actor: str | None, *, drop: bool) -> str:
    """The digest of what is asked: a retry has the same one. Of decisions the first ones count."""
    return content_digest(["drop" if drop else "merge", list(branches), actor])


def _commit(plan: MergePlan, trying: Attempt, asked: _Asked) -> Snapshot:
    def update(current: Current) -> bytes:
        return current.data if plan.drop else plan.after.encode()

    _, _, target = plan.entity.partition("/")
    note: dict[str, Any] = {
        "target": target,
        "actor": asked.actor,
        "dropped" if plan.drop else "merged": list(plan.merged),
    }
    change = Change(
        op="merge",
        agent=asked.actor or PERSON,
        op_id=asked.op_id,
        request=_request(plan.named, asked.actor, drop=plan.drop) if asked.op_id else None,
        note=note,
        # Whatever is there is merged by entry here already.
        on_drift="refuse" if trying.workspace.config.on_drift == "refuse" else "adopt",
        merges=plan.merged,
    )
    # What is in no record yet has no name but its digest.
    expected = plan.digest if plan.head == NOW else plan.head
    return trying.commit(expected, update, change)


def _result(workspace: Workspace, plan: MergePlan, written: Snapshot | None) -> Joined:
    size = size_of(plan.after)
    usage = Usage(size, _limit(workspace, plan.entity))
    if written is None:
        revision = None if plan.head == NOW else plan.head
        digest = workspace.parse(plan.after).digest if plan.before != plan.after else plan.digest
        return Joined(plan, revision, digest, usage, plan.notes)
    notes = (*on_restoration(written), *plan.notes)
    if written.adopted:
        notes = (*notes, on_adoption(written.adopted))
    return Joined(plan, written.revision, written.digest, usage, notes, written.adopted)


def _limit(workspace: Workspace, entity: str) -> int | None:
    owner, _, target = entity.partition("/")
    return limit_of(workspace.profile(owner), target, workspace.config)


def _undecided(plan: MergePlan) -> MergeConflictError:
    count = len(plan.conflicts)
    said = "1 entry was" if count == 1 else f"{count:,} entries were"
    open_ones = {found.branch for found in plan.conflicts}
    free = [name for name in plan.merged if name not in open_ones]
    in_turn = " Ours is the file, for a later branch with those before it." if len(plan.merged) > 1 else ""
    alone = f" Without conflicts: {', '.join(free)}; to merge no other, name it." if free else ""
    return MergeConflictError(
        f"{said} changed on both sides: in {plan.entity}, and in {', '.join(plan.merged)}",
        [found.to_dict() for found in plan.conflicts],
        found=plan.head,
        hint="Nothing was written. Say who wins (--precedence AGENT,AGENT, --ours for the file, --theirs for the "
        f"branch), keep both (--keep-both), or decide one by one (--interactive).{in_turn}{alone}",
    )


def _done_before(past: Past, name: str) -> str:
    """What became of a branch that leads to the head already: merged or dropped, itself or with one that grew on it."""
    line = {name}
    for revision in reversed(list(past.log())):
        leading = line.intersection(revision.parents)
        if leading and not revision.is_branch:
            beside = "" if name in leading else f", with {', '.join(sorted(leading))}"
            if leading.intersection(revision.note.get("dropped", ())):
                seen = next(iter(past.record(name).parents), "0")
                kept = f"what it says is in the history (catmem diff {past.entity} {seen} {name})"
                return f"{name} was dropped in revision {revision.revision}{beside}; {kept}"
            return f"{name} was merged already, in revision {revision.revision}{beside}"
        if leading:
            line.add(revision.revision)
    return f"{name} was merged already"
