"""A write to a declared entity: its whole content, in an envelope or from a program, as one revision.

The way is that of all writes, a gate and a commit of the store; only what is looked at in between is not a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catmem.config.access import writes_entity
from catmem.config.json_schema import shown
from catmem.digest import bytes_digest, content_digest
from catmem.entities.contents import content_bytes, merge_contents, plain_content
from catmem.envelopes.submitting import ALIKE, head_of, little_in_common, second_of_a_number, stale_before_drift
from catmem.errors import DriftError, ForbiddenError, RefusedError, StaleError, UnknownNameError, UnreadableError
from catmem.model.pairing import jaccard, words_of
from catmem.store.contract import EXTERNAL, PERSON, Change, Snapshot
from catmem.text import size_of
from catmem.workspace.history import declared_of
from catmem.writing import gate
from catmem.writing.matching import checked_expected
from catmem.writing.terms import check_threats
from catmem.writing.write import envelope_note
from catmem.writing.written import FileUsage, Written, on_adoption, on_branch, on_restoration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.config.config import DeclaredEntity
    from catmem.config.profile import Profile
    from catmem.store.contract import Current, OnStale
    from catmem.store.envelope import Envelope
    from catmem.workspace.root import Root
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.gate import Attempt


@dataclass
class EntityWrite:
    """One write to a declared entity. ``expected`` is what its writer saw last; ``actor`` ``None`` is a person."""

    workspace: Root
    declared: DeclaredEntity
    actor: Profile | None
    content: Any
    expected: str | None
    change: Change
    attempt: Attempt
    envelope: Envelope | None = None
    confirm: bool = False
    session: ToolSession | None = None
    """What its writer knows, if that is an agent in a conversation."""
    made_on: Current | None = field(default=None, init=False)

    @classmethod
    def of_envelope(  # noqa: PLR0913 - each by its name
        cls,
        workspace: Root,
        envelope: Envelope,
        actor: Profile | None,
        attempt: Attempt,
        *,
        on_stale: OnStale,
        confirm: bool,
    ) -> EntityWrite:
        """The write of an envelope whose writer is known. Raises ``ForbiddenError``."""
        change = Change(
            agent=envelope.agent_id,
            op_id=envelope.op_id,
            request=envelope.request,
            note={**envelope_note(envelope), "actor": None if actor is None else actor.name},
            on_drift=workspace.config.on_drift,
            on_stale=on_stale,
            merges=tuple(map(str, envelope.merges)),
        )
        try:
            declared = declared_of(workspace, envelope.entity_id, actor)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        content, prev = envelope.content, str(envelope.prev_rev)
        return cls(workspace, declared, actor, content, prev, change, attempt, envelope, confirm)

    def run(self) -> Written:
        """Write one revision, or raise the first refusal that holds."""
        name = self.declared.name
        if not writes_entity(self.declared, self.actor):
            writer = self.change.agent
            raise ForbiddenError(f"{writer} may not write to {shown(name)}", hint="It may only read it.")
        data = content_bytes(self.declared, self.content)
        texts, config = list(_texts(self.content)), self.workspace.config
        check_threats(texts, config, to_agent=self.actor is not None, allow_secret=self.confirm)

        def update(current: Current) -> bytes:
            return self._made(current, data)

        try:
            now = self.attempt.commit(self.expected, update, self.change, rebases=True)
        except (StaleError, DriftError) as error:
            self._refuse_what_comes_before(error)
            raise
        except RefusedError as error:
            error.found = error.found or head_of(self.workspace, name)
            raise
        return self._answer(now)

    def _made(self, current: Current, data: bytes) -> bytes:
        """The new bytes. What others changed since the writer's view is brought together with it, or refused."""
        self.made_on = current
        self._refuse_unseen(current)
        asked = ALIKE if self.envelope is not None and self.envelope.alert else 0
        least = max(asked, self.workspace.config.semantic_alert)
        if least and not self.confirm:
            old, new = (words_of(text.decode(errors="replace")) for text in (current.data, data))
            alike = jaccard(old, new)
            if old and alike < least:
                self.confirm = True
                self.attempt.refuse(little_in_common(alike, least))
        if current.base is None or current.base == current.data:
            return data
        hint = "Nothing was written. Read it again, and repeat the change on what is there now."
        try:
            merged = merge_contents(self.declared, current.base, current.data, data)
        except UnreadableError as error:
            raise DriftError(error.message, hint=hint) from error
        if merged.conflicts:
            raise DriftError(f"{self.declared.name} was changed where this write would change it", hint=hint)
        return merged.data

    def _refuse_unseen(self, current: Current) -> None:
        """Refuse to write over what another program wrote, and an agent was not shown."""
        name, head = self.declared.name, self.workspace.store.head(self.declared.name)
        if self.session is None or head is None or head.agent != EXTERNAL or head.revision != current.revision:
            return
        if not self.session.knows_content(name, head.digest):
            raise DriftError(
                f"another program wrote {name}, and you were not shown that",
                hint="Nothing was written. Read it as it is now, and bring over what is missing.",
            )

    def _refuse_what_comes_before(self, error: StaleError | DriftError) -> None:
        if self.envelope is None:
            return
        first = second_of_a_number(self.workspace, self.envelope, self.change.on_stale)
        if first is None and isinstance(error, DriftError):
            refusal = stale_before_drift(self.workspace, self.envelope, error)
            if refusal is not None:
                raise refusal from error
        if first is not None:
            raise first from error

    def _answer(self, now: Snapshot) -> Written:
        name, store = self.declared.name, self.workspace.store
        repeated = self.made_on is None
        if self.made_on is not None:
            before = self.made_on.data
        else:
            record = next((each for each in store.log(name) if each.revision == now.revision), None)
            before = store.read(name, record.parents[0]).data if record and record.parents else b""
        changed = repeated or before != now.data
        branch = now.branch and changed
        notes = [*self.attempt.notes(), *on_restoration(now)]
        notes += ["this was done before, under the same op_id"] if repeated else []
        notes += [on_adoption(now.adopted)] if now.adopted and not repeated else []
        notes += [on_branch(name, now.revision)] if branch else []
        old, new = (data.decode(errors="backslashreplace") for data in (before, now.data))
        return Written(
            entity=name,
            revision=now.revision,
            digest=now.digest,
            changed=changed,
            before=old,
            after=new,
            entries=(),
            usage=FileUsage(size_of(new), None),
            notes=tuple(notes),
            adopted=None if repeated else now.adopted,
            repeated=repeated,
            branch=branch,
        )


def _texts(content: Any, keys: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every text in a content, the keys of objects too, and each value behind the ``keys`` that say what it is."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield name
            yield from _texts(value, (*keys, name))
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value, keys)
    elif content is not None:
        yield str(content)
        yield from (f"{key}: {content}" for key in keys)


def write_entity(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    entity: str,
    content: Any,  # noqa: ANN401 - any JSON value
    *,
    expected: str | int,
    actor: str | None = None,
    merges: Sequence[str] = (),
    on_stale: OnStale | None = None,
    op_id: str | None = None,
    confirm: bool = False,
) -> Written:
    """Write the whole content of a declared entity; see ``Workspace.put``."""
    agent = actor or PERSON
    with gate.attempt(workspace, entity, op="write", agent=agent, prev=expected) as trying:
        acting = None if actor is None else workspace.profile(actor)
        declared = declared_of(workspace, entity, acting)
        value = plain_content(declared, content)
        asked = [entity, actor, bytes_digest(content_bytes(declared, value))]
        change = Change(
            agent=agent,
            op_id=op_id,
            request=content_digest(asked) if op_id else None,
            note={"actor": actor, **({"merged": list(merges)} if merges else {})},
            on_drift=workspace.config.on_drift,
            on_stale=on_stale or workspace.config.on_stale,
            merges=tuple(merges),
        )
        seen = checked_expected(expected)
        return EntityWrite(workspace, declared, acting, value, seen, change, trying, confirm=confirm).run()
