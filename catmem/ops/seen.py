"""What an agent may see of each kind of outcome: the one place that decides it.

An agent sees no digest of a whole memory file, no text of an entry that its profile does not see, none in which the
threat scan finds something, and no person's name. Of a declared entity every reader sees all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from catmem.errors import ForbiddenError
from catmem.jsonable import jsonable
from catmem.names import is_declared, parts_of
from catmem.staleness.freshness import advice
from catmem.store.contract import DECISION, Revision, revision_number
from catmem.workspace.seen_entry import entry_dicts
from catmem.writing.written import Written, advice_on

if TYPE_CHECKING:
    from catmem.merging.branches import Branch
    from catmem.merging.merging import MergePlan
    from catmem.ops.history import RevisionLog
    from catmem.ops.http_memory import EntityRead
    from catmem.ops.table import Call


def seen(value: Any, call: Call) -> Any:  # noqa: ANN401 - JSON-ready data
    """What the agent that calls may see of a value: by its rule, or else what the value's own ``seen`` says."""
    rule = _RULES.get(type(value).__name__) or _RULES.get(call.operation.name)
    if rule is None and hasattr(value, "seen"):
        return value.seen(call)
    if rule is None:
        raise ForbiddenError(
            f"{call.actor} may not see {call.operation.name}", hint="It is for a person.", code="forbidden"
        )
    return rule(value, call)


def _head(value: Mapping[str, Any], _: Call) -> dict[str, Any]:
    if is_declared(value["entity"]):
        return dict(value)
    return {name: value[name] for name in ("entity", "revision", "mem_rev", "recorded")}


def _entity_read(value: EntityRead, _: Call) -> dict[str, Any]:
    rows = value.rows(to_agent=True)
    said = {"entity": value.entity, "revision": value.revision, "entries": rows, "total": value.total}
    return said | advice(row["state"] for row in rows) | value.more


def _log(value: RevisionLog, call: Call) -> dict[str, Any]:
    """A bounded profile sees the revisions that it wrote itself, and no profile what they did.

    Their notes may name categories that it does not see. What waits for a person, and what became of it, is not among
    them: the name of its branch would tell of others.
    """
    found = iter(value.revisions)
    if not (is_declared(value.entity) or call.rights().unbounded):
        found = (
            each
            for each in found
            if each.note.get("actor") == call.actor and not (each.is_proposal or DECISION in each.note)
        )
    return {"entity": value.entity, "revisions": [_for_agent(each) for each in islice(found, value.limit)]}


def _for_agent(revision: Revision) -> dict[str, Any]:
    names = ("revision", "parents", "timestamp", "op", "agent", "op_id")
    return {name: getattr(revision, name) for name in names} | {"parents": list(revision.parents)}


def _written(value: Written, call: Call) -> dict[str, Any]:
    said = submitted(value, to_agent=True)
    return said | advice_on(call.root, value, str(call.actor)) if call.session is not None else said


def submitted(written: Written, *, to_agent: bool) -> dict[str, Any]:
    """What a write over HTTP did."""
    answer = jsonable(written)
    return {
        "entity": written.entity,
        "revision": written.revision,
        "mem_rev": revision_number(written.revision or "0"),
        "changed": written.changed,
        "branch": written.branch,
        "repeated": written.repeated,
        "entries": entry_dicts(written.entries, to_agent=to_agent),
        "usage": answer["usage"],
        "notes": answer["notes"],
        **({"warnings": answer["warnings"]} if answer["warnings"] or not to_agent else {}),
        **({} if to_agent and not is_declared(written.entity) else {"digest": written.digest}),
        **({} if written.waiting is None else {"waiting": written.waiting}),
    }


def _merged(value: MergePlan, call: Call) -> dict[str, Any]:
    """Of a merge an agent is given no texts: its selectors say what it is shown."""
    said: dict[str, Any] = jsonable(value)
    if is_declared(value.entity):
        return said
    del said["digest"], said["warnings"]  # a warning may quote entries; this one does not:
    unmerged = call.rights(parts_of(value.entity).target).unmerged(value.entity, value.after, call.root.parse)
    said |= {"warnings": list(unmerged)} if unmerged else {}
    return said | {name: [without_texts(each) for each in said[name]] for name in ("conflicts", "settled")}


def _branches(value: Sequence[Branch], _: Call) -> dict[str, Any]:
    rows = jsonable(value)
    return {"branches": [{name: said for name, said in row.items() if name != "person"} for row in rows]}


def _plain(value: Any, _: Call) -> Any:  # noqa: ANN401 - JSON-ready data
    """A declared entity, and what was made for the caller: proposals, and what is new."""
    return jsonable(value)


_RULES: dict[str, Callable[[Any, Call], Any]] = {
    "head": _head,
    "EntityRead": _entity_read,
    "read": _plain,
    "RevisionLog": _log,
    "Written": _written,
    "MergePlan": _merged,
    "Decided": _plain,
    "proposal": _plain,
    "proposals": lambda value, _: {"proposals": jsonable(value)},
    "prompt": lambda value, _: value,
    "seed": _plain,
    "branches": _branches,
    "Changes": _plain,
}


def without_texts(conflict: Mapping[str, Any]) -> dict[str, Any]:
    """A conflict for an agent: it may merge, but its selectors say what it is shown."""
    return {name: conflict[name] for name in ("branch", "reason", "taken") if name in conflict}
