"""What was sorted, and what could be tidier, as people read it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from catmem.cli.output import emit, say, say_all
from catmem.cli.texts.files import show_plan
from catmem.files import shown_path
from catmem.names import STAYS, category_name
from catmem.ops.table import Call
from catmem.plugins.sorting.operations import SortedFile
from catmem.plugins.sorting.sort_files import SortedEntries, SortPlan
from catmem.plugins.sorting.sort_list import beginning
from catmem.plugins.sorting.sort_list import shown as shown_text
from catmem.plugins.sorting.tidying import ProposedTidying, Suggestion, TidyList
from catmem.text import counted, first_line, printable

_WIDTH = 300
_TITLES = {
    "same": "Say the same:",
    "contradiction": "Contradict each other, says the model:",
    "together": "Look at these together:",
}
_LEFT = {"rejected_before": "you rejected the same before; 'catmem proposals --all' shows it"}


def _list(plan: SortPlan, _: Call) -> None:
    emit(plan.to_text())
    say("Nothing was written. Edit this list and give it to --read, or take what is sure with --yes.")


def _sorted(file: SortedFile, call: Call) -> None:
    plan, dry_run, (change,) = file.plan, not file.done.done, file.done.files
    done: SortedEntries = change.about
    kept = [line for line in file.lines if line.secret and line.choice == STAYS]
    counts = ", ".join(f"{category} {number:,}" for category, number in done.counts.items())
    show_plan(file.done, call, "sorted", lambda _: counts)
    for part in done.parts:
        emit(f"  {part.number}.{part.part}  {part.choice} | {beginning(shown_text(part))}\n")
    would = "would be " if dry_run else ""
    for slug, title in done.declared.items():
        emit(printable(f"{would}declared in catmem.yaml: {slug} ({title})\n"))
    say_all(f"no specialist reads {category} in {plan.path.name}" for category in done.unread)
    for line in done.secrets:
        say(f"the secret on line {line.line} {would or 'is '}out of the file, not of its history")
    if kept:
        say(f"what looks like a secret {would or 'was '}left in {plan.name}: {counted(len(kept), 'entry')}")
    if (done.secrets or (kept and plan.entity)) and not dry_run:
        say("Replace each where it was issued. Then erase its whole entry for good; this shows what would go:")
        ids = dict.fromkeys(line.entry.id for line in (*done.secrets, *kept))
        in_copy = [f"  rm {shlex.quote(shown_path(change.backup or ''))}"]
        say_all([f"  catmem purge {plan.entity} {each} --dry-run" for each in ids] if plan.entity else in_copy)
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
    verb, where = "waits" if len(waiting) == 1 else "wait", ": catmem proposals" if waiting else ""
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


TEXTS = {"SortPlan": _list, "SortedFile": _sorted, "TidyList": _tidy, "list": _proposed}
