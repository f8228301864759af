"""The branches of an entity, on its past: who made them, what a merge of each would do, and who wins a conflict.

The past is its revisions and what they say, each read once, and what is ahead of them. Of a conflict a side wins, both
stay, a ranking of agents decides, or a person does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, Literal, TypeAlias

from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import profile_names
from catmem.digest import bytes_digest
from catmem.entities.contents import ContentConflict, MergedContent, Settle, merge_contents, says_at
from catmem.errors import CatmemError, ConfigError, DriftError, EditError, UnreadableError, wrong_type
from catmem.model.document import Document, Version
from catmem.model.merge import Conflict, Merge, Precedence, Side, merge_linked
from catmem.model.pairing import Links, equal_entries, pair_entries
from catmem.staleness.freshness import unverified
from catmem.store.contract import EXTERNAL, PERSON, Revision, merge_bases, unknown_revision, who
from catmem.syntax import tags as tag_blocks
from catmem.workspace.history import entity_of
from catmem.workspace.root import Root, collect_errors, entities_of_each
from catmem.writing.matching import parse_for_write

_LONGEST_WAY = 256
"""So many revisions are looked through at most for what became of an entry; beyond, the texts alone tell."""

NOW = "now"
"""The name of what is there and in no record yet."""


class MergeHistory:
    """What one merge looks at. Revisions that are not recorded yet can stand before the others."""

    def __init__(self, workspace: Root, entity: str) -> None:
        """The past as the store has it now. ``head`` names what is there, ``data`` are its bytes."""
        self.entity = entity
        self._store, self._parse = workspace.store, workspace.parse
        now, head = self._store.read(entity), self._store.head(entity)
        self.data, self.digest = now.data, now.digest
        self._rest = self._store.log(entity)
        self._recorded: list[Revision] = []
        self._ahead: list[Revision] = []
        self._by_name: dict[str, Revision] = {}
        self._documents: dict[str, Document] = {}
        # Many branches have the same past, so what was found out of it serves all of them.
        self._bases: dict[tuple[str, str], list[str]] = {}
        self._steps: dict[str, Links] = {}
        self.head = now.revision if now.revision is not None else NOW
        if now.revision is None:
            self.put(NOW, () if head is None else (head.revision,), EXTERNAL, now.data)

    def put(self, name: str, parents: tuple[str, ...], agent: str, data: bytes) -> None:
        """Set a revision that is not recorded before all others."""
        document = parse_for_write(self._parse, self.entity, data)
        newest = next(self.log(), None)
        revision = Revision(
            entity=self.entity,
            revision=name,
            parents=parents,
            sequence=1 if newest is None else newest.sequence + 1,
            timestamp="",
            op="merge",
            agent=agent,
            op_id="",
            digest=bytes_digest(data),
            size=len(data),
        )
        self._ahead.insert(0, revision)
        self._by_name[name] = revision
        self._documents[name] = document

    def log(self) -> Iterator[Revision]:
        """All revisions, the newest first, each read from the store once."""
        yield from list(self._ahead)
        for place in count():
            if place == len(self._recorded):
                revision = next(self._rest, None)
                if revision is None:
                    return
                self._recorded.append(revision)
                self._by_name[revision.revision] = revision
            yield self._recorded[place]

    def record(self, name: str) -> Revision:
        """One revision. Raises ``UnknownRevisionError``."""
        if name not in self._by_name and all(each.revision != name for each in self.log()):
            raise unknown_revision(self.entity, name)
        return self._by_name[name]

    def document(self, name: str) -> Document:
        """What a revision says. Raises ``DriftError`` for what is no text, and ``UnknownRevisionError``."""
        if name not in self._documents:
            data = self.data if name == self.head else self._store.read(self.entity, name).data
            self._documents[name] = parse_for_write(self._parse, self.entity, data)
        return self._documents[name]

    def bases(self, one: str, other: str) -> list[str]:
        """The best common ancestors of two revisions."""
        if (one, other) not in self._bases:
            self._bases[one, other] = merge_bases(self.log(), one, other)
        return self._bases[one, other]

    def base(self, one: str, other: str) -> Document:
        """What two revisions come from. Raises ``EditError`` (``not_possible``) if that is several, none the newer."""
        names = self.bases(one, other)
        if len(names) > 1:
            raise EditError(
                f"{one} and {other} of {self.entity} were merged crosswise, and come from {' and '.join(names)} alike",
                code="not_possible",
                hint="Nothing was written. Write what is to be there, and drop the branch (--drop).",
            )
        return self.document(names[0]) if names else self._parse(b"")

    def merge(self, one: str, other: str, precedence: Precedence | None = None) -> Merge:
        """The merge of two revisions. Raises ``DriftError`` for what is no text; ``EditError`` (``not_possible``)."""
        base, ours, theirs = self.base(one, other), self.document(one), self.document(other)
        bases = self.bases(one, other)
        links = (self._links(bases[0], one), self._links(bases[0], other)) if bases else (None, None)
        return merge_linked(base, ours, theirs, links, precedence=precedence)

    def _links(self, base: str, tip: str) -> Links | None:
        """What became of the entries of ``base`` on the way to ``tip``, as far as the records of the edits tell."""
        names = self._way(base, tip)
        if names is None:
            return None
        links: dict[int, int | None] = {index: index for index in range(len(self.document(base).entries))}
        for before, name in pairwise(names):
            if name not in self._steps:
                self._steps[name] = _step(self.document(before), self.document(name), self.record(name).note)
            step = self._steps[name]
            links = {
                index: None if place is None else step[place]
                for index, place in links.items()
                if place is None or place in step
            }
        return links

    def _way(self, base: str, tip: str) -> list[str] | None:
        """The revisions from ``base`` to ``tip`` by first parents; ``None`` if these lead elsewhere, or are many."""
        names = [tip]
        while names[-1] != base:
            parents = self.record(names[-1]).parents
            if not parents or len(names) == _LONGEST_WAY:
                return None
            names.append(parents[0])
        return names[::-1]

    def last_change(self, tip: str, so: Callable[[Document], bool]) -> Revision:
        """The oldest revision from which on something was so without a break, along any line that leads to ``tip``."""
        revision = self.record(tip)
        while True:
            before = next((name for name in revision.parents if self._was(so, name)), None)
            if before is None:
                return revision
            revision = self.record(before)

    def _was(self, so: Callable[[Document], bool], name: str) -> bool:
        try:
            return so(self.document(name))
        except CatmemError:
            return False  # it is no longer kept, or says nothing that can be read


def _step(before: Document, after: Document, note: Mapping[str, Any]) -> Links:
    """What became of the entries of one revision in the next: by its actions, else by what is sure without them."""
    pairs: dict[int, int | None] = {**equal_entries(before.entries, after.entries)}
    put = set(pairs.values())
    gone = [index for index in range(len(before.entries)) if index not in pairs]
    come = [index for index in range(len(after.entries)) if index not in put]
    actions = note.get("actions", ())
    is_one = len(actions) == 1 and "envelope" not in note  # of several, none tells which entry it was made on
    if is_one and actions[0]["action"] == "replace" and len(gone) == len(come) == 1:
        pairs[gone[0]] = come[0]
    elif come and not is_one:
        return pair_entries(before.entries, after.entries)
    return {index: pairs.get(index) for index in range(len(before.entries))}


# --- the branches -----------------------------------------------------------------------------------------------------


BranchState = Literal["merges", "conflicts", "nothing new", "unreadable"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that is not merged yet; ``state`` says what a merge would do.

    ``base`` is the newest revision that it has in common with the head (``None``: nothing), ``entries`` the number of
    entries in which it differs from that.
    """

    entity: str
    revision: str
    parents: tuple[str, ...]
    base: str | None
    agent: str
    op: str
    timestamp: str
    entries: int | None
    conflicts: int | None
    state: BranchState
    person: str | None = None

    @property
    def who(self) -> str:
        """Who made it, for people: the agent, or the name of the person."""
        return who(self.agent, self.person)


def branches(workspace: Root, entity: str | None = None) -> list[Branch]:
    """The branches of an entity, or of all, that nothing follows; of each entity the newest first. For a person."""
    if entity is not None:
        return _of_entity(workspace, entity_of(workspace, entity))
    found, unreadable = branches_of_all(workspace)
    for error in unreadable:
        raise error
    return found


def branches_of_all(
    workspace: Root, files: Iterable[str] | None = None
) -> tuple[list[Branch], tuple[CatmemError, ...]]:
    """Those of all, and what could not be looked at; ``files`` are the files that have branches, if that is known."""
    names, _, wrong = entities_of_each(workspace)
    found: list[Branch] = []
    unreadable = [*wrong]
    for entity in (*(names if files is None else files), *workspace.config.entities):
        with collect_errors(unreadable):
            found += _of_entity(workspace, entity)
    return found, tuple(unreadable)


def _of_entity(workspace: Root, entity: str) -> list[Branch]:
    found, declared = open_branches(workspace, entity), workspace.config.entities.get(entity)
    if not found:
        return []
    past = MergeHistory(workspace, entity)
    return [_branch(past, revision, declared) for revision in found]


def open_branches(workspace: Root, entity: str) -> Sequence[Revision]:
    """The branches of an entity that nothing follows, the newest first; without those that wait as proposals."""
    return [each for each in workspace.store.branches(entity) if each.is_branch and not each.is_proposal]


def _branch(past: MergeHistory, revision: Revision, declared: DeclaredEntity | None) -> Branch:
    name, entries, conflicts = revision.revision, None, None
    state: BranchState = "unreadable"
    try:
        state, conflicts = _outlook(past, name, declared)
        entries = None if declared else differing(past.base(past.head, name), past.document(name))
    except (DriftError, EditError, UnreadableError):  # one of them is no text, or no JSON: the state says so
        pass
    return Branch(
        entity=past.entity,
        revision=name,
        parents=revision.parents,
        base=next(iter(past.bases(past.head, name)), None),
        agent=revision.agent,
        op=revision.op,
        timestamp=revision.timestamp,
        entries=entries,
        conflicts=conflicts,
        state=state,
        person=revision.person,
    )


def _outlook(past: MergeHistory, branch: str, declared: DeclaredEntity | None) -> tuple[BranchState, int]:
    try:
        if declared:
            content = content_merge(declared, past, past.head, branch)
            conflicts, is_same = len(content.conflicts), content.data == past.data
        else:
            merged = past.merge(past.head, branch)
            conflicts, is_same = len(merged.conflicts), merged.text == past.document(past.head).text
    except EditError:
        return "conflicts", 1  # no text says what was merged, so a person has to bring the two together
    return "conflicts" if conflicts else "nothing new" if is_same else "merges", conflicts


def content_merge(
    declared: DeclaredEntity, past: MergeHistory, one: str, other: str, settle: Settle = lambda _: None
) -> MergedContent:
    """The merge of two revisions of a declared entity. Raises ``UnreadableError``, and ``DriftError`` for no text."""
    bases = past.bases(one, other)
    # Where they have several origins none of these alone tells what a side changed.
    base = past.document(bases[0]).to_bytes() if len(bases) == 1 else None
    ours, theirs = (past.document(name).to_bytes() for name in (one, other))
    return merge_contents(declared, base, ours, theirs, settle)


def differing(one: Document, other: Document) -> int:
    """In how many entries two documents differ: changed, added or removed."""
    before, after = Version.of_each(one, other)
    pairs = pair_entries(before, after)
    changed = sum(not before[here].same_as(after[there]) for here, there in pairs.items())
    return changed + len(before) + len(after) - 2 * len(pairs)


def branch_of(workspace: Root, entity: str, branch: str) -> Branch:
    """A branch, open or closed, as it stands to the head. Raises ``UnknownNameError``, ``UnknownRevisionError``."""
    name = entity_of(workspace, entity)
    past = MergeHistory(workspace, name)
    revision = past.record(branch)
    if not revision.is_branch:
        raise unknown_revision(name, branch)
    return _branch(past, revision, workspace.config.entities.get(name))


# --- who wins a conflict ----------------------------------------------------------------------------------------------


ConflictAnswer: TypeAlias = Side | Literal["both"] | Version | None
"""What becomes of a conflict: a side wins, both stay, this stands instead, or it stays open."""

_BOTH_FIT = frozenset({"body", "removed"})
"""The reasons for which a text can hold both sides; of two tags, categories or titles it holds one, that of ours."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A conflict between the head and the branch ``branch``, with the revisions that made the two sides.

    The ``conflict`` is a ``Conflict``, in a declared entity a ``ContentConflict``. ``taken`` is what became of it.
    """

    conflict: Any
    branch: str
    ours: Revision
    theirs: Revision
    taken: ConflictAnswer = None

    def __json__(self) -> dict[str, Any]:
        """The disagreement as JSON-ready data; ``category`` may be a place: a JSON pointer, or lines."""
        sides = {name: getattr(self.conflict, name) for name in ("base", "ours", "theirs")}
        if isinstance(self.conflict, Conflict):
            reason: str = self.conflict.reason
            where = next((side.category for side in sides.values() if side), "")
            sides = {name: side and side.text for name, side in sides.items()}
        else:
            reason, where = "content", self.conflict.place
        by = {"ours_by": self.ours.agent, "theirs_by": self.theirs.agent}
        taken = {} if self.taken is None else {"taken": self.taken if isinstance(self.taken, str) else "edited"}
        return {"branch": self.branch, "reason": reason, "category": where, **sides, **by, **taken}


Ask: TypeAlias = Callable[[Any], ConflictAnswer]
"""Says what becomes of each conflict."""

HowDecided: TypeAlias = Literal["ours", "theirs", "both"] | Sequence[str] | Ask | None
"""What a caller may say of conflicts: one word for all, the names of agents, the first before all others, a function
that is asked of each, or nothing."""


def asking(workspace: Root, past: MergeHistory, how: HowDecided, *, to_agent: bool) -> Ask:
    """The function that ``how`` stands for. Raises ``ConfigError`` (``unknown_agent``)."""
    if callable(how):
        return how
    if how is None:
        return lambda _: None
    if how in ("ours", "theirs", "both"):  # a list of names is no key
        word: Any = how
        return lambda _: word
    given: Any = how
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    if not names or not all(isinstance(each, str) for each in names):
        raise wrong_type("precedence", how, "a word (ours, theirs, both), names of agents or a function")
    _refuse_unknown(workspace, past, names, to_agent=to_agent)
    rank = {name: place for place, name in reversed(list(enumerate(names)))}
    return lambda found: by_rank(found, rank)


def by_rank(found: Disagreement, rank: dict[str, int]) -> Side | None:
    """The side whose agent comes first; of one agent the later change; of two that are not ranked, none."""
    ours, theirs = found.ours, found.theirs
    if ours.agent == theirs.agent:
        return "ours" if ours.sequence > theirs.sequence else "theirs"
    here, there = (rank.get(each.agent, len(rank)) for each in (ours, theirs))
    if here == there:
        return None
    return "ours" if here < there else "theirs"


def _refuse_unknown(workspace: Root, past: MergeHistory, names: Sequence[str], *, to_agent: bool) -> None:
    known = {*profile_names(workspace.config.profiles_dir), PERSON, EXTERNAL}
    if not set(names) <= known:
        known |= {revision.agent for revision in past.log()}
    meant = {*known, "ours", "theirs", "both"}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"there is no agent {shown(name)}: no profile has that name, and no revision of {past.entity} is by it",
                code="unknown_agent",
                # Which profiles there are, is not for all.
                hint="Name agents that the log names." if to_agent else suggestion(name, meant, "words and agents"),
            )


def settling(
    past: MergeHistory, branch: str, head: str, base: Document, decide: Ask
) -> Callable[[Conflict | ContentConflict], Side | Version | None]:
    """``decide`` in the form in which ``catmem.merge`` asks: of both sides it keeps what it can."""

    def settle(conflict: Conflict | ContentConflict) -> Side | Version | None:
        ours = past.last_change(head, _is_so(conflict, "ours", base))
        theirs = past.last_change(branch, _is_so(conflict, "theirs", base))
        answer = decide(Disagreement(conflict, branch, ours, theirs))
        if answer == "both":
            return None if isinstance(conflict, Conflict) and conflict.reason in _BOTH_FIT else "ours"
        return answer

    return settle


def _is_so(conflict: Conflict | ContentConflict, side: Side, base: Document) -> Callable[[Document], bool]:
    """Whether a document says of the entry, or at the place, what one side of a conflict does."""
    if isinstance(conflict, ContentConflict):
        said = getattr(conflict, side)
        return lambda document: says_at(document.to_bytes(), conflict.place) == said
    version: Version | None = getattr(conflict, side)
    if conflict.reason == "title":
        title = None if version is None else version.text
        return lambda document: document.title == title
    if version is not None:
        wanted = version
        return lambda document: any(
            entry.category == wanted.category and entry.body == wanted.body and entry.tags == wanted.tags
            for entry in document.entries
        )
    places = [index for index, entry in enumerate(base.entries) if Version.from_entry(entry) == conflict.base]
    return lambda document: any(index not in pair_entries(base.entries, document.entries) for index in places)


def in_words(conflict: Conflict, words: str) -> Version:
    """The entry with other words, in the place and with the tags of the head's; those are not verified yet."""
    like = next(version for version in (conflict.ours, conflict.theirs) if version is not None)
    body = words.strip()
    tags = unverified(like.tags)
    return Version(like.category, body, tags, tag_blocks.write(tags, body))
