"""The way in for envelopes: each refusal in its order, and then one revision.

::

    schema, bad_hash     the envelope alone
    forbidden            its sender, where an interface knows who that is
    bad_signature        its key                    up to here nothing of the root but keys and time counts,
    clock_skew           its time                   and to role_drift nothing but the profile of the agent
    role_drift           its profile
    forbidden            entity and categories      by rights alone, and again where entries decide
    hash_collision       its op_id, the head's own
    stale_prev           the head                   from here on the answer tells what is at the head
    semantic_collision, drift
    structure, threat, over_budget                  the content
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from catmem import clock
from catmem.config.access import Rights
from catmem.config.json_schema import shown
from catmem.envelopes.agents import agents_of, bound_profile, fits, keys_of, role_drift
from catmem.envelopes.documents import overlap, plan_document
from catmem.envelopes.parsing import (
    envelope_of,
    fields_in,
    fields_of,
    moment,
    operations_of,
    refuse_out_of_scope,
)
from catmem.errors import (
    CatmemError,
    DriftError,
    EnvelopeError,
    ForbiddenError,
    OperationCollisionError,
    RefusedError,
    StaleError,
    UnknownNameError,
    UnknownRevisionError,
)
from catmem.jsonable import jsonable
from catmem.names import is_declared
from catmem.store.contract import EXTERNAL, Current, stale
from catmem.store.envelope import Envelope
from catmem.writing import gate
from catmem.writing.drift_guard import gone_entries
from catmem.writing.matching import hide_digests
from catmem.writing.operation import asked_by
from catmem.writing.planning import Plan, unseen
from catmem.writing.terms import check_beforehand, checked_reason, terms_of
from catmem.writing.write import Pipeline, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catmem.config.profile import Profile
    from catmem.entities.entity_writing import EntityWrite
    from catmem.model.document import Document
    from catmem.store.contract import OnStale
    from catmem.workspace.root import Root
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.gate import Attempt
    from catmem.writing.terms import Terms
    from catmem.writing.written import Written


_LARGEST = 10**18
_AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."


def submit(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    given: Any,  # noqa: ANN401 - an envelope, its fields, or its text
    *,
    confirm: bool = False,
    sender: Sender | None = None,
    on_stale: OnStale | None = None,
    size: int | None = None,
    session: ToolSession | None = None,
) -> Written:
    """Make the write of an envelope; see ``Workspace.submit``."""
    # `session` is what its sender knows, if that is an agent in a conversation. With `size` it is a JSON value that
    # `json_of` gave, of a text of so many bytes: it is not read once more.
    with gate.checks(workspace, "?", op="write", agent="?"):
        if size is None:
            fields = fields_of(jsonable(given) if isinstance(given, Envelope) else given)
        else:
            fields = fields_in(given, size)
    return _submit(
        workspace, _named(fields), lambda: envelope_of(fields), _Manner(confirm, sender, on_stale, session=session)
    )


def submit_read(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    envelope: Envelope,
    *,
    confirm: bool = False,
    sender: Sender | None = None,
    on_stale: OnStale | None = None,
    allow_secret: bool | None = None,
    reason: str | None = None,
    session: ToolSession | None = None,
) -> Written:
    """The same for an envelope that ``read_envelope`` or ``Workspace.envelope`` gave just now."""
    # `on_stale` is by default what catmem.yaml says, `allow_secret` (the yes of a person) what `confirm` says.
    named = envelope.entity_id, envelope.agent_id, str(envelope.prev_rev)
    return _submit(
        workspace, named, lambda: envelope, _Manner(confirm, sender, on_stale, allow_secret, reason, session)
    )


class _Manner(NamedTuple):
    confirm: bool = False
    sender: Sender | None = None
    on_stale: OnStale | None = None
    allow_secret: bool | None = None
    reason: str | None = None
    session: ToolSession | None = None


def _submit(
    workspace: Root, named: tuple[str, str, str | None], read: Callable[[], Envelope], manner: _Manner
) -> Written:
    """``named`` are entity, agent and base for the record; ``read`` gives the envelope, or raises what is wrong."""
    entity, agent, prev = named
    with gate.attempt(workspace, entity, op="write", agent=agent, prev=prev) as trying:
        envelope = read()
        if is_declared(envelope.entity_id):
            if manner.reason:
                raise EnvelopeError(f"{envelope.entity_id} takes no reason", key="reason", hint="Leave it out.")
            return _declared_write(workspace, envelope, trying, manner).run()
        submission = _submission(workspace, envelope, trying, manner)
        written = submission.run()
    return submission.with_crowded(written)


def _declared_write(workspace: Root, envelope: Envelope, trying: Attempt, manner: _Manner) -> EntityWrite:
    """The write of an envelope to an entity that catmem.yaml declares."""
    from catmem.entities.entity_writing import EntityWrite

    actor = _checked_writer(workspace, envelope, trying, manner)
    on_stale = manner.on_stale or workspace.config.on_stale
    write = EntityWrite.of_envelope(workspace, envelope, actor, trying, on_stale=on_stale, confirm=manner.confirm)
    write.session = _begun(workspace, manner.session, actor, envelope.entity_id)
    return write


def _begun(workspace: Root, session: ToolSession | None, actor: Profile | None, entity: str) -> ToolSession | None:
    """A conversation that has begun with the entity which it is to write."""
    if session is not None and actor is not None:
        session.begin(workspace, actor.name, entity)
    return session


def _checked_writer(
    workspace: Root, envelope: Envelope, trying: Attempt, manner: _Manner, op: str = "write"
) -> Profile | None:
    """The profile that writes an envelope, ``None`` for a person, after the checks of who sends it."""
    check_sender(envelope, manner.sender)
    trying.op = op
    check_signature(workspace, envelope, trying)
    check_time(workspace, envelope, trying)
    return checked_role(workspace, envelope, trying, manner.sender)


def _submission(workspace: Root, envelope: Envelope, trying: Attempt, manner: _Manner) -> Submission:
    """The write of an envelope that is right by itself, after the checks of who sends it."""
    operations = operations_of(envelope.content) if isinstance(envelope.content, list) else ()
    actor = _checked_writer(workspace, envelope, trying, manner, asked_by(operations))
    allow_secret = manner.confirm if manner.allow_secret is None else manner.allow_secret
    write = Write(
        terms_of_envelope(workspace, envelope, actor, allow_secret=allow_secret),
        operations,
        str(envelope.prev_rev),
        None,
        manner.on_stale or workspace.config.on_stale,
        envelope.op_id,
        envelope,
        session=_begun(workspace, manner.session, actor, envelope.entity_id),
        reason=checked_reason(manner.reason, workspace.config, to_agent=actor is not None),
    )
    return Submission(workspace, write, trying, confirm=manner.confirm)


def _named(fields: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Entity, agent and base as an envelope names them: for the record, also if they are not as they must be."""
    entity, agent, prev = (fields.get(name) for name in ("entity_id", "agent_id", "prev_rev"))
    return (
        entity if isinstance(entity, str) else "?",
        agent if isinstance(agent, str) else "?",
        str(prev) if isinstance(prev, str) or (isinstance(prev, int) and abs(prev) < _LARGEST) else None,
    )


# --- what is there -------------------------------------------------------------------------------------------------


ALIKE = 0.6
"""The share of common words below which a new text has little in common with the old one."""


@dataclass
class Submission(Pipeline):
    """An envelope whose writer is known, on its way to the store: the refusals that only envelopes have."""

    confirm: bool = False
    alerted: bool = False

    @property
    def envelope(self) -> Envelope:
        """The envelope that the write came in."""
        if self.write.envelope is None:
            raise AssertionError(self.write)
        return self.write.envelope

    def check(self) -> None:
        """Refuse what is forbidden whatever the file holds; what else is wrong with the content comes later."""
        refuse_out_of_scope(self.envelope.content, self.write.operations, self.terms)
        actor = self.terms.rights.actor
        if self.envelope.merges and actor is not None and not self.terms.rights.unbounded:
            raise ForbiddenError(f"{actor.name} may not merge branches", hint="A person may, and a tier-1 profile.")
        merged = set(map(str, self.envelope.merges))
        for revision in self.workspace.store.log(self.terms.entity) if merged else ():
            if revision.revision in merged and revision.is_proposal:
                raise gate.on_proposal(self.terms.entity, revision.revision)

    def commit(self) -> Written:
        """Write one revision, or raise the first refusal that holds."""
        try:
            return super().commit()
        except (StaleError, DriftError, UnknownRevisionError) as error:
            self._refuse_second_of_a_number()
            self._refuse_what_comes_before(error)
        except RefusedError as error:
            self._tell(error)
            raise

    def planned(self, document: Document, current: Current) -> Plan:
        """The plan. What is forbidden is reported before the alert, and what is wrong with the content after it."""
        if current.revision != self.write.expected:
            self._refuse_second_of_a_number()
        try:
            plan = self._plan_of(document, current)
        except (ForbiddenError, RefusedError):
            raise
        except CatmemError:
            self._alert(document)
            raise
        self._alert(document)
        return plan

    def _plan_of(self, document: Document, current: Current) -> Plan:
        content, base = self.envelope.content, current.base
        if isinstance(content, list):
            check_beforehand(self.write.operations, self.terms)
            return super().planned(document, current)
        if base is None or base == document.to_bytes():
            plan = plan_document(document, content, self.terms, self.workspace.parse)
            self._refuse_unseen(document, plan.document)
            return plan
        return self._merged(document, base, content)

    def _merged(self, document: Document, base: bytes, content: str | dict[str, Any]) -> Plan:
        """The plan on what the writer saw, brought together with what is there: nothing of either side is lost."""
        from catmem.model.merge import merge

        seen = self.legible(base)
        plan = plan_document(seen, content, self.terms, self.workspace.parse)
        merged = merge(seen, document, plan.document)
        if merged.conflicts:
            raise DriftError(f"{self.terms.entity} was changed where this write would change it", hint=_AGAIN)
        if merged.text == document.text:
            return Plan(document, (), (), plan.notes, plan.warnings)
        new = self.workspace.parse(merged.text.encode())
        self._refuse_unseen(document, new)
        return plan._replace(document=new)

    def _refuse_unseen(self, document: Document, new: Document) -> None:
        """Refuse a whole text that takes away an entry or a heading which the conversation does not know as it is."""
        if self.write.session is None:
            return
        entry = next((each for each in gone_entries(document, new) if not self.knows(each)), None)
        if entry is not None:
            raise unseen(entry, self.terms)
        heading = self.write.session.lost_heading(self.terms.entity, document, new)
        if heading is not None:
            raise DriftError(
                f"your text of {self.terms.entity} lacks the heading {shown(heading)}, which another program wrote",
                hint="Nothing was written. Put the heading into your text, and write it again.",
            )

    def _alert(self, document: Document) -> None:
        """Refuse, once, a document that has little in common with the old one. Operations say what they change."""
        content = self.envelope.content
        if not self.envelope.alert or self.confirm or self.alerted or isinstance(content, list):
            return
        alike = overlap(content, document, self.terms)
        if alike < ALIKE:
            self.alerted = True
            self.attempt.refuse(little_in_common(alike))

    # --- refusals --------------------------------------------------------------------------------------------------

    def _refuse_second_of_a_number(self) -> None:
        """Raise ``OperationCollisionError`` for a second revision of one number from the writer of the first."""
        error = second_of_a_number(self.workspace, self.envelope, self.write.on_stale)
        if error is not None:
            self._tell(error)
            raise error

    def _refuse_what_comes_before(self, error: CatmemError) -> NoReturn:
        """Raise what stands before an old view in the order, if that is wrong too; else the error itself."""
        document = None
        if not isinstance(error, UnknownRevisionError):
            with suppress(UnknownRevisionError):
                seen = self.workspace.store.read(self.terms.entity, str(self.envelope.prev_rev))
                document = self.legible_or_none(seen.data)
        if document is not None:
            try:
                self._plan_of(document, Current(seen.data, str(self.envelope.prev_rev), None))
            except ForbiddenError:
                raise
            except CatmemError:
                pass  # what is wrong with the content comes after an old view
            if isinstance(error, DriftError):
                refusal = stale_before_drift(self.workspace, self.envelope, error)
                if refusal is not None:
                    raise refusal from error
                self._alert(document)
        if isinstance(error, RefusedError):
            self._tell(error)
        else:
            error.hint = f"{self.terms.entity} is at revision {head_of(self.workspace, self.terms.entity)}. {_AGAIN}"
        raise error

    def _tell(self, error: RefusedError) -> None:
        """Let a refusal say what is at the head, as far as the writer may know it."""
        if not self.terms.rights.unbounded:
            hide_digests(error)
        if error.found is None:
            error.found = head_of(self.workspace, self.terms.entity)


def head_of(workspace: Root, entity: str) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = workspace.store.head(entity)
    return "0" if head is None else head.revision


def little_in_common(alike: float, least: float = ALIKE) -> RefusedError:
    """The refusal of a content that shares so few words with the old one that its writer wanted to be warned."""
    return RefusedError(
        f"the new text has little in common with the old one: {alike:.2f} of all words, under {least}",
        code="semantic_collision",
        hint="Nothing was written. Look at what is there now; to write it all the same, send it again with confirm "
        "(catmem write --confirm).",
    )


def second_of_a_number(workspace: Root, envelope: Envelope, on_stale: OnStale) -> OperationCollisionError | None:
    """The refusal of a second revision of one number from the writer of the first, ``None`` for another write."""
    # Only a write that was not made on the head can be one. In branch mode it becomes a branch, as any other write on
    # an old view does.
    if on_stale == "branch":
        return None
    log = workspace.store.log(envelope.entity_id)
    # An external change since, which this commit may have taken in, changes nothing.
    last = next((each for each in log if each.agent != EXTERNAL and not each.is_branch), None)
    if last is None or last.agent != envelope.agent_id or last.op_id == envelope.op_id:
        return None
    first = last.note.get("envelope", {}).get("mem_hash")
    same_place = last.revision == str(envelope.mem_rev) and last.parents == tuple(map(str, envelope.parents))
    if not same_place or first is None or first == envelope.mem_hash:
        return None
    return OperationCollisionError(
        f"{last.who} wrote something newer before this: revision {last.revision}, with other content",
        expected=str(envelope.prev_rev),
        found=head_of(workspace, envelope.entity_id),
        hint=f"It may come from another tab, session or process of {last.who}. {_AGAIN} With on_stale: branch in "
        "catmem.yaml such writes are kept as branches.",
    )


def stale_before_drift(workspace: Root, envelope: Envelope, error: DriftError) -> StaleError | None:
    """The refusal of an old view in the place of that of an external change, if another write came between, too."""
    entity, prev = envelope.entity_id, str(envelope.prev_rev)
    for revision in workspace.store.log(entity):
        if revision.revision == prev:
            return None
        if revision.agent != EXTERNAL and not revision.is_branch:
            refusal = stale(entity, prev, head_of(workspace, entity))
            refusal.drift_backup = error.drift_backup
            return refusal
    return None


# --- who writes: the words are the same for what there is and what there is not ------------------------------------


class Sender(NamedTuple):
    """Who an interface knows the sender of an envelope to be: an agent, and the profile that its token is bound to."""

    agent: str
    profile: str


def check_sender(envelope: Envelope, sender: Sender | None) -> None:
    """Refuse an envelope of another agent than its sender, in the same words whether there is such an agent."""
    if sender is not None and envelope.agent_id != sender.agent:
        raise ForbiddenError(
            "the agent of this envelope is not the one that sends it",
            hint=f"Nothing was written. This sender writes as agent_id {sender.agent!r} only.",
        )


def check_signature(workspace: Root, envelope: Envelope, trying: Attempt) -> None:
    """Refuse a signature that is not by a key of the agent, in the same words where there is no such agent or key."""
    config = workspace.config
    if envelope.signature is None:
        if config.signing.required:
            refusal = _bad_signature("this envelope is not signed, and has to be here")
            if _is_unbounded(workspace, envelope):
                raise refusal  # a rollout makes no agent a person, or a profile that may do everything
            trying.refuse(refusal)
        return
    keys = keys_of(config, envelope.agent_id, agents_of(config))
    if not any(key.key_id == envelope.key_id and envelope.is_signed_by(key.secret) for key in keys):
        raise _bad_signature("this envelope is not signed by the agent that it names")


def _is_unbounded(workspace: Root, envelope: Envelope) -> bool:
    try:
        actor = bound_profile(workspace, envelope.agent_id)
    except RefusedError:
        return False
    return Rights(actor, "user", workspace.config.taxonomy).unbounded


def _bad_signature(message: str) -> EnvelopeError:
    return EnvelopeError(
        message,
        code="bad_signature",
        key="signature",
        hint="Nothing was written. Sign it with a key of that agent that is in use: 'catmem key list' lists them.",
    )


def check_time(workspace: Root, envelope: Envelope, trying: Attempt) -> None:
    """Refuse a time that is too far from the time here; an old one without a signature where the root asks for it."""
    signing = workspace.config.signing
    apart, most = moment(envelope.timestamp) - clock.now(), timedelta(seconds=signing.clock_skew)
    side = "after" if apart > most else "before"
    # One without a signature may have waited in a queue, and a new time for it would prove nothing.
    may_be_old = envelope.signature is None and not signing.ages_unsigned
    if apart > most or (-apart > most and not may_be_old):
        trying.refuse(
            EnvelopeError(
                f"the time of this envelope is {side} the time here, by more than {most}",
                code="clock_skew",
                key="timestamp",
                hint="Nothing was written. Set the clocks; a retry has a new time and signature, and the same op_id.",
            )
        )


def checked_role(workspace: Root, envelope: Envelope, trying: Attempt, sender: Sender | None = None) -> Profile | None:
    """The profile that the agent acts as, ``None`` for a person, if the envelope knows it as it is now."""
    # That of a `sender` has to be the one that the interface bound it to, whatever a rollout lets pass.
    profile = bound_profile(workspace, envelope.agent_id)
    if sender is not None and (profile is None or profile.name != sender.profile):
        raise role_drift()
    if profile is not None and not fits(envelope, profile):
        trying.refuse(role_drift())
    return profile


def terms_of_envelope(
    workspace: Root, envelope: Envelope, actor: Profile | None, *, allow_secret: bool = False
) -> Terms:
    """The terms of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
    name, _, target = envelope.entity_id.partition("/")
    try:
        Rights(actor, target, workspace.config.taxonomy).refuse_other_owner(name)
    except UnknownNameError as error:
        message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
        raise ForbiddenError(message, hint=error.hint) from None
    return terms_of(workspace, name, target, actor, allow_secret=allow_secret)
