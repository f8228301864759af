"""Plain writes: what, where and on which revision. The rest of the envelope is made here, for a sender who is known.

For doors whose callers have a token, and no library to make an envelope with. There is still one way in: a plain write
becomes an envelope, and is refused for the same reasons in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import EnvelopeError, ForbiddenError, StaleError
from catmem.names import is_entity, is_name, is_revision
from catmem.policy.rights import Rights
from catmem.policy.schema import nearest, shown
from catmem.service import gate
from catmem.service.envelopes.making import newest, unsigned_envelope
from catmem.store.contract import PERSON, revision_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catmem.service.envelopes.writers import Sender
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Snapshot
    from catmem.store.envelope import Envelope

FIELDS = ("entity_id", "content", "prev_rev", "op_id", "alert")
"""What a plain write may have; the first two it must."""

_OF_ENVELOPES = frozenset({"agent_id", "role_id", "role_hash", "timestamp", "mem_rev", "parents", "mem_hash"})
_HINT = "Nothing was written. A plain write has entity_id and content, and says what it is made on."


class Base(NamedTuple):
    """What a caller says that its write is made on: a revision, or a text that no history had when it was read.

    ``fits`` tells whether a snapshot is that text.
    """

    revision: str | None
    fits: Callable[[Snapshot], bool] | None = None


def is_plain(fields: Mapping[str, Any]) -> bool:
    """Whether this is a plain write, or else an envelope, be it right or wrong."""
    return _OF_ENVELOPES.isdisjoint(fields)


def plain_envelope(
    workspace: Workspace, fields: Mapping[str, Any], sender: Sender | None, base: Base | None
) -> Envelope:
    """The envelope of a plain write by ``sender`` (``None``: a person), unsigned.

    ``base`` goes before ``prev_rev``; the caller has looked that one of the two is given. Raises ``EnvelopeError``,
    ``ForbiddenError``, ``UnknownNameError``, and ``StaleError`` where the text of ``base`` is no longer there.
    """
    named = fields.get("entity_id")
    if isinstance(named, str) and is_name(named):
        named = f"{named}/user"
        fields = {**fields, "entity_id": named}
    agent = PERSON if sender is None else sender.agent
    with gate.checks(workspace, named if isinstance(named, str) else "?", op="put", agent=agent):
        _check(fields)
        owner, _, target = str(named).partition("/")
        acting = None if sender is None else workspace.profile(sender.profile)
        if (
            acting is not None
            and owner != acting.name
            and not Rights(acting, target, workspace.config.taxonomy).unbounded
        ):
            raise ForbiddenError(
                f"{agent} may not write to {shown(named)}",
                hint=f"{acting.name} acts on its own files only: use the name {acting.name!r}.",
            )
        prev = fields.get("prev_rev") if base is None else base.revision
        if base is not None and base.revision is None:
            prev = _adopted(workspace, str(named), base, fields.get("op_id"))
        workspace.profile(owner)  # which says so if there is none
        return unsigned_envelope(
            workspace,
            str(named),
            fields["content"],
            agent=agent,
            prev=_number(prev),
            op_id=fields.get("op_id"),
            alert=bool(fields.get("alert", False)),
        )


def _check(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in FIELDS:
            near = nearest(name, FIELDS)
            raise EnvelopeError(
                f"the key {shown(name)} is not known here", key=None, hint=f"Did you mean {near!r}?" if near else _HINT
            )
    for name in FIELDS[:2]:
        if name not in fields:
            raise EnvelopeError(f"the key {name} is missing", key=name, hint=_HINT)
    _check_values(fields)


def _check_values(fields: Mapping[str, Any]) -> None:
    entity = fields["entity_id"]
    if not isinstance(entity, str) or not is_entity(entity):
        raise EnvelopeError(
            f"{shown(entity)} is no entity",
            key="entity_id",
            hint="Write PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.",
        )
    if not isinstance(fields["content"], str | dict | list):
        raise EnvelopeError(
            "content is neither a text, nor an object, nor a list of operations", key="content", hint=_HINT
        )
    if isinstance(fields["content"], list) and not all(isinstance(each, dict) for each in fields["content"]):
        raise EnvelopeError("an operation is an object", key="content", hint=_HINT)
    for name, kind in (("op_id", str), ("alert", bool)):
        if name in fields and not isinstance(fields[name], kind):
            raise EnvelopeError(f"{name} is {shown(fields[name])}", key=name, hint=_HINT)
    prev = fields.get("prev_rev")
    if prev is not None and (isinstance(prev, bool) or not is_revision(str(prev))):
        raise EnvelopeError(f"{shown(prev)} is no revision", key="prev_rev", hint="Write 7, or a branch as '8a'.")


def _number(prev: Any) -> int | str:  # noqa: ANN401 - any JSON value that was checked
    """A revision as an envelope writes it."""
    text = str(prev)
    return revision_number(text) if text.isdecimal() else text


def _adopted(workspace: Workspace, entity: str, base: Base, op_id: object) -> str:
    """The revision of a text that had none when it was read: it is taken into the history first, if it still is that.

    What is there is looked at before and after, so that nobody's later text passes for the one that was read. A retry
    is known by its ``op_id``, whatever it is made on.
    """
    store = workspace.store
    now = store.read(entity)
    if base.fits is not None and base.fits(now):
        prev, _ = newest(workspace, entity)
        if store.read(entity, prev).digest == now.digest:
            return prev
    head = store.head(entity)
    revision = "0" if head is None else head.revision
    if op_id is not None and any(each.op_id == op_id for each in store.log(entity)):
        return revision
    raise StaleError(
        f"{entity} is at revision {revision}; this write was made on an older text, which has none",
        found=revision,
        hint="Nothing was written. Read it again, and repeat the change on what is there now.",
    )
