"""How a write turns what is there into what is to be there: by operations on the entries of a memory file.

The steps of a write (``writing/write.py``) ask a ``Write`` where kinds of content differ: what the writer may do at
all, what the new text is, how much of the old words is left. Declared entities (``entities/content_write.py``) have a
kind of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from catmem.config.access import Rights, targets_read
from catmem.config.json_schema import shown
from catmem.config.profile import Profile
from catmem.digest import content_digest
from catmem.errors import (
    AmbiguousError,
    CatmemError,
    DriftError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    NoMatchError,
    RefusedError,
    StaleError,
    UnknownNameError,
    UnknownRevisionError,
    UnreadableError,
)
from catmem.jsonable import jsonable
from catmem.model.document import Document, Entry
from catmem.model.layout import last_entries
from catmem.model.pairing import jaccard, words_of
from catmem.names import TARGETS, known_target, parts_of
from catmem.store.contract import PERSON, UNREAD, Current, OnDrift, unknown_revision
from catmem.text import unify_newlines
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import Root
from catmem.workspace.seen_entry import preview
from catmem.workspace.stores import backend_of
from catmem.writing.gate import Attempt
from catmem.writing.matching import WriterView, entries_holding, no_match, parse_for_write, refuse_empty
from catmem.writing.planning import Plan, plan_operations
from catmem.writing.policy import WritePolicy, check_beforehand, checked_reason, policy_of
from catmem.writing.request import (
    Operation,
    Request,
    asked_by,
    checked_expected,
    finds_its_file,
    hide_digests,
    refuse_surrogates,
)

if TYPE_CHECKING:
    from catmem.envelopes.envelope import Envelope

_MOST_OPERATIONS = 1_000
_RETRIED = 256
"""Revisions of a file among which a retry is looked for."""
AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."


class Write(Attempt, ABC):
    """A request on its way to the store, by the kind of its content."""

    policy: WritePolicy | None = None
    """Whose file it is and who acts, for a memory file."""
    current: Current
    recorded_op = "put"
    """What a record calls it."""
    keeps_note = False
    """Whether it says who verified a fact, or against what, which is kept even if it changes no text."""

    def __init__(self, root: Root, asked: Request) -> None:
        """Nothing is looked at yet."""
        op = asked_by(asked.content) if isinstance(asked.content, tuple) else "write"
        self.envelope: Envelope | None = None if asked.papers is None else asked.papers.envelope
        agent = asked.agent if self.envelope is None else self.envelope.agent_id
        super().__init__(root, asked.entity, op, agent, asked.expected, asked.dry_run)
        self.asked = asked
        self.acting: Profile | None = None
        """The profile that acts; ``None`` is a person."""
        self.expected = None if asked.expected is None else str(asked.expected)
        """What the writer saw last, a revision or a digest; ``None`` for a writer without a view."""
        self.plan: Plan | None = None
        """What becomes of a memory file."""
        self.before: str | None = None
        """The text that the write was made on; ``None`` as long as no new one was made of it."""
        self.reworded: Sequence[tuple[str, str]] = ()
        """The old and the new words of what it replaces."""
        self.waits = False
        """Whether it waits for a person."""
        self.note: dict[str, Any] = {}
        """What goes on the record."""

    @property
    def actor(self) -> str | None:
        """The name of the profile that acts, or on whose behalf a person does."""
        return self.asked.on_behalf if self.acting is None else self.acting.name

    @property
    def head(self) -> str:
        """The revision at the head, ``"0"`` for none."""
        head = self.workspace.store.head(self.entity)
        return "0" if head is None else head.revision

    @abstractmethod
    def check(self) -> None:
        """Find the entity. Raise what refuses the writer, or the content whatever is there: it leaves no trace."""

    @abstractmethod
    def make(self) -> None:
        """Make the new text of what is there: ``plan``, ``before``, ``reworded`` and ``data``."""

    @abstractmethod
    def request(self) -> str:
        """The digest of what is asked, for a retry."""

    def on_drift(self) -> OnDrift:
        """What becomes of an external change; one of rows an agent that did not say so has to read first."""
        asked, config = self.asked.on_drift, self.workspace.config
        is_of_rows = self.policy is not None and not backend_of(config).has_files
        if asked is None and config.on_drift == "adopt" and self.acting is not None and is_of_rows:
            return "refuse"
        return asked or config.on_drift

    def refusal(self, error: CatmemError) -> CatmemError:
        """What to tell a writer who is refused with ``error``: the same, or what stands before it in the order."""
        return error

    def alert(self) -> None:
        """Refuse, until it is confirmed, new words that share less with the old ones than the root asks for."""
        least = self.workspace.config.semantic_alert
        if not least or self.asked.confirm:
            return
        pairs = ((words_of(old), words_of(new)) for old, new in self.reworded)
        alike = min((jaccard(old, new) for old, new in pairs if old), default=1.0)
        if alike < least:
            raise RefusedError(
                f"the new text has little in common with the old one: {alike:.2f} of all words, under {least}",
                code="semantic_collision",
                hint="Nothing was written. Look at what is there now. To write it all the same, repeat it with "
                f"{'--' if self.acting is None else ''}confirm.",
            )


class OperationsWrite(Write):
    """Operations on the entries of a memory file."""

    policy: WritePolicy
    view: WriterView | None = None
    is_hidden = False
    """Whether the revision that it was made on is a proposal, of which its writer may not know."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What is to be done; nothing where a whole document is given."""
        content = self.asked.content
        return content if isinstance(content, tuple) else ()

    # --- before the lock -------------------------------------------------------------------------------------------

    def check(self) -> None:
        asked, operations = self.asked, self.operations
        self.policy = self._policy_of_file()
        self.entity = self.policy.entity
        self.note["target"] = self.policy.target
        if reason := checked_reason(asked.reason, self.policy.config, to_agent=self.acting is not None):
            self.note["reason"] = reason
        verifying = [each.action == "verify" for each in operations]
        if operations and all(verifying):
            self.recorded_op = "verify"
        decides = self.acting is None and self.policy.config.approval is not None  # whose a verified fact is
        evidence = any(each.evidence is not None for each in operations)
        self.keeps_note = evidence or (decides and any(verifying))
        if not 0 < len(operations) <= _MOST_OPERATIONS:
            raise EditError(
                f"a write has 1 to {_MOST_OPERATIONS:,} operations, and this has {len(operations):,}",
                code="bad_operation",
                hint="Give one or more, and very many in several batches.",
            )
        refuse_surrogates([] if asked.op_id is None else [asked.op_id])
        check_beforehand(operations, self.policy)
        if asked.merges:
            raise EnvelopeError(
                "parents names branches, and no operation says what becomes of theirs",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {self.entity} brings branches in.",
            )
        self.expected = checked_expected(asked.expected)
        # A profile may not know that there is a proposal: its branch is a revision that is not there.
        self.is_hidden = not self.policy.unbounded and self.is_proposal(self.expected or "0")

    def _policy_of_file(self) -> WritePolicy:
        """The policy of the file that is named or meant. Another's file is refused like one that does not exist."""
        asked, root = self.asked, self.workspace
        if self.envelope is None and asked.target is None and asked.expected is None:
            return policy_of_meant_file(root, asked, self.acting)
        name, target = asked.profile, TARGETS[0] if asked.target is None else asked.target
        if self.envelope is not None:
            name, target = parts_of(self.entity)
            try:
                Rights(self.acting, target, root.config.taxonomy).refuse_other_owner(name)
            except UnknownNameError as error:
                message = f"{self.agent} may not write to {shown(self.entity)}"
                raise ForbiddenError(message, hint=error.hint) from None
        return policy_of(root, name, known_target(target), self.acting, allow_secret=asked.allow_secret)

    def request(self) -> str:
        return content_digest([[jsonable(each) for each in self.operations], self.actor, self.policy.target])

    # --- on the text that is there ---------------------------------------------------------------------------------

    def make(self) -> None:
        current = self.current
        if self.is_hidden:
            raise unknown_revision(self.entity, self.expected or "0")
        document = self.parsed(current.data)
        self.plan = plan = self.planned(document, current)
        self.before, self.reworded = document.text, plan.reworded
        cache = self.workspace._cache  # noqa: SLF001 - what was made is not read again
        self.data = current.data if plan.document is document else cache.made(plan.document, document, current.data)
        self.note["actions"] = plan.actions
        session = self.asked.session
        knows = partial(session.knows, self.entity) if session is not None else lambda _: False
        if unread := [] if self.view is None else self.view.unread(plan.document, knows):
            self.note[UNREAD] = unread

    def planned(self, document: Document, current: Current) -> Plan:
        """What the operations make of the document that is there, by what their writer may have seen of it."""
        # What is not legible counts as changed in all its entries. A writer without a view has seen no external change
        # before a writer with one came.
        self.view = None
        if current.base is not None:
            try:
                base = self.parsed(current.base)
            except DriftError:
                base = None
            self.view = WriterView(document, base, current.unread())
        elif self.expected is None:
            self.view = WriterView(document, document, current.unread())
        return plan_operations(document, self.operations, self.policy, self.view, self.asked.session)

    def parsed(self, data: bytes) -> Document:
        """The document in some bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
        return parse_for_write(self.workspace.parse, self.policy.entity, data)

    # --- the answer ------------------------------------------------------------------------------------------------

    def refusal(self, error: CatmemError) -> CatmemError:
        if self.is_hidden and isinstance(error, StaleError | DriftError):
            error = unknown_revision(self.policy.entity, self.expected or "0")  # as it would be without the proposal
        if self.envelope is not None and isinstance(error, RefusedError):
            error.found = error.found or self.head
        elif self.envelope is not None and isinstance(error, UnknownRevisionError):
            error.hint = f"{self.entity} is at revision {self.head}. {AGAIN}"
        by_default = self.asked.target is None and isinstance(error, StaleError | UnknownRevisionError)
        if isinstance(error, NoMatchError) or (by_default and not self._holds(self.policy.target)):
            error.hint = self._other_file() or error.hint
        # An actor who does not see the whole file learns nothing that depends on all of it.
        if isinstance(error, RefusedError) and not self.policy.unbounded:
            hide_digests(error)
        return error

    def _other_file(self) -> str | None:
        """Where the entry is that a write means, if the caller sees it in the other file of the profile."""
        for other in (each for each in TARGETS if each != self.policy.target and self._holds(each)):
            how = f"give the target {other}" if self.policy.to_agent else f"give -t {other}"
            return f"The {other} file of {self.policy.owner.name} holds it: {how}."
        return None

    def _holds(self, target: str) -> bool:
        """Whether the caller sees in a file of the profile an entry that the write means."""
        try:
            document = read_document(self.workspace, self.policy.owner, target)
        except UnreadableError:
            return False  # the refusal is about the file of the write
        there = replace(self.policy, target=target).visible_entries(document)
        named = [each.old_text for each in self.operations if each.old_text]
        return any(entries_holding(each, there, to_agent=self.policy.to_agent) for each in named)


# --- which of its two files the operations of a profile mean that name none ----------------------------------------


def policy_of_meant_file(root: Root, asked: Request, acting: Profile | None) -> WritePolicy:
    """The policy of the file that operations without a target mean; of a retry, of that of the first try."""
    policies = [policy_of(root, asked.profile, each, acting, allow_secret=asked.allow_secret) for each in TARGETS]
    made = asked.op_id, PERSON if acting is None else acting.name  # that of another writer tells nothing
    for policy in policies if asked.op_id else ():
        if any((each.op_id, each.agent) == made for each in islice(root.store.log(policy.entity), _RETRIED)):
            return policy
    find = _policy_of_entry if finds_its_file(asked.content) else _policy_of_category
    return find(root, asked.content, policies)


def _policy_of_category(root: Root, operations: Sequence[Operation], policies: Sequence[WritePolicy]) -> WritePolicy:
    """The only file that reads the category of additions; else the only one with visible entries; else USER.md."""
    first, taxonomy = policies[0], root.config.taxonomy
    names = {each.category or first.only_category() for each in operations if each.action == "add"}
    name = names.pop() if len(names) == 1 else None
    if name is None:
        return first
    category, holding = first.destination(name), []
    reading = targets_read(category, first.owner, taxonomy)
    if len(reading) == 1:
        return next(policy for policy in policies if policy.target in reading)
    for policy in policies:
        try:
            document = read_document(root, policy.owner, policy.target)
        except UnreadableError:
            return first  # the file that cannot be read may have it
        holding += [policy] if policy.filter_visible(last_entries(document, category, 1)) else []
    return holding[0] if len(holding) == 1 else first


def _policy_of_entry(root: Root, operations: Sequence[Operation], policies: Sequence[WritePolicy]) -> WritePolicy:
    """The one file of a profile that holds the entry of the first operation, as far as the actor sees."""
    wanted, category = operations[0].old_text or "", operations[0].category
    refuse_empty(wanted)
    there: list[Entry] = []
    holding: list[tuple[WritePolicy, Document, list[Entry]]] = []
    unread, refused = [], []
    for policy in policies:
        try:
            check_beforehand(operations, policy)
            document = read_document(root, policy.owner, policy.target)
        except UnreadableError:
            unread.append(policy)
            continue
        except CatmemError as error:
            refused.append(error)
            continue
        slug = None if category is None else policy.category(category)
        seen = [each for each in policy.visible_entries(document) if slug in {None, each.category}]
        there += seen
        if found := entries_holding(wanted, seen, to_agent=policy.to_agent):
            holding.append((policy, document, found))
    whole = unify_newlines(wanted).strip()
    exact = [each for each in holding if any(entry.body == whole for entry in each[2])]
    meant = exact if len(exact) == 1 else holding
    if len(meant) > 1:
        raise _in_both(wanted, meant)
    if meant:
        return meant[0][0]
    # A file that cannot be read may hold it, and so may rows that another program changed: the write to it says so.
    if not unread:
        changed = {name for name, (known, now) in root.store.generations().items() if known != now}
        unread = [policy for policy in policies if policy.entity in changed]
    if unread:
        return unread[0]
    if len(refused) == len(policies):
        raise refused[0]
    raise no_match(wanted, there, policies[0].owner.name, to_agent=policies[0].to_agent)


def _in_both(wanted: str, holding: Sequence[tuple[WritePolicy, Document, list[Entry]]]) -> AmbiguousError:
    """The error for a text that entries of both files hold; an agent is given no lines, as in ``ambiguous``."""
    to_agent, places, said = holding[0][0].to_agent, [], []
    for policy, document, (entry, *_) in holding:
        line = {} if to_agent else {"line": document.line(entry.start)}
        places.append({"target": policy.target, **line, "category": entry.category, "id": entry.id})
        said.append(f"{policy.entity}{''.join(f' line {number}' for number in line.values())} ({entry.category})")
    return AmbiguousError(
        f"entries of both files hold {shown(wanted)}: {' and '.join(said)}",
        candidates=tuple(preview(found[0], to_agent=to_agent) for _, _, found in holding),
        places=places,
        hint="Nothing was written. Name the file: "
        + ("the target user or memory." if to_agent else "-t user or -t memory."),
    )
