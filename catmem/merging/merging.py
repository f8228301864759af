"""Merging branches into the head: one revision, whose parents are the head and all that was merged.

::

    head ──┐
    base ──┼─ three-way merge by entry ── conflicts ── who wins? ──> text ──> commit, if the head is still that
    branch ┘        (of several branches one after the other)                 └── else all of it again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from catmem.config.access import writes_entity
from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError, DriftError, EditError, ForbiddenError, MergeConflictError, StaleError
from catmem.jsonable import jsonable
from catmem.merging.branches import branches_of_all, content_merge, open_branches
from catmem.merging.decisions import Answer, Ask, Disagreement, How, Settling, asking
from catmem.merging.past import NOW, MergeHistory
from catmem.model.version import Version
from catmem.store.contract import PERSON, Change, Revision, is_branch, repeated, sees, stale
from catmem.text import counted, plural, size_of, unmerged_warnings
from catmem.workspace.history import declared_of, entity_of, limit_of_entity, refuse_bounded
from catmem.workspace.root import Root
from catmem.workspace.seen_entry import findings_in, texts_of
from catmem.writing import gate
from catmem.writing.gate import Attempt
from catmem.writing.matching import checked_expected
from catmem.writing.terms import check_threats
from catmem.writing.written import FileUsage, on_adoption, on_restoration, on_two_wordings


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What a merge would do to an entity, or did. ``before`` and ``after`` are whole texts.

    ``merged`` are the branches that it brings in, or closes if it is a ``drop``. With open ``conflicts`` nothing is
    written; ``settled`` are the others, each with what was said. ``head`` and ``seen`` (its digest) are what it was
    planned on; until it is made ``revision`` is that too, if it is recorded, and ``digest`` that of the text to be.
    ``repeated``: an ``op_id`` was seen before, and revision and digest are what became of it.
    """

    entity: str
    head: str
    seen: str
    merged: tuple[str, ...]
    before: str
    after: str
    revision: str | None
    digest: str
    usage: FileUsage
    conflicts: tuple[Disagreement, ...] = ()
    settled: tuple[tuple[Disagreement, Answer], ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    drop: bool = False
    adopted: str | None = None
    repeated: bool = False

    @property
    def changed(self) -> bool:
        """Whether the text is another one now."""
        return self.before != self.after

    def __json__(self) -> dict[str, Any]:
        """The plan as JSON-ready data, without the whole texts."""
        settled = [
            {**jsonable(found), "taken": answer if isinstance(answer, str) else "edited"}
            for found, answer in self.settled
        ]
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": self.digest,
            "changed": self.changed,
            "merged": self.merged,
            "dropped": self.drop,
            "conflicts": self.conflicts,
            "settled": settled,
            "usage": self.usage,
            "notes": self.notes,
            "warnings": self.warnings,
        }


_ATTEMPTS = 8
"""How often a merge is made again because another write came between."""


@dataclass(slots=True)
class _Merging:
    """One merge, planned again and again if need be; answers that were given stay given."""

    workspace: Root
    entity: str
    named: tuple[str, ...]
    how: How
    drop: bool
    actor: str | None = None
    op_id: str | None = None
    allow_secret: bool = False
    known: dict[str, Answer] = field(default_factory=dict)

    # --- the plan --------------------------------------------------------------------------------------------------

    def plan(self) -> MergePlan:
        """What the merge would do to what is there now."""
        past = MergeHistory(self.workspace, self.entity)
        ask = partial(self._checked, asking(self.workspace, past, self.how, to_agent=self.actor is not None))
        chosen, notes = self._chosen(past)
        text = past.data.decode(errors="backslashreplace")
        plan = MergePlan(
            entity=self.entity,
            head=past.head,
            seen=past.digest,
            merged=chosen,
            before=text,
            after=text,
            revision=None if past.head == NOW else past.head,
            digest=past.digest,
            usage=self._usage(text),
            notes=notes,
            drop=self.drop,
        )
        return plan if self.drop or not chosen else self._joined(past, ask, plan)

    def _usage(self, text: str) -> FileUsage:
        return FileUsage(size_of(text), limit_of_entity(self.workspace, self.entity))

    def _checked(self, ask: Ask, found: Disagreement) -> Answer:
        """An answer; words that neither side has may be stored, as those of any write."""
        answer, conflict = ask(found), found.conflict
        if isinstance(answer, Version):
            known = {text for side in (conflict.ours, conflict.theirs) if side is not None for text in texts_of(side)}
            texts, to_agent = [text for text in texts_of(answer) if text not in known], self.actor is not None
            check_threats(texts, self.workspace.config, to_agent=to_agent, allow_secret=self.allow_secret)
        return answer

    def _chosen(self, past: MergeHistory) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
            if past.record(name).is_proposal:
                raise gate.on_proposal(self.entity, name)
            if name in past.bases(past.head, name):
                notes.append(_done_before(past, name))
            else:
                chosen.append(name)
        return tuple(chosen), tuple(notes)

    def _joined(self, past: MergeHistory, ask: Ask, plan: MergePlan) -> MergePlan:
        declared = self.workspace.config.entities.get(self.entity)
        if declared is not None:
            self._refuse_no_side(declared, plan)
        head, ours = past.head, past.document(past.head)
        text = ours.text
        left, settled, doubles = list[Disagreement](), list[tuple[Disagreement, Answer]](), list[str]()
        for branch in plan.merged:
            base = past.base(head, branch) if declared is None else ours
            settling = Settling(past, branch, head, base, ask, self.known)
            if declared is None:
                merged = past.merge(head, branch, settling)
                text = merged.text
                doubles += map(on_two_wordings, merged.doubles)
            else:
                text = content_merge(declared, past, head, branch, settling).data.decode()
            left += settling.left
            settled += settling.settled
            # The next branch meets what this one has become, with all that led to it.
            joined = f"{head}+{branch}"
            past.put(joined, (head, branch), PERSON, text.encode())
            head = joined
        warnings = () if declared else (*self._warnings(ours.text, text), *doubles)
        return replace(
            plan,
            before=ours.text,
            after=text,
            digest=plan.digest if text == ours.text else bytes_digest(text.encode()),
            usage=self._usage(text),
            conflicts=tuple(left),
            settled=tuple(settled),
            warnings=warnings,
        )

    def _refuse_no_side(self, declared: DeclaredEntity, plan: MergePlan) -> None:
        """Refuse for an entity without entries what lets no side win."""
        by_agent = self.how not in (None, "ours", "theirs")  # a list of names is no key
        if by_agent and (declared.content == "text" or self.how == "both" or callable(self.how)):
            raise EditError(
                f"conflicts of {self.entity} are settled for one side",
                code="bad_operation",
                hint=f"Nothing was written. Say {_sides(declared)}; or write what is to be there, with the branches as "
                f"parents (catmem write {self.entity} FILE --expected {plan.head} --merge BRANCH).",
            )

    def _warnings(self, before: str, after: str) -> tuple[str, ...]:
        """What a merge does all the same: it loses nothing because a file is long or an entry looks hostile."""
        found = [*unmerged_warnings(self.entity, after)]
        limit, size = limit_of_entity(self.workspace, self.entity), size_of(after)
        if limit is not None and size > limit:
            found.append(f"the file has {size:,} characters now, {size - limit:,} over its limit of {limit:,}")
        was = {entry.raw for entry in self.workspace.parse(before).entries}
        for entry in self.workspace.parse(after).entries:
            rules = set() if entry.raw in was else {finding.rule for finding in findings_in(texts_of(entry))}
            if rules:
                found.append(f"a prompt will withhold an entry of {entry.category}: {', '.join(sorted(rules))}")
        return tuple(found)

    # --- the merge -------------------------------------------------------------------------------------------------

    def run(self, trying: Attempt, expected: str | None) -> MergePlan:
        """Merge, and begin again where another write came between."""
        attempts = _ATTEMPTS
        while True:
            plan = self.plan()
            is_seen = expected is None or sees(expected, plan.revision, plan.seen)
            first = None if is_seen and plan.merged else self._made_before()
            if first is not None:
                return replace(plan, revision=first.revision, digest=first.digest, repeated=True)
            if not is_seen:
                raise stale(plan.entity, str(expected), plan.revision or plan.seen)
            if not plan.merged or (trying.dry_run and plan.conflicts):
                return plan
            if plan.conflicts:
                raise _undecided(plan, self.workspace.config.entities.get(self.entity))
            attempts -= 1
            try:
                return self._commit(trying, plan)
            except (StaleError, DriftError) as error:
                # What was written meanwhile is merged too. Strict roots refuse an external writer once.
                strict = error.code == "drift" and self.workspace.config.on_drift == "refuse"
                if not attempts or strict or error.code not in {"stale_prev", "drift"}:
                    raise

    def _made_before(self) -> Revision | None:
        """The revision that this very merge made, if it was made. Raises ``OperationCollisionError``."""
        if self.op_id is None:
            return None
        made = self.actor or PERSON, self.op_id
        log = self.workspace.store.log(self.entity)
        first = next((each for each in log if (each.agent, each.op_id) == made), None)
        change = Change(op_id=self.op_id, request=self._request())
        return first if first is not None and repeated(first, change) else None

    def _request(self) -> str | None:
        """The digest of what is asked: a retry has the same one. Of decisions the first ones count."""
        asked = ["drop" if self.drop else "merge", list(self.named), self.actor]
        return content_digest(asked) if self.op_id else None

    def _commit(self, trying: Attempt, plan: MergePlan) -> MergePlan:
        _, _, target = plan.entity.partition("/")
        done = "dropped" if plan.drop else "merged"
        change = Change(
            op="merge",
            agent=self.actor or PERSON,
            op_id=self.op_id,
            request=self._request(),
            note={"target": target, "actor": self.actor, done: list(plan.merged)},
            # Whatever is there is merged by entry here already.
            on_drift="refuse" if self.workspace.config.on_drift == "refuse" else "adopt",
            merges=plan.merged,
        )
        text = plan.after.encode()
        # What is in no record yet has no name but its digest.
        written = trying.commit(plan.revision or plan.seen, lambda now: now.data if plan.drop else text, change)
        adopted = (on_adoption(written.adopted),) if written.adopted else ()
        return replace(
            plan,
            revision=written.revision,
            digest=written.digest,
            notes=(*on_restoration(written), *plan.notes, *adopted),
            adopted=written.adopted,
        )


def plan_merge(
    workspace: Root, entity: str, branches: Sequence[str] = (), *, precedence: How = None, drop: bool = False
) -> MergePlan:
    """What merging ``branches``, by default all, into the head would do; nothing is written. See ``merge``."""
    return _Merging(workspace, entity_of(workspace, entity), tuple(branches), precedence, drop).plan()


def merge(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    entity: str,
    branches: Sequence[str] = (),
    *,
    precedence: How = None,
    drop: bool = False,
    actor: str | None = None,
    dry_run: bool = False,
    expected: str | int | None = None,
    op_id: str | None = None,
    allow_secret: bool = False,
) -> MergePlan:
    """Bring ``branches``, by default all, together with the head, as one revision that has them all as parents.

    ``precedence`` says what becomes of conflicts (``How``); ``drop`` closes the branches and takes nothing from them.
    ``expected`` is the head that the caller saw: the merge is refused if that is another one by now. Under the same
    ``op_id`` it is made once. ``allow_secret`` is a person's yes to a secret in words of their own. Raises
    ``MergeConflictError`` with what is not decided (a dry run has it in its plan instead), and as a write does.
    """
    agent = actor or PERSON
    with Attempt(workspace, str(entity), "merge", agent, expected, dry_run) as trying:
        if actor is not None:
            _refuse_merging(workspace, str(entity), actor)
        trying.entity = entity_of(workspace, entity)
        if drop and precedence is not None:
            raise EditError(
                "precedence decides conflicts, and drop takes nothing from the branches",
                code="bad_operation",
                hint="Nothing was written. Give one of the two.",
            )
        merging = _Merging(workspace, trying.entity, tuple(branches), precedence, drop, actor, op_id, allow_secret)
        return merging.run(trying, checked_expected(expected))


def _refuse_merging(workspace: Root, entity: str, actor: str) -> None:
    """Refuse a profile that may not merge: files one below tier 1, a declared entity one that may not write it."""
    if ":" not in entity:
        refuse_bounded(workspace, actor, "merge branches")
    elif not writes_entity(declared_of(workspace, entity, profile := workspace.profile(actor)), profile):
        raise ForbiddenError(f"{actor} may not write to {shown(entity)}", hint="It may only read it.")


def _sides(declared: DeclaredEntity) -> str:
    """How one may say which side wins a conflict of an entity without entries."""
    return "--ours or --theirs" if declared.content == "text" else "--precedence AGENT,AGENT, --ours or --theirs"


def _undecided(plan: MergePlan, declared: DeclaredEntity | None) -> MergeConflictError:
    count = len(plan.conflicts)
    how = (
        f"Say who wins at these places ({_sides(declared)}), or write what it is to be: catmem write {plan.entity} "
        f"FILE --expected {plan.head} --merge {plan.merged[0]}."
        if declared
        else "Say who wins (--precedence AGENT,AGENT, --ours for the file, --theirs for the branch), keep both "
        "(--keep-both), or decide one by one (--interactive)."
    )
    what = (
        f"{counted(count, 'place') if declared else counted(count, 'entry', 'entries')} {plural(count, 'was', 'were')}"
    )
    open_ones = {found.branch for found in plan.conflicts}
    free = [name for name in plan.merged if name not in open_ones]
    in_turn = " Ours is the file, for a later branch with those before it." if len(plan.merged) > 1 else ""
    alone = f" Without conflicts: {', '.join(free)}; to merge no other, name it." if free else ""
    return MergeConflictError(
        f"{what} changed on both sides: in {plan.entity}, and in {', '.join(plan.merged)}",
        jsonable(plan.conflicts),
        found=plan.head,
        hint=f"Nothing was written. {how}{in_turn}{alone}",
    )


def _done_before(past: MergeHistory, name: str) -> str:
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


# --- merging all open branches of a root that merge by themselves; what a person has to decide is left as it is ------


@dataclass(frozen=True, slots=True)
class LeftBranch:
    """A branch that was left: it has ``conflicts`` with the head and what was merged before it, or an ``error``."""

    entity: str
    branch: str
    conflicts: tuple[Disagreement, ...] = ()
    error: CatmemError | None = None


@dataclass(frozen=True, slots=True)
class JoinedAll:
    """What was merged, one revision an entity, and which branches were left.

    ``unreadable`` are the profiles and histories that could not be looked at.
    """

    merged: tuple[MergePlan, ...]
    left: tuple[LeftBranch, ...]
    unreadable: tuple[CatmemError, ...]


def merge_all(workspace: Root, *, precedence: How = None, actor: str | None = None, dry_run: bool = False) -> JoinedAll:
    """Merge every open branch of a root that merges by itself, the oldest of an entity first.

    ``precedence`` settles conflicts as for ``merge``. Raises ``ForbiddenError`` and ``ConfigError``.
    """
    if actor is not None:
        refuse_bounded(workspace, actor, "merge branches")
    found, unreadable = branches_of_all(workspace)
    merged: list[MergePlan] = []
    left: list[LeftBranch] = []
    for entity in dict.fromkeys(branch.entity for branch in found):
        free: list[str] = []
        for branch in reversed(open_branches(workspace, entity)):
            try:
                conflicts = plan_merge(workspace, entity, [*free, branch.revision], precedence=precedence).conflicts
            except CatmemError as error:
                left.append(LeftBranch(entity, branch.revision, error=error))
                continue
            if conflicts:
                left.append(LeftBranch(entity, branch.revision, conflicts))
            else:
                free.append(branch.revision)
        if free:
            try:
                merged.append(merge(workspace, entity, free, precedence=precedence, actor=actor, dry_run=dry_run))
            except CatmemError as error:  # another write came between
                left += [LeftBranch(entity, name, error=error) for name in free]
    return JoinedAll(tuple(merged), tuple(left), unreadable)
