"""What was migrated and sorted, and what could be tidier, as people read it; and the list in an editor."""

from __future__ import annotations

import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.output import columns, emit, root_words, say, say_all
from catmem.cli.texts import show_plan
from catmem.errors import CatmemError, ConfigError, RefusedError
from catmem.files import shown_path
from catmem.names import STAYS, UNCATEGORIZED, category_name, parts_of
from catmem.ops.table import Call
from catmem.text import counted, first_line, printable, text_diff

if TYPE_CHECKING:
    from catmem.plugins.sorting.labels import Migration, Proposed
    from catmem.plugins.sorting.migrating import DeclaredLabels
    from catmem.plugins.sorting.operations import SortedEntries, SortedFile, SortPlan
    from catmem.plugins.sorting.tidying import ProposedTidying, Suggestion, TidyList
    from catmem.workspace.change_plan import ChangePlan

_FAULT = "#! "
"""How a comment begins that says what is wrong in a list."""


def _command(plan: SortPlan, path: str | Path) -> str:
    profile, target = parts_of(plan.entity or "")
    whose = f"-p {profile} -t {target}" if profile else shlex.quote(shown_path(plan.path))
    return f"catmem sort {whose} --read {shlex.quote(shown_path(path))}{root_words()}"


def _temporary(text: str) -> Path:
    """A file of this user alone with a list."""
    with tempfile.NamedTemporaryFile(prefix="catmem-sort-", suffix=".txt", delete=False) as stream:
        stream.write(text.encode())
    return Path(stream.name)


@contextmanager
def _kept(plan: SortPlan, path: Path) -> Iterator[None]:
    """Whatever goes wrong, keep the list that a person made, and say where it is."""
    try:
        yield
    except CatmemError as error:
        then = "Then" if isinstance(error, RefusedError) else "Mend it, then"
        error.hint = f"{error.hint or 'Nothing was written.'}\n  Your list is kept. {then}: {_command(plan, path)}"
        raise


def _edit(call: Call, plan: SortPlan) -> bool:
    """Sort by a list in an editor, which opens again until the list is right, emptied, or left as it was."""
    from catmem.plugins.sorting.operations import chosen, finish

    text: str | None = plan.to_text()
    path = _temporary(str(text))
    made = path.stat().st_mtime_ns
    while text is not None:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            path.unlink(missing_ok=True)
            said = f"{error.message.rstrip('.')}. Nothing was written. Say in EDITOR what opens a file, or see --read."
            raise click.UsageError(said) from None
        edited = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        is_empty = all(not line.strip() or line.startswith("#") for line in edited.splitlines())
        if is_empty or (edited == text and path.stat().st_mtime_ns == made):
            say(f"The list {'is empty' if is_empty else 'was not saved'}: nothing was written.")
            path.unlink(missing_ok=True)
            return False
        with _kept(plan, path):
            text = None if edited == text else _with_faults(plan, edited)
            if text is None:
                finish(call, plan, chosen(call, plan, str(path)))
            else:
                path.write_text(text, encoding="utf-8")
    if call.values["dry_run"]:
        say(f"the list is kept: {_command(plan, path)}")
    else:
        path.unlink(missing_ok=True)
    return True


def _with_faults(plan: SortPlan, text: str) -> str | None:
    """A list with what is wrong in it as comments at its top; ``None`` if nothing is."""
    from catmem.plugins.sorting.sort_lines import read_list

    own, faults = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_FAULT)), ""
    for _ in range(2):  # the comments move the lines that they name
        try:
            plan.chosen(read_list(faults + own))
        except ConfigError as error:
            faults = "".join(f"{_FAULT}{each.strip()}\n" for each in str(error.hint).splitlines())
    return faults + own if faults else None


DIALOGUE = _edit


_WIDTH, _MOST_GUESSED = 300, 10
_TITLES = {
    "same": "Say the same:",
    "together": "Look at these together:",
}
_LEFT = {"rejected_before": "you rejected the same before; 'catmem proposals --all' shows it"}


def _list(plan: SortPlan, _: Call) -> None:
    emit(plan.to_text())
    say("Nothing was written. Edit this list and give it to --read, or take what is sure with --yes.")


def _sorted(file: SortedFile, call: Call) -> None:
    from catmem.plugins.sorting.sort_lines import BEGINNING
    from catmem.plugins.sorting.sort_lines import shown as shown_text

    plan, dry_run, (change,) = file.plan, not file.done.done, file.done.files
    done: SortedEntries = change.about
    kept = [line for line in file.lines if line.secret and line.choice == STAYS]
    counts = ", ".join(f"{category} {number:,}" for category, number in done.counts.items())
    show_plan(file.done, call, "sorted", lambda _: counts)
    for part in done.parts:
        emit(f"  {part.number}.{part.part}  {part.choice} | {first_line(shown_text(part), BEGINNING)}\n")
    would = "would be " if dry_run else ""
    for slug, title in done.declared.items():
        emit(printable(f"{would}declared in catmem.yaml: {slug} ({title})\n"))
    say_all(f"no specialist reads {category} in {plan.path.name}" for category in done.unread)
    guessed = [line for line in file.lines if line.choice in plan.read_by_all and not line.sure]
    if guessed and plan.entity and call.values["unsure"]:
        say(f"not sure, and every specialist {'would read' if dry_run else 'may read'} it now:")
        say_all(f"  {line.choice} | {first_line(shown_text(line), BEGINNING)}" for line in guessed[:_MOST_GUESSED])
        say_all([f"  and {len(guessed) - _MOST_GUESSED:,} more"] if len(guessed) > _MOST_GUESSED else [])
        profile, target = parts_of(plan.entity)
        say(f"to move one: catmem move -p {profile} -t {target} 'ITS WORDS' -c CATEGORY{root_words()}")
    for line in done.secrets:
        say(f"the secret on line {line.line} {would or 'is '}out of the file, not of its history")
    if kept:
        say(f"what looks like a secret {would or 'was '}left in {plan.name}: {counted(len(kept), 'entry')}")
    if (done.secrets or (kept and plan.entity)) and not dry_run:
        if plan.entity:
            say("Replace each where it was issued. Then erase it for good: give it on standard input to")
            say(f"  catmem purge {plan.entity} - --dry-run{root_words()}")
            say("which shows what would go, older wordings too.")
        else:
            say(f"Replace each where it was issued. Then: rm {shlex.quote(shown_path(change.backup or ''))}")
        say("Copies outside still have it, such as the file that 'init --start' read: erase it there yourself.")


def _tidy(found: TidyList, _: Call) -> None:
    for kind, title in _TITLES.items():
        lines = [line for each in found.suggestions if each.kind == kind for line in _lines(each)]
        emit("".join(f"{line}\n" for line in ([title, *lines] if lines else [])))
    count = len(found.suggestions)
    say(f"{counted(count, 'pair')}; nothing was written" if count else "nothing to tidy")


def _proposed(proposed: Sequence[ProposedTidying], _: Call) -> None:
    waiting = [each for each in proposed if each.proposal is not None]
    for each in waiting:
        emit("".join(f"{line}\n" for line in (f"{each.proposal} waits:", *_lines(each.suggestion))))
    left = Counter(_LEFT.get(each.error.code, each.error.message) for each in proposed if each.error is not None)
    verb, where = "waits" if len(waiting) == 1 else "wait", f": catmem proposals{root_words()}" if waiting else ""
    say(f"{counted(len(waiting), 'suggestion')} {verb} for you{where}")
    for why, number in left.items():
        say(f"{counted(number, 'suggestion')} left out: {why}")


def _lines(suggestion: Suggestion) -> Iterator[str]:
    """A suggestion, with its entries below each other, and what would become of each."""
    yield f"{suggestion.entity}: {suggestion.reason}"
    fates = ("keep", "remove") if suggestion.operations else ("", "")
    for fate, entry in zip(fates, suggestion.entries, strict=True):
        place = f"line {entry.line}" if entry.entity == suggestion.entity else f"{entry.entity} line {entry.line}"
        day = f"{entry.day} " if entry.day else ""
        yield f"  {fate:<6} {place}  {day}{category_name(entry.category)} | {first_line(entry.body, _WIDTH)}"


def _migrated(plan: ChangePlan, call: Call) -> None:
    show_plan(plan, call, "migrated", lambda each: _migration_counts(each.about))
    for each in plan.files:
        if not plan.done:
            emit(columns(_migration_rows(each.about)))
        if each.about.title is not None:
            verb = "is" if plan.done else "would be"
            say(f"the heading '# {each.about.title}' {verb} the title of the file")


def _declared(declared: DeclaredLabels, call: Call) -> None:
    if call.dry_run:
        declaration = declared.declaration
        emit(text_diff(declaration.old, declaration.new, "a/catmem.yaml", "b/catmem.yaml"))
    say(f"catmem.yaml {'would declare' if call.dry_run else 'declares'} these categories:")
    _say_rows(declared.proposed)


_ENTRY_WIDTH = 48


def _migration_counts(migration: Migration) -> str:
    counts, sections = migration.counts, len(migration.sections)
    moved = f"{counts['moved']} moved" + (f" to {counted(sections, 'category')}" if sections else "")
    entries = counted(len(migration.entries), "entry")
    return f"of {entries} without a category {moved}, {counts['tagged']} tagged, {counts['stayed']} as before"


def _migration_rows(migration: Migration) -> Iterator[tuple[str, ...]]:
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


TEXTS = {
    "ChangePlan": _migrated,
    "DeclaredLabels": _declared,
    "migrate": _left,
    "SortPlan": _list,
    "SortedFile": _sorted,
    "TidyList": _tidy,
    "list": _proposed,
}
