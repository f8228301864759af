"""A root, its profiles and their memory files: the one service that every interface uses.

Each call reads what is there; all that is kept between calls is what was made of the very same bytes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from catmem.config.json_schema import nearest
from catmem.config.profile import one_reading
from catmem.names import TARGETS, known_target
from catmem.workspace.profile_memory import list_documents, read_document
from catmem.workspace.root import Root
from catmem.writing.request import Asking, How, Operation, Request

if TYPE_CHECKING:
    from catmem.entities.contents import EntityContent
    from catmem.envelopes.envelope import Envelope
    from catmem.envelopes.papers import Sender, Sending
    from catmem.merging.branches import Branch
    from catmem.merging.branches import HowDecided as Precedence
    from catmem.merging.merging import HowMerged, JoinedAll, MergePlan
    from catmem.proposals.deciding import Decided
    from catmem.proposals.proposal import Proposal
    from catmem.search.search import Narrowing, SearchHit
    from catmem.seeding.plan import HowSeeded, SeedPlan
    from catmem.store.contract import OnStale
    from catmem.workspace.seen_entry import SeenEntry
    from catmem.writing.written import Written


_W = TypeVar("_W", bound=type)
_KEYWORDS = {
    "How": "writing.request", "Asking": "writing.request", "Narrowing": "search.search",
    "Sending": "envelopes.papers", "HowMerged": "merging.merging", "HowSeeded": "seeding.plan",
}  # fmt: skip
"""Where the keywords of a method are listed, in modules that its call loads."""


def _names_its_calls(cls: _W) -> _W:
    """Have a wrong keyword of a method name that method and the nearest right one, and no class within."""
    for name, method in [*vars(cls).items()]:
        if inspect.isfunction(method) and method.__code__.co_flags & inspect.CO_VARKEYWORDS:
            setattr(cls, name, _named(method))
    return cls


def _named(method: Callable[..., Any]) -> Callable[..., Any]:
    name = next(each[7:-1] for each in method.__annotations__.values() if each.startswith("Unpack["))
    code = method.__code__
    words = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(method)
    def named(*given: Any, **how: Any) -> Any:  # noqa: ANN401 - as the method says
        listed = getattr(import_module(f"catmem.{_KEYWORDS[name]}"), name).__annotations__
        for wrong in how.keys() - {*words, *listed}:
            near = nearest(wrong, [*words, *listed])
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {wrong!r}{hint}")
        return method(*given, **how)

    return named


@_names_its_calls
@dataclass(frozen=True, slots=True)
class Workspace(Root):
    """A root that has been opened. ``Workspace.open`` makes one.

    The writing verbs (``add``, ``replace``, ``remove``, ``move``, ``verify``, and ``write`` for several at once) take
    the profile whose file it is, and by keyword what ``How`` lists: ``expected``, ``actor``, ``dry_run``, ``on_drift``,
    ``on_stale``, ``op_id``. Without a ``target`` an entry that is there is looked for in both files; a write with
    ``expected``, which is of one file, goes to ``user``. Each writes one revision or nothing, and raises ``EditError``
    and its kinds, ``ForbiddenError``, ``UnknownNameError``, ``RefusedError`` and its kinds, ``StoreError``.
    """

    def list(
        self, name: str, *, target: str | None = None, category: str | None = None, as_of: date | None = None
    ) -> list[SeenEntry]:
        """The entries that a profile sees in its own files, ``user`` before ``memory``, each file in its order.

        ``category`` keeps one category (an alias will do); one that the profile does not see lists nothing, as if it
        were not there.
        """
        profile = self.profile(name)
        targets = TARGETS if target is None else (known_target(target),)
        documents = {each: read_document(self, profile, each) for each in targets}
        return list_documents(self, profile, documents, category=category, as_of=as_of)

    def search(self, name: str, query: str, **narrowing: Unpack[Narrowing]) -> Sequence[SearchHit]:
        """The entries that ``query`` finds among those that a profile sees in its own files, or in those of ``source``.

        The best come first. ``query`` is words, of which any is enough, and ``"quoted phrases"``, which are required.
        ``Narrowing`` lists what may be given by keyword: ``target``, ``category``, ``tags``, ``state``, ``limit``,
        ``as_of``, ``source``. Changes nothing, and counts nothing as used. Raises ``QueryError`` and
        ``UnknownNameError``.
        """
        from catmem.search.search import search

        return search(self, name, query, **narrowing).found

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        content: str,
        *,
        category: str | None = None,
        tags: Mapping[str, str | Sequence[str]] | None = None,
        as_of: date | None = None,
        **how: Unpack[How],
    ) -> Written:
        """Add an entry to a profile's file, with the day ``as_of`` (today) as its ``created``.

        Without a ``category`` it goes to the one that the acting profile may write, if that is one; else, in a file
        without section headers, to ``__uncategorized__``. Without a ``target`` it goes to the only file in which the
        profile reads the category, or else that has entries of it; to USER.md if that does not decide. A text that is
        there already is not added again.
        """
        operation = Operation("add", content=content, category=category, tags=_listed(tags), as_of=as_of)
        return self.write(name, [operation], **how)

    def replace(
        self,
        name: str,
        old_text: str,
        content: str | None,
        *,
        category: str | None = None,
        tags: Mapping[str, str | Sequence[str] | None] | None = None,
        **how: Unpack[How],
    ) -> Written:
        """Give the entry that holds ``old_text`` another text; ``None`` keeps it, to change ``tags`` alone.

        ``tags`` are laid over the entry's own, and ``None`` as a value takes one away. ``category`` narrows the search.
        """
        operation = Operation("replace", content, old_text, category, tags=_listed(tags))
        return self.write(name, [operation], **how)

    def remove(self, name: str, old_text: str, *, category: str | None = None, **how: Unpack[How]) -> Written:
        """Remove the entry that holds ``old_text``; ``category`` narrows the search."""
        return self.write(name, [Operation("remove", old_text=old_text, category=category)], **how)

    def move(
        self, name: str, old_text: str, to_category: str, *, category: str | None = None, **how: Unpack[How]
    ) -> Written:
        """Put the entry that holds ``old_text`` into another category; ``category`` narrows the search."""
        operation = Operation("move", old_text=old_text, category=category, to_category=to_category)
        return self.write(name, [operation], **how)

    def verify(
        self,
        name: str,
        old_text: str,
        *,
        category: str | None = None,
        as_of: date | None = None,
        evidence: str | None = None,
        **how: Unpack[How],
    ) -> Written:
        """Say that a fact holds: the entry with ``old_text`` gets the day, not a future one, as its ``verified_date``.

        ``evidence`` is what it was checked against; the record of the revision keeps it.
        """
        operation = Operation("verify", old_text=old_text, category=category, as_of=as_of, evidence=evidence)
        return self.write(name, [operation], **how)

    def write(self, name: str, operations: Sequence[Operation], **how: Unpack[How]) -> Written:
        """Make several operations as one revision, all or none; limits count at its end.

        Each works on what the one before it made. Errors of one say by their ``key`` which it was. ``How`` tells what
        may be given by keyword.
        """
        from catmem.writing.write import write_operations

        return write_operations(self, name, operations, **how)

    def put(
        self,
        entity: str,
        content: Any,  # noqa: ANN401 - any JSON value
        *,
        merges: Sequence[str] = (),
        **how: Unpack[How],
    ) -> Written:
        """Write the whole content of an entity that catmem.yaml declares, a text or any JSON value, as one revision.

        ``expected`` is the revision or digest that it is made on, 0 for the first. ``merges`` are branches that the
        content brings together with what was there: they become its parents too. The rest is as for ``write``. Raises
        ``UnknownNameError``, ``ForbiddenError``, ``EnvelopeError`` for what JSON cannot say, ``EditError``
        (``bad_content``, ``threat``), ``TooLargeError``, ``RefusedError`` and its kinds.
        """
        from catmem.entities.content_write import ContentWrite
        from catmem.writing.write import write

        return write(self, Request(entity, content, merges=tuple(merges), kind=ContentWrite, **how))

    def content(self, entity: str, revision: str | int | None = None) -> EntityContent:
        """The content of an entity that catmem.yaml declares, as it is now or at a revision, and which revision it is.

        Raises ``UnknownNameError``, ``UnknownRevisionError``, ``UnreadableError`` (``not_json``, ``not_utf8``).
        """
        from catmem.entities.contents import EntityContent, content_of
        from catmem.workspace.history import declared_of

        declared = declared_of(self, entity)
        read = self.store.read(entity, None if revision is None else str(revision))
        # Of one reading: the head may be ahead of the file, and a write on it would drop what came between.
        known = read.revision or (read.digest if read.data else "0")
        return EntityContent(content_of(declared, read.data), known)

    def undo(self, entity: str | None = None, **how: Unpack[Asking]) -> Written:
        """Take back the newest revision of an entity, or without one the last that the caller wrote.

        The text before it becomes a new revision. A second ``undo`` goes further back, and the answer's ``notes`` say
        how to make it again. ``expected`` (``How``) is the newest revision. For a person and a tier-1 profile. Raises
        ``EditError`` (``no_undo``), ``ForbiddenError``, ``UnknownNameError`` and ``RefusedError``.
        """
        from catmem.workspace.history import undo

        return undo(self, entity, **how)

    # --- envelopes -------------------------------------------------------------------------------------------------

    def submit(
        self,
        envelope: Envelope | Mapping[str, Any] | str | bytes,
        *,
        confirm: bool = False,
        sender: Sender | None = None,
        on_stale: OnStale | None = None,
    ) -> Written:
        """Make the write of an envelope: an ``Envelope``, its fields, or its JSON text.

        ``confirm`` writes what the root asks to be warned of, and a person's secret. ``sender`` is for
        an interface that knows who sends it: an envelope of another sender is refused. ``on_stale`` is by default what
        catmem.yaml says.

        Each refusal comes in the order of docs/envelopes.md: ``EnvelopeError``, ``RefusedError`` (``role_drift``),
        ``ForbiddenError``, ``OperationCollisionError``, ``StaleError`` and ``UnknownRevisionError``, ``RefusedError``
        (``semantic_collision``), ``DriftError``, ``EditError`` and its kinds. An ``op_id`` seen before with the same
        content gives its first answer again.
        """
        from catmem.envelopes.papers import submit

        with one_reading():
            return submit(self, envelope, confirm=confirm, sender=sender, on_stale=on_stale)

    def envelope(
        self,
        name: str,
        content: Any,  # noqa: ANN401 - what an envelope may hold
        *,
        target: str = "user",
        **how: Unpack[Sending],
    ) -> Envelope:
        """Make an envelope for a profile's file, for ``submit`` here or elsewhere; the file stays as it is.

        ``content`` is operations, or a whole text; where ``name`` is an entity that catmem.yaml declares, its text or
        JSON value. ``Sending`` lists what may be given by keyword. Raises ``EnvelopeError`` for
        what no envelope can hold, ``UnknownNameError`` and ``ConfigError``.
        """
        from catmem.envelopes.papers import make_envelope
        from catmem.workspace.history import entity_of

        entity = entity_of(self, name) if ":" in str(name) else f"{self.profile(name).name}/{known_target(target)}"
        return make_envelope(self, entity, content, **how)[0]

    # --- branches --------------------------------------------------------------------------------------------------

    def branches(self, entity: str | None = None) -> Sequence[Branch]:
        """The branches of an entity (``trinity/user``, or ``trinity`` for that), or of all, that are not merged yet.

        They are for a person. Raises ``UnknownNameError``.
        """
        from catmem.merging.branches import branches

        return branches(self, entity)

    # --- what waits for a person ----------------------------------------------------------------------------------

    def proposals(self, entity: str | None = None, *, actor: str | None = None) -> Sequence[Proposal]:
        """The proposals that wait, of an entity or of all, the oldest first; a profile is shown its own.

        With ``actor`` also those that this profile may approve. Raises ``UnknownNameError`` and what reading raises.
        """
        from catmem.proposals.proposal import proposals

        found, unreadable = proposals(self, entity, actor=actor)
        for error in unreadable:
            raise error
        return found

    def proposal(self, name: str, *, actor: str | None = None) -> Proposal:
        """One proposal by its id, also one that was decided. Raises ``UnknownNameError``."""
        from catmem.proposals.proposal import proposal

        return proposal(self, name, actor=actor)

    def approve(
        self, name: str, *, words: str | None = None, actor: str | None = None, allow_secret: bool = False
    ) -> Decided:
        """Write what a proposal says, or ``words`` in the place of its own, if no entry that it changes has changed.

        Raises ``ProposalError`` (``stale_proposal``, ``decided``), ``ForbiddenError``, ``UnknownNameError``,
        ``OverBudgetError``.
        """
        from catmem.proposals.deciding import approve

        return approve(self, name, words=words, actor=actor, allow_secret=allow_secret)

    def reject(self, name: str, *, reason: str | None = None, actor: str | None = None) -> Decided:
        """Close a proposal; its proposer is shown the ``reason``. A profile withdraws its own.

        Raises what ``approve`` raises.
        """
        from catmem.proposals.deciding import reject

        return reject(self, name, reason=reason, actor=actor)

    # --- branches --------------------------------------------------------------------------------------------------

    def merge(self, entity: str, branches: Sequence[str] = (), **how: Unpack[HowMerged]) -> MergePlan:
        """Bring ``branches`` (``["8a"]``), by default all, together with the head, as one revision.

        ``HowMerged`` lists what may be given by keyword. ``precedence`` is ``"ours"`` (the head), ``"theirs"``,
        ``"both"``, the names of agents, the first before all others, or a function. Raises ``MergeConflictError`` with
        what is not decided, and what ``catmem.merging.merging`` says.
        """
        from catmem.merging.merging import MergeRequest, merge

        return merge(self, MergeRequest(entity, branches, **how))

    def merge_all(self, *, precedence: Precedence = None, actor: str | None = None, dry_run: bool = False) -> JoinedAll:
        """Merge every open branch of the root that merges by itself; those with conflicts are ``left``.

        ``precedence`` is as for ``merge``. Raises ``ForbiddenError`` and ``ConfigError``.
        """
        from catmem.merging.merging import merge_all

        return merge_all(self, precedence=precedence, actor=actor, dry_run=dry_run)

    # --- seeding ---------------------------------------------------------------------------------------------------

    def plan_seed(self, source: str, targets: Sequence[str] | str | None = None, **how: Unpack[HowSeeded]) -> SeedPlan:
        """What copying slices of ``source``'s files to the profiles ``targets`` would do; nothing is written.

        Without ``targets`` they are those that name the source in ``seed_from`` and are not of tier 3; what is wrong
        with profiles that may be among them is ``unreadable`` in the plan, and raised where no other is left.
        ``HowSeeded`` lists what may be given by keyword. Raises ``ConfigError`` and its kinds, ``ForbiddenError``,
        ``DriftError``, ``UnreadableError``.
        """
        from catmem.seeding.plan import SeedRequest
        from catmem.seeding.planner import plan_seed

        return plan_seed(self, SeedRequest(source, targets, **how))

    def apply_seed(self, plan: SeedPlan) -> SeedPlan:
        """Carry out a plan: one guarded write for each file, and what was seeded into ``catmem.seed.lock``.

        What goes wrong with one file stands in the result, and the others go on. Raises ``BusyError`` and
        ``UnreadableError``.
        """
        from catmem.seeding.planner import apply_seed

        return apply_seed(self, plan)


def _listed(tags: Mapping[str, str | Sequence[str] | None] | None) -> dict[str, Any] | None:
    """Tags with every tuple as a list. What is neither text nor a list of it is refused with the other faults."""
    if not isinstance(tags, Mapping):
        return tags
    return {key: list(value) if isinstance(value, tuple) else value for key, value in tags.items()}
