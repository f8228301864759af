"""How a write turns what is there into what is to be there: by operations on the entries of a memory file.

The steps of a write ask an editor (``writing/write.py``) where kinds of content differ: what the writer may do at all,
what the new text is, how much of the old words is left. Whole documents (``envelopes/document_editor.py``) and
declared entities (``entities/content_editor.py``) have editors of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from catmem.config.access import targets_read
from catmem.config.json_schema import shown
from catmem.errors import (
    AmbiguousError,
    CatmemError,
    DriftError,
    EditError,
    ForbiddenError,
    NoMatchError,
    RefusedError,
    StaleError,
    UnreadableError,
)
from catmem.model.layout import last_entries
from catmem.model.pairing import jaccard, words_of
from catmem.names import TARGETS, known_target
from catmem.store.contract import PERSON, UNREAD, Current, OnDrift, Revision, unknown_revision
from catmem.text import unify_newlines
from catmem.workspace.profile_memory import read_document
from catmem.workspace.seen_entry import preview
from catmem.workspace.stores import backend_of
from catmem.writing.matching import (
    WriterView,
    checked_expected,
    entries_holding,
    hide_digests,
    legible,
    no_match,
    refuse_empty,
)
from catmem.writing.operation import Operation, op_of, refuse_surrogates, request_digest
from catmem.writing.planning import Plan, plan_operations
from catmem.writing.terms import Terms, check_beforehand, checked_reason, terms_of

if TYPE_CHECKING:
    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root
    from catmem.writing.write import WriteAttempt

_MOST_OPERATIONS = 1_000


class Editor(ABC):
    """What reads the content of a write. To make one is to ask whether the writer may write there at all."""

    terms: Terms | None = None
    """Whose file it is and who acts, for a memory file."""
    is_hidden = False
    """Whether the revision that it was made on is a proposal, of which its writer may not know."""
    has_evidence = False
    """Whether it says what a fact was checked against, which is kept even if it changes no text."""

    def __init__(self, attempt: WriteAttempt) -> None:
        """Raises ``ForbiddenError``, ``UnknownNameError`` and what else refuses the writer."""
        self.attempt = attempt

    @abstractmethod
    def check(self) -> None:
        """Raise what refuses the content whatever the file holds, so that it leaves no trace in a store."""

    @abstractmethod
    def plan(self) -> None:
        """Make the new text of what is there: ``plan``, ``before`` and ``data`` of the attempt."""

    @abstractmethod
    def alert(self) -> None:
        """Refuse, once, what has less in common with what it replaces than is asked for."""

    @abstractmethod
    def check_content(self) -> None:
        """Refuse what is wrong with the content, and be done with the new text."""

    @abstractmethod
    def request(self) -> str:
        """The digest of what is asked, for a retry."""

    def op(self) -> str:
        """What a record calls it."""
        return "put"

    def on_drift(self) -> OnDrift:
        """What becomes of an external change."""
        return self.attempt.asked.on_drift or self.attempt.workspace.config.on_drift

    def note(self) -> dict[str, Any]:
        """What goes on the record beside who acts and the envelope."""
        return {}

    def finish(self) -> None:
        """Put on the record what was done; asked when the new text is there."""
        return

    def refusal(self, error: CatmemError) -> CatmemError:
        """What to tell a writer who is refused with ``error``: the same, or what stands before it in the order."""
        return error

    def text(self, data: bytes) -> str:
        """The text of a revision."""
        return data.decode(errors="backslashreplace")

    def touched(self, record: Revision, before: bytes, after: bytes) -> Sequence[Entry]:
        """The entries that a revision made or touched, as its record says."""
        del record, before, after
        return ()


class OperationsEditor(Editor):
    """Operations on the entries of a memory file."""

    terms: Terms

    def __init__(self, attempt: WriteAttempt) -> None:
        super().__init__(attempt)
        self.view: WriterView | None = None
        self.document: Document | None = None
        self.fault: CatmemError | None = None
        self.terms = self.found_terms()
        self.attempt.entity = self.terms.entity

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What is to be done."""
        operations: tuple[Operation, ...] = self.attempt.asked.content
        return operations

    @property
    def has_evidence(self) -> bool:  # type: ignore[override]
        """Whether an operation names what a fact was checked against."""
        return any(operation.evidence is not None for operation in self.operations)

    def found_terms(self) -> Terms:
        """The terms of the file that is meant. Raises ``UnknownNameError`` for another's file, as for none."""
        a, asked = self.attempt, self.attempt.asked
        name, target = asked.file
        in_file = partial(terms_of, a.workspace, name, actor=a.acting, allow_secret=asked.allow_secret)
        if target is None:
            is_open = asked.expected is None
            target = found_target(a.workspace, self.operations, in_file, asked.op_id) if is_open else TARGETS[0]
        return in_file(known_target(target))

    def check(self) -> None:
        asked, operations = self.attempt.asked, self.operations
        self.check_reason()
        if not 0 < len(operations) <= _MOST_OPERATIONS:
            raise EditError(
                f"a write has 1 to {_MOST_OPERATIONS:,} operations, and this has {len(operations):,}",
                code="bad_operation",
                hint="Give one or more, and very many in several batches.",
            )
        refuse_surrogates([] if asked.op_id is None else [asked.op_id])
        check_beforehand(operations, self.terms)
        self.attempt.expected = checked_expected(asked.expected)
        self.hide_proposal()

    def hide_proposal(self) -> None:
        """Have the branch of a proposal be a revision that is not there: a profile may not know that there is one."""
        expected = self.attempt.expected or "0"
        self.is_hidden = not self.terms.rights.unbounded and self.attempt.is_proposal(expected)

    def check_reason(self) -> None:
        """Keep the reason as it is recorded."""
        a, to_agent = self.attempt, self.attempt.acting is not None
        a.asked = replace(a.asked, reason=checked_reason(a.asked.reason, self.terms.config, to_agent=to_agent))

    def plan(self) -> None:
        a, current = self.attempt, self.attempt.current
        if self.is_hidden:
            raise unknown_revision(a.entity, a.expected or "0")
        self.document = self.fault = None
        self.document = document = self.legible(current.data)
        try:
            a.plan = plan = self.planned(document, current)
        except (ForbiddenError, RefusedError):
            raise
        except CatmemError as error:
            self.fault = error  # what is wrong with the content is said after the alert
            return
        a.before = document.text
        cache = a.workspace._cache  # noqa: SLF001 - what was made is not read again
        a.data = current.data if plan.document is document else cache.made(plan.document)

    def planned(self, document: Document, current: Current) -> Plan:
        """What the operations make of the document that is there.

        After an external change since the writer saw it, what the writer may have seen counts; a text that is
        not legible counts as changed in all its entries. A writer without a view has seen none of an external change
        before a writer with one came.
        """
        self.view = None
        if current.base is not None:
            self.view = WriterView(document, self.legible_or_none(current.base), current.unread())
        elif self.attempt.expected is None:
            self.view = WriterView(document, document, current.unread())
        return plan_operations(document, self.operations, self.terms, self.view, self.attempt.asked.session)

    def alert(self) -> None:
        a, least = self.attempt, self.terms.config.semantic_alert
        if not least or a.asked.confirm or a.alerted or a.plan is None:
            return
        alike = min((jaccard(words_of(old), words_of(new)) for old, new in self.reworded(a.plan) if old), default=1.0)
        if alike < least:
            a.alert(
                RefusedError(
                    f"the new text has little in common with the old one: {alike:.2f} of all words, under {least}, "
                    "which semantic_alert in catmem.yaml asks for",
                    code="semantic_collision",
                    hint="Nothing was written. Look at what is there now. To write it all the same, repeat it with "
                    f"{'' if self.terms.to_agent else '--'}confirm, or remove the entry and add the new one.",
                )
            )

    def check_content(self) -> None:
        if self.fault is not None:
            raise self.fault

    def reworded(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """The old and the new words of all that is replaced."""
        return plan.reworded

    def finish(self) -> None:
        plan, note = self.attempt.plan, self.attempt.note
        if plan is not None:
            note["actions"] = list(plan.actions)
            unread = [] if self.view is None else self.view.unread(plan.document, self.knows)
            note.update({UNREAD: unread} if unread else {})

    def knows(self, entry: Entry) -> bool:
        """Whether the conversation that the write comes from knows an entry; false outside of one."""
        session = self.attempt.asked.session
        return session is not None and session.knows(self.terms.entity, entry)

    def refusal(self, error: CatmemError) -> CatmemError:
        error = self.without_proposal(error)
        if isinstance(error, NoMatchError):
            error.hint = self._other_file() or error.hint
        # An actor who does not see the whole file learns nothing that depends on all of it.
        elif isinstance(error, RefusedError) and not self.terms.rights.unbounded:
            hide_digests(error)
        return error

    def without_proposal(self, error: CatmemError) -> CatmemError:
        """The refusal as it would be if there were no proposal."""
        if self.is_hidden and isinstance(error, StaleError | DriftError):
            return unknown_revision(self.terms.entity, self.attempt.expected or "0")
        return error

    def _other_file(self) -> str | None:
        """Where the entry is that a write means, if the caller sees it in the other file of the profile."""
        terms, wanted = self.terms, [each.old_text for each in self.operations if each.old_text]
        for other in (each for each in TARGETS if each != terms.target):
            try:
                document = read_document(self.attempt.workspace, terms.owner, other)
            except UnreadableError:
                continue  # the refusal is about this file
            there = replace(terms.rights, target=other).in_sight(document)
            if any(entries_holding(text, there) for text in wanted):
                how = f"give the target {other}" if terms.to_agent else f"give -t {other}"
                return f"The {other} file of {terms.owner.name} holds it: {how}."
        return None

    # --- the record ------------------------------------------------------------------------------------------------

    def op(self) -> str:
        return op_of(self.operations)

    def request(self) -> str:
        return request_digest(self.operations, self.attempt.actor, self.terms.target)

    def on_drift(self) -> OnDrift:
        said = super().on_drift()
        if self.attempt.asked.on_drift is None and said == "adopt" and self.attempt.acting is not None:
            return "adopt" if backend_of(self.terms.config).has_files else "refuse"
        return said

    def note(self) -> dict[str, Any]:
        reason = self.attempt.asked.reason
        return {"target": self.terms.target} | ({"reason": reason} if reason else {})

    # --- texts -----------------------------------------------------------------------------------------------------

    def legible(self, data: bytes) -> Document:
        """The document in some bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
        return legible(self.attempt.workspace.parse, self.terms.entity, data)

    def legible_or_none(self, data: bytes) -> Document | None:
        """The same; ``None`` for bytes that cannot be compared."""
        try:
            return self.legible(data)
        except DriftError:
            return None

    def text(self, data: bytes) -> str:
        return data.decode(errors="replace")

    def touched(self, record: Revision, before: bytes, after: bytes) -> Sequence[Entry]:
        old, new = self.legible(before), self.legible(after)
        found: list[Entry] = []
        for action in record.note.get("actions", ()):
            document = old if action.get("action") == "remove" else new
            place = action.get("category"), action.get("id")
            found += [entry for entry in document.entries if (entry.category, entry.id) == place][:1]
        return found


# --- which of its two files the operations of a profile mean that name none ----------------------------------------


def finds_its_file(operations: Sequence[Operation]) -> bool:
    """Whether the entries that operations mean say which file of a profile is meant: an addition means none."""
    return bool(operations) and all(isinstance(each.old_text, str) for each in operations)


def found_target(
    workspace: Root, operations: Sequence[Operation], in_file: Callable[[str], Terms], op_id: str | None
) -> str:
    """The file that operations without a target mean: that of their entry, and of an addition that of its category.

    ``in_file`` gives the terms for a target. Raises what refuses the write to both files, ``AmbiguousError`` for an
    entry in both, and ``NoMatchError``.
    """
    find = _target_that_holds if finds_its_file(operations) else _target_to_add_to
    return find(workspace, operations, in_file, op_id)


def _target_to_add_to(
    workspace: Root, operations: Sequence[Operation], in_file: Callable[[str], Terms], op_id: str | None
) -> str:
    """The only file in which the profile reads the category of additions; else the only one that has entries of it.

    These are entries that the actor sees. Of a retry (``op_id``) it is the file of the first try. Where none of that
    decides it is USER.md.
    """
    every = [in_file(target) for target in TARGETS]
    first, rights, taxonomy = every[0], every[0].rights, workspace.config.taxonomy
    named = {each.category or rights.only_category() for each in operations if each.action == "add"}
    if len(named) != 1 or None in named:
        return first.target
    category, holding = taxonomy.category(str(*named)), []
    for terms in every:
        if _is_retry(workspace, terms, op_id):
            return terms.target
    reading = targets_read(category, first.owner, taxonomy)
    if len(reading) == 1:
        return reading[0]
    for terms in every:
        try:
            document = read_document(workspace, terms.owner, terms.target)
        except UnreadableError:
            return first.target  # the file that cannot be read may have it
        holding += [terms.target] if terms.rights.among(last_entries(document, category, 1)) else []
    return holding[0] if len(holding) == 1 else first.target


def _is_retry(workspace: Root, terms: Terms, op_id: str | None) -> bool:
    """Whether the actor wrote to the file under an ``op_id``; that of another writer tells nothing."""
    agent = PERSON if terms.rights.actor is None else terms.rights.actor.name
    if op_id is None:
        return False
    return any((each.op_id, each.agent) == (op_id, agent) for each in workspace.store.log(terms.entity))


def _target_that_holds(
    workspace: Root, operations: Sequence[Operation], in_file: Callable[[str], Terms], op_id: str | None
) -> str:
    """The one file of a profile that holds the entry of the first operation, as far as the actor sees.

    Of a retry (``op_id``) it is the file that the first try wrote to.
    """
    refused: list[CatmemError] = []
    holding: list[tuple[Terms, Document, list[Entry]]] = []
    illegible: list[Terms] = []
    there: list[Entry] = []
    wanted = operations[0].old_text or ""
    refuse_empty(wanted)
    for target in TARGETS:
        terms = in_file(target)
        try:
            check_beforehand(operations, terms)
            document = read_document(workspace, terms.owner, target)
        except UnreadableError:
            illegible.append(terms)  # what is wrong with it is said if the other file does not hold the entry
            continue
        except CatmemError as error:
            refused.append(error)
            continue
        if _is_retry(workspace, terms, op_id):
            return target
        category = operations[0].category
        slug = None if category is None else terms.category(category)
        seen = [each for each in terms.rights.in_sight(document) if slug in {None, each.category}]
        there += seen
        found = entries_holding(wanted, seen)
        if found:
            holding.append((terms, document, found))
    whole = unify_newlines(wanted).strip()
    exact = [each for each in holding if any(entry.body == whole for entry in each[2])]
    meant = exact if len(exact) == 1 else holding
    if len(meant) > 1:
        raise _in_both(wanted, meant)
    # Rows may have held it that another program changed since: the write to them says so.
    if not (meant or illegible):
        changed = {name for name, (known, now) in workspace.store.generations().items() if known != now}
        illegible = [terms for terms in map(in_file, TARGETS) if terms.entity in changed]
    if meant or illegible:
        return (meant[0][0] if meant else illegible[0]).target
    if len(refused) == len(TARGETS):
        raise refused[0]
    terms = in_file(TARGETS[0])
    raise no_match(wanted, there, terms.owner.name, to_agent=terms.to_agent)


def _in_both(wanted: str, holding: Sequence[tuple[Terms, Document, Sequence[Entry]]]) -> AmbiguousError:
    """The error for a text that entries of both files hold; an agent is given no lines, as in ``ambiguous``."""
    places: list[dict[str, Any]] = []
    said: list[str] = []
    for terms, document, (entry, *_) in holding:
        line = {} if terms.to_agent else {"line": document.line(entry.start)}
        places.append({"target": terms.target, **line, "category": entry.category, "id": entry.id})
        said.append(f"{terms.entity}{''.join(f' line {each}' for each in line.values())} ({entry.category})")
    return AmbiguousError(
        f"entries of both files hold {shown(wanted)}: {' and '.join(said)}",
        [preview(found[0], to_agent=terms.to_agent) for terms, _, found in holding],
        places=places,
        hint="Nothing was written. Name the file: "
        + ("the target user or memory." if holding[0][0].to_agent else "-t user or -t memory."),
    )
