"""Reports on a whole root, as people read them."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from catmem.cli.output import columns, emit, say, say_all
from catmem.cli.texts.entries import LEFT_OUT
from catmem.files import shown_path
from catmem.names import FILE_NAMES
from catmem.text import counted, few, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.ops.shared import ExternalChange
    from catmem.ops.table import Call
    from catmem.prompt.sizes import Sizes, Use
    from catmem.workspace.overview import NextSteps
    from catmem.workspace.reports import AccessExplanation, AccessReason, Fleet, Measured, Orphan, Stats
    from catmem.workspace.workspace import Workspace

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


def _adopted(value: ExternalChange, _: Call) -> None:
    emit(value.diff)
    say(f"what is there now is revision {value.revision} of {value.entity}")


def _access(value: Fleet, call: Call) -> None:
    if not value.asked:
        say(f"There are no profiles in {printable(shown_path(call.root.config.profiles_dir))}.")
        return
    emit(printable("".join(_matrix(value, [profile.name for profile in value.asked]))))
    if not call.values["profiles"]:
        emit(printable("".join((*_summary(value), *_entities(call.root)))))


# --- the matrix ----------------------------------------------------------------------------------------------------


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
    """How many read a category and may write it, and their names."""
    readers = sum(mark[0] == "r" for mark in marks)
    writers = sum("w" in mark or mark == "d" for mark in marks)
    # Those with the rarer rights first: there are few of them, and they are what one looks for.
    named = [
        f"{name} {mark}" for mark in ("rw", "d", "r") for name, each in zip(names, marks, strict=True) if each == mark
    ]
    return f"{readers:>7}", f"{writers:>7}", few(named, _MOST_NAMES)


# --- what there is to see in it ------------------------------------------------------------------------------------


def _summary(fleet: Fleet) -> Iterator[str]:
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
    """Who may write and read each declared entity, by the names that catmem.yaml gives."""
    if workspace.config.entities:
        yield "\nDeclared entities (tier 1 may read and write all of them):\n"
        lists = [(each.name, each.writers, each.readers) for each in workspace.config.entities.values()]
        rows = [(name, *(", ".join(names) or "." for names in both)) for name, *both in lists]
        yield columns([("", "entity", "writers", "readers"), *(("", *row) for row in rows)])


def _why(value: AccessExplanation, _: Call) -> None:
    emit(printable("".join(_answers(value))))


def _answers(why: AccessExplanation) -> Iterator[str]:
    declared = "" if why.declared else ", which catmem.yaml does not declare"
    yield f"{why.profile} and {why.category}{declared}\n\n"
    questions = {target: f"reads it in {file}" for target, file in FILE_NAMES.items()}
    questions |= {"write": "may write it", "verify": "may verify it"}
    for reason in why.reasons:
        yield f"{questions[reason.asked]}: {_answer(why, reason)}\n"
        yield f"  {reason.because}\n"
        if reason.path is not None:
            parent = f", which {why.profile} extends" if reason.inherited_from else ""
            yield f"  {shown_path(reason.path)}:{reason.line}{parent}\n"


def _answer(why: AccessExplanation, reason: AccessReason) -> str:
    count = why.entries.get(reason.asked, 0)
    held = f" ({counted(count, 'entry')} in its own file)" if reason.asked in FILE_NAMES and count else ""
    return f"{reason.answer}{held}"


# --- what prompts save -----------------------------------------------------------------------------------------------


def _stats(value: Stats, call: Call) -> None:
    if value.profiles:
        emit(printable("".join(_table(value))))
    elif not value.problems:
        say(f"There are no profiles in {printable(shown_path(call.root.config.profiles_dir))}.")


def _table(stats: Stats) -> Iterator[str]:
    from catmem.prompt.sizes import UNWANTED

    files = f"from the files of {stats.source}" if stats.source else "each from its own files"
    yield f"Prompts beside flat files, {files}, as of {stats.as_of}:\n"
    yield "characters, and tokens (estimated)\n\n"
    total = stats.total
    rows = [_row(each.profile, each.sizes, "; ".join(_notes(each))) for each in stats.profiles]
    yield columns([_HEAD, *rows, _row("total", total, "")], right=range(1, 8))
    counts = {
        "kept out of prompts": {**total.left_out, "secrets": total.secrets},
        "marked in prompts": total.marked,
        "shown by flat files": total.in_flat,
    }
    facts = [(name, *(f"{count.get(each, 0):,}" for each in UNWANTED), "") for name, count in counts.items()]
    yield "\n"
    yield columns([("facts", *UNWANTED, ""), *facts], right=range(1, 5))


def _row(name: str, sizes: Sizes, notes: str) -> tuple[str, ...]:
    seen = f"{sizes.seen:,} of {sizes.entries:,}"
    characters = _beside(sizes.prompt.characters, sizes.flat.characters, sizes.percent)
    tokens = _beside(sizes.prompt.tokens, sizes.flat.tokens, sizes.tokens_percent)
    return name, seen, *characters, *tokens, notes


def _beside(prompt: int, flat: int, percent: float | None) -> tuple[str, ...]:
    return f"{prompt:,}", f"{flat:,}", "-" if percent is None else f"{percent}%"


def _notes(measured: Measured) -> Iterator[str]:
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


TEXTS = {
    "NextSteps": _status,
    "ExternalChange": _adopted,
    "Fleet": _access,
    "AccessExplanation": _why,
    "Stats": _stats,
}
"""The renderers, by the names of the types that they know."""
