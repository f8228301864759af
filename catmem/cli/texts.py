"""What people read of an outcome, by the type of what was done or the name of the operation."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.cli.output import (
    CONFLICT_REASONS,
    NARROW,
    WIDE,
    columns,
    emit,
    emit_json,
    emit_lines,
    emit_text,
    print_error,
    root_words,
    say,
    say_all,
    shown_moment,
    side_lines,
)
from catmem.config.json_schema import shown
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.names import UNCATEGORIZED, is_declared, parts_of
from catmem.staleness.freshness import advice
from catmem.text import counted, first_line, plural, printable, text_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catmem.model.document import Document, Problem, Version
    from catmem.model.merge import Conflict, Reason
    from catmem.ops.files import Exports, Init
    from catmem.ops.review import Decisions
    from catmem.ops.seeding import Promotions, Seeds
    from catmem.ops.shared import ExternalChange
    from catmem.ops.table import Call
    from catmem.prompt.prompt import Prompt, Row
    from catmem.proposals.deciding import Decided
    from catmem.search.search import SearchHit
    from catmem.seeding.plan import SeedPlan
    from catmem.seeding.slices import FilePlan, SeedRowState
    from catmem.staleness.review import Answered, Review
    from catmem.workspace.change_plan import ChangePlan, FileChange
    from catmem.workspace.init import NewCategory
    from catmem.workspace.profile_memory import ProfileMemory
    from catmem.workspace.reports import SharedEntry
    from catmem.workspace.seen_entry import SeenEntry
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
    show_written(written, done, call, to_agent=to_agent)


def show_written(written: Written, done: str, call: Call, *, to_agent: bool = False) -> None:
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


def _found(value: tuple[str | None, str, int, Sequence[Any]], call: Call) -> None:
    from catmem.ops.reading import verified_in

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
        owner = verified_in(call.root, next(each for each in hits if each.freshness.state != "fresh"))
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
    said = {
        "--from": [call.values["source"]],
        "-c": call.values["categories"] or [],
        "--budget": [call.values["budget"]],
    }
    own = "".join(
        f" {way} {shlex.quote(str(each))}" for way, given in said.items() for each in given if each is not None
    )
    explain = f"catmem prompt {memory.profile.name}{own} --explain"
    if not prompt.text:
        say("The prompt is empty." if call.values["explain"] else f"The prompt is empty. To see why: {explain}")
        _say_first_memory(call, memory.profile.name)
    for warning in memory.warnings():
        place = shown_path(warning.path or call.root.root) + (f":{warning.line}" if warning.line else "")
        say(f"warning: {place}: {warning.message}")
    if without_room(prompt) and not call.values["explain"]:
        say(f"{prompt.gaps[0]}. To see them: {explain}")
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
    gone = [first_line(row.version.body, WIDE) for row in plan.rows if row.state == "removed_from_source"]
    named = [f"  removed: {each}\n" for each in gone[:_MOST_REMOVED]]
    named += [f"  and {len(gone) - _MOST_REMOVED:,} more\n"] if len(gone) > _MOST_REMOVED else []
    return printable(f"{plan.target}: {_seed_summary(plan)}{revision}\n{''.join(named)}")


_MOST_REMOVED = 3
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
    text = side.text if reason in {"tags", "removed"} else side.body
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
    elif done.dry_run:
        go_on = f" Propose all: catmem promote --all{call.root_words}." if made else ""
        say(f"{made} to promote{refused}; nothing was written.{go_on}")
    else:
        say(f"{counted(made, 'proposal')} made{refused}. catmem proposals{call.root_words} lists what waits.")


def _indented(body: str) -> str:
    return body.replace("\n", "\n    ")


TEXTS: dict[str, Callable[[Any, Call], None]] = {
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
}
"""The renderers: of a type of catmem by its name, of a list, a text and the like by the name of the operation."""
