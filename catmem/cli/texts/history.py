"""The history of files, branches and merges, as people read them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.cli.output import (
    CONFLICT_REASONS,
    NARROW,
    TOOK_BACK,
    columns,
    conflict_lines,
    emit,
    fault_lines,
    say,
    say_all,
    show_written,
    shown_moment,
    side_lines,
)
from catmem.jsonable import jsonable
from catmem.names import parts_of
from catmem.store.contract import DECISION, PROPOSAL, Revision, who
from catmem.text import counted, first_line, printable, printable_json, text_diff

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catmem.audit import Replay
    from catmem.merging.branches import Branch
    from catmem.merging.merging import JoinedAll, MergePlan
    from catmem.merging.reconciling import Difference
    from catmem.model.merge import Conflict
    from catmem.ops.branches import Reconciled
    from catmem.ops.history import LoggedFile
    from catmem.ops.table import Call
    from catmem.staleness.lineage import Blamed
    from catmem.writing.written import Written


def _logged(value: Sequence[LoggedFile], call: Call) -> None:
    # A file of two with nothing in it has nothing to say.
    there = [each for each in value if each.revisions or each.outside]
    if not there:
        say(f"No revision of {', '.join(each.entity for each in value) or 'any file'} is recorded yet.")
    is_named = len(there) > 1 or call.values.get("entity") is None
    for number, each in enumerate(there):
        emit(f"{chr(10) * bool(number)}{printable(each.entity)}\n" if is_named else "")
        emit(columns(_rows(each), right=(0, 4)))


def _rows(file: LoggedFile) -> list[tuple[str, ...]]:
    rows = [_row(each, file.words.get(each.revision, "")) for each in file.revisions]
    if file.outside is not None:
        why = "changed by another program" if file.head else "no history yet: the first write begins it"
        rows.insert(0, ("-", "(not recorded yet)", "", "", f"{file.outside['size']:,} bytes", why))
    return rows


def _row(revision: Revision, words: str) -> tuple[str, ...]:
    when, size = shown_moment(revision.timestamp), f"{revision.size:,} bytes"
    return revision.revision, when, printable(revision.who), revision.op, size, _remarks(revision, words)


def _remarks(revision: Revision, words: str) -> str:
    from catmem.workspace.history import did

    decision = revision.note.get(DECISION, {})
    name = decision.get("proposal", revision.note.get(PROPOSAL, {}).get("id"))
    aside = [name] if name else []
    aside += ["in other words"] if decision.get("reworded") else []
    aside += [f"branch from {', '.join(revision.parents) or 'nothing'}"] if revision.is_branch else []
    said = did(revision) + (f" ({', '.join(aside)})" if aside else "")
    remarks = printable(f"{said}: {decision['reason']}" if "reason" in decision else said)
    return f"{remarks}: {first_line(words, NARROW)}" if words else remarks


def _blamed(value: Sequence[tuple[str, Sequence[Blamed]]], call: Call) -> None:
    there = [each for each in value if each[1]]
    for number, (name, entries) in enumerate(there):
        emit(f"{chr(10) * bool(number)}{printable(name)}\n" if len(there) > 1 else "")
        emit(columns([_blame_row(each) for each in entries], right=(0, 1)))
    if not there:
        say(f"No entries in {call.values['entity']}.")


def _blame_row(blamed: Blamed) -> tuple[str, ...]:
    worded, verified = blamed.worded, blamed.verified
    day = blamed.entry.tags.get("verified_date")
    by = "" if verified is None else f" by {verified.who}"
    return (
        str(blamed.line),
        "-" if worded is None else worded.revision,
        "(not recorded yet)" if worded is None else shown_moment(worded.timestamp),
        "" if worded is None else printable(_maker(worded)),
        "not verified" if day is None else printable(f"verified {day}{by}"),
        blamed.entry.category,
        first_line(blamed.entry.body, NARROW),
    )


def _maker(revision: Revision) -> str:
    """Who made a revision, and of one that approved a proposal also who proposed it; of a seed, where it is from."""
    if revision.op == "seed" and "source" in revision.note:
        return f"{revision.who}, seeded from {parts_of(revision.note['source']).owner}"
    said = revision.note.get(DECISION)
    done = "reworded" if said and said.get("reworded") else "approved"
    return f"{said['proposed_by']}, {done} by {revision.who}" if said else revision.who


def _difference(value: dict[str, Any], _: Call) -> None:
    emit(value["diff"])
    if not value["diff"]:
        end = "now" if value["to"] is None else f"revision {value['to']}"
        say(f"No difference in {value['entity']} between revision {value['from']} and {end}.")


def _written(written: Written, call: Call) -> None:
    # A caller that may restore may see the whole file, so its dry run shows the lines around a change too.
    done = TOOK_BACK if call.operation.name == "undo" else f"restored revision {call.values['revision']}"
    show_written(written, done, call)


def _replayed(done: Replay, _: Call) -> None:
    for each in done.heads:
        branches = f" and the branches {', '.join(each.branches)}" if each.branches else ""
        emit(printable(f"{each.entity} at revision {each.revision}{branches}\n"))
    for fault in done.mismatches:
        say(f"mismatch: {fault.entity}: {fault.what}: rebuilt {fault.rebuilt}, in the store {fault.found}")
    say_all(line.rstrip("\n") for line in fault_lines(done.faults))
    for head in done.heads:
        if head.unrecorded:
            said = "was changed by another program, which the history does not hold yet"
            say(f"note: {head.entity} {said}; it was rebuilt as it was at revision {head.revision}")
    rebuilt = f"{counted(done.revisions, 'revision')} and {counted(len(done.heads), 'head')} rebuilt"
    if done.damaged:
        say(f"{rebuilt}, and not all is what the store recorded. 'catmem fsck' looks for the damage.")
    else:
        say(f"{rebuilt}, byte for byte what the store recorded")


def _watched(value: Iterator[Mapping[str, Any]], call: Call) -> None:
    with suppress(KeyboardInterrupt):
        for said in value:
            emit(f"{printable_json(said)}\n" if call.for_program else _line(said))


def _line(said: Mapping[str, Any]) -> str:
    when = said.get("timestamp") or clock.timestamp_in_seconds(clock.now())
    return printable("  ".join((shown_moment(when), said["entity_id"], _words(said)))).replace("\n", "\\n") + "\n"


def _words(said: Mapping[str, Any]) -> str:
    match said["event"]:
        case "revision":
            name = "branch" if said["branch"] else "revision"
            by = f", {said['op']} by {who(said['agent_id'], said.get('person'))}" if "agent_id" in said else ""
            return f"{name} {said['revision']}{by}"
        case "drift" if said["recorded"]:
            none = said["revision"] == "0"
            return "is gone or empty, as before any revision" if none else f"is revision {said['revision']} again"
        case "drift":
            return f"changed by another program since revision {said['revision']}"
        case "trouble":
            why = (str(said[part]) for part in ("code", "path", "message") if part in said)
            return ": ".join(["cannot be read", *why])
        case _:
            return "changed more than is shown here: read it anew"


_HOUR = 3_600
_DAY = 24 * _HOUR
"""In seconds."""


def _branches(found: Sequence[Branch], _: Call) -> None:
    now = clock.now()
    emit(columns([_branch_row(branch, now) for branch in found]))
    if found:
        example = f"catmem merge {found[0].entity}"
        say(f"'{example} --dry-run' shows what a merge would do, '{example}' does it.")
    else:
        say("No branch is left to merge.")


def _branch_row(branch: Branch, now: datetime) -> tuple[str, ...]:
    origin = f"from {', '.join(branch.parents)}" if branch.parents else "from nothing"
    entries = "" if branch.entries is None else counted(branch.entries, "entry")
    outlook = {
        "merges": "merges by itself",
        "conflicts": counted(branch.conflicts or 0, "conflict"),
        "nothing new": "nothing new: the file says it too",
        "unreadable": "cannot be merged: it, or the file, holds what no tool wrote",
    }[branch.state]
    age, agent = _age(branch.timestamp, now), printable(branch.who)
    return branch.entity, branch.revision, origin, agent, age, branch.op, entries, outlook


def _age(timestamp: str, now: datetime) -> str:
    """How long ago that was, in hours or days; clocks may differ, so what lies ahead is new."""
    seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    if seconds < _HOUR:
        return "< 1 h"
    return f"{seconds // _HOUR} h" if seconds < _DAY else f"{seconds // _DAY} d"


def _merged(plan: MergePlan, _: Call | None = None) -> None:
    say_all([*(f"warning: {warning}" for warning in plan.warnings), *plan.notes])
    if not plan.merged:
        say(f"No branch of {plan.entity} is left to merge." if not plan.notes else "Nothing was written.")
        return
    if plan.dry_run:
        _show_tried_out(plan)
        return
    done = "dropped" if plan.drop else "merged"
    same = "" if plan.changed else ", and no byte of the file changed"
    emit(printable(f"{done} {', '.join(plan.merged)} in {plan.entity} (revision {plan.revision}){same}\n"))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
    for found in jsonable(plan.settled):
        where = f" in {found['category']}" if found["category"] else ""
        say(f"  branch {found['branch']}{where}: {CONFLICT_REASONS[found['reason']]}: {found['taken']}")


def _merged_all(found: JoinedAll, _: Call) -> None:
    for joined in found.merged:
        _merged(joined)
    for each in found.left:
        why = (
            f"error[{each.error.code}]: {each.error.message}"
            if each.error
            else counted(len(each.conflicts), "conflict")
        )
        emit(printable(f"left {each.branch} in {each.entity}: {why}\n"))
    if found.left:
        count, first = counted(len(found.left), "branch", "branches"), found.left[0]
        say(f"{count} left. 'catmem merge {first.entity} {first.branch} --interactive' asks who wins a conflict;")
        say("--precedence (ours, theirs, both or AGENT,AGENT) decides without questions, with --all too.")
    elif not found.merged:
        say("No branch is left to merge.")


def _show_tried_out(plan: MergePlan) -> None:
    said = jsonable(plan)
    left = counted(len(plan.conflicts), "conflict")
    emit(text_diff(plan.before, plan.after, f"a/{plan.entity}", f"b/{plan.entity}"))
    if plan.conflicts:
        say(f"{left} to decide, of which the text above holds what it can of both sides:")
        say("\n".join(conflict_lines(said["conflicts"])))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
        say("\n".join(conflict_lines(said["settled"])))
    done = "would be closed" if plan.drop else "would be merged" if not plan.conflicts else "cannot be merged yet"
    say(f"Nothing was written. {', '.join(plan.merged)} {done}.")


# --- what a file lacks of a recovery copy, as people read it ---------------------------------------------------------


def _reconciled(value: Reconciled, call: Call) -> None:
    found = value.found
    if value.written is not None:
        show_written(value.written, "brought over to", call)
    elif found.differences:
        emit(printable("".join(f"{line}\n" for each in found.differences for line in _difference_lines(each))))
        say("Nothing was written. Bring them over with --all, or one by one with --entry N.")
    else:
        emit("Nothing is missing: the file has all that the copy has.\n")
    done = "is accepted" if value.accepts else "keeps agents from changing this file; --all accepts it"
    say_all(f"an entry of {len(each.raw):,} characters in {each.category} {done}" for each in found.over)


def _difference_lines(each: Difference) -> Iterator[str]:
    """Where a difference is, and what both say."""
    yield f"{each.number:,}. {each.state} in {each.copy.category}"
    yield from side_lines([(name, entry.raw) for name, entry in (("copy", each.copy), ("file", each.now)) if entry])


def _file_merged(value: tuple[str, Sequence[Conflict]], _: Call) -> None:
    path, conflicts = value
    if conflicts:
        say(f"{path}: {counted(len(conflicts), 'conflict')} between entries, each between git's marks")
        say(f"Keep one of each, take the marks out, then: git add {path}")


TEXTS = {
    "log": _logged,
    "blame": _blamed,
    "diff": _difference,
    "str": lambda value, _: emit(value),
    "Written": _written,
    "Replay": _replayed,
    "watch": _watched,
    "branches": _branches,
    "MergePlan": _merged,
    "JoinedAll": _merged_all,
    "Reconciled": _reconciled,
    "merge-driver": _file_merged,
}
"""The renderers, by the names of the types that they know."""
