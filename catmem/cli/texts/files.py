"""Roots, layouts, exports and seeds, as people read them."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.cli.output import (
    CONFLICT_REASONS,
    columns,
    emit,
    emit_json,
    emit_text,
    print_error,
    root_words,
    say,
    say_all,
    show_written,
    side_lines,
)
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.model.document import Version
from catmem.model.merge import Conflict, Reason
from catmem.names import UNCATEGORIZED, parts_of
from catmem.seeding.slices import FilePlan, SeedRowState, conflict_id
from catmem.text import counted, first_line, plural, printable, text_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catmem.config.labels import Migration, Proposed
    from catmem.ops.files import Exports, Init
    from catmem.ops.seeding import Promotions, Seeds
    from catmem.ops.shared import ExternalChange
    from catmem.ops.table import Call
    from catmem.seeding.plan import SeedPlan
    from catmem.workspace.change_plan import ChangePlan, FileChange
    from catmem.workspace.formatting import Declaration
    from catmem.workspace.init import NewCategory


def _init(done: Init, call: Call) -> None:
    made, git = done.made, done.git
    where = printable(shown_path(made.root.absolute()))
    lines = [f"{'would write' if call.dry_run else 'wrote'} {where}/{name}\n" for name in made.written]
    named = [name for name in made.kept if Path(name).stem in call.values["profiles"]]
    lines += [f"kept {where}/{name}, which was there already\n" for name in named if lines]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {printable(line)}\n" for line in git.attributes]
        lines += [f"set {printable(line)}\n" for line in git.config]
    lines += [f"{line}\n" for line in on_uncategorized(made.source, done.uncategorized)]
    lines += ["\n", *_table(made.categories)] if made.categories else []
    there = f": {', '.join(made.kept)} {plural(len(made.kept), 'is', 'are')} there already" if made.kept else ""
    emit("".join(lines) if lines else f"nothing to do{there}\n")
    say_all(f"warning: {warning}" for warning in (git.warnings if git else ()))
    if done.next:
        place = [] if where == "." or done.over else [f"cd {shlex.quote(where)}"]
        emit("\nNext:\n" + "".join(f"  {step}\n" for step in [*place, *done.next]))
        if not (done.over or call.values["example"] or call.values["profiles"]):
            emit("\nTo add a specialist later: catmem init --profile NAME\n")
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


def _table(categories: Sequence[NewCategory]) -> list[str]:
    """The categories of new specialists: what belongs there, and which specialists of the root read and write it."""
    wide = max(len(each.slug) for each in categories)
    lines = [f"{'category':<{wide}}  read by, * may write\n"]
    for each in categories:
        names = [f"{name}*" if name in each.writers else name for name in each.readers]
        read = "all" if each.shared and not each.writers else ", ".join(names)
        lines.append(f"{each.slug:<{wide}}  {read}\n{'':<{wide}}    {each.about}\n")
    return lines


_ENTRY_WIDTH = 48


def show_plan(plan: ChangePlan, call: Call, done: str, said: Callable[[FileChange], str] | None = None) -> None:
    """What becomes of files: a diff where nothing is written, else what was ``done``, and how it is taken back."""
    for each in plan.files:
        if each.changes and not plan.done and not call.values.get("check"):
            emit(diff_of(each))
        say_all(f"warning: {warning}" for warning in each.warnings)
        verb = (done if plan.done else f"would be {done}") if each.changes else f"not {done}"
        if said or (each.changes and (plan.done or call.values.get("check"))):
            about = f": {said(each)}" if said else f" (revision {each.revision})" if each.revision else ""
            emit(printable(f"{each.entity or each.name}: {verb}{about}\n"))
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


def _plan(plan: ChangePlan, call: Call) -> None:
    if call.operation.name == "migrate":
        _migrated(plan, call)
        return
    show_plan(plan, call, "formatted")
    verb, count = "changed" if plan.done else "would be changed", len(plan.files) + len(plan.refused)
    say(f"{len(plan.changed)} of {count} {plural(count, 'file')} {verb}")


def _migrated(plan: ChangePlan, call: Call) -> None:
    show_plan(plan, call, "migrated", lambda each: _counted(each.about))
    for each in plan.files:
        if not plan.done:
            emit(columns(_rows(each.about)))
        if each.about.title is not None:
            verb = "is" if plan.done else "would be"
            say(f"the heading '# {each.about.title}' {verb} the title of the file")


def _declared(declaration: Declaration, call: Call) -> None:
    if call.dry_run:
        emit(text_diff(declaration.old, declaration.new, "a/catmem.yaml", "b/catmem.yaml"))
    say(f"catmem.yaml {'would declare' if call.dry_run else 'declares'} these categories:")
    _say_rows(declaration.proposed)


def _counted(migration: Migration) -> str:
    counts, sections = migration.counts, len(migration.sections)
    moved = f"{counts['moved']} moved" + (f" to {counted(sections, 'category')}" if sections else "")
    entries = counted(len(migration.entries), "entry")
    return f"of {entries} without a category {moved}, {counts['tagged']} tagged, {counts['stayed']} as before"


def _rows(migration: Migration) -> Iterator[tuple[str, ...]]:
    if migration.entries:
        yield "line", "category", "entry", "why"
    for each in migration.entries:
        category = "-" if each.category == UNCATEGORIZED else each.category
        yield (
            f"{each.line:>4}",
            category,
            first_line(each.entry.body, _ENTRY_WIDTH),
            printable(each.why.replace("\n", " ")),
        )


def _left(proposed: tuple[Proposed, ...], _: Call) -> None:
    clear = [each for each in proposed if not each.may_be]
    if clear:
        say("labels that name no category; --declare would declare these in catmem.yaml:")
        _say_rows(clear)
        say("  Or give the labels there as aliases of another category, and run this again.")
    for each in proposed:
        if each.may_be:
            may_be = " or ".join(each.may_be)
            say(f"[{'], ['.join(each.labels)}] may be {may_be}: give it to one as an alias, and run this again")


def _say_rows(proposed: Sequence[Proposed]) -> None:
    rows = [
        (
            "",
            f"{each.slug}: {{title: {each.title}}}" if each.title else each.slug,
            counted(each.entries, "entry"),
            f"[{'], ['.join(each.labels)}]" + (f" (did you mean {each.near}?)" if each.near else ""),
        )
        for each in proposed
    ]
    say_all(columns(rows).splitlines())


def _exports(value: Exports, call: Call) -> None:
    if value.names is None:
        _print(value)
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


def _print(value: Exports) -> None:
    if value.form == "json":
        emit_json(jsonable(value))
        return
    several = len(value.made) > 1  # of which each begins with its name
    texts = (f"# {each.profile}: {each.target}\n\n{each.text}" if several else each.text for each in value.made)
    emit_text("\n".join(texts))


# --- plans -----------------------------------------------------------------------------------------------------------


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
    """What a seed would do, or did, file by file as ``shown``, with the conflicts, the notes and the refusals."""
    for each in plan.files:
        emit(shown(each) + conflict_lines(each))
        say_all(f"{each.target}: {note}" for note in each.notes)
    say_all(plan.notes)
    for refusal in plan.refused:
        say(f"{refusal.name}: refused")
        print_error(refusal.error)


def _plan_line(plan: FilePlan) -> str:
    """What would become of one file, or became of it, in a line."""
    revision = "" if plan.revision is None else f" (revision {plan.revision})"
    return printable(f"{plan.target}: {_summary(plan)}{revision}\n")


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


def _summary(plan: FilePlan) -> str:
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


# --- conflicts -------------------------------------------------------------------------------------------------------


def conflict_lines(plan: FilePlan) -> str:
    """The conflicts of one file, with what both sides say and said, and the command for each; empty if none is open."""
    settle = f"     settle: catmem seed {parts_of(plan.source).owner} {parts_of(plan.target).owner} --resolve"
    return "".join(
        f"{conflict_text(plan, each)}{settle} {conflict_id(plan.target, each)}=source (or =target, =both)\n"
        for each in plan.conflicts
    )


def conflict_text(plan: FilePlan, conflict: Conflict, newline: str = "\\n") -> str:
    """One conflict, with the whole texts of what both come from, of the target and of the source."""
    sides = (("base", conflict.base), ("target", conflict.ours), ("source", conflict.theirs))
    either = conflict.ours or conflict.theirs
    where = f" in {either.category}" if either is not None and either.category else ""
    head = f"  {plan.target}: conflict {conflict_id(plan.target, conflict)}{where}: {CONFLICT_REASONS[conflict.reason]}"
    said = [(name, side and _text(side, conflict.reason).replace("\n", newline)) for name, side in sides]
    return printable("".join(f"{line}\n" for line in (head, *side_lines(said, "     "))))


def _text(side: Version, reason: Reason) -> str:
    text = side.text if reason == "tags" else side.body
    return f"{side.category}: {text}" if reason == "category" else text


# --- what was promoted, as people read it ----------------------------------------------------------------------------


def _external(changed: ExternalChange, _: Call) -> None:
    say(f"another program changed {changed.entity}{f' (revision {changed.revision})' if changed.revision else ''}:")
    emit(changed.diff)


def _promoted(done: Promotions, call: Call) -> None:
    failed, seen = done.failed, set[tuple[str, ...]]()
    for each in done.each:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit(printable(f"{where}{_indented(each.entry.body)}\n"))
        if each.replaced is not None:
            emit(printable(f"  in place of: {_indented(each.replaced.body)}\n"))
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


TEXTS = {
    "Init": _init,
    "ChangePlan": _plan,
    "Declaration": _declared,
    "tuple": _left,
    "int": lambda count, call: say(
        f"wrote {shown_path(Path(call.values['snapshot']).absolute())} ({counted(count, 'row')})"
    ),
    "Exports": _exports,
    "Seeds": _seeds,
    "ExternalChange": _external,
    "Promotions": _promoted,
    "Written": lambda written, call: show_written(written, "promoted to", call),
}
"""The renderers, by the names of the types that they know."""
