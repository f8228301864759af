"""What people read of histories, merges, reports, keys, findings and stores; ``cli/texts`` has the rest."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem import __version__, clock
from catmem.cli.output import (
    CONFLICT_REASONS,
    NARROW,
    columns,
    conflict_lines,
    emit,
    emit_lines,
    emit_text,
    fault_lines,
    print_unreadable,
    say,
    say_all,
    shown_moment,
    side_lines,
)
from catmem.cli.texts import LEFT_OUT, diff_of, show_written
from catmem.cli.texts import TEXTS as MEMORY_TEXTS
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import FILE_NAMES, parts_of
from catmem.registry import registry, unloaded
from catmem.store.contract import DECISION, PROPOSAL, Revision, who
from catmem.text import counted, few, first_line, plural, printable, printable_json, text_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catmem.audit import Audit, Replay
    from catmem.envelopes.agents import Key
    from catmem.envelopes.tokens import Token
    from catmem.linting.rule import Rule
    from catmem.merging.branches import Branch
    from catmem.merging.merging import Difference, JoinedAll, MergePlan
    from catmem.model.merge import Conflict
    from catmem.ops.branches import Reconciled
    from catmem.ops.history import LoggedFile
    from catmem.ops.table import Call
    from catmem.ops.upkeep import FixesMade, Linted
    from catmem.prompt.sizes import Sizes, Use
    from catmem.staleness.lineage import Blamed
    from catmem.store.audit_log import AuditLine
    from catmem.workspace.copying import CopiedEntity, StoredEntity
    from catmem.workspace.overview import NextSteps
    from catmem.workspace.purging import PurgeReport
    from catmem.workspace.reports import AccessExplanation, AccessReason, Fleet, Measured, Orphan, Stats
    from catmem.workspace.upkeep import DoctorReport, FsckReport
    from catmem.workspace.workspace import Workspace


# --- history, branches and merges ------------------------------------------------------------------------------------


def _logged(value: Sequence[LoggedFile], call: Call) -> None:
    # A file of two with nothing in it has nothing to say.
    there = [each for each in value if each.revisions or each.outside]
    if not there:
        say(f"No revision of {', '.join(each.entity for each in value) or 'any file'} is recorded yet.")
    is_named = len(there) > 1 or call.values.get("entity") is None
    for number, each in enumerate(there):
        emit_lines([*[""] * bool(number), each.entity] if is_named else [])
        emit(columns(_log_rows(each), right=(0, 4)))


def _log_rows(file: LoggedFile) -> list[tuple[str, ...]]:
    rows = [_log_row(each, file.words.get(each.revision, "")) for each in file.revisions]
    if file.outside is not None:
        why = "changed by another program" if file.head else "no history yet: the first write begins it"
        rows.insert(0, ("-", "(not recorded yet)", "", "", f"{file.outside['size']:,} bytes", why))
    return rows


def _log_row(revision: Revision, words: str) -> tuple[str, ...]:
    when, size = shown_moment(revision.timestamp), f"{revision.size:,} bytes"
    return revision.revision, when, revision.who, revision.op, size, _remarks(revision, words)


def _remarks(revision: Revision, words: str) -> str:
    from catmem.workspace.history import did

    decision = revision.note.get(DECISION, {})
    name = decision.get("proposal", revision.note.get(PROPOSAL, {}).get("id"))
    aside = [name] if name else []
    aside += ["in other words"] if decision.get("reworded") else []
    aside += [f"branch from {', '.join(revision.parents) or 'nothing'}"] if revision.is_branch else []
    said = did(revision) + (f" ({', '.join(aside)})" if aside else "")
    remarks = f"{said}: {decision['reason']}" if "reason" in decision else said
    return f"{remarks}: {first_line(words, NARROW)}" if words else remarks


def _blamed(value: Sequence[tuple[str, Sequence[Blamed]]], call: Call) -> None:
    there = [each for each in value if each[1]]
    for number, (name, entries) in enumerate(there):
        emit_lines([*[""] * bool(number), name] if len(there) > 1 else [])
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
        "" if worded is None else _maker(worded),
        "not verified" if day is None else f"verified {day}{by}",
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


def _difference(value: dict[str, Any] | str, _: Call) -> None:
    if isinstance(value, str):  # a file as git compares it
        emit(value)
        return
    emit(value["diff"])
    if not value["diff"]:
        end = "now" if value["to"] is None else f"revision {value['to']}"
        say(f"No difference in {value['entity']} between revision {value['from']} and {end}.")


def _replayed(done: Replay, _: Call) -> None:
    for each in done.heads:
        branches = f" and the branches {', '.join(each.branches)}" if each.branches else ""
        emit_lines([f"{each.entity} at revision {each.revision}{branches}"])
    for fault in done.mismatches:
        say(f"mismatch: {fault.entity}: {fault.what}: rebuilt {fault.rebuilt}, in the store {fault.found}")
    say_all(fault_lines(done.faults))
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
            emit(f"{printable_json(said)}\n" if call.for_program else _event_line(said))


def _event_line(said: Mapping[str, Any]) -> str:
    when = said.get("timestamp") or clock.timestamp_in_seconds(clock.now())
    return printable("  ".join((shown_moment(when), said["entity_id"], _event_words(said)))).replace("\n", "\\n") + "\n"


def _event_words(said: Mapping[str, Any]) -> str:
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
    age = _age(branch.timestamp, now)
    return branch.entity, branch.revision, origin, branch.who, age, branch.op, entries, outlook


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
        _merge_tried_out(plan)
        return
    done = "dropped" if plan.drop else "merged"
    same = "" if plan.changed else ", and no byte of the file changed"
    emit_lines([f"{done} {', '.join(plan.merged)} in {plan.entity} (revision {plan.revision}){same}"])
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
    for found in jsonable(plan.settled):
        where = f" in {found['category']}" if found["category"] else ""
        say(f"  branch {found['branch']}{where}: {CONFLICT_REASONS[found['reason']]}: {found['taken']}")


def _merged_all(found: JoinedAll, _: Call) -> None:
    for joined in found.merged:
        _merged(joined)
    for each in found.left:
        error = each.error
        why = f"error[{error.code}]: {error.message}" if error else counted(len(each.conflicts), "conflict")
        emit_lines([f"left {each.branch} in {each.entity}: {why}"])
    if found.left:
        count, first = counted(len(found.left), "branch", "branches"), found.left[0]
        say(f"{count} left. 'catmem merge {first.entity} {first.branch} --interactive' asks who wins a conflict;")
        say("--precedence (ours, theirs, both or AGENT,AGENT) decides without questions, with --all too.")
    elif not found.merged:
        say("No branch is left to merge.")


def _merge_tried_out(plan: MergePlan) -> None:
    said = jsonable(plan)
    left = counted(len(plan.conflicts), "conflict")
    emit(text_diff(plan.before, plan.after, f"a/{plan.entity}", f"b/{plan.entity}"))
    if plan.conflicts:
        say(f"{left} to decide, of which the text above holds what it can of both sides:")
        say_all(conflict_lines(said["conflicts"]))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
        say_all(conflict_lines(said["settled"]))
    done = "would be closed" if plan.drop else "would be merged" if not plan.conflicts else "cannot be merged yet"
    say(f"Nothing was written. {', '.join(plan.merged)} {done}.")


def _reconciled(value: Reconciled, call: Call) -> None:
    found = value.found
    if value.written is not None:
        show_written(value.written, "brought over to", call)
        if not call.dry_run:
            emit_lines(line for each in value.chosen for line in _difference_lines(each))
    elif found.differences:
        emit_lines(line for each in found.differences for line in _difference_lines(each))
        say("Nothing was written. Bring them over with --all, or one by one with --entry N.")
    else:
        emit("Nothing is missing: the file has all that the copy has.\n")
    done = "is accepted" if value.accepts else "keeps agents from changing this file; --all accepts it"
    say_all(f"an entry of {len(each.raw):,} characters in {each.category} {done}" for each in found.over)


def _difference_lines(each: Difference) -> Iterator[str]:
    both = "" if each.now is None or each.now.body == each.copy.body else "; both wordings stay"
    yield f"{each.number:,}. {each.state} in {each.copy.category}{both}"
    yield from side_lines([(name, entry.raw) for name, entry in (("copy", each.copy), ("file", each.now)) if entry])


def _file_merged(value: tuple[str, Sequence[Conflict]], _: Call) -> None:
    path, conflicts = value
    if conflicts:
        say(f"{path}: {counted(len(conflicts), 'conflict')} between entries, each between git's marks")
        say(f"Keep one of each, take the marks out, then: git add {path}")


# --- a whole root ----------------------------------------------------------------------------------------------------


_WIDTH = 80
"""Characters of a line where the output is no terminal."""

_MOST_NAMES = 2
_LEGEND = {"r": "reads", "rw": "reads and may write", "d": "may write and not read (a drop)", ".": "neither"}

_HEAD = ("profile", "entries", "prompt", "flat", "%", "tokens", "flat", "%", "")


def _status(value: NextSteps, call: Call) -> None:
    emit(columns([(step.what, f"{step.command}{call.root_words}") for step in value.steps]))
    say_all([] if value.steps else ["Nothing waits for you."])
    if any(step.kind == "lost" for step in value.steps):
        say(f"If entries were taken out rightly, 'catmem status --adopt{call.root_words}' says so.")


def _access(value: Fleet, call: Call) -> None:
    if not value.asked:
        say(f"There are no profiles in {shown_path(call.root.config.profiles_dir)}.")
        return
    emit(printable("".join(_matrix(value, [profile.name for profile in value.asked]))))
    if not call.values["profiles"]:
        emit(printable("".join((*_fleet_summary(value), *_entities(call.root)))))


def _matrix(fleet: Fleet, names: Sequence[str]) -> Iterator[str]:
    import shutil

    width = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    left = [("category", "entries"), *((each, f"{fleet.count(each):>7,}") for each in fleet.categories)]
    room = width - max(len(row[0]) for row in left) - 2 - max(len(row[1]) for row in left)
    marks = [[fleet.cells[each][name].mark() for name in names] for each in fleet.categories]
    if sum(len(name) + 2 for name in names) <= room:
        yield columns([(*left[0], *names), *((*first, *row) for first, row in zip(left[1:], marks, strict=True))])
    else:
        rows = (_row_of_names(names, row) for row in marks)
        head = (*left[0], "readers", "writers", "names")
        yield columns([head, *((*first, *row) for first, row in zip(left[1:], rows, strict=True))])
    there = {mark for row in marks for mark in row}
    if there:
        yield "\n" + "   ".join(f"{mark} {said}" for mark, said in _LEGEND.items() if mark in there) + "\n"


def _row_of_names(names: Sequence[str], marks: Sequence[str]) -> tuple[str, str, str]:
    readers = sum(mark[0] == "r" for mark in marks)
    writers = sum("w" in mark or mark == "d" for mark in marks)
    # Those with the rarer rights first: there are few of them, and they are what one looks for.
    named = [
        f"{name} {mark}" for mark in ("rw", "d", "r") for name, each in zip(names, marks, strict=True) if each == mark
    ]
    return f"{readers:>7}", f"{writers:>7}", few(named, _MOST_NAMES)


def _fleet_summary(fleet: Fleet) -> Iterator[str]:
    tier_1 = [profile.name for profile in fleet.profiles if profile.tier == 1]
    if tier_1:
        yield (f"Tier 1 ({few(tier_1)}) may write in the files of all profiles, every other profile in its own.\n")
    orphans = fleet.orphans()
    yield from _orphans("Read by tier 1 only", [orphan for orphan in orphans if orphan.readers])
    yield from _orphans("Read by no profile", [orphan for orphan in orphans if not orphan.readers])
    if slips := fleet.slips():
        yield "\nNot declared, and named by no profile:\n"
        yield columns([("", category, f"did you mean {near}?") for category, near in slips.items()])
    if orphans:
        yield "A profile reads what its user_memory_categories and memory_categories name.\n"


def _orphans(title: str, orphans: list[Orphan]) -> Iterator[str]:
    if not orphans:
        return
    yield f"\n{title}:\n"
    rows = []
    for orphan in orphans:
        where = f" in {FILE_NAMES[orphan.target]}" if orphan.target else ""
        declared = "" if orphan.declared else "not declared, " if orphan.category[0] != "_" else ""
        rows.append(("", orphan.category, f"{declared}{counted(orphan.entries, 'entry')}{where}"))
    yield columns(rows)


def _entities(workspace: Workspace) -> Iterator[str]:
    if workspace.config.entities:
        yield "\nDeclared entities (tier 1 may read and write all of them):\n"
        lists = [(each.name, each.writers, each.readers) for each in workspace.config.entities.values()]
        rows = [(name, *(", ".join(names) or "." for names in both)) for name, *both in lists]
        yield columns([("", "entity", "writers", "readers"), *(("", *row) for row in rows)])


def _why(value: AccessExplanation, _: Call) -> None:
    emit(printable("".join(_why_lines(value))))


def _why_lines(why: AccessExplanation) -> Iterator[str]:
    declared = "" if why.declared else ", which catmem.yaml does not declare"
    yield f"{why.profile} and {why.category}{declared}\n\n"
    questions = {target: f"reads it in {file}" for target, file in FILE_NAMES.items()}
    questions |= {"write": "may write it", "verify": "may verify it"}
    for reason in why.reasons:
        yield f"{questions[reason.asked]}: {_why_answer(why, reason)}\n"
        yield f"  {reason.because}\n"
        if reason.path is not None:
            parent = f", which {why.profile} extends" if reason.inherited_from else ""
            yield f"  {shown_path(reason.path)}:{reason.line}{parent}\n"


def _why_answer(why: AccessExplanation, reason: AccessReason) -> str:
    count = why.entries.get(reason.asked, 0)
    held = f" ({counted(count, 'entry')} in its own file)" if reason.asked in FILE_NAMES and count else ""
    return f"{reason.answer}{held}"


def _stats(value: Stats, call: Call) -> None:
    if value.profiles:
        emit(printable("".join(_stats_table(value))))
    elif not value.problems:
        say(f"There are no profiles in {shown_path(call.root.config.profiles_dir)}.")


def _stats_table(stats: Stats) -> Iterator[str]:
    from catmem.prompt.sizes import UNWANTED

    files = f"from the files of {stats.source}" if stats.source else "each from its own files"
    yield f"Prompts beside flat files, {files}, as of {stats.as_of}:\n"
    yield "characters, and tokens (estimated)\n\n"
    total = stats.total
    rows = [_stats_row(each.profile, each.sizes, "; ".join(_stats_notes(each))) for each in stats.profiles]
    yield columns([_HEAD, *rows, _stats_row("total", total, "")], right=range(1, 8))
    counts = {
        "kept out of prompts": {**total.left_out, "secrets": total.secrets},
        "marked in prompts": total.marked,
        "shown by flat files": total.in_flat,
    }
    facts = [(name, *(f"{count.get(each, 0):,}" for each in UNWANTED), "") for name, count in counts.items()]
    yield "\n"
    yield columns([("facts", *UNWANTED, ""), *facts], right=range(1, 5))


def _stats_row(name: str, sizes: Sizes, notes: str) -> tuple[str, ...]:
    seen = f"{sizes.seen:,} of {sizes.entries:,}"
    characters = _beside(sizes.prompt.characters, sizes.flat.characters, sizes.percent)
    tokens = _beside(sizes.prompt.tokens, sizes.flat.tokens, sizes.tokens_percent)
    return name, seen, *characters, *tokens, notes


def _beside(prompt: int, flat: int, percent: float | None) -> tuple[str, ...]:
    return f"{prompt:,}", f"{flat:,}", "-" if percent is None else f"{percent}%"


def _stats_notes(measured: Measured) -> Iterator[str]:
    sizes = measured.sizes
    if measured.missing == ("user", "memory"):
        yield "no files yet"
    out = [f"{sizes.left_out[key]:,} {said}" for key, said in LEFT_OUT.items() if sizes.left_out.get(key)]
    if out:
        yield f"out: {', '.join(out)}"
    doubtful = [f"{sizes.states[key]:,} {key}" for key in ("stale", "unverified") if sizes.states.get(key)]
    if doubtful:
        yield ", ".join(doubtful)
    yield from (_use("budget", use) for use in sizes.budgets)
    yield from (_use("limit", use) for use in sizes.limits)


def _use(what: str, use: Use) -> str:
    share = f"{100 * use.used / use.of:.0f}%" if use.of else f"{use.used:,} of 0"
    return f"{what} {use.name} {share}"


# --- the audit log, keys, tokens and envelopes -----------------------------------------------------------------------


_LONGEST = 19
"""Characters of a digest in the place of a revision."""


def _audit(found: Audit, _: Call) -> None:
    emit(columns([_audit_row(line) for line in found.lines]))


def _audit_row(line: AuditLine) -> tuple[str, ...]:
    revisions = f"{_short_revision(line.prev_rev)} -> {_short_revision(None if line.is_refused else line.mem_rev)}"
    row = shown_moment(line.ts), line.status, line.entity_id, line.op, line.who, revisions, line.reason or ""
    return tuple(cell.replace("\t", "\\t") for cell in row)


def _short_revision(revision: str | None) -> str:
    if revision is None:
        return "-"
    return f"{revision[:_LONGEST]}…" if len(revision) > _LONGEST else revision


def _new_key(key: Key, call: Call) -> None:
    emit_lines([f"{key.agent} signs with the key {key.key_id} now"])
    say(f"It is in {shown_path(key.path)}. Who has this file can write as {key.agent}.")
    if call.root.config.signing.keys is None:
        say("This folder goes by the path of the root: a root that is moved or copied has another one.")


def _keys(value: dict[str, Any], _: Call) -> None:
    if not value["keys"]:
        say("No keys here.")
    say(f"The keys of this root are in {shown_path(value['folder'])}.")
    rows = [
        (key["agent"], key["key_id"], "signs" if key["signs"] else "verifies", shown_path(key["path"]))
        for key in value["keys"]
    ]
    emit(columns(rows))


def _new_token(value: tuple[Token, str], _: Call) -> None:
    token, text = value
    emit(f"{text}\n")
    who = f"{token.label}, {_as_whom(token)}"
    say(f"This is the token of {who}. It is shown this once: keep it where only its user reads it.")
    say("Send it as: Authorization: Bearer TOKEN. A server that runs without tokens has to be started again.")


def _tokens(value: dict[str, Any], _: Call) -> None:
    from catmem.ops.control import NOT_SERVED

    if not value["tokens"]:
        say(f"No tokens in {shown_path(value['path'])}.")
    if value["wanted"] is not None:
        say(f"This root wants tokens: {value['wanted']}. {NOT_SERVED}")
    emit(columns((t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in value["tokens"]))


def _as_whom(token: Token) -> str:
    if token.scope == "metrics":
        return "for metrics"
    return "a person" if token.profile is None else f"acting as {token.profile}"


# --- lint, schemas and stores ----------------------------------------------------------------------------------------


def _fixed(value: FixesMade, call: Call) -> None:
    if call.values["diff"]:
        for each in value.plan.files:
            emit(diff_of(each))
        return
    print_unreadable(value.plan.errors)
    if value.applied:
        say(f"fixed {counted(value.applied, 'finding')} in {counted(len(value.plan.files), 'file')}")


def _linted(value: Linted, call: Call) -> None:
    if value.fixed is not None:
        _fixed(value.fixed, call)
    linter, found, form = value.linter, value.found, call.values["form"]
    from catmem.linting.renderers import render
    from catmem.linting.rule import SEVERITIES, rank

    names: dict[str, str] = {}
    diagnostics, root = [], linter.root.config.root
    for each in found.diagnostics:
        # As its paths are from the working folder.
        related = (replace(one, path=one.path and shown_path(root / one.path)) for one in each.related)
        diagnostics.append(replace(each, path=shown_path(root / each.path), related=tuple(related)))
        names[diagnostics[-1].path] = each.path
    shown = replace(found, diagnostics=diagnostics, source=lambda path: found.source(names.get(path, path)))
    emit(render(shown, form, __version__))
    if form == "text":
        hidden = {name: " (not shown)" for name in SEVERITIES if rank(name) > rank(found.min_severity)}
        hidden |= {"hint": " (see --min-severity hint)"} if found.min_severity == "warning" else {}
        said = ", ".join(
            f"{count} {plural(count, name)}{hidden.get(name, '')}"
            for name, count in found.severities().items()
            if count
        )
        say(f"{found.files} {plural(found.files, 'file')}: {said or 'nothing found'}")


def _rules(value: Sequence[Rule], _: Call) -> None:
    emit(columns([(rule.code, rule.name, rule.severity, rule.summary) for rule in value]))


def _rule(found: Rule, _: Call) -> None:
    fix = f", {'safe or unsafe' if found.fixes == 'both' else found.fixes} fix" if found.fixes else ""
    emit(f"# {found.code} {found.name}\n\nSeverity: {found.severity}{fix}.\n\n{found.page}\n")


def _schemas(value: str | list[dict[str, str]], _: Call) -> None:
    if isinstance(value, str):
        emit_text(value)
    else:
        about = ((each, each["description"].partition(". ")[0].rstrip(".")) for each in value)
        emit(columns((each["name"], each["id"], said) for each, said in about))


def _fsck(report: FsckReport, _: Call) -> None:
    emit_lines(f"mended: {line}" for line in report.done)
    emit_lines(fault_lines(report.faults))
    damage = sum(fault.damage for fault in report.faults)
    whole = "no history is damaged" if any(fault.code == "not_utf8" for fault in report.faults) else "no damage"
    said = f"{counted(damage, 'thing')} {plural(damage, 'is', 'are')} damaged" if damage else whole
    emit(f"{said}{' in what could be looked at' if report.unreadable else ''}\n")


def _doctor(value: tuple[DoctorReport, dict[str, Any]], _: Call) -> None:
    report, tokens = value
    plugins = [each.name for each in registry().plugins if each.error is None]
    emit_lines([f"catmem {report.catmem}, Python {report.python}, {report.platform}", f"root {report.root}"])
    emit_lines([f"tokens: {_of_tokens(tokens)}", f"plugins: {', '.join(plugins) or 'none'}"])
    emit_lines(f"{error.message}. {error.hint}" for error in unloaded())
    for folder in report.folders:
        history = "no history yet" if folder.records is None else f"history of {folder.records:,} records"
        kind = f"{folder.file_system}, " if folder.file_system else ""
        emit_lines(["", f"{shown_path(folder.path)}: {kind}{history}", *([f"  {folder.note}"] if folder.note else [])])
        emit(columns([("", "yes" if each.there else "no", each.name, each.means) for each in folder.features]))


def _of_tokens(said: dict[str, Any]) -> str:
    if said["note"] is not None:
        return f"{said['note']}; 'catmem serve' will not start"
    if said["count"]:
        return f"{said['count']} in {said['path']}"
    if said["wanted"] is not None:
        return f"none in {said['path']}, and this root wants some ({said['wanted']}): 'catmem serve' will not start"
    return "none: 'catmem serve' takes every caller from this machine for a person"


def _purged(report: PurgeReport, call: Call) -> None:
    from catmem.workspace.purging import unsaid

    root, words = call.root.root, call.values["old"]
    done = "would be erased" if report.dry_run else "erased"
    emit_lines([f"{done} from {', '.join(report.entities)} and {counted(report.revisions, 'revision')}:"])
    emit(columns([("", place) for place in report.places]))
    for entity, some in groupby(report.entries, key=lambda each: each.entity):
        emit_lines([f"in {entity}:"] if entity != report.entities[0] else [])
        # What was to be forgotten is not written once more, to a terminal or a log.
        found = ((each.entry, each.entry.body if report.dry_run else "") for each in some)
        emit(columns([("", unsaid(at.category, words), at.id, unsaid(body, words)) for at, body in found]))
    _show_files("rewritten", [shown_path(root / name) for name in report.files])
    kept = Counter(str(Path(name).parent) for name in report.removed if Path(name).parent.name == "gen")
    removed = [shown_path(root / name) for name in report.removed if str(Path(name).parent) not in kept]
    texts = [
        f"{shown_path(root / name)}: {counted(count, 'kept text')} of old revisions" for name, count in kept.items()
    ]
    _show_files("removed", [*removed, *texts])
    _show_files("not reached", [f"{shown_path(root / left.path)}: {left.why}" for left in report.left])
    if any(words.strip() in each.entry.category for each in report.entries):
        say("A category (***) is called so: take the name out of catmem.yaml and the profiles, and seed once more.")
    unreached = "Copies in other stores, in git, in other backups and in prompts are not reached."
    say("Nothing was erased." if report.dry_run else unreached)


def _show_files(what: str, lines: list[str]) -> None:
    emit_lines([f"{what}:", *(f"  {line}" for line in lines)] if lines else [])


def _info(value: Sequence[StoredEntity], call: Call) -> None:
    from catmem.workspace.stores import shown_store

    say(f"store: {shown_store(call.root.config.store)}")
    if not value:
        say("No entity has a revision yet.")
        return
    emit(columns([("entity", "head", "revisions", "branches", "generation"), *map(_stored_row, value)]))


def _stored_row(each: StoredEntity) -> tuple[str, ...]:
    known, found = each.generation_observed, each.generation_actual
    generation = "-" if found is None else f"{found}" if known == found else f"{known}, found {found}"
    return each.entity, each.head, f"{each.revisions:,}", ", ".join(each.branches) or "-", generation


def _copied(value: Sequence[CopiedEntity], call: Call) -> None:
    from catmem.workspace.stores import shown_store

    emit(columns(map(_copied_row, value)))
    if not value:
        say("There is nothing to copy: no entity has a revision or a text.")
        return
    if any(each.adopted for each in value):
        say("adopted: what others wrote, and no record of the source has, is the last revision of the copy")
    say("Every revision was read again from the copy, and is the same.")
    to = shown_store(call.values["target"])
    say(f"Next: let catmem.yaml say `store: {to}`. Until then this root goes on with the store it has.")
    say("catmem.seed.lock is in no store: it stays where it is.")


def _copied_row(each: CopiedEntity) -> tuple[str, ...]:
    branches = f", branches {', '.join(each.branches)}" if each.branches else ""
    head = f"head {each.head}{', adopted' if each.adopted else ''}{branches}"
    return "copied", each.entity, counted(each.revisions, "revision"), head


TEXTS: dict[str, Callable[[Any, Call], None]] = {
    **MEMORY_TEXTS,
    "log": _logged,
    "blame": _blamed,
    "diff": _difference,
    "Replay": _replayed,
    "watch": _watched,
    "branches": _branches,
    "MergePlan": _merged,
    "JoinedAll": _merged_all,
    "Reconciled": _reconciled,
    "merge-driver": _file_merged,
    "NextSteps": _status,
    "Fleet": _access,
    "AccessExplanation": _why,
    "Stats": _stats,
    "Audit": _audit,
    "Key": _new_key,
    "key list": _keys,
    "key remove": lambda gone, _: emit_lines(f"removed the key {key.key_id} of {key.agent}" for key in gone),
    "token new": _new_token,
    "token list": _tokens,
    "token remove": lambda gone, _: emit_lines(f"removed the token {each.token_id} of {each.label}" for each in gone),
    "Envelope": lambda envelope, _: emit(printable_json(jsonable(envelope)) + "\n"),
    "role-hash": lambda digest, _: emit(f"{digest}\n"),
    "FixesMade": _fixed,
    "Linted": _linted,
    "rule": _rules,
    "Rule": _rule,
    "schema": _schemas,
    "FsckReport": _fsck,
    "doctor": _doctor,
    "Anchors": lambda found, _: emit_lines(map(printable_json, found.anchors)),
    "CheckedAnchors": lambda found, _: emit_lines([*fault_lines(found.faults)] or ["the histories hold every anchor"]),
    "PurgeReport": _purged,
    "store info": _info,
    "store copy": _copied,
}
"""These, and those of ``cli/texts``."""
