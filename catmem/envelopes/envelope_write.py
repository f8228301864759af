"""Envelopes on a memory file: operations, made on a named revision."""

from __future__ import annotations

from catmem.config.access import Rights
from catmem.config.json_schema import shown
from catmem.envelopes.envelope import Envelope
from catmem.errors import (
    CatmemError,
    EnvelopeError,
    ForbiddenError,
    RefusedError,
    UnknownNameError,
    UnknownRevisionError,
)
from catmem.names import parts_of
from catmem.writing.entry_write import OperationsWrite, Write
from catmem.writing.policy import WritePolicy, check_beforehand, policy_of

AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."


class EnvelopeWrite(OperationsWrite):
    """The operations of an envelope, and the refusals that only envelopes have."""

    envelope: Envelope

    def found_policy(self) -> WritePolicy:
        """The policy of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
        envelope = self.envelope
        name, target = parts_of(envelope.entity_id)
        try:
            Rights(self.acting, target, self.workspace.config.taxonomy).refuse_other_owner(name)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        return policy_of(self.workspace, name, target, self.acting, allow_secret=self.asked.allow_secret)

    def check(self) -> None:
        """Raise what is wrong whatever the file holds."""
        self.policy = self.found_policy()
        self.describe()
        check_beforehand(self.operations, self.policy)
        if self.asked.merges:
            raise EnvelopeError(
                "parents names branches, and no operation says what becomes of theirs",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {self.entity} brings branches in.",
            )
        self.hide_proposal()

    def refusal(self, error: CatmemError) -> CatmemError:
        """The same, which names the head."""
        error = self.without_proposal(error)
        if isinstance(error, RefusedError):
            error.found = error.found or head_of(self)
        elif isinstance(error, UnknownRevisionError):
            error.hint = f"{self.entity} is at revision {head_of(self)}. {AGAIN}"
        return super().refusal(error)


def head_of(a: Write) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = a.workspace.store.head(a.entity)
    return "0" if head is None else head.revision
