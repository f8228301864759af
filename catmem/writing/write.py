"""The one way of a write: a request of whatever interface passes the same steps in the same order.

::

    Request ── papers, rights ──> commit ── plan, alert, approval ──> revision ──> Written
                                    └── asked again if another write was faster

The order of what is refused is a promise (docs/envelopes.md). Steps before the commit know nothing of the text; those
after it are asked under the lock of the store, on the text that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from catmem.config.profile import one_reading
from catmem.errors import ApprovalError, CatmemError, EditError, wrong_type
from catmem.model.document import Entry
from catmem.names import TARGETS
from catmem.registry import at, bad_plugin, registry
from catmem.store.contract import PERSON, UNREAD, Change, Current, Revision, Snapshot, is_branch
from catmem.text import size_of
from catmem.workspace.profile_memory import lost_text
from catmem.workspace.root import Root
from catmem.writing.entry_write import OperationsWrite, Write
from catmem.writing.matching import parse_for_write
from catmem.writing.planning import Plan
from catmem.writing.policy import WritePolicy
from catmem.writing.request import Operation, Request, finds_its_file, placed_expected
from catmem.writing.written import FileUsage, Written, notes_on, on_branch

if TYPE_CHECKING:
    from catmem.proposals.proposal import NewProposal

_KEPT = ("role_id", "role_hash", "key_id", "signature", "mem_hash", "timestamp")
"""What the history keeps of an envelope beside what every revision has; the content is the revision itself."""


# --- the steps -----------------------------------------------------------------------------------------------------


def check_papers(attempt: Write) -> None:
    """Find the profile that acts. Refuse an envelope that is not what it has to be, or not from whom it says."""
    if attempt.asked.papers is not None:
        attempt.acting = attempt.asked.papers.check(attempt)
    elif attempt.asked.actor is not None:
        attempt.acting = attempt.workspace.profile(attempt.asked.actor)


def check_rights(attempt: Write) -> None:
    """Find the entity. Refuse who may not write there, and what can be written nowhere."""
    attempt.check()
    if attempt.asked.op_id == "":
        raise EditError("op_id is empty", code="bad_operation", hint="Leave it out, or give a name of your own.")
    for revision in attempt.asked.merges:
        if not (is_branch(revision) or is_branch(attempt.expected or "0")):
            raise EditError(
                f"revision {revision} of {attempt.entity} is no branch, so nothing can merge it",
                code="not_a_branch",
                hint="Nothing was written. 'catmem branches' lists what can be merged.",
            )
    attempt.change = _change(attempt)


def _change(attempt: Write) -> Change:
    """What the store learns of it; the steps add to its note until it is recorded."""
    asked, envelope = attempt.asked, attempt.envelope
    attempt.note |= {"actor": attempt.actor} | ({"merged": list(asked.merges)} if asked.merges else {})
    agent, request = attempt.actor or PERSON, None
    if envelope is not None:
        kept = {name: getattr(envelope, name) for name in _KEPT}
        attempt.note["envelope"] = {name: value for name, value in kept.items() if value is not None}
        agent, request = envelope.agent_id, envelope.request
    elif asked.op_id:
        request = attempt.request()
    return Change(
        op=attempt.recorded_op,
        agent=agent,
        op_id=asked.op_id,
        request=request,
        note=attempt.note,
        on_drift=attempt.on_drift(),
        on_stale=asked.on_stale or attempt.workspace.config.on_stale,
        merges=asked.merges,
        keeps_note=attempt.keeps_note,
    )


def commit_text(attempt: Write) -> None:
    """Ask the store whether the writer's view still holds, and write one revision; of a dry run the same is said."""

    def made(_: Current) -> bytes:
        attempt.plan = attempt.before = None
        run(attempt, "on the text")
        return attempt.data

    try:
        attempt.commit(attempt.expected, made, attempt.change)
    except ApprovalError:
        # A merge closes branches, which no proposal shows.
        if attempt.plan is None or attempt.asked.merges:
            raise
        attempt.waits = True
    except CatmemError as error:
        refusal = attempt.refusal(error)
        if refusal is error:
            raise
        raise refusal from error


def hold_back(attempt: Write) -> None:
    """Hold back what asks to wait for a person; what has to by the policy of the root the gate holds back."""
    if attempt.asked.proposes and attempt.data != attempt.current.data:
        raise ApprovalError(f"this {attempt.change.op} asks to wait")


When: TypeAlias = Literal["before", "on the text"]


class WriteStep(NamedTuple):
    """One of the steps. ``refusals`` are the codes that docs/envelopes.md puts in an order."""

    name: str
    when: When
    run: Callable[[Write], None]
    refusals: tuple[str, ...] = ()


_OF_PAPERS = ("schema", "bad_hash", "forbidden", "bad_signature", "clock_skew", "role_drift")
STEPS = (
    WriteStep("papers", "before", check_papers, _OF_PAPERS),
    WriteStep("rights", "before", check_rights, ("forbidden",)),
    WriteStep("commit", "before", commit_text, ("hash_collision", "unknown_revision", "drift", "stale_prev")),
    WriteStep("plan", "on the text", methodcaller("make"), ("threat", "secret", "over_budget", "no_match")),
    WriteStep("alert", "on the text", methodcaller("alert"), ("semantic_collision",)),
    WriteStep("approval", "on the text", hold_back),
)
"""The steps of a write, in their order. The store asks those on the text inside of ``commit``."""


@cache
def steps_of(names: tuple[str, ...]) -> tuple[WriteStep, ...]:
    """The steps with those of plugins that catmem.yaml names. Raises ``ConfigError`` (``bad_plugin``)."""
    found = list(STEPS)
    for name in names:
        added, before = registry().steps.get(name, ("", ""))
        place = next((place for place, each in enumerate(found) if each.name == before), None)
        if place is None:
            raise bad_plugin(f"no plugin adds the step {name!r} to writes, which catmem.yaml names")
        found.insert(place, WriteStep(name, found[place].when, at(added)))
    return tuple(found)


def run(attempt: Write, when: When) -> None:
    """Take the steps of one part."""
    for step in steps_of(attempt.workspace.config.steps):
        if step.when == when:
            step.run(attempt)


def write(root: Root, asked: Request) -> Written:
    """Make a write, or say what it would do. Raises what the first step refuses it with."""
    attempt = (asked.kind or OperationsWrite)(root, asked)
    with one_reading():
        with attempt:
            run(attempt, "before")
            written = (
                _proposed(attempt, attempt.plan) if attempt.waits and attempt.plan is not None else _answer(attempt)
            )
        # After the attempt, whose time is that of the write.
        lost = None
        if attempt.policy and written.adopted and not written.branch:  # which says only what there was at its base
            lost = lost_text(root, attempt.policy.actor, attempt.entity, written.after.encode())
        return replace(written, notes=(*written.notes, lost)) if lost else written


def write_operations(
    root: Root,
    name: str,
    operations: Sequence[Operation],
    **how: Any,  # noqa: ANN401 - fields of a request
) -> Written:
    """Make several operations as one revision; see ``Workspace.write``. Without target and view the file is found."""
    if not (isinstance(operations, list | tuple) and all(isinstance(each, Operation) for each in operations)):
        raise wrong_type("operations", operations, "a list of catmem.Operation, as [Operation('add', content=...)]")
    placed, how["expected"] = placed_expected(operations, how.get("expected"))
    target = how.get("target")
    is_open = target is None and how["expected"] is None
    named = "*" if is_open and finds_its_file(placed) else TARGETS[0] if target is None else target
    return write(root, Request(f"{name}/{named}", placed, profile=name, **how))


def _answer(attempt: Write) -> Written:
    """What was done, or would be; to a retry what the first write with its ``op_id`` did."""
    now, plan = attempt.snapshot, attempt.plan
    if now is None:
        message = "a write that was not refused has a snapshot"
        raise AssertionError(message)
    # A write at the very moment of the commit may have been merged in, so the plan need not be all of it.
    after = plan.document.text if plan is not None and now.data is attempt.data else now.data.decode(errors="replace")
    if attempt.before is None:
        written = _first_answer(attempt, now, after)
        if written.waiting is not None:
            return written
    else:
        written = replace(
            _written(attempt, now, attempt.before, after, () if plan is None else plan.entries),
            notes=notes_on(now, () if plan is None else plan.notes),
            changed=after != attempt.before or attempt.keeps_note,
            warnings=() if plan is None else tuple(plan.warnings),
            adopted=now.adopted,
        )
    if now.branch and written.changed:
        written = replace(written, branch=True, notes=(*written.notes, on_branch(attempt.entity, now.revision)))
    unmerged = () if attempt.policy is None else attempt.policy.unmerged(attempt.entity, after, attempt.workspace.parse)
    return replace(written, warnings=(*written.warnings, *unmerged)) if unmerged else written


def _written(attempt: Write, now: Snapshot, before: str, after: str, entries: tuple[Entry, ...]) -> Written:
    """The answer of a write to which nothing else is to be said."""
    return Written(
        attempt.entity,
        now.revision,
        now.digest,
        changed=before != after,
        before=before,
        after=after,
        entries=entries,
        usage=FileUsage(size_of(after), None if attempt.policy is None else attempt.policy.limit),
        bounded=attempt.policy is not None and not attempt.policy.unbounded,
    )


def _first_answer(attempt: Write, now: Snapshot, after: str) -> Written:
    """What the first write with this ``op_id`` did, from its record."""
    store = attempt.workspace.store
    record = next((each for each in store.log(attempt.entity) if each.revision == now.revision), None)
    before = store.read(attempt.entity, record.parents[0] if record and record.parents else "0").data
    entries = _touched(attempt, attempt.policy, record, before, now.data) if record and attempt.policy else ()
    if record is not None and record.is_proposal:
        from catmem.proposals.proposal import proposed_before

        return _waiting(attempt, proposed_before(attempt.workspace, record), entries)
    written = _written(attempt, now, before.decode(errors="replace"), after, entries)
    return replace(written, changed=True, repeated=True, notes=("this was done before, under the same op_id",))


def _touched(attempt: Write, policy: WritePolicy, record: Revision, before: bytes, after: bytes) -> tuple[Entry, ...]:
    """The entries that a revision of a memory file made or touched, as its record says."""
    old, new = (parse_for_write(attempt.workspace.parse, attempt.entity, data) for data in (before, after))
    found: list[Entry] = []
    for action in record.note.get("actions", ()):
        document = old if action.get("action") == "remove" else new
        place = policy.taxonomy.of_slug(action.get("category")), action.get("id")
        found += [entry for entry in document.entries if (entry.category, entry.id) == place][:1]
    return tuple(found)


def _proposed(attempt: Write, plan: Plan) -> Written:
    """Keep the write as a proposal."""
    from catmem.proposals.proposal import propose

    note = {name: value for name, value in attempt.note.items() if name != UNREAD}
    made = propose(attempt, attempt.current, attempt.data, replace(attempt.change, note=note))
    return replace(_waiting(attempt, made, plan.entries), warnings=tuple(plan.warnings))


def _waiting(attempt: Write, made: NewProposal, entries: tuple[Entry, ...]) -> Written:
    """What is in the file now, and the id to ask for."""
    waiting = None if attempt.dry_run and not made.repeated else made.id
    said = "this would wait for a person as a proposal"
    if waiting is not None:
        said = f"waiting: it is proposal {waiting}, and a person decides on it; the file is as it was"
    now = attempt.workspace.store.read(attempt.entity)
    text = now.data.decode(errors="replace")
    written = _written(attempt, now, text, text, entries)
    return replace(written, waiting=waiting, repeated=made.repeated, notes=(said, *made.notes))
