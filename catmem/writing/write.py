"""The one way of a write: a value that says what is asked, and the pipeline that makes it a revision.

::

    Write ── checks of who may ──> judgement ── what is there ──> plan ──> commit ──> audit ──> Written
                                      └── asked again if another write was faster

The command line, the tool, the page, HTTP and the library make a ``Write``; so does an envelope, once it is verified
(``envelopes/submitting.py``). What an envelope adds are refusals in their order (docs/envelopes.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from catmem.config.access import targets_read
from catmem.config.json_schema import shown
from catmem.config.profile import one_reading
from catmem.errors import (
    AmbiguousError,
    ApprovalError,
    CatmemError,
    DriftError,
    EditError,
    NoMatchError,
    RefusedError,
    StaleError,
    UnreadableError,
)
from catmem.model.layout import last_entries
from catmem.model.pairing import jaccard, words_of
from catmem.names import TARGETS, known_target
from catmem.store.contract import PERSON, UNREAD, Change, Current, Snapshot, unknown_revision
from catmem.store.judgement import rehearse
from catmem.text import size_of, unify_newlines
from catmem.workspace.profile_memory import read_document
from catmem.workspace.seen_entry import preview
from catmem.workspace.stores import backend_of
from catmem.writing import gate
from catmem.writing.matching import (
    WriterView,
    checked_expected,
    entries_holding,
    hide_digests,
    legible,
    no_match,
    refuse_empty,
)
from catmem.writing.operation import asked_by, op_of, placed_expected, refuse_surrogates, request_digest
from catmem.writing.planning import Plan, plan_operations
from catmem.writing.terms import check_beforehand, checked_reason, terms_of
from catmem.writing.written import FileUsage, Written, crowded_out, on_adoption, on_branch, on_restoration, on_waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.model.document import Document, Entry
    from catmem.store.contract import OnDrift, OnStale, Revision
    from catmem.store.envelope import Envelope
    from catmem.workspace.root import Root
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.gate import Attempt
    from catmem.writing.operation import Operation
    from catmem.writing.terms import Terms

_MOST_OPERATIONS = 1_000
_KEPT = ("role_id", "role_hash", "key_id", "signature", "mem_hash", "timestamp")
"""What the history keeps of an envelope beside what every revision has; the content is the revision itself."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write, as it is asked for: what, to which file, on which view, by whom.

    ``terms`` say whose file it is and who acts. ``operations`` are the changes; an ``envelope`` may hold a whole text
    in their place. ``expected`` is what the writer saw last, a revision or a digest, ``None`` for a writer without a
    view. Of a write that came in an envelope its agent is on the record.
    """

    terms: Terms
    operations: tuple[Operation, ...]
    expected: str | None
    on_drift: OnDrift | None
    """``None`` for what the root says; rows that another program changed refuse an agent once (docs/sql.md)."""
    on_stale: OnStale
    op_id: str | None = None
    envelope: Envelope | None = None
    session: ToolSession | None = None
    """What an agent knows who writes in a conversation."""
    reason: str | None = None
    """Why it is made, for the record."""
    proposes: bool = False
    """Whether it shall wait for a person, whatever the policy says."""
    on_behalf: str | None = None
    """The profile that proposes it, where a person brings it up."""

    @property
    def actor(self) -> str | None:
        """The profile that acts; ``None`` is a person."""
        acting = self.terms.rights.actor
        return self.on_behalf if acting is None else acting.name

    @property
    def has_evidence(self) -> bool:
        """Whether it says what a fact was checked against, which is kept even if it changes no text."""
        return any(operation.evidence is not None for operation in self.operations)

    def change(self, note: dict[str, Any]) -> Change:
        """What the store learns of it; ``note`` goes on the record, and the caller may add to it until then."""
        note |= {"target": self.terms.target, "actor": self.actor}
        note |= {"reason": self.reason} if self.reason else {}
        agent, request = self.actor or PERSON, None
        config = self.terms.config
        of_root = config.on_drift
        if of_root == "adopt" and self.terms.rights.actor is not None and not backend_of(config).has_files:
            of_root = "refuse"
        if self.envelope is not None:
            note |= envelope_note(self.envelope)
            agent, request = self.envelope.agent_id, self.envelope.request
        elif self.op_id:
            request = request_digest(self.operations, self.actor, self.terms.target)
        return Change(
            op=op_of(self.operations),
            agent=agent,
            op_id=self.op_id,
            request=request,
            note=note,
            on_drift=self.on_drift or of_root,
            on_stale=self.on_stale,
            merges=() if self.envelope is None else tuple(map(str, self.envelope.merges)),
            keeps_note=self.has_evidence,
        )


def envelope_note(envelope: Envelope) -> dict[str, Any]:
    """What goes on the record of a write that came in an envelope: what vouches for it, and what it merged."""
    kept = {name: getattr(envelope, name) for name in _KEPT}
    said: dict[str, Any] = {"envelope": {name: value for name, value in kept.items() if value is not None}}
    return said | ({"merged": list(map(str, envelope.merges))} if envelope.merges else {})


@dataclass
class Pipeline:
    """A write on its way to the store; the ``attempt`` is its place in the audit log."""

    workspace: Root
    write: Write
    attempt: Attempt
    plan: Plan | None = None
    before: str = ""
    made: bytes = b""
    """What the plan makes of what is there."""
    confirm: bool = False
    """Whether it may have little in common with what is there."""
    alerted: bool = False
    view: WriterView | None = None
    """What the writer may have seen of what is there; ``None`` for all."""

    def run(self, *, dry_run: bool = False) -> Written:
        """Make the write as one revision, or say what it would do; ``with_crowded`` completes the answer."""
        self.check()
        try:
            written = self.rehearse() if dry_run else self.commit()
        except ApprovalError as error:
            written = self.waiting(error, dry_run=dry_run)
        except NoMatchError as error:
            error.hint = self._other_file() or error.hint
            raise
        except RefusedError as error:
            # An actor who does not see the whole file learns nothing that depends on all of it.
            if not self.terms.rights.unbounded:
                hide_digests(error)
            raise
        return replace(written, notes=(*self.attempt.notes(), *written.notes))

    def _other_file(self) -> str | None:
        """Where the entry is that a write means, if the caller sees it in the other file of the profile."""
        terms, wanted = self.terms, [each.old_text for each in self.write.operations if each.old_text]
        for other in (each for each in TARGETS if each != terms.target):
            try:
                document = read_document(self.workspace, terms.owner, other)
            except UnreadableError:
                continue  # the refusal is about this file
            there = replace(terms.rights, target=other).in_sight(document)
            if any(entries_holding(text, there) for text in wanted):
                how = f"give the target {other}" if terms.to_agent else f"give -t {other}"
                return f"The {other} file of {terms.owner.name} holds it: {how}."
        return None

    def with_crowded(self, written: Written) -> Written:
        """The answer with what the write crowds out of a prompt; after the attempt, whose time is that of the write."""
        return replace(written, crowded=crowded_out(self.workspace, written, self.write.actor, self.terms.today))

    @property
    def terms(self) -> Terms:
        """Whose file it is, and who acts."""
        return self.write.terms

    def check(self) -> None:
        """Refuse what is refused whatever the file holds, so that it leaves no trace in a store."""
        operations = self.write.operations
        if not 0 < len(operations) <= _MOST_OPERATIONS:
            raise EditError(
                f"a write has 1 to {_MOST_OPERATIONS:,} operations, and this has {len(operations):,}",
                code="bad_operation",
                hint="Give one or more, and very many in several batches.",
            )
        refuse_surrogates([] if self.write.op_id is None else [self.write.op_id])
        check_beforehand(operations, self.terms)
        checked_expected(self.write.expected)

    def planned(self, document: Document, current: Current) -> Plan:
        """What the write makes of the document that is there.

        After an external change since the writer saw it, what the writer may have seen counts; a text that is
        not legible counts as changed in all its entries. A writer without a view has seen none of an external change
        before a writer with one came.
        """
        self.view = None
        if current.base is not None:
            self.view = WriterView(document, self.legible_or_none(current.base), current.unread())
        elif self.write.expected is None:
            self.view = WriterView(document, document, current.unread())
        return plan_operations(document, self.write.operations, self.terms, self.view, self.write.session)

    def knows(self, entry: Entry) -> bool:
        """Whether the conversation that the write comes from knows an entry; false outside of one."""
        session = self.write.session
        return session is not None and session.knows(self.terms.entity, entry)

    def commit(self) -> Written:
        """Write one revision."""
        expected, note = self.write.expected or "0", dict[str, Any]()
        # A profile may not know that there is a proposal: its branch is a revision like any that is not there.
        is_hidden = not self.terms.rights.unbounded and self.attempt.is_proposal(expected)

        def update(current: Current) -> bytes:
            if is_hidden:
                raise unknown_revision(self.terms.entity, expected)
            data = self.updated(current)
            note["actions"] = [] if self.plan is None else list(self.plan.actions)
            unread = [] if self.view is None or self.plan is None else self.view.unread(self.plan.document, self.knows)
            note.update({UNREAD: unread} if unread else {})
            self._hold_back(change, current, data)
            return data

        change = self.write.change(note)

        try:
            snapshot = self.attempt.commit(self.write.expected, update, change, rebases=True)
        except (StaleError, DriftError) as error:
            if is_hidden:
                raise unknown_revision(self.terms.entity, expected) from error
            raise
        return self.first_answer(snapshot) if self.plan is None else self.answer(self.plan, snapshot)

    def _hold_back(self, change: Change, current: Current, data: bytes) -> None:
        """Raise ``ApprovalError`` for a write that asks to wait."""
        if self.write.proposes and data != current.data:
            raise ApprovalError(f"this {change.op} asks to wait", base=current.revision, data=data)

    def waiting(self, held_back: ApprovalError, *, dry_run: bool) -> Written:
        """Keep the write as a proposal; the answer says what is in the file now, and the id to ask for."""
        from catmem.proposals.proposing import propose

        if self.plan is None:
            raise held_back
        note = {"actions": list(self.plan.actions)}
        if dry_run:
            return self._as_it_is(self.plan.entries, self.plan.warnings, (on_waiting(None),), None)
        made = propose(self.workspace, self.attempt, held_back.base, held_back.data, self.write.change(note))
        now = self._as_it_is(self.plan.entries, self.plan.warnings, (on_waiting(made.id), *made.notes), made.id)
        return replace(now, repeated=made.repeated)

    def _as_it_is(
        self, entries: tuple[Entry, ...], warnings: tuple[str, ...], notes: tuple[str, ...], waiting: str | None
    ) -> Written:
        """The answer to a write that changed nothing in the file."""
        now = self.workspace.store.read(self.terms.entity)
        text = now.data.decode(errors="replace")
        return Written(
            entity=self.terms.entity,
            revision=now.revision,
            digest=now.digest,
            changed=False,
            before=text,
            after=text,
            entries=entries,
            usage=FileUsage(size_of(text), self.terms.limit),
            notes=notes,
            warnings=warnings,
            bounded=not self.terms.rights.unbounded,
            waiting=waiting,
        )

    def rehearse(self) -> Written:
        """Do the same on what is there now, and write nothing; also where a rollout lets it pass on an older view."""
        store, entity, change = self.workspace.store, self.terms.entity, self.write.change({})
        try:
            found = rehearse(store, entity, self.write.expected, change)
        except StaleError as error:
            self.attempt.refuse(error)
            found = rehearse(store, entity, self.write.expected, replace(change, on_drift="merge"))
        self.attempt.refuse_signs(change, found.current)
        data = self.updated(found.current)
        if self.plan is None:
            message = "an update that raised nothing made no plan"
            raise AssertionError(message)
        change = self.write.change({"actions": list(self.plan.actions)})
        self._hold_back(change, found.current, data)
        self.attempt.hold_back(change, found.current, data)
        return self.answer(self.plan, replace(Snapshot.of(data, found.revision), branch=found.is_branch))

    def updated(self, current: Current) -> bytes:
        """The new bytes of what is there; exactly the old ones if there is nothing to change."""
        self.plan = None
        document = self.legible(current.data)
        self.plan = plan = self.planned(document, current)
        self._alert_of_root(document, plan)
        self.before = document.text
        cache = self.workspace._cache  # noqa: SLF001 - what was made is not read again
        is_changed = plan.document is not document
        self.made = cache.made(plan.document) if is_changed else current.data
        return self.made

    def _alert_of_root(self, document: Document, plan: Plan) -> None:
        """Refuse, once, what has less in common with what it replaces than the root asks for.

        Of operations each replacement is compared; of a whole text all words of the categories that it changes.
        """
        least = self.workspace.config.semantic_alert
        if not least or self.confirm or self.alerted:
            return
        pairs = plan.reworded if self.write.operations else self._changed_words(document, plan.document)
        alike = min((jaccard(words_of(old), words_of(new)) for old, new in pairs if old), default=1.0)
        if alike < least:
            self.alerted = True
            refusal = RefusedError(
                f"the new text has little in common with the old one: {alike:.2f} of all words, under {least}, which "
                "semantic_alert in catmem.yaml asks for",
                code="semantic_collision",
                hint="Nothing was written. Look at what is there now. To write it all the same, repeat it with "
                f"{'' if self.terms.to_agent else '--'}confirm, or remove the entry and add the new one.",
            )
            self.attempt.refuse(refusal)

    def _changed_words(self, document: Document, new: Document) -> list[tuple[str, str]]:
        """What the writer sees of each category that a whole text changes, before and after."""
        sides = []
        for each in (document, new):
            bodies: dict[str, list[str]] = {}
            for entry in self.terms.rights.in_sight(each):
                bodies.setdefault(entry.category, []).append(entry.body)
            sides.append(bodies)
        was, now = sides
        changed = [name for name in was if was[name] != now.get(name)]
        return [("\n".join(was[name]), "\n".join(now.get(name, []))) for name in changed]

    def legible(self, data: bytes) -> Document:
        """The document in some bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
        return legible(self.workspace.parse, self.terms.entity, data)

    def legible_or_none(self, data: bytes) -> Document | None:
        """The same; ``None`` for bytes that cannot be compared."""
        try:
            return self.legible(data)
        except DriftError:
            return None

    # --- answers ---------------------------------------------------------------------------------------------------

    def answer(self, plan: Plan, now: Snapshot) -> Written:
        """What was done."""
        # A write at the very moment of the commit may have been merged in, so the plan need not be all of it.
        after = plan.document.text if now.data is self.made else now.data.decode(errors="replace")
        changed = after != self.before or self.write.has_evidence
        branch = now.branch and changed
        notes = [*on_restoration(now), *plan.notes]
        notes += [on_adoption(now.adopted)] if now.adopted else []
        notes += [on_branch(self.terms.entity, now.revision)] if branch else []
        return Written(
            entity=self.terms.entity,
            revision=now.revision,
            digest=now.digest,
            changed=changed,
            before=self.before,
            after=after,
            entries=plan.entries,
            usage=FileUsage(size_of(after), self.terms.limit),
            notes=tuple(notes),
            warnings=(*plan.warnings, *self.terms.unmerged(after, self.workspace.parse)),
            adopted=now.adopted,
            bounded=not self.terms.rights.unbounded,
            branch=branch,
        )

    def first_answer(self, snapshot: Snapshot) -> Written:
        """The answer to a retry: what the first write with this ``op_id`` did, from its record."""
        entity, store = self.terms.entity, self.workspace.store
        record = next((each for each in store.log(entity) if each.revision == snapshot.revision), None)
        parent = record.parents[0] if record and record.parents else "0"
        after, before = self.legible(snapshot.data), self.legible(store.read(entity, parent).data)
        beside = (on_branch(entity, snapshot.revision),) if snapshot.branch else ()
        return Written(
            entity=entity,
            revision=snapshot.revision,
            digest=snapshot.digest,
            changed=True,
            before=before.text,
            after=after.text,
            entries=tuple(_recorded(record, before, after)) if record else (),
            usage=FileUsage(size_of(after.text), self.terms.limit),
            notes=("this was done before, under the same op_id", *beside),
            warnings=self.terms.unmerged(after.text, self.workspace.parse),
            bounded=not self.terms.rights.unbounded,
            repeated=True,
            branch=snapshot.branch,
        )


def _recorded(record: Revision, before: Document, after: Document) -> list[Entry]:
    """The entries that the actions of a record made or touched."""
    found: list[Entry] = []
    for action in record.note.get("actions", ()):
        document = before if action.get("action") == "remove" else after
        place = action.get("category"), action.get("id")
        found += [entry for entry in document.entries if (entry.category, entry.id) == place][:1]
    return found


def write_operations(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    name: str,
    operations: Sequence[Operation],
    *,
    target: str | None = None,
    expected: str | int | None = None,
    actor: str | None = None,
    dry_run: bool = False,
    on_drift: OnDrift | None = None,
    on_stale: OnStale | None = None,
    op_id: str | None = None,
    session: ToolSession | None = None,
    allow_secret: bool = False,
    reason: str | None = None,
    proposes: bool = False,
    on_behalf: str | None = None,
) -> Written:
    """Make several operations as one revision; see ``Workspace.write``, and ``Write`` for the rest."""
    operations, expected = placed_expected(operations, expected)
    is_open, agent = target is None and expected is None, actor or PERSON
    is_found = is_open and _finds_its_file(operations)
    trying = gate.attempt(
        workspace,
        f"{name}/{'*' if is_found else TARGETS[0] if target is None else target}",
        op=asked_by(operations),
        agent=agent,
        prev=expected,
        recorded=not dry_run,
    )
    with one_reading():
        with trying as attempt:
            acting = None if actor is None else workspace.profile(actor)
            in_file = partial(terms_of, workspace, name, actor=acting, allow_secret=allow_secret)
            if is_open:
                target = found_target(workspace, operations, in_file, op_id)
            terms = in_file(known_target(TARGETS[0] if target is None else target))
            attempt.entity = terms.entity
            write = Write(
                terms,
                operations,
                None if expected is None else str(expected),
                on_drift,
                on_stale or workspace.config.on_stale,
                op_id,
                session=session,
                reason=checked_reason(reason, workspace.config, to_agent=actor is not None),
                proposes=proposes,
                on_behalf=on_behalf,
            )
            pipeline = Pipeline(workspace, write, attempt)
            written = pipeline.run(dry_run=dry_run)
        return pipeline.with_crowded(written)


def _finds_its_file(operations: Sequence[Operation]) -> bool:
    """Whether the entries that operations mean say which file of a profile is meant: an addition means none."""
    return bool(operations) and all(isinstance(each.old_text, str) for each in operations)


def found_target(
    workspace: Root, operations: Sequence[Operation], in_file: Callable[[str], Terms], op_id: str | None
) -> str:
    """The file that operations without a target mean: that of their entry, and of an addition that of its category.

    ``in_file`` gives the terms for a target. Raises what refuses the write to both files, ``AmbiguousError`` for an
    entry in both, and ``NoMatchError``.
    """
    find = _target_that_holds if _finds_its_file(operations) else _target_to_add_to
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
    names = {op_id, gate.proposal_op_id(agent, op_id)}
    return any(each.op_id in names and each.agent == agent for each in workspace.store.log(terms.entity))


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
