"""Merging branches into the head: one revision, whose parents are the head and all that was merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from catmem.config.access import writes_entity
from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.config.profile import limit_of
from catmem.digest import bytes_digest, content_digest
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    ForbiddenError,
    MergeConflictError,
    NotUtf8Error,
    StaleError,
    StoreError,
    UnknownRevisionError,
    wrong_type,
)
from catmem.files import read_bounded
from catmem.jsonable import jsonable
from catmem.merging.branches import (
    NOW,
    Ask,
    ConflictAnswer,
    Disagreement,
    HowDecided,
    MergeHistory,
    asking,
    content_merge,
    open_branches,
    settling,
)
from catmem.model.document import Entry, Version
from catmem.model.pairing import pair_entries
from catmem.names import is_declared, parts_of
from catmem.store.contract import PERSON, Change, Current, is_branch, is_view_of, made_before, stale
from catmem.store.files.retention import copied_name
from catmem.text import MAX_FILE_BYTES, counted, plural, size_of, unmerged_warnings
from catmem.workspace.formatting import entity_at
from catmem.workspace.history import declared_of, entity_of, limit_of_entity, refuse_bounded
from catmem.workspace.root import Root, collect_errors, entities_of_each
from catmem.workspace.seen_entry import findings_in, texts_of
from catmem.writing import gate
from catmem.writing.drift_guard import ACCEPTED, ToolSession, refuse_unshown, text_digest, unaccepted
from catmem.writing.gate import Attempt
from catmem.writing.policy import check_threats
from catmem.writing.request import Operation, checked_expected
from catmem.writing.write import write_operations
from catmem.writing.written import FileUsage, Written, notes_on


class HowMerged(TypedDict, total=False):
    """How branches are merged; each may be left out.

    ``precedence`` says what becomes of conflicts (``HowDecided``); ``drop`` closes the branches and takes nothing.
    ``actor`` is the profile that acts, ``None`` a person. ``dry_run`` writes nothing. ``expected`` is the head that the
    caller saw: the merge is refused if that is another one by now. Under the same ``op_id`` it is made once.
    ``allow_secret`` is a person's yes to a secret in words of their own. ``session`` is the actor's conversation.
    """

    precedence: HowDecided
    drop: bool
    actor: str | None
    dry_run: bool
    expected: str | int | None
    op_id: str | None
    allow_secret: bool
    session: ToolSession | None


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Which branches of an entity are merged, by default all, and how (``HowMerged``)."""

    entity: str
    branches: Sequence[str] = ()
    precedence: HowDecided = None
    drop: bool = False
    actor: str | None = None
    dry_run: bool = False
    expected: str | int | None = None
    op_id: str | None = None
    allow_secret: bool = False
    session: ToolSession | None = None

    def __post_init__(self) -> None:
        """Raises ``EditError`` (``wrong_type``) for branches that are no list of texts."""
        named = self.branches
        if not (isinstance(named, list | tuple) and all(isinstance(each, str) for each in named)):
            raise wrong_type("branches", named, "a list of texts")

    @property
    def digest(self) -> str | None:
        """What is asked under the ``op_id``: a retry asks the same. Of decisions the first ones count."""
        asked = ["drop" if self.drop else "merge", list(self.branches), self.actor]
        return content_digest(asked) if self.op_id else None


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What a merge would do to an entity, or did. ``before`` and ``after`` are whole texts.

    ``merged`` are the branches that it brings in, or closes if it is a ``drop``. With open ``conflicts`` nothing is
    written; ``settled`` are the others. ``head`` and ``seen`` (its digest) are what it was planned on; until it is made
    ``revision`` is that too, if it is recorded, and ``digest`` that of the text to be. ``repeated``: an ``op_id`` was
    seen before, and revision and digest are what became of it.
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
    settled: tuple[Disagreement, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    drop: bool = False
    dry_run: bool = False
    repeated: bool = False
    __json__ = "entity revision digest changed merged dropped=drop conflicts settled usage notes warnings dry_run"

    @property
    def changed(self) -> bool:
        """Whether the text is another one now."""
        return self.before != self.after


_ATTEMPTS = 8
"""How often a merge is made again because another write came between."""


@dataclass(slots=True)
class _MergeWork:
    """One merge, planned again and again if need be; answers that were given stay given."""

    workspace: Root
    asked: MergeRequest
    known: dict[str, ConflictAnswer] = field(default_factory=dict)

    # --- the plan --------------------------------------------------------------------------------------------------

    def plan(self) -> MergePlan:
        """What the merge would do to what is there now."""
        past = MergeHistory(self.workspace, self.asked.entity)
        ask = self.asking(past)
        chosen, notes = self._chosen(past)
        head, found = past.head, list[Disagreement]()
        for branch in () if self.asked.drop else chosen:
            head, met = self.join(past, head, branch, ask)
            found += met
        is_joined = head != past.head
        before = past.data.decode(errors="backslashreplace")
        after = past.document(head).text if is_joined else before
        return MergePlan(
            entity=past.entity,
            head=past.head,
            seen=past.digest,
            merged=chosen,
            before=before,
            after=after,
            revision=None if past.head == NOW else past.head,
            digest=past.digest if after == before else bytes_digest(after.encode()),
            usage=FileUsage(size_of(after), limit_of_entity(self.workspace, past.entity)),
            conflicts=tuple(each for each in found if each.taken is None),
            settled=tuple(each for each in found if each.taken is not None),
            notes=notes,
            warnings=self._warnings(before, after) if is_joined and not is_declared(past.entity) else (),
            drop=self.asked.drop,
            dry_run=self.asked.dry_run,
        )

    def asking(self, past: MergeHistory) -> Ask:
        """What is asked of each conflict. Raises ``ConfigError``."""
        to_agent = self.asked.actor is not None
        return partial(self._checked, asking(self.workspace, past, self.asked.precedence, to_agent=to_agent))

    def _checked(self, ask: Ask, found: Disagreement) -> ConflictAnswer:
        """An answer; words that neither side has may be stored, as those of any write."""
        answer, conflict = ask(found), found.conflict
        if isinstance(answer, Version):
            known = {text for side in (conflict.ours, conflict.theirs) if side is not None for text in texts_of(side)}
            texts, asked = [text for text in texts_of(answer) if text not in known], self.asked
            to_agent = asked.actor is not None
            check_threats(texts, self.workspace.config, to_agent=to_agent, allow_secret=asked.allow_secret)
        return answer

    def _chosen(self, past: MergeHistory) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The branches that are meant and not merged yet, the oldest first; and what to say of the others."""
        entity = past.entity
        if not self.asked.branches:
            return tuple(each.revision for each in reversed(open_branches(self.workspace, entity))), ()
        chosen: list[str] = []
        notes: list[str] = []
        for name in dict.fromkeys(self.asked.branches):
            if not is_branch(name):
                raise EditError(
                    f"{name} is no branch of {entity}",
                    code="not_a_branch",
                    hint=f"A branch has a letter, such as 8a: 'catmem branches {entity}' lists them. To go back "
                    f"to an old revision there is catmem restore {entity} {name}.",
                )
            if past.record(name).is_proposal:
                raise gate.on_proposal(entity, name)
            if name in past.bases(past.head, name):
                notes.append(f"{name} was merged or dropped already; 'catmem log {entity}' says when")
            else:
                chosen.append(name)
        return tuple(chosen), tuple(notes)

    def join(self, past: MergeHistory, head: str, branch: str, ask: Ask) -> tuple[str, list[Disagreement]]:
        """The name under which ``past`` has what a head and a branch are together, and what they disagree on."""
        found: list[Disagreement] = []

        def decide(each: Disagreement) -> ConflictAnswer:
            key = repr((each.branch, each.conflict))
            answer = self.known[key] = self.known[key] if key in self.known else ask(each)
            found.append(replace(each, taken=answer))
            return answer

        declared = self.workspace.config.entities.get(past.entity)
        if declared is None:
            settle = settling(past, branch, head, past.base(head, branch), decide)
            data = past.merge(head, branch, settle).text.encode()
        else:
            self._refuse_no_side(declared, past)
            settle = settling(past, branch, head, past.document(past.head), decide)
            data = content_merge(declared, past, head, branch, settle).data
        # The next branch meets what this one has become, with all that led to it.
        joined = f"{head}+{branch}"
        past.put(joined, (head, branch), PERSON, data)
        return joined, found

    def _refuse_no_side(self, declared: DeclaredEntity, past: MergeHistory) -> None:
        """Refuse for an entity without entries what lets no side win."""
        how = self.asked.precedence
        by_agent = how not in (None, "ours", "theirs")  # a list of names is no key
        if by_agent and (declared.content == "text" or how == "both" or callable(how)):
            raise EditError(
                f"conflicts of {past.entity} are settled for one side",
                code="bad_operation",
                hint="Nothing was written. Say --precedence ours or theirs, or write what is to be there, with the "
                f"branches as parents (catmem write {past.entity} FILE --expected {past.head} --merge BRANCH).",
            )

    def _warnings(self, before: str, after: str) -> tuple[str, ...]:
        """What a merge does all the same: it loses nothing because a file is long or an entry looks hostile."""
        found = [*unmerged_warnings(self.asked.entity, after)]
        limit, size = limit_of_entity(self.workspace, self.asked.entity), size_of(after)
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
        attempts, asked = _ATTEMPTS, self.asked
        again = Change(agent=asked.actor or PERSON, op_id=asked.op_id, request=asked.digest)
        while True:
            plan = self.plan()
            is_seen = expected is None or is_view_of(expected, plan.revision, plan.seen)
            first = None if is_seen and plan.merged else made_before(self.workspace.store, asked.entity, again)
            if first is not None:
                return replace(plan, revision=first.revision, digest=first.digest, repeated=True)
            if not is_seen:
                raise stale(plan.entity, str(expected), plan.revision or plan.seen)
            if not plan.merged or (asked.dry_run and plan.conflicts):
                return plan
            if plan.conflicts:
                raise _undecided(plan)
            attempts -= 1
            try:
                return self._commit(trying, plan)
            except (StaleError, DriftError) as error:
                # What was written meanwhile is merged too. Strict roots refuse an external writer once.
                strict = error.code == "drift" and self.workspace.config.on_drift == "refuse"
                if not attempts or strict or error.code not in {"stale_prev", "drift"}:
                    raise

    def _commit(self, trying: Attempt, plan: MergePlan) -> MergePlan:
        asked, text = self.asked, plan.after.encode()
        done = "dropped" if plan.drop else "merged"
        change = Change(
            op="merge",
            agent=asked.actor or PERSON,
            op_id=asked.op_id,
            request=asked.digest,
            note={"target": parts_of(plan.entity).target, "actor": asked.actor, done: list(plan.merged)},
            # Whatever is there is merged by entry here already.
            on_drift=self.workspace.config.on_drift_of_texts,
            merges=plan.merged,
        )

        def update(now: Current) -> bytes:
            is_unseen = asked.actor is not None and (asked.session is not None or asked.expected is None)
            if is_unseen and not plan.drop and (plan.settled or not is_declared(plan.entity)):
                refuse_unshown(self.workspace, plan.entity, now.data, text, asked.session)
            return now.data if plan.drop else text

        # What is in no record yet has no name but its digest.
        written = trying.commit(plan.revision or plan.seen, update, change)
        notes = notes_on(written, plan.notes)
        return replace(plan, revision=written.revision, digest=written.digest, notes=notes)


def plan_merge(workspace: Root, asked: MergeRequest) -> MergePlan:
    """What a merge would do; nothing is written, and what is not decided stands in the plan. See ``merge``."""
    return _MergeWork(workspace, replace(asked, entity=entity_of(workspace, asked.entity))).plan()


def merge(workspace: Root, asked: MergeRequest) -> MergePlan:
    """Bring branches together with the head, as one revision that has them all as parents."""
    entity, actor, prev = str(asked.entity), asked.actor, asked.expected
    with Attempt(workspace, entity, "merge", actor or PERSON, prev, asked.dry_run) as trying:
        if actor is not None:
            _refuse_merging(workspace, entity, actor)
        trying.entity = entity_of(workspace, entity)
        if asked.drop and asked.precedence is not None:
            raise EditError(
                "precedence decides conflicts, and drop takes nothing from the branches",
                code="bad_operation",
                hint="Nothing was written. Give one of the two.",
            )
        return _MergeWork(workspace, replace(asked, entity=trying.entity)).run(trying, checked_expected(prev))


def _refuse_merging(workspace: Root, entity: str, actor: str) -> None:
    """Refuse a profile that may not merge: files one below tier 1, a declared entity one that may not write it."""
    if ":" not in entity:
        refuse_bounded(workspace, actor, "merge branches")
    elif not writes_entity(declared_of(workspace, entity, profile := workspace.profile(actor)), profile):
        raise ForbiddenError(f"{actor} may not write to {shown(entity)}", hint="It may only read it.")


def _undecided(plan: MergePlan) -> MergeConflictError:
    count = len(plan.conflicts)
    what = counted(count, "place") if is_declared(plan.entity) else counted(count, "entry", "entries")
    return MergeConflictError(
        f"{what} {plural(count, 'was', 'were')} changed on both sides: in {plan.entity}, and in "
        f"{', '.join(plan.merged)}",
        conflicts=jsonable(plan.conflicts),
        found=plan.head,
        hint="Nothing was written. Say who wins (--precedence ours for the file, theirs for the branch, both, or "
        "AGENT,AGENT), decide one by one (--interactive), or write a declared entity anew (catmem write ENTITY FILE "
        f"--expected {plan.head} --merge BRANCH).",
    )


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
    """What was merged, one revision an entity, and which branches were left."""

    merged: tuple[MergePlan, ...]
    left: tuple[LeftBranch, ...]
    unreadable: tuple[CatmemError, ...]
    dry_run: bool


def merge_all(
    workspace: Root, *, precedence: HowDecided = None, actor: str | None = None, dry_run: bool = False
) -> JoinedAll:
    """Merge every open branch of a root that merges by itself, the oldest of an entity first."""
    if actor is not None:
        refuse_bounded(workspace, actor, "merge branches")
    files, _, wrong = entities_of_each(workspace)
    unreadable = [*wrong]
    merged: list[MergePlan] = []
    left: list[LeftBranch] = []
    for entity in (*files, *workspace.config.entities):
        with collect_errors(unreadable):
            free, others = _free(workspace, entity, precedence)
            left += others
            if not free:
                continue
            try:
                merged.append(merge(workspace, MergeRequest(entity, free, precedence, actor=actor, dry_run=dry_run)))
            except CatmemError as error:  # another write came between
                left += [LeftBranch(entity, name, error=error) for name in free]
    return JoinedAll(tuple(merged), tuple(left), tuple(unreadable), dry_run)


def _free(workspace: Root, entity: str, precedence: HowDecided) -> tuple[list[str], list[LeftBranch]]:
    """The branches of an entity that merge by themselves, each after those before it, and those that do not."""
    names = [each.revision for each in reversed(open_branches(workspace, entity))]
    if not names:
        return [], []
    work, past = _MergeWork(workspace, MergeRequest(entity, names, precedence)), MergeHistory(workspace, entity)
    head, free, left = past.head, list[str](), list[LeftBranch]()
    for name in names:
        try:
            joined, found = work.join(past, head, name, work.asking(past))
        except (StoreError, UnknownRevisionError):
            raise  # the history lacks what it has to have, so none of its branches is merged
        except CatmemError as error:
            left.append(LeftBranch(entity, name, error=error))
            continue
        conflicts = tuple(each for each in found if each.taken is None)
        if conflicts:
            left.append(LeftBranch(entity, name, conflicts))
        else:
            free.append(name)
            head = joined
    return free, left


# --- a recovery copy held against the file it was made of: what the file lacks of it, and how that comes back --------
#
# Entries are only added, and tags set: no word of the file goes. What the file says in other words gets both wordings,
# of which a person removes one.


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry of the copy that the file lacks, or has in other words or with other tags: then that is ``now``.

    ``number`` counts the entries of the copy, so that it stays the same whatever the file has by now.
    """

    number: int
    copy: Entry
    now: Entry | None

    @property
    def state(self) -> str:
        """``missing`` or ``changed``."""
        return "missing" if self.now is None else "changed"

    def __json__(self) -> dict[str, Any]:
        copy, now = ({"body": each.body, "tags": each.tags} if each else None for each in (self.copy, self.now))
        place = {"number": self.number, "state": self.state, "category": self.copy.category}
        return {**place, "copy": copy, "file": now}

    def operation(self) -> Operation:
        """What brings it over."""
        if self.now is not None and self.now.body == self.copy.body:
            return Operation("replace", old_text=self.now.id, category=self.now.category, tags=self.copy.tags)
        tags = {"created": None, **self.copy.tags}
        return Operation("add", content=self.copy.body, category=self.copy.category, tags=tags)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a file lacks of a copy of ``count`` entries. ``digest`` is that of the file, which a write compares.

    ``over`` are the entries of the file for which no agent changes it: longer than the file may be, and not accepted.
    """

    entity: str
    copy: Path
    count: int
    digest: str
    differences: tuple[Difference, ...]
    over: tuple[Entry, ...] = ()

    def accept(self, workspace: Root) -> None:
        """Say as a person that the entries over the limit may stay, so that agents change the file again."""
        note = {ACCEPTED: [text_digest(each) for each in self.over]}
        change = Change(op="accept", agent=PERSON, note=note, keeps_note=True)
        gate.commit(workspace, self.entity, None, lambda current: current.data, change)

    def write_chosen(self, workspace: Root, chosen: Sequence[Difference], *, dry_run: bool = False) -> Written:
        """Write what is chosen as one revision. Raises what ``write_operations`` raises."""
        owner, target = parts_of(self.entity)
        operations = [each.operation() for each in chosen]
        return write_operations(
            workspace, owner, operations, target=target, expected=self.digest, dry_run=dry_run, on_stale="refuse"
        )


def reconcile(workspace: Root, path: str | Path) -> Reconciliation:
    """Hold the copy at ``path`` against its file. Raises ``EditError`` (``not_a_copy``), and as a read does."""
    copy = Path(path)
    name = copied_name(copy.name)
    entity = None if name is None else entity_at(workspace, copy.parent / name)
    if entity is None:
        raise EditError(
            "is no recovery copy of a memory file of this root",
            code="not_a_copy",
            path=copy,
            hint="Give a file such as homes/trinity/USER.md.bak.20261121T120000Z, and with --root the root that it "
            "lies in.",
        )
    data = read_bounded(copy, MAX_FILE_BYTES, follow_symlink=False)
    try:
        old = workspace.parse(data).entries
    except NotUtf8Error as error:
        error.path, error.hint = str(copy), "Nothing was written. Look at it with an editor; catmem reads UTF-8."
        raise
    owner, target = parts_of(entity)
    reading = workspace.read(owner, target)
    now = reading.document.entries
    there = {(entry.category, entry.body) for entry in now}
    pairs = pair_entries(old, now)
    differences: list[Difference] = []
    for index, entry in enumerate(old):
        paired = now[pairs[index]] if index in pairs else None
        if paired is None and (entry.category, entry.body) in there:
            continue  # twice in the copy, and once in the file
        if paired is None or paired.body != entry.body or not entry.tags.items() <= paired.tags.items():
            differences.append(Difference(index + 1, entry, paired))
    limit = limit_of(workspace.profile(owner), target, workspace.config)
    over = unaccepted(reading.document, limit, entity, workspace.store)
    return Reconciliation(entity, copy, len(old), reading.digest, tuple(differences), tuple(over))
