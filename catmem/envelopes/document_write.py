"""Envelopes on a memory file: operations, or a whole document in text or in JSON form, made on a named revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from catmem.config.access import Rights, visible_categories
from catmem.config.json_schema import shown
from catmem.envelopes.documents import plan_document, words_replaced
from catmem.envelopes.envelope import Content, Envelope
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
from catmem.model.document import Document, gone_entries
from catmem.store.contract import EXTERNAL, Current, stale
from catmem.writing.entry_write import OperationsWrite, Write
from catmem.writing.planning import Plan, unseen
from catmem.writing.policy import WritePolicy, check_beforehand, policy_of
from catmem.writing.request import Operation

AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."
ALIKE = 0.6
"""The share of common words below which a new text has little in common with the old one."""


class DocumentWrite(OperationsWrite):
    """The content of an envelope for a memory file, and the refusals that only envelopes have."""

    envelope: Envelope

    def found_policy(self) -> WritePolicy:
        """The policy of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
        envelope = self.envelope
        name, _, target = envelope.entity_id.partition("/")
        try:
            Rights(self.acting, target, self.workspace.config.taxonomy).refuse_other_owner(name)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        return policy_of(self.workspace, name, target, self.acting, allow_secret=self.asked.allow_secret)

    def check(self) -> None:
        """Raise what is forbidden whatever the file holds; what else is wrong with the content comes later."""
        self.policy = self.found_policy()
        actor, content, merges = self.policy.actor, self.envelope.content, self.asked.merges
        self.begin_session()
        self.describe()
        refuse_out_of_scope(content, self.operations, self.policy)
        if merges and actor is not None and not self.policy.unbounded:
            raise ForbiddenError(
                f"{actor.name} may not merge branches", hint="A person or a profile of tier 1 may do it."
            )
        for revision in merges:
            self.refuse_proposal(revision)
        if merges and (self.operations or (isinstance(content, dict) and content.get("partial"))):
            raise EnvelopeError(
                "parents names branches, and only a whole document says what becomes of their text",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {self.entity} brings branches in.",
            )
        self.hide_proposal()

    def planned(self, document: Document, current: Current) -> Plan:
        if current.revision != self.expected:
            refuse_second_of_a_number(self)
        return self._plan_of(document, current)

    def _plan_of(self, document: Document, current: Current) -> Plan:
        content, base = self.envelope.content, current.base
        if isinstance(content, list):
            check_beforehand(self.operations, self.policy)
            return super().planned(document, current)
        if base is None or base == document.to_bytes():
            plan = plan_document(document, content, self.policy, self.workspace.parse)
            self._refuse_unseen(document, plan.document)
            return plan
        return self._joined(document, base, content)

    def _joined(self, document: Document, base: bytes, content: str | dict[str, Any]) -> Plan:
        """The plan on what the writer saw, brought together with what is there: nothing of either side is lost."""
        from catmem.model.merge import merge

        seen, parse = self.parsed(base), self.workspace.parse
        plan = plan_document(seen, content, self.policy, parse)
        merged = merge(seen, document, plan.document)
        if merged.conflicts:
            raise DriftError(f"{self.policy.entity} was changed where this write would change it", hint=AGAIN)
        if merged.text == document.text:
            return Plan(document, (), (), plan.notes, plan.warnings)
        new = parse(merged.text.encode())
        self._refuse_unseen(document, new)
        return plan._replace(document=new)

    def _refuse_unseen(self, document: Document, new: Document) -> None:
        """Refuse a whole text that takes away an entry or a heading which the conversation does not know as it is."""
        session = self.asked.session
        if session is None:
            return
        entry = next((each for each in gone_entries(document.entries, new.entries) if not self.knows(each)), None)
        if entry is not None:
            raise unseen(entry, self.policy)
        heading = session.lost_heading(self.policy.entity, document, new)
        if heading is not None:
            raise DriftError(
                f"your text of {self.policy.entity} lacks the heading {shown(heading)}, which another program wrote",
                hint="Nothing was written. Put the heading into your text, and write it again.",
            )

    def alert(self) -> None:
        if self.document is not None:
            self._alert(self.document)
        super().alert()

    def _alert(self, document: Document) -> None:
        """Refuse a document that has little in common with the old one. Operations say what they change."""
        content = self.envelope.content
        if not isinstance(content, list):
            asked = ALIKE if self.envelope.alert else 0
            words = words_replaced(content, document, self.policy)
            self.warn([words], max(asked, self.policy.config.semantic_alert))

    # --- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, error: CatmemError) -> CatmemError:
        """The first refusal that holds, in the order of docs/envelopes.md."""
        error = self.without_proposal(error)
        try:
            if isinstance(error, StaleError | DriftError | UnknownRevisionError):
                self._refuse_what_comes_before(error)
        except CatmemError as first:
            error = first
        if isinstance(error, RefusedError):
            error.found = error.found or head_of(self)
        elif isinstance(error, UnknownRevisionError):
            error.hint = f"{self.entity} is at revision {head_of(self)}. {AGAIN}"
        return super().refusal(error)

    def _refuse_what_comes_before(self, error: CatmemError) -> None:
        """Raise what stands before an old view in the order, or before a change by another program."""
        refuse_second_of_a_number(self)
        seen = self._seen_text()
        if isinstance(error, UnknownRevisionError) or seen is None:
            return
        try:
            self._plan_of(seen, Current(seen.to_bytes(), str(self.envelope.prev_rev), None))
        except ForbiddenError:
            raise
        except CatmemError:
            pass  # what is wrong with the content comes after an old view
        if isinstance(error, DriftError):
            refuse_stale_before_drift(self, error)
            self._alert(seen)

    def _seen_text(self) -> Document | None:
        """What the writer saw; ``None`` if there is no such revision, and for what cannot be read."""
        with suppress(UnknownRevisionError):
            return self.parsed_or_none(self.workspace.store.read(self.entity, str(self.envelope.prev_rev)).data)
        return None


# --- what tells who wrote in between -------------------------------------------------------------------------------


def head_of(a: Write) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = a.workspace.store.head(a.entity)
    return "0" if head is None else head.revision


def refuse_second_of_a_number(a: Write) -> None:
    """Raise ``OperationCollisionError`` for a second revision of one number from the writer of the first."""
    # Only a write that was not made on the head can be one. In branch mode it becomes a branch, as any other write on
    # an old view does.
    envelope = a.envelope
    if envelope is None or (a.asked.on_stale or a.workspace.config.on_stale) == "branch":
        return
    # An external change since, which this commit may have taken in, changes nothing.
    log = a.workspace.store.log(a.entity)
    last = next((each for each in log if each.agent != EXTERNAL and not each.is_branch), None)
    if last is None or last.agent != envelope.agent_id or last.op_id == envelope.op_id:
        return
    first = last.note.get("envelope", {}).get("mem_hash")
    same_place = last.revision == str(envelope.mem_rev) and last.parents == tuple(map(str, envelope.parents))
    if same_place and first is not None and first != envelope.mem_hash:
        raise OperationCollisionError(
            f"{last.who} wrote something newer before this: revision {last.revision}, with other content",
            expected=str(envelope.prev_rev),
            found=head_of(a),
            hint=f"It may come from another tab, session or process of {last.who}. {AGAIN} With on_stale: branch in "
            "catmem.yaml such writes are kept as branches.",
        )


def refuse_stale_before_drift(a: Write, error: DriftError) -> None:
    """Raise the refusal of an old view instead of that of an external change, if a write came between, too."""
    for revision in a.workspace.store.log(a.entity):
        if revision.revision == a.expected:
            return
        if revision.agent != EXTERNAL and not revision.is_branch:
            refusal = stale(a.entity, a.expected or "0", head_of(a))
            refusal.drift_backup = error.drift_backup
            raise refusal from error


# --- whose business the content is ----------------------------------------------------------------------------------


_PARTLY = "Send operations instead, or the JSON form with partial: true and the categories that it sees and may write."


def refuse_out_of_scope(content: Content, operations: Sequence[Operation], policy: WritePolicy) -> None:
    """Raise ``ForbiddenError`` for what the writer may not send, whatever is in the file."""
    # A whole document from a writer who does not see all of the old one would tell, by what becomes of it, whether it
    # is equal to what is hidden; so would the whole of a category that it does not see.
    if isinstance(content, list):
        for operation in operations:
            try:
                check_beforehand([operation], policy)
            except ForbiddenError:
                raise
            except CatmemError:  # what is wrong with the content itself is reported after what is there was looked at
                continue
    elif isinstance(content, str) or not content.get("partial"):
        if not policy.unbounded:
            name = "" if policy.actor is None else policy.actor.name
            raise ForbiddenError(f"{name} may not write a whole document: it does not see all of it", hint=_PARTLY)
    else:
        _refuse_partial(content, policy)


def _refuse_partial(content: Mapping[str, Any], policy: WritePolicy) -> None:
    actor = policy.actor
    for named in content["categories"]:
        category = policy.category(named)
        policy.refuse_unwritable(category, named)
        if actor is not None and not visible_categories((category,), policy.target, actor, policy.taxonomy):
            raise ForbiddenError(
                f"{actor.name} may not write the whole of the category {category!r}, which it does not see",
                hint="Add to it by operations.",
            )
    if "title" in content and actor is not None and not policy.unbounded:
        raise ForbiddenError(f"{actor.name} may not write the title of the document", hint="Leave title out.")
