"""Operations on the audit log and on the rollout: what was done, by whom, and which refusals are enforced."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from catmem.audit.log_queries import Filter, RolloutState
from catmem.audit.rollout import Bypass
from catmem.jsonable import jsonable
from catmem.ops.table import STREAMED, Call, Outcome, P, UsageError, operation
from catmem.store.audit_log import AuditLine, Damage, Status

_FIRST_SHOWN = 10
_LOOK_EVERY = 0.2
"""Seconds between two looks of ``--follow``."""
_Since = Annotated[
    datetime | None,
    P("Only from this moment on: a day, a time in UTC, or how long ago (2h).", metavar="TIME"),
]


@dataclass(frozen=True, slots=True)
class Following:
    """The lines of the log, and what is damaged in it, as they come."""

    lines: Iterator["AuditLine | Damage"]


@operation(
    "audit",
    examples=(
        "catmem audit --since 1d",
        "catmem audit --entity trinity/user --status refused",
        "catmem audit --follow",
        "catmem audit --summary",
    ),
    opens="root",
    formats=False,
)
def audit(
    call: Call,
    *,
    entity: Annotated[str | None, P("Only this one; PROFILE alone means both its files.", metavar="ENTITY")] = None,
    agent: Annotated[str | None, P("Only what this agent did; you are 'person'.", metavar="NAME")] = None,
    op: Annotated[str | None, P("Only operations of this kind: add, replace, seed, merge …", metavar="OP")] = None,
    status: Annotated[Status | None, P("Only operations that ended so.")] = None,
    reason: Annotated[
        str | None, P("Only operations that were refused, or let pass, with this code.", metavar="CODE")
    ] = None,
    since: _Since = None,
    until: Annotated[datetime | None, P("Only before this moment.", metavar="TIME")] = None,
    limit: Annotated[int | None, P("Only the newest N.", "-n --limit", metavar="N", minimum=1)] = None,
    follow: Annotated[bool, P("Wait for more, and print each as it comes, until you press Ctrl-C.")] = False,
    summary: Annotated[bool, P("Print how many there are of each kind.")] = False,
    form: Annotated[
        Literal["text", "json", "jsonl"],
        P("Output for people, or for programs (fields: docs/cli.md): one JSON value, or one a line.", "--format"),
    ] = "text",
) -> Outcome:
    """List what was done to the memory files of the root, the newest last: one line an operation, refused ones too.

    A line tells the time (UTC), how it ended, the entity, what was done, by whom, the revisions before and after, and
    the code of a refusal. No text of an entry and no name of a category is in the log.

    Exit status 1 if a line of the log is damaged; all others are there.
    """
    from catmem.audit.log_queries import EVERYTHING, Counts, Filter, read_audit, unknown_names

    if follow and (summary or form == "json"):
        raise UsageError("--follow goes with --format text or jsonl, and not with --summary.")
    if summary and form == "jsonl":
        raise UsageError("--summary goes with --format text or json.")
    if since and until and since >= until:
        raise UsageError("--since is not before --until, so nothing can lie between them.")
    wanted = Filter(entity and entity.rstrip("/"), agent, op, status, reason, since, until)
    if follow:
        return Outcome(Following(_lines(call, wanted, limit or _FIRST_SHOWN)), STREAMED)
    found = read_audit(call.root, wanted, limit)
    notes = list(damage_notes(found.damaged))
    if not found.lines:
        notes = [*unknown_names(call.root, wanted), *notes]
        if form == "text" and not summary:
            is_narrow = wanted != EVERYTHING
            notes.insert(0, "No operation was recorded that fits." if is_narrow else "No operation is recorded yet.")
    ends: dict[str, Any] = {"notes": notes, "status": int(bool(found.damaged))}
    if not summary:
        return Outcome(found, STREAMED if form == "jsonl" else None, **ends)
    counts = Counts.of(found.lines)
    return Outcome(counts, {**jsonable(counts), "damaged": jsonable(found.damaged)}, **ends)


def _lines(call: Call, wanted: "Filter", limit: int) -> Iterator["AuditLine | Damage"]:
    """The newest lines, and each that comes, without end."""
    from catmem.audit.log_queries import follow_audit, unknown_names

    for note in unknown_names(call.root, wanted):
        call.tell(note)
    yield from follow_audit(call.root, wanted, limit, lambda: time.sleep(_LOOK_EVERY))


def damage_notes(damaged: Iterable["Damage"]) -> Iterator[str]:
    """What people read of damaged lines."""
    return (f"warning: line {each.line} of {each.file} is damaged, so it was passed over" for each in damaged)


@operation(
    "rollout",
    examples=(
        "catmem rollout --root demo",
        "catmem rollout report --since 7d",
        "catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h",
        "catmem rollout bypass --end",
    ),
    opens="root",
)
def rollout(call: Call) -> "RolloutState":
    """Show how the rollout stands: its mode, for which entities refusals are enforced, and whether a bypass is on.

    The mode is rollout in catmem.yaml.
    """
    from catmem.audit.log_queries import rollout_state

    return rollout_state(call.root)


@operation(
    "rollout report",
    examples=("catmem rollout report", "catmem rollout report --since 7d --format json"),
    opens="root",
)
def report(call: Call, *, since: _Since = None) -> Outcome:
    """Count, from the audit log, what the rollout let pass and would have refused, and what was refused.

    Exit status 1 if a line of the log is damaged; all others are counted.
    """
    from catmem.audit.log_queries import Filter, rollout_report

    found = rollout_report(call.root, Filter(since=since))
    return Outcome(found, notes=tuple(damage_notes(found.damaged)), status=int(bool(found.damaged)))


@dataclass(frozen=True, slots=True)
class Switched:
    """The bypass that is on now, or that ended, if there was one."""

    on: bool
    bypass: "Bypass | None"


@operation(
    "rollout bypass",
    examples=(
        "catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h",
        "catmem rollout bypass --end",
    ),
)
def bypass(
    call: Call,
    *,
    reason: Annotated[
        str | None, P("Why it is needed, in a sentence; it stands in the audit log.", metavar="TEXT")
    ] = None,
    lasts: Annotated[
        timedelta | None,
        P("How long it lasts, such as 30m or 1h; 7d at most. It ends by itself.", "--for", metavar="TIME"),
    ] = None,
    end: Annotated[bool, P("End the one that is on.")] = False,
) -> Switched:
    """Let refusals pass for a while that a rollout may let pass, for every entity: for an emergency, by a person.

    Its beginning, its end, and each write that it lets through stand in the audit log.
    """
    from catmem.audit.rollout import begin_bypass, end_bypass

    if end:
        if reason is not None or lasts is not None:
            raise UsageError("--end goes without --reason and --for.")
        return Switched(on=False, bypass=end_bypass(call.root))
    if reason is None or lasts is None:
        raise UsageError("A bypass needs --reason and --for, or --end.")
    return Switched(on=True, bypass=begin_bypass(call.root, reason, lasts))
