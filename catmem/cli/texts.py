"""What people read of an outcome, by the type of what was done or the name of the operation."""

from __future__ import annotations

import shlex
import shutil
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
    WIDE,
    columns,
    conflict_lines,
    emit,
    emit_json,
    emit_lines,
    emit_text,
    fault_lines,
    print_error,
    print_unreadable,
    root_words,
    say,
    say_all,
    shown_moment,
    side_lines,
)
from catmem.config.json_schema import shown
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import FILE_NAMES, UNCATEGORIZED, is_declared, parts_of
from catmem.registry import registry, unloaded
from catmem.staleness.freshness import advice
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
    from catmem.model.document import Document, Problem, Version
    from catmem.model.merge import Conflict, Reason
    from catmem.ops.branches import Reconciled
    from catmem.ops.files import Exports, Init
    from catmem.ops.history import LoggedFile
    from catmem.ops.review import Decisions
    from catmem.ops.seeding import Promotions, Seeds
    from catmem.ops.shared import ExternalChange
    from catmem.ops.table import Call
    from catmem.ops.upkeep import FixesMade, Linted
    from catmem.prompt.prompt import Prompt, Row
    from catmem.prompt.sizes import Sizes, Use
    from catmem.proposals.deciding import Decided
    from catmem.search.search import SearchHit
    from catmem.seeding.plan import SeedPlan
    from catmem.seeding.slices import FilePlan, SeedRowState
    from catmem.staleness.lineage import Blamed
    from catmem.staleness.review import Answered, Review
    from catmem.store.audit_log import AuditLine
    from catmem.workspace.change_plan import ChangePlan, FileChange
    from catmem.workspace.copying import CopiedEntity, StoredEntity
    from catmem.workspace.init import NewCategory
    from catmem.workspace.overview import NextSteps
    from catmem.workspace.profile_memory import ProfileMemory
    from catmem.workspace.purging import PurgeReport
    from catmem.workspace.reports import (
        AccessExplanation,
        AccessReason,
        Fleet,
        Measured,
        Orphan,
        SharedEntry,
        Stats,
    )
    from catmem.workspace.seen_entry import SeenEntry
    from catmem.workspace.upkeep import DoctorReport, FsckReport
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import Written


_DONE = {
    "add": "added to",
    "replace": "replaced in",
    "remove": "removed from",
    "move": "moved to",
    "verify": "verified in",
    "promote": "promoted to",
    "undo": "took back a revision",
}


def _written(written: Written, call: Call) -> None:
    name, values = call.operation.name, call.values
    done = "written to" if written.entries else "written"
    done = f"restored revision {values['revision']}" if name == "restore" else _DONE.get(name, done)
    # A caller that may restore may see the whole file, so its dry run shows the lines around a change too.
    to_agent = values.get("actor") is not None and name not in {"undo", "restore", "promote"}
    _show_written(written, done, call, to_agent=to_agent)


def _show_written(written: Written, done: str, call: Call, *, to_agent: bool = False) -> None:
    """One line for people: ``done`` ("added to") with the category, where, revision, size; or a diff for a dry run."""
    say_all(f"warning: {warning}" for warning in written.warnings)
    # The last of the notes are on the file, if others had written to it.
    asked = len(written.notes) - bool(written.adopted) - written.branch
    notes, about_file = written.notes[:asked], written.notes[asked:]
    category = f" {written.entries[0].category}" if written.entries else ""
    limit = "" if written.usage.limit is None else f" of {written.usage.limit:,}"
    size = f"{written.usage.size:,}{limit} characters"
    if written.waiting is not None:
        emit_lines([f"waiting in {written.entity} as {written.waiting}: nothing is written until a person says yes"])
        say_all(written.notes[1:])
        say(f"'catmem proposals {written.waiting}{root_words()}' shows it, with --approve a person makes it so")
    elif not written.changed:
        emit_lines([f"{'; '.join(notes) or 'it says that already'}; nothing written"])
        say_all(about_file)
    elif call.dry_run:
        if to_agent:
            emit_lines([f"would be {done}{category} in {written.entity}:"])
            emit_lines(f"  {line}".rstrip() for entry in written.entries for line in entry.raw.split("\n"))
        else:
            emit(text_diff(written.before, written.after, f"a/{written.entity}", f"b/{written.entity}"))
        say_all(written.notes if written.branch else notes)
        say(f"Nothing was written. {'The branch of ' * written.branch}{written.entity} would have {size}.")
    else:
        revision = f" ({'branch' if written.branch else 'revision'} {written.revision})"
        emit_lines([f"{done}{category} in {written.entity}{revision}{f', {size}' if limit else ''}"])
        say_all(written.notes)
        # An agent may write what it may not take back; how to make what was taken back again stands in the notes.
        aside = written.bounded or written.branch or written.repeated or is_declared(written.entity)
        if not aside and done != _DONE["undo"]:
            undo = f"catmem undo {shlex.quote(written.entity)} --expected {written.revision}{root_words()}"
            say(f"'{undo}' takes it back")


# --- entries and prompts ---------------------------------------------------------------------------------------------


def _shown(value: str | tuple[dict[str, Any], Document, Sequence[Problem]], call: Call) -> None:
    if isinstance(value, str):
        emit(printable(value))
        return
    said, document, problems = value
    emit_lines(_shown_lines(said))
    if not said["categories"] and "files" in said:
        _say_first_memory(call, call.values["profile"] or call.values["file"])
    found = [f"  line {document.line(each.start)}: {each.rule}: {each.message}" for each in problems]
    emit_lines(["", "problems", *found] if found else [])


def _say_first_memory(call: Call, profile: str | None) -> None:
    from catmem.workspace.overview import first_memory

    say_all(first_memory(call.root, profile) if profile and call.root.profile(profile).seed_from else ())


def _shown_lines(said: dict[str, Any]) -> Iterator[str]:
    yield from [said["title"], ""] if said["title"] else []
    if not said["categories"]:
        yield "(no entries)"
    width = max((len(str(entry["line"])) for entries in said["categories"].values() for entry in entries), default=0)
    for category, entries in said["categories"].items():
        yield f"{category} ({len(entries)})"
        for entry in entries:
            first, *others = entry["body"].split("\n")
            yield f"  {entry['line']:>{width}}  {first}".rstrip()
            yield from (f"  {'':{width}}  {line}".rstrip() for line in others)
            if entry["tags"]:
                tags = (
                    f"{key}: {value if isinstance(value, str) else ', '.join(value)}"
                    for key, value in entry["tags"].items()
                )
                yield f"  {'':{width}}  [{', '.join(tags)}]"


def _listed(value: tuple[str | None, Sequence[Any]], call: Call) -> None:
    profile, entries = value
    if not entries:
        of = f" of {call.values['category']}" if call.values["category"] else ""
        say(f"No entries{of} in any file." if profile is None else "No entries that this profile can see.")
        _say_first_memory(call, profile)
    emit(columns([_folded_row(each) if profile is None else _list_row(each) for each in entries]))


def _list_row(listed: SeenEntry | SearchHit) -> tuple[str, ...]:
    state = "".join(_blocked(listed)) or listed.freshness.note or listed.freshness.state
    body = first_line(listed.entry.body, WIDE)
    return f"{listed.target}:{listed.line}", listed.entry.category, state, body


def _blocked(listed: SeenEntry | SearchHit) -> list[str]:
    return [f"blocked: {', '.join(listed.threats)}"] if listed.threats else []


def _folded_row(found: SharedEntry[SeenEntry]) -> tuple[str, ...]:
    _, *row, body = _list_row(found.entry)
    return f"{found.entry.entity}:{found.entry.line}", *row, body + _others(found)


def _others(found: SharedEntry[Any]) -> str:
    """The names of the other profiles, or of the other file, that have the same entry."""
    own = parts_of(found.entry.entity).owner
    names = dict.fromkeys(parts_of(each.entity).owner for each in found.copies)
    others = [name if name != own else f"{own} again" for name in names]
    return f"  (also in {', '.join(others)})" if others else ""


def _found(value: tuple[str | None, str, int, Sequence[Any]], _: Call) -> None:
    profile, query, total, hits = value
    if not hits:
        say(f"Nothing in sight fits {shown(query)}. Try other words, without quotes, or with fewer filters.")
    places = [_place(each) for each in hits] if profile else []
    if profile is None:
        places = [f"{parts_of(each.entry.entity).owner}/{_place(each.entry)}{_others(each)}" for each in hits]
        hits = [each.entry for each in hits]
    shown_hits = zip(places, hits, strict=True)
    emit(printable("\n".join(f"{place}\n    {each.snippet.text}\n" for place, each in shown_hits)))
    if advice(each.freshness.state for each in hits):
        owner = profile or parts_of(next(each for each in hits if each.freshness.state != "fresh").entity).owner
        say(f"Check what is not fresh before you rely on it. If it holds: catmem verify -p {owner} 'words of it'")
    if total > len(hits):
        say(f"{len(hits)} of {total:,} entries; --limit {total} shows all.")


def _place(found: SearchHit) -> str:
    return "  ".join(_list_row(found)[:3])


LEFT_OUT = {
    "expired": "expired",
    "stale": "stale",
    "no_text": "without text",
    "blocked": "blocked",
    "over_budget": "over budget",
}


def _built(value: tuple[Prompt, ProfileMemory], call: Call) -> None:
    from catmem.prompt.prompt import without_room

    prompt, memory = value
    own = "" if call.values["budget"] is None else f" --budget {call.values['budget']}"
    explain = f"'catmem prompt {memory.profile.name}{own} --explain' shows"
    if not prompt.text:
        say("The prompt is empty." if call.values["explain"] else f"The prompt is empty. {explain} why.")
        _say_first_memory(call, memory.profile.name)
    for warning in memory.warnings():
        place = shown_path(warning.path or call.root.root) + (f":{warning.line}" if warning.line else "")
        say(f"warning: {place}: {warning.message}")
    if without_room(prompt) and not call.values["explain"]:
        say(f"{prompt.gaps[0]}. {explain} them")
    if call.values["explain"]:
        paths = {target: shown_path(memory.paths[target]) for target in prompt.manifest.hidden}
        held = {target: Counter(each.category for each in memory.documents[target].entries) for target in paths}
        emit(printable("".join(_explained(prompt, paths, held))))
    else:
        emit(prompt.text)


def _explained(prompt: Prompt, paths: dict[str, str], held: dict[str, Counter[str]]) -> Iterator[str]:
    """``held`` counts the entries of each category that stand in a file."""
    manifest = prompt.manifest
    yield f"{manifest.profile}, as of {manifest.as_of}, style {manifest.style}\n"
    for target, hidden in manifest.hidden.items():
        rows = [row for row in manifest.rows if row.target == target]
        inside = sum(row.status == "in" for row in rows)
        budget = f" of {manifest.budget[target]:,}" if target in manifest.budget else ""
        size = f"{manifest.sizes[target]:,}{budget} characters"
        blocked = sum(row.status == "blocked" for row in rows)
        withheld = f", {blocked} blocked" if blocked else ""
        there = ", no such file yet" if target in manifest.missing else ""
        yield f"\n{target} ({paths[target]}{there}): {inside} of {len(rows)} entries in{withheld}, {size}\n"
        yield columns([_prompt_row(row) for row in rows])
        loose = manifest.hidden_uncategorized[target]
        if hidden > loose:
            seen = {row.category for row in rows} | {UNCATEGORIZED}
            counts = ", ".join(f"{name} {count}" for name, count in held[target].items() if name not in seen)
            yield f"  {hidden - loose} {plural(hidden - loose, 'entry')} of other categories left out: {counts}\n"
        if loose:
            yield f"  {loose} {plural(loose, 'entry')} without a category left out (include_uncategorized)\n"
    if "total" in manifest.budget:
        yield f"\ntotal: {len(prompt.text):,} of {manifest.budget['total']:,} characters\n"
    if any(row.status == "blocked" for row in manifest.rows):
        yield "\n! withheld by the threat scan: read the entry at its line, then reword or remove it"
        yield " (docs/security.md)\n"


def _prompt_row(row: Row) -> tuple[str, ...]:
    reason = {"in": "", "blocked": f"blocked: {row.reason}", "out": f"out: {row.reason}"}[row.status]
    state = row.state if row.day is None else f"{row.state} {row.day}"
    mark = {"in": "  +", "blocked": "  !", "out": "  -"}[row.status]
    return mark, f"line {row.line}", row.category, reason or state, first_line(row.preview, NARROW)


DONE = {
    "keep": "kept and verified",
    "edit": "changed and verified",
    "expire": "expired",
    "remove": "removed",
    "skip": "skipped",
}


def _due(review: Review, _: Call) -> None:
    due = review.due()
    for_each = ((each, "; ".join([each.why, *_blocked(each)]), first_line(each.entry.body, WIDE)) for each in due)
    emit(columns((f"{each.entity}:{each.line}", each.entry.category, *said) for each, *said in for_each))
    if not due:
        say("Nothing is due.")
    say_copies(review)


def say_copies(review: Review) -> None:
    """Say how many due facts a review does not ask about, since they are copies, which their source answers."""
    if copies := len(review.elsewhere()):
        say(f"{copies:,} more {plural(copies, 'is', 'are')} seeded from another profile, and asked about there.")


def revision(answered: Answered) -> str:
    """The revision that an answer made, if it made one."""
    return "" if answered.revision is None else f" (revision {answered.revision})"


def _proposals(value: Sequence[dict[str, Any]], _: Call) -> None:
    emit_lines(line for said in value for line in (*proposal_lines(said), ""))


def proposal_lines(said: dict[str, Any]) -> Iterator[str]:
    """A proposal, line by line."""
    from catmem.store.contract import who

    decision = said["decision"]
    maker = who(said["agent"], said.get("person"))
    yield f"{said['id']}  {said['entity']}  {maker}  {shown_moment(said['timestamp'])}"
    if decision is not None:
        by = f" by {decision['by']} in revision {decision['revision']}" if "by" in decision else ""
        why = f": {decision['reason']}" if decision["reason"] else ""
        yield f"  {said['state']}{by}, {shown_moment(decision['timestamp'])}{why}"
    elif said["state"] == "stale":
        yield "  stale: another entry by now, so reject it"
    yield from [f"  why: {said['reason']}"] if said["reason"] else []
    yield from (f"  checked against: {each}" for each in said.get("evidence", ()))
    for change in said["changes"]:
        yield f"  {change.get('place', change['category'])}"
        is_stale = change["stale"] and decision is None
        sides = {"before": "before:   ", "after": "proposed: ", "now": "now:      "}
        for side, sign in (sides if is_stale else {"before": "- ", "after": "+ "}).items():
            text = "(not there)" if is_stale and change[side] is None else change[side]
            if text is not None:
                yield f"  {sign}" + text.replace("\n", f"\n  {' ' * len(sign) if is_stale else sign}")


def _decisions(value: Decisions, _: Call) -> None:
    emit_lines(map(done_line, value.done))
    for each in value.done:
        say_all(after(each) if len(value.done) == 1 else each.notes)
    seen = set[tuple[str, ...]]()
    for name, error in value.refused:
        say(f"{name}: refused")
        print_error(error, seen)


def done_line(each: Decided) -> str:
    """A decision in a line."""
    found = each.proposal
    return f"{each.verdict} {found.id} of {found.who} in {found.entity} (revision {each.revision})"


def after(each: Decided) -> list[str]:
    """How an approval is taken back, and what became of the words in the files of specialists."""
    undo = f"'catmem undo {each.proposal.entity} --expected {each.revision}{root_words()}' takes it back"
    return [*([undo] if each.verdict == "approved" else []), *each.notes]


# --- roots, layouts, exports and seeds -------------------------------------------------------------------------------


def _init(done: Init, call: Call) -> None:
    made, git = done.made, done.git
    where = shown_path(made.root.absolute())
    lines = [f"{'would write' if call.dry_run else 'wrote'} {where}/{name}" for name in made.written]
    named = [name for name in made.kept if Path(name).stem in call.values["profiles"]]
    lines += [f"kept {where}/{name}, which was there already" for name in named if lines]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {line}" for line in git.attributes]
        lines += [f"set {line}" for line in git.config]
    lines += on_uncategorized(made.source, done.uncategorized)
    lines += ["", *_category_table(made.categories)] if made.categories else []
    there = f": {', '.join(made.kept)} {plural(len(made.kept), 'is', 'are')} there already" if made.kept else ""
    emit_lines(lines or [f"nothing to do{there}"])
    say_all(f"warning: {warning}" for warning in (git.warnings if git else ()))
    if done.next:
        place = [] if where == "." or made.next else [f"cd {shlex.quote(where)}"]
        emit_lines(["", "Next:", *(f"  {step}" for step in [*place, *done.next])])
        if not (made.next or call.values["example"] or call.values["profiles"]):
            emit_lines(["", "To add a specialist later: catmem init --profile NAME"])
    for name, error in done.skipped.items():
        say(f"{name}: skipped; mend this and run it again")
        print_error(error)


def on_uncategorized(profile: str, counts: Mapping[str, int]) -> Iterator[str]:
    """What to say of entries that came in without a category, ``counts`` of them by target."""
    for target, count in counts.items():
        yield (
            f"{counted(count, 'entry')} without a category in {profile}/{target}: a profile that names categories "
            f"does not see {plural(count, 'it', 'them')}"
        )


def _category_table(categories: Sequence[NewCategory]) -> list[str]:
    wide = max(len(each.slug) for each in categories)
    lines = [f"{'category':<{wide}}  read by, * may write"]
    for each in categories:
        names = [f"{name}*" if name in each.writers else name for name in each.readers]
        read = "all" if each.shared and not each.writers else ", ".join(names)
        lines += [f"{each.slug:<{wide}}  {read}", f"{'':<{wide}}    {each.about}"]
    return lines


def show_plan(plan: ChangePlan, call: Call, done: str, said: Callable[[FileChange], str] | None = None) -> None:
    """What becomes of files: a diff where nothing is written, else what was ``done``, and how it is taken back."""
    for each in plan.files:
        if each.changes and not plan.done and not call.values.get("check"):
            emit(diff_of(each))
        say_all(f"warning: {warning}" for warning in each.warnings)
        verb = (done if plan.done else f"would be {done}") if each.changes else f"not {done}"
        if said or (each.changes and (plan.done or call.values.get("check"))):
            about = f": {said(each)}" if said else f" (revision {each.revision})" if each.revision else ""
            emit_lines([f"{each.entity or each.name}: {verb}{about}"])
        say_all(each.notes)
        if each.backup is not None or (said and each.revision):
            say(taking_back(each))
    say_all(plan.notes)


def diff_of(file: FileChange | FilePlan) -> str:
    """What would change in a file, with asterisks for secrets."""
    from catmem.linting.renderers import mask_both

    return text_diff(*mask_both(file.before, file.after), f"a/{file.name}", f"b/{file.name}")


def taking_back(file: FileChange) -> str:
    """How a person takes back what was written to a file."""
    if file.path is None or file.backup is None:
        return f"to take it back (revision {file.revision}): catmem restore {file.entity} {file.restore}{root_words()}"
    return f"to take it back: mv {shlex.quote(shown_path(file.backup))} {shlex.quote(file.name)}"


def _changes(plan: ChangePlan, call: Call) -> None:
    if call.operation.name == "fsck":
        show_plan(plan, call, "mended")
        if plan.changed and not plan.done:
            say("Nothing was written. Do it with --repair.")
    else:
        show_plan(plan, call, "formatted")
        verb, count = "changed" if plan.done else "would be changed", len(plan.files) + len(plan.refused)
        say(f"{len(plan.changed)} of {count} {plural(count, 'file')} {verb}")


def _exports(value: Exports, call: Call) -> None:
    if value.names is None and value.form == "json":
        emit_json(jsonable(value))
    elif value.names is None:
        several = len(value.made) > 1  # of which each begins with its name
        texts = (f"# {each.profile}: {each.target}\n\n{each.text}" if several else each.text for each in value.made)
        emit_text("\n".join(texts))
    elif not value.names:
        say("nothing to write: the folder has these files already")
    for name in value.names or ():
        say(f"wrote {shown_path(Path(call.values['output']).absolute() / name)}")
    for each in value.made:
        if value.form != "json" and printable(each.text) != each.text:
            name = f"{each.profile}/{each.target}"
            say(f"{name}: characters that a terminal acts on are kept as they are; --format json escapes them")
        if each.lost:
            say(f"{each.profile}/{each.target}: this form has no place for {' and '.join(each.lost)}")


def _exported(count: int, call: Call) -> None:
    say(f"wrote {shown_path(Path(call.values['snapshot']).absolute())} ({counted(count, 'row')})")


def _seeds(value: Seeds, call: Call) -> None:
    done = value.done
    shown = _plan_line if done or call.values["check"] else diff_of
    for plan in value.plans:
        _seed(plan, shown)
    files = [each for plan in value.plans for each in plan.files]
    if call.values["settle"] and not any(row.state == "conflict" for each in files for row in each.rows):
        say("Nothing is in conflict, so --resolve settled nothing.")
    if value.in_sync and not done:
        what = "In sync as far as it could be looked at" if value.unreadable else "In sync"
        say(f"{what}: {counted(len(files), 'file')}. Nothing was written.")
        return
    changed = sum((each.revision is not None) if done else each.changes for each in files)
    conflicts, refused = sum(len(each.conflicts) for each in files), sum(len(plan.refused) for plan in value.plans)
    parts = [f"{counted(changed, 'file')} {'written' if done else 'would change'}", f"{len(files) - changed} unchanged"]
    parts += [f"{refused} refused"] if refused else []
    if conflicts:
        parts.append(f"{counted(conflicts, 'conflict')} left to you (--interactive asks who wins, --resolve says it)")
    say(f"{'' if done else 'Nothing was written. '}{', '.join(parts)}.")


def _seed(plan: SeedPlan, shown: Callable[[FilePlan], str]) -> None:
    for each in plan.files:
        emit(shown(each) + _open_conflicts(each))
        say_all(f"{each.target}: {note}" for note in each.notes)
    say_all(plan.notes)
    for refusal in plan.refused:
        say(f"{refusal.name}: refused")
        print_error(refusal.error)


def _plan_line(plan: FilePlan) -> str:
    revision = "" if plan.revision is None else f" (revision {plan.revision})"
    return printable(f"{plan.target}: {_seed_summary(plan)}{revision}\n")


_WORDS: dict[SeedRowState, str] = {
    "new": "added",
    "changed_in_source": "changed",
    "changed_in_both": "merged",
    "removed_from_source": "removed",
}
_KEPT: dict[SeedRowState, str] = {
    "changed_in_target": "kept as changed here",
    "removed_in_target": "removed here and left out",
}


def _seed_summary(plan: FilePlan) -> str:
    counts = Counter(row.state for row in plan.rows)
    parts = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
    done = counts["conflict"] - len(plan.conflicts)
    parts += [f"{done} settled"] if done else []
    parts += [f"{len(plan.conflicts)} in conflict"] if plan.conflicts else []
    parts = parts or ([f"{plan.cloned} taken out"] if plan.changes else ["in sync"])
    parts += [f"{counts[state]} {word}" for state, word in _KEPT.items() if counts[state]]
    kinds = Counter(str(each.withheld).partition(" ")[0].rstrip(":") for each in plan.withheld)
    parts += [f"{count} {kind} left out" for kind, count in sorted(kinds.items())]
    return ", ".join(parts)


def _open_conflicts(plan: FilePlan) -> str:
    """The conflicts of one file, with what both sides say and said, and the command for each; empty if none is open."""
    from catmem.seeding.slices import conflict_id

    settle = f"     settle: catmem seed {parts_of(plan.source).owner} {parts_of(plan.target).owner} --resolve"
    return "".join(
        f"{conflict_text(plan, each)}{settle} {conflict_id(plan.target, each)}=source (or =target, =both)\n"
        for each in plan.conflicts
    )


def conflict_text(plan: FilePlan, conflict: Conflict, newline: str = "\\n") -> str:
    """One conflict, with the whole texts of what both come from, of the target and of the source."""
    from catmem.seeding.slices import conflict_id

    sides = (("base", conflict.base), ("target", conflict.ours), ("source", conflict.theirs))
    either = conflict.ours or conflict.theirs
    where = f" in {either.category}" if either is not None and either.category else ""
    head = f"  {plan.target}: conflict {conflict_id(plan.target, conflict)}{where}: {CONFLICT_REASONS[conflict.reason]}"
    said = [(name, side and _side_text(side, conflict.reason).replace("\n", newline)) for name, side in sides]
    return printable("".join(f"{line}\n" for line in (head, *side_lines(said, "     "))))


def _side_text(side: Version, reason: Reason) -> str:
    text = side.text if reason == "tags" else side.body
    return f"{side.category}: {text}" if reason == "category" else text


def _external(changed: ExternalChange, _: Call) -> None:
    emit(changed.diff)
    if changed.revision:
        say(f"what is there now is revision {changed.revision} of {changed.entity}")
    else:
        say(f"another program changed {changed.entity}")


def _promoted(done: Promotions, call: Call) -> None:
    failed, seen = done.failed, set[tuple[str, ...]]()
    for each in done.each:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit_lines([where + _indented(each.entry.body)])
        if each.replaced is not None:
            emit_lines([f"  in place of: {_indented(each.replaced.body)}"])
        if each.error is not None and each.error in failed:
            print_error(each.error, seen)
        elif each.error is not None:
            say(f"  left: {each.error}")
    made = sum(each.error is None for each in done.each)
    refused = f", {len(failed)} refused" if failed else ""
    if not done.each:
        emit("Nothing to promote: each source has these entries already, or they wait there as proposals.\n")
    elif done.tries:
        go_on = f" Propose all: catmem promote --all{call.root_words}." if made else ""
        say(f"{made} to promote{refused}; nothing was written.{go_on}")
    else:
        say(f"{counted(made, 'proposal')} made{refused}. catmem proposals{call.root_words} lists what waits.")


def _indented(body: str) -> str:
    return body.replace("\n", "\n    ")


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


def _difference(value: dict[str, Any], _: Call) -> None:
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
        _show_written(value.written, "brought over to", call)
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
    rows = [(t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in value["tokens"]]
    emit(columns(rows))


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
    rows = [("entity", "head", "revisions", "branches", "generation"), *map(_stored_row, value)]
    emit(columns(rows))


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


TEXTS = {
    "Written": _written,
    "show": _shown,
    "list": _listed,
    "search": _found,
    "prompt": _built,
    "Review": _due,
    "proposals": _proposals,
    "Decisions": _decisions,
    "Init": _init,
    "ChangePlan": _changes,
    "export": _exported,
    "Exports": _exports,
    "str": lambda text, _: emit_text(text),
    "Seeds": _seeds,
    "ExternalChange": _external,
    "Promotions": _promoted,
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
"""The renderers: of a type of catmem by its name, of a list, a text and the like by the name of the operation."""
