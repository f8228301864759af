"""``catmem access``: who reads and who may write which category, and why."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import common_options, open_workspace, target_option
from catmem.cli.output import columns, emit, emit_json, end_with, in_json, printable, say, shown_path
from catmem.config.profile import refuse_no_root
from catmem.names import FILE_NAMES
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.config.rights_table import Fleet, Orphan, Reason
    from catmem.workspace.everywhere import Why
    from catmem.workspace.workspace import Workspace

_WIDTH = 80
"""Characters of a line where the output is no terminal."""

_MOST_COLUMNS = 16
_WIDEST = 5
_LEGEND = {"r": "reads", "rw": "reads and may write", "d": "may write and not read (a drop)", ".": "neither"}


@click.command(
    cls=Command,
    examples=(
        "catmem access",
        "catmem access -p trinity -p neo",
        "catmem access -t memory -c 'finance-*'",
        "catmem access --why trinity finance-payroll",
    ),
)
@click.option(
    "--why",
    nargs=2,
    metavar="PROFILE CATEGORY",
    help="Say what decides whether PROFILE reads, may write and may verify CATEGORY (slug, title or alias), and where "
    "it stands.",
)
@click.option("-p", "--profile", "names", multiple=True, metavar="NAME", help="Only this profile; may be repeated.")
@click.option(
    "-c",
    "--category",
    "wanted",
    multiple=True,
    metavar="SLUG",
    help="Only this category, or those that a pattern such as 'finance-*' matches; may be repeated.",
)
@target_option
@common_options
def access(why: tuple[str, str] | None, names: tuple[str, ...], wanted: tuple[str, ...], target: str | None) -> None:
    """Print who reads and who may write which category, over all profiles of the root.

    r reads, rw reads and may write, d may write and not read, . neither. What is read is that of USER.md and of
    MEMORY.md together; -t tells them apart. Where the profiles are too many for columns, each category has a line with
    their names (with -c all of them). Below stand the categories that the most profiles read, and those that only tier
    1 or no profile reads. Entries are counted over the files of all profiles, a copy in several files once. The last
    table has the entities that catmem.yaml declares: who writes, and who only reads.

    Exit status 2 if a profile or a file could not be looked at; all others are there.
    """
    if why is not None and (names or wanted or target):
        raise click.UsageError("--why takes its profile and category itself: leave out -p, -c and -t.")
    if target is not None and in_json():
        raise click.UsageError("-t is for the table; in JSON each cell tells of both files.")
    workspace = open_workspace()
    refuse_no_root(workspace.config)
    if why is not None:
        _explain(workspace, *why)
        return
    from catmem.workspace.everywhere import access_dict, chosen_categories, chosen_profiles, read_access

    access = read_access(workspace)
    profiles = chosen_profiles(workspace, access, names)
    categories, notes = chosen_categories(workspace, access.fleet, wanted)
    for note in notes:
        say(note)
    if in_json():
        problems = [problem.to_dict() for problem in access.problems]
        declared = [each._asdict() for each in workspace.config.entities.values()]
        emit_json(access_dict(access.fleet, profiles, categories) | {"entities": declared, "problems": problems})
    elif not profiles:
        say(f"There are no profiles in {printable(shown_path(workspace.config.profiles_dir))}.")
    else:
        shown = [profile.name for profile in profiles]
        emit(printable("".join(_matrix(access.fleet, shown, categories, target, whole=bool(wanted)))))
        if not (names or wanted or target):
            if access.problems:
                emit("Not everything could be looked at (see the errors): what follows is about the rest.\n")
            emit(printable("".join((*_summary(access.fleet), *_entities(workspace)))))
    end_with(access.problems)


# --- the matrix ----------------------------------------------------------------------------------------------------


def _matrix(
    fleet: Fleet, names: Sequence[str], categories: Sequence[str], target: str | None, *, whole: bool
) -> Iterator[str]:
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    left = [("category", "entries"), *((each, f"{fleet.count(each, target):>7,}") for each in categories)]
    room = width - max(len(row[0]) for row in left) - 2 - max(len(row[1]) for row in left)
    marks = [[fleet.cells[each][name].mark(target) for name in names] for each in categories]
    if sum(len(name) + 2 for name in names) <= room:
        yield columns([(*left[0], *names), *((*first, *row) for first, row in zip(left[1:], marks, strict=True))])
    elif len(names) <= min(_MOST_COLUMNS, room // 5):
        yield from _flags(left, names, marks)
    else:
        yield from _lines(fleet, names, categories, target, None if whole else width)
    yield from _legend({mark for row in marks for mark in row})


def _flags(left: list[tuple[str, str]], names: Sequence[str], marks: list[list[str]]) -> Iterator[str]:
    """The names of the columns on lines of their own, each over a rule that leads down to its column."""
    start = max(len(row[0]) for row in left) + 2 + max(len(row[1]) for row in left)
    for index, name in enumerate(names):
        yield f"{' ' * start}{'  |  ' * index}  {name}\n"
    head, *rest = left
    yield columns([(*head, *("|" for _ in names)), *((*first, *row) for first, row in zip(rest, marks, strict=True))])


def _lines(
    fleet: Fleet, names: Sequence[str], categories: Sequence[str], target: str | None, width: int | None
) -> Iterator[str]:
    """A line for each category: how many read it and may write it, and as many of their names as there is room for.

    Without a ``width`` these are all.
    """
    rows = [("category", "entries", "readers", "writers", "names")]
    for category in categories:
        marks = {name: fleet.cells[category][name].mark(target) for name in names}
        readers = sum(mark[0] == "r" for mark in marks.values())
        writers = sum("w" in mark or mark == "d" for mark in marks.values())
        # Those with the rarer rights first: there are few of them, and they are what one looks for.
        named = [f"{name} {mark}" for mark in ("rw", "rw?", "d", "r", "r?") for name in names if marks[name] == mark]
        counts = (f"{fleet.count(category, target):>7,}", f"{readers:>7}", f"{writers:>7}")
        rows.append((category, *counts, "\0".join(named)))
    used = sum(max(len(row[index]) for row in rows) + 2 for index in range(4))
    room = None if width is None else width - used
    yield columns([(*row[:4], _shortened(row[4].split("\0"), room)) for row in rows])


def _shortened(names: list[str], room: int | None) -> str:
    text = ", ".join(names)
    if room is None:
        return text
    for count in range(len(names), 0, -1):
        more = len(names) - count
        text = ", ".join(names[:count]) + (f", and {more:,} more" if more else "")
        if len(text) <= room:
            break
    return text


def _legend(marks: set[str]) -> Iterator[str]:
    if marks:
        yield "\n" + "   ".join(f"{mark} {said}" for mark, said in _LEGEND.items() if mark in marks) + "\n"


# --- what there is to see in it ------------------------------------------------------------------------------------


def _summary(fleet: Fleet) -> Iterator[str]:
    tier_1 = [profile.name for profile in fleet.profiles if profile.tier == 1]
    if tier_1:
        yield (
            f"Tier 1 ({_shortened(tier_1, _WIDTH)}) may write in the files of all profiles, every other profile in "
            "its own.\n"
        )
    widest = fleet.widest()
    if widest:
        yield f"\nRead by the most of {counted(len(fleet.profiles), 'profile')}:\n"
        rows = [(each.category, f"{each.readers:,}", counted(each.entries, "entry")) for each in widest[:_WIDEST]]
        yield columns([("", *row) for row in rows])
    orphans = fleet.orphans()
    yield from _orphans("Read by tier 1 only", [orphan for orphan in orphans if orphan.readers])
    yield from _orphans("Read by no profile", [orphan for orphan in orphans if not orphan.readers])
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


# --- why -----------------------------------------------------------------------------------------------------------


def _explain(workspace: Workspace, name: str, category: str) -> None:
    from catmem.workspace.everywhere import explain

    why = explain(workspace, name, category)
    if why.note is not None:
        say(why.note)
    if in_json():
        emit_json(why.to_dict())
    else:
        emit(printable("".join(_answers(why))))
    end_with(why.problems)


def _answers(why: Why) -> Iterator[str]:
    declared = "" if why.declared else ", which catmem.yaml does not declare"
    yield f"{why.profile} and {why.category}{declared}\n\n"
    for reason in why.reasons:
        yield f"{_question(reason)}: {_answer(why, reason)}\n"
        yield f"  {reason.because}\n"
        if reason.place is not None:
            parent = f", which {why.profile} extends" if reason.inherited_from else ""
            yield f"  {shown_path(reason.place.path)}:{reason.place.line}{parent}\n"


def _question(reason: Reason) -> str:
    asked = {"write": "may write it", "verify": "may verify it"}
    return asked.get(reason.asked) or f"reads it in {FILE_NAMES[reason.asked]}"


def _answer(why: Why, reason: Reason) -> str:
    count = why.entries.get(reason.asked, 0)
    held = f" ({counted(count, 'entry')} in its own file)" if reason.asked in FILE_NAMES and count else ""
    return f"{reason.answer}{held}"
