"""A proposal, how it is made, what became of it by the history, and what a caller may know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, starmap
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from catmem import clock
from catmem.config.access import visible_categories
from catmem.config.config import Approval
from catmem.config.json_schema import shown
from catmem.config.profile import ORCHESTRATOR_TIER, Profile
from catmem.errors import CatmemError, ProposalError, UnknownNameError, wrong_type
from catmem.jsonable import jsonable
from catmem.model.document import Document, Version
from catmem.model.pairing import pair_entries
from catmem.names import PURGED, TARGETS, parts_of, slugify
from catmem.prompt.styles import blocked_line
from catmem.staleness.lineage import found_by
from catmem.store.contract import DECISION, PERSON, PROPOSAL, Change, Current, Revision, who, writer_of
from catmem.syntax.tags import write as write_tags
from catmem.workspace.history import entity_of
from catmem.workspace.root import Root, collect_errors, entities_of_each
from catmem.workspace.seen_entry import rules_in, tag_texts
from catmem.writing.gate import Attempt
from catmem.writing.matching import parse_for_write

ProposalState = Literal["waiting", "stale", "approved", "rejected", "withdrawn", "replaced"]
"""``waiting`` for a person; ``stale``: it waits, and an entry that it changes is another one by now; the rest are
ends."""


class ProposedChange(NamedTuple):
    """One entry: as it was when the change was proposed (``None``: not there), and as it would be (``None``: gone).

    ``now`` is the entry as it is by now where it is another one, ``None`` where it is gone; else it is ``before``.
    Where the file has the proposed words by now, it is the entry with these.
    """

    before: Version | None
    after: Version | None
    now: Version | None

    @property
    def __json__(self) -> str:
        return "category stale=is_stale before=before.text after=after.text now=now.text verifies"

    @property
    def verifies(self) -> bool:
        """Whether a person's approval counts as a verification: it gives a verified fact other words."""
        if self.before is None or self.after is None or self.before.body == self.after.body:
            return False
        return "verified_date" in self.before.tags and "verified_date" not in self.after.tags

    @property
    def approved(self) -> Version | None:
        """The entry as a person's approval of today writes it."""
        if self.after is None or not self.verifies:
            return self.after
        text = write_tags({"verified_date": clock.today().isoformat(), **self.after.tags}, self.after.body)
        return Version.read(self.after.category, text)

    @property
    def is_stale(self) -> bool:
        """Whether the entry is another one by now, or the words that were proposed were purged."""
        if self.after is not None and self.after.text == PURGED:
            return True
        if self.before is None:
            return self.now is not None
        return self.now is None or not self.now.same_as(self.before)

    @property
    def category(self) -> str:
        """Where the entry would be, or was."""
        side = self.after or self.before
        return "" if side is None else side.category

    @property
    def place(self) -> str:
        """The category for people, both for an entry that moves."""
        return " to ".join(dict.fromkeys(side.category for side in (self.before, self.after) if side is not None))

    @property
    def categories(self) -> set[str]:
        """Every category that the change touches."""
        return {side.category for side in (self.before, self.after) if side is not None}


class ProposalDecision(NamedTuple):
    """How a proposal ended: the ``verdict``, by whom and when, the ``reason`` that was given, and the revision.

    ``words`` is the entry as a person wrote it instead, ``None`` where it was approved as it was proposed.
    """

    verdict: ProposalState
    by: str
    timestamp: str
    reason: str | None
    revision: str
    words: Version | None = None

    @property
    def __json__(self) -> str:
        return "verdict by timestamp reason revision words=words.text"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A write that waits, or waited.

    ``revision`` is the branch that holds it, ``base`` the revision that it was made on. ``agent`` is who proposed it,
    ``reason`` and ``evidence`` what it gave for it, ``timestamp`` when.
    """

    id: str
    entity: str
    revision: str
    base: str
    agent: str
    person: str | None
    reason: str | None
    evidence: tuple[str, ...]
    timestamp: str
    changes: tuple[ProposedChange, ...]
    state: ProposalState
    decision: ProposalDecision | None = None

    @property
    def is_open(self) -> bool:
        """Whether it can be decided still."""
        return self.decision is None

    @property
    def who(self) -> str:
        """Who proposed it, for people."""
        return who(self.agent, self.person)

    @property
    def categories(self) -> set[str]:
        """Every category that it touches."""
        return {name for change in self.changes for name in change.categories}


# --- reading -------------------------------------------------------------------------------------------------------


def proposals(
    workspace: Root, entity: str | None = None, *, actor: str | None = None, ended: bool = False
) -> tuple[list[Proposal], tuple[CatmemError, ...]]:
    """The proposals that wait, or also those that ``ended``, of an entity, a profile or all, the oldest first.

    Behind them stands why entities could not be looked at, for a person.
    """
    acting = None if actor is None else workspace.profile(actor)
    found: list[Proposal] = []
    names, unreadable = _entities(workspace, entity, acting)
    for name in names:
        try:
            reader = ProposalReader(workspace, name)
            there = [*reader.open(), *(reader.past() if ended else ())]
        except CatmemError as error:
            if parts_of(name).owner == actor:
                raise
            unreadable.append(error)
            continue
        found += [each for each in there if _is_shown(workspace, each, acting)]
    return sorted(found, key=lambda each: (each.timestamp, each.id)), tuple(unreadable) if not actor else ()


def proposal(workspace: Root, name: str, *, actor: str | None = None) -> Proposal:
    """The proposal with the id ``name``, whether it waits or not; ``actor`` is as for ``proposals``."""
    if not isinstance(name, str):
        raise wrong_type("the id of a proposal", name)
    acting = None if actor is None else workspace.profile(actor)
    entities, unreadable = _entities(workspace, None, acting)
    for entity in entities:
        with collect_errors(unreadable):
            found = ProposalReader(workspace, entity).find(name)
            if found is not None and _is_shown(workspace, found, acting):
                return found
    if unreadable and acting is None:
        raise unreadable[0]
    raise unknown_proposal(name, actor)


def unknown_proposal(name: str, actor: str | None) -> UnknownNameError:
    """The error for a proposal that is not there, for ``actor``."""
    lists = "'catmem proposals' lists those that wait." if actor is None else "Without an id yours are listed."
    return UnknownNameError(f"there is no proposal {shown(name)}", code="unknown_proposal", hint=lists)


def _entities(workspace: Root, entity: str | None, acting: Profile | None) -> tuple[Iterable[str], list[CatmemError]]:
    """The entities to look at, and the profiles that are not right: they hide no other."""
    if entity is not None:
        entity_of(workspace, entity)  # which says so if it is none
        both = "/" not in entity and ":" not in entity
        names = [entity_of(workspace, f"{entity}/{each}" if both else entity) for each in ("user", "memory")]
        return dict.fromkeys(names), []
    if acting is None or acting.may_approve or acting.tier == ORCHESTRATOR_TIER:
        files, _, wrong = entities_of_each(workspace)
        return [*files, *workspace.config.entities], [*wrong]
    return [f"{acting.name}/user", f"{acting.name}/memory"], []


def _is_shown(workspace: Root, found: Proposal, acting: Profile | None) -> bool:
    if acting is None:
        return True
    # What was brought up for it to another's file shows entries that it may not see.
    is_at_home = acting.tier == ORCHESTRATOR_TIER or parts_of(found.entity).owner == acting.name
    return (found.agent == acting.name and is_at_home) or may_decide(workspace, found, acting)


def may_decide(workspace: Root, found: Proposal, acting: Profile) -> bool:
    """Whether a profile may approve in every category of a proposal."""
    selectors = acting.approvable(workspace.config.taxonomy)
    return bool(found.changes) and all(map(selectors.matches, found.categories))


class ProposalReader:
    """The proposals of one entity, as its history has them now."""

    def __init__(self, workspace: Root, entity: str) -> None:
        """Nothing is read yet."""
        self.entity = entity
        self._workspace = workspace
        self._store = workspace.store
        self._documents: dict[str | None, Document] = {}

    def open(self) -> list[Proposal]:
        """Those that nothing follows."""
        return [self.read(each, None) for each in self.tips()]

    def tips(self, agent: str | None = None) -> list[Revision]:
        """The branches that hold those of an agent, or of all."""
        found = (each for each in self._store.branches(self.entity) if each.is_proposal)
        return [each for each in found if agent in {None, writer_of(each)}]

    def find(self, name: str) -> Proposal | None:
        """The one with an id."""
        ended = (each for each in self._ended() if each[0].is_proposal and each[0].note[PROPOSAL].get("id") == name)
        return next(starmap(self.read, ended), None)

    def past(self, agent: str | None = None) -> Iterator[Proposal]:
        """Those of an agent, or of all, that wait no more, the newest first."""
        for revision, after in self._ended():
            if after is not None and revision.is_proposal and agent in {None, writer_of(revision)}:
                yield self.read(revision, after)

    def _ended(self) -> Iterator[tuple[Revision, Revision | None]]:
        """Each revision, the newest first, with the one that came of it."""
        following: dict[str, Revision] = {}
        for revision in self._store.log(self.entity):
            yield revision, following.get(revision.revision)
            for parent in revision.parents:
                if PROPOSAL in revision.note or DECISION in revision.note:
                    following[parent] = revision

    def read(self, revision: Revision, after: Revision | None) -> Proposal:
        """The proposal that a branch is; ``after`` is the revision that came of it."""
        said = revision.note[PROPOSAL]
        base = str(said["base"])
        actions = revision.note.get("actions", ())
        names = [action.get("action") for action in actions]
        head = None if after else self.document(None)
        changes = changes_of(self.document(base), self.document(revision.revision), head, names)
        decision = None if after is None else self._decision(after)
        state: ProposalState = "waiting"
        if decision is not None:
            state = decision.verdict
        elif not changes or any(change.is_stale for change in changes):
            state = "stale"
        person = revision.note.get("person")
        return Proposal(
            id=str(said["id"]),
            entity=self.entity,
            revision=revision.revision,
            base=base,
            agent=writer_of(revision),
            person=person if isinstance(person, str) else None,
            reason=revision.note.get("reason"),
            evidence=tuple(dict.fromkeys(each["evidence"] for each in actions if "evidence" in each)),
            timestamp=revision.timestamp,
            changes=changes,
            state=state,
            decision=decision,
        )

    def document(self, revision: str | None) -> Document:
        """What the file says at a revision, ``None`` for now. Raises ``DriftError`` for what is no text."""
        if revision not in self._documents:
            data = self._store.read(self.entity, revision).data
            self._documents[revision] = parse_for_write(self._workspace.parse, self.entity, data)
        return self._documents[revision]

    def _decision(self, after: Revision) -> ProposalDecision:
        """How a proposal ended by the revision that came of it."""
        said, words = after.note.get(DECISION, {"verdict": "replaced"}), None
        if said.get("reworded"):
            document = self.document(after.revision)
            made = [found_by(document, action) for action in after.note.get("actions", ())]
            words = next((Version.from_entry(entry) for entry in made if entry is not None), None)
        return ProposalDecision(said["verdict"], after.who, after.timestamp, said.get("reason"), after.revision, words)


def changes_of(
    base: Document, branch: Document, head: Document | None, actions: Sequence[object] = ()
) -> tuple[ProposedChange, ...]:
    """What a branch changes of its base, entry by entry; ``head`` (``None``: the base) says what those are now."""
    was, would, there = Version.of_each(base, branch, base if head is None else head)
    pairs = pair_entries(was, would)
    gone = [index for index in range(len(was)) if index not in pairs]
    taken = set(pairs.values())
    come = [index for index in range(len(would)) if index not in taken]
    if gone and len(gone) == len(come) and set(actions) <= {"replace", "move"}:
        pairs |= dict(zip(gone, come, strict=True))  # other words altogether, in the place of these
        come = []
    changed = [index for index in range(len(was)) if index not in pairs or not was[index].same_as(would[pairs[index]])]
    now = _now(was, there, changed)
    # What has the proposed words by now would be made one with it, tags and all, and no one was shown that.
    before = {version[:2] for version in was}
    twins = {version[:2]: version for version in there if version[:2] not in before}
    found = [ProposedChange(was[each], would[pairs[each]] if each in pairs else None, now[each]) for each in changed]
    # One of two that say the same goes since the other stays: when that one has gone, it is another matter.
    found = [each._replace(now=None) if _was_one_of_two(each, was, there) else each for each in found]
    found += [ProposedChange(None, would[each], None) for each in come]
    return tuple(each._replace(now=twins.get(each.after[:2], each.now)) if each.after else each for each in found)


def _was_one_of_two(change: ProposedChange, was: Sequence[Version], head: Sequence[Version]) -> bool:
    """Whether another entry said the words of one that is to go, and no two do any more."""
    if change.before is None or change.after is not None:
        return False
    words = sorted(slugify(change.before.body).split("-"))
    before, now = (sum(sorted(slugify(each.body).split("-")) == words for each in side) for side in (was, head))
    return before > 1 >= now


def _now(was: Sequence[Version], head: Sequence[Version], changed: Sequence[int]) -> dict[int, Version | None]:
    """What some entries of the base are in the head: the very same where it is there, else what became of it."""
    if not changed:
        return {}
    # Another entry in the same words takes no place of one that is as it was.
    there = {version[:2]: version for version in head}
    same = {version.key: version for version in head}
    pairs = pair_entries(was, head)
    became = {index: head[pairs[index]] if index in pairs else None for index in changed}
    return {index: same.get(was[index].key) or there.get(was[index][:2], became[index]) for index in changed}


# --- what a caller may know: a person all; a profile its own, and those that it may approve --------------------------
#
# Nothing shows a profile that there are others: it is not given the branch that holds a proposal, whose name counts
# all. Of its own it is shown the texts that it may see now, without what a prompt would withhold.


MOST_PAST = 20
"""Of its own that wait no more, a profile is shown so many."""


def disclosed_all(
    workspace: Root, actor: str | None, *, own: bool = False
) -> tuple[list[dict[str, Any]], tuple[CatmemError, ...]]:
    """The proposals that wait, the oldest first; for a profile behind them its own that ended, the newest first."""
    found, unreadable = proposals(workspace, actor=actor)
    waiting = [each for each in found if not own or each.agent == actor]
    readers = [ProposalReader(workspace, f"{actor}/{target}") for target in TARGETS] if actor is not None else []
    past = [each for reader in readers for each in islice(reader.past(actor), MOST_PAST)]
    past.sort(key=lambda each: each.decision.timestamp if each.decision else "", reverse=True)
    return [data_for(workspace, each, actor) for each in (*waiting, *past[:MOST_PAST])], unreadable


def disclosed(workspace: Root, name: str, actor: str | None, *, own: bool = False) -> dict[str, Any]:
    """One proposal, also one that was decided. Raises ``UnknownNameError`` (``unknown_proposal``)."""
    found = proposal(workspace, name, actor=actor)
    if own and found.agent != actor:
        raise unknown_proposal(name, actor)
    return data_for(workspace, found, actor)


def data_for(workspace: Root, found: Proposal, actor: str | None) -> dict[str, Any]:
    """A proposal as data, of which ``actor`` is given what it may know."""
    if actor is not None:
        return _disclosed(workspace, found, workspace.profile(actor))
    said: dict[str, Any] = jsonable(found)
    for change, one in zip(found.changes, said["changes"], strict=True):
        one["place"] = change.place
        if found.state == "waiting" and change.approved is not None:
            one["after"] = change.approved.text  # to the letter what a yes writes
    return said


def _disclosed(workspace: Root, found: Proposal, acting: Profile) -> dict[str, Any]:
    sees = _sight(workspace, found, acting)
    changes = [_changed(change, sees) for change in found.changes]
    # That it is stale is for those who see why.
    hides_stale = found.state == "stale" and not any(change["stale"] for change in changes)
    ended = found.decision
    why = None if ended is None or ended.reason is None else safe_text(ended.reason)
    words = None if ended is None or ended.words is None or not sees(ended.words.category) else _text(ended.words)
    return {
        "id": found.id,
        "entity": found.entity,
        "state": "waiting" if hides_stale else found.state,
        "agent": found.agent,
        "reason": found.reason,
        "timestamp": found.timestamp,
        "changes": changes,
        "decision": ended and {"verdict": ended.verdict, "timestamp": ended.timestamp, "reason": why, "words": words},
    }


def _sight(workspace: Root, found: Proposal, acting: Profile) -> Callable[[str], bool]:
    """Which categories the profile may be shown of a proposal, by its rights of now."""
    taxonomy, target = workspace.config.taxonomy, parts_of(found.entity).target
    if found.agent != acting.name:
        return acting.approvable(taxonomy).matches
    return lambda category: category in visible_categories((category,), target, acting, taxonomy)


def _changed(change: ProposedChange, sees: Callable[[str], bool]) -> dict[str, Any]:
    sides = zip(("before", "after", "now"), change, strict=True)
    texts = {name: _text(side) if side is not None and sees(side.category) else None for name, side in sides}
    places = dict.fromkeys(side.category for side in change[:2] if side is not None and sees(side.category))
    is_stale = change.is_stale and all(map(sees, change.categories))
    return {"category": change.category, "place": " to ".join(places), "stale": is_stale, **texts}


def _text(version: Version) -> str:
    return safe_text(version.text, version.body, *tag_texts(version.tags))


def safe_text(text: str, *parts: str) -> str:
    """A text, or the line that says why it is withheld."""
    rules = rules_in([text, *parts])
    return blocked_line(", ".join(rules)) if rules else text


# --- making one of a write that waits, with what keeps proposals from piling up ------------------------------------


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
