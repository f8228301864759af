"""``catmem fsck``, ``doctor``, ``anchor``, ``repair``, ``purge`` and ``store``: looking after files and stores."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command, Group
from catmem.cli.options import (
    common_options,
    dry_run_option,
    entity_argument,
    open_with_store,
    open_workspace,
    text_argument,
    text_option,
)
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    fault_lines,
    first_line,
    in_json,
    print_unreadable,
    printable,
    printable_json,
    say,
    show_written,
    shown_path,
    text_diff,
)
from catmem.digest import jsonable
from catmem.errors import CatmemError
from catmem.registry import registry, unloaded
from catmem.text import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from catmem.config.config import Config
    from catmem.model.document import Entry
    from catmem.store.contract import FolderReport
    from catmem.workspace.copying import CopiedEntity, StoredEntity
    from catmem.workspace.purging import PurgeReport
    from catmem.workspace.repairing import Remedy, RepairPlan

_DAMAGED = 4
_TO_DO = 1
_WIDTH = 60
_LEFT = 1
_MOST = 20
"""Files that are named at most; JSON names all."""


@click.command(cls=Command, examples=("catmem fsck", "catmem fsck --repair"))
@click.option("--repair", is_flag=True, help="Mend what is safe to mend. What cannot be used is moved aside, and kept.")
@common_options
def fsck(*, repair: bool) -> None:
    """Check every file and its history: what is damaged, and what is only worth knowing.

    Exit status 4 if something is damaged (and, with --repair, still is), 2 if a profile is not right, so that its files
    could not be looked at, else 0.
    """
    from catmem.workspace import upkeep

    report = upkeep.fsck(open_with_store(looks_over=True), repair=repair)
    if in_json():
        emit_json(report.to_dict())
    else:
        emit("".join(printable(f"mended: {line}\n") for line in report.done))
        emit("".join(fault_lines(report.faults)))
        damage = sum(fault.damage for fault in report.faults)
        said = "1 thing is damaged" if damage == 1 else f"{damage} things are damaged" if damage else "no damage"
        emit(f"{said}{' in what could be looked at' if report.unreadable else ''}\n")
    status = print_unreadable(report.unreadable)
    raise SystemExit(_DAMAGED if report.damaged else status)


@click.command(cls=Command, examples=("catmem doctor", "catmem doctor --format json"))
@common_options
def doctor() -> None:
    """Try what the store makes use of in the folder of each profile, and say what is weaker where something is missing.

    Nothing is left behind. Exit status 2 if a profile is not right, so that nothing is known of its folder; all others
    are there.
    """
    from catmem.workspace import upkeep

    workspace = open_with_store(looks_over=True)
    report = upkeep.doctor(workspace)
    tokens, plugins = _tokens(workspace.config), registry().plugins
    if in_json():
        emit_json({**report.to_dict(), "tokens": tokens, "plugins": jsonable(plugins)})
    else:
        emit(printable(f"catmem {report.catmem}, Python {report.python}, {report.platform}\nroot {report.root}\n"))
        emit(printable(f"tokens: {_of_tokens(tokens)}\n"))
        emit(printable(f"plugins: {', '.join(each.name for each in plugins if each.error is None) or 'none'}\n"))
        emit("".join(printable(f"{error.message}. {error.hint}\n") for error in unloaded()))
        for folder in report.folders:
            emit("".join(_lines(folder)))
    sys.exit(print_unreadable(report.unreadable))


def _tokens(config: Config) -> dict[str, Any]:
    """Where the tokens of callers are, how many, why they are wanted, and why they cannot be read."""
    from catmem.server.tokens import read_tokens, tokens_place, why_wanted

    said: dict[str, Any] = {"path": None, "count": None, "wanted": None, "note": None}
    try:
        path = tokens_place(config)
        said |= {"path": str(path), "wanted": why_wanted(config, path)}
        said["count"] = len(read_tokens(path))
    except CatmemError as error:
        said["note"] = error.message
    return said


def _of_tokens(said: dict[str, Any]) -> str:
    if said["note"] is not None:
        return f"{said['note']}; 'catmem serve' will not start"
    if said["count"]:
        return f"{said['count']} in {said['path']}"
    if said["wanted"] is not None:
        return f"none in {said['path']}, and this root wants some ({said['wanted']}): 'catmem serve' will not start"
    return "none: 'catmem serve' takes every caller from this machine for a person"


def _lines(folder: FolderReport) -> Iterator[str]:
    history = "no history yet" if folder.records is None else f"history of {folder.records:,} records"
    kind = f"{folder.file_system}, " if folder.file_system else ""
    yield printable(f"\n{shown_path(folder.path)}: {kind}{history}\n")
    if folder.note:
        yield printable(f"  {folder.note}\n")
    yield columns([("", "yes" if each.there else "no", each.name, each.means) for each in folder.features])


@click.command(cls=Command, examples=("catmem anchor > anchors.jsonl", "catmem anchor --check anchors.jsonl"))
@text_option(
    "--check", metavar="FILE", said="Say whether the histories still hold what FILE, from an earlier run, says; or -."
)
@common_options
def anchor(check: str | None) -> None:
    """Print where the history of each folder ends, one JSON object a line.

    Each record of a history vouches for those before it, and none for the last ones: only an anchor that is kept
    elsewhere reveals that a history was cut short or put back. Exit status 4 if --check finds that, 2 if a profile is
    not right, so that the place of its history is unknown, else 0.
    """
    from catmem.workspace import upkeep

    workspace = open_with_store()
    if check is None:
        found = upkeep.anchors(workspace)
        anchors = [anchor.to_dict() for anchor in found.ends]
        if in_json():
            emit_json({"anchors": anchors, "unreadable": [error.to_dict() for error in found.unreadable]})
        else:
            emit("".join(f"{printable_json(anchor)}\n" for anchor in anchors))
        raise SystemExit(print_unreadable(found.unreadable))
    faults, unreadable = upkeep.check_anchors(workspace, check)
    if in_json():
        said = {"faults": jsonable(faults), "unreadable": jsonable(unreadable)}
        emit_json({"held": not faults, **said})
    else:
        emit("".join(fault_lines(faults)) or "the histories hold every anchor\n")
    status = print_unreadable(unreadable)
    # What no history that could be looked at holds may stand in one of the others: that is no finding yet.
    lost = [fault for fault in faults if fault.code != upkeep.NOT_CHECKED]
    raise SystemExit(_DAMAGED if lost else status)


@click.command(cls=Command, examples=("catmem repair trinity/user", "catmem repair trinity/user --how split --yes"))
@entity_argument
@click.option(
    "--how",
    type=click.Choice(["split", "move", "keep"]),
    help="split: several entries of one that is too long. move: what does not fit goes to a file beside. keep: bytes "
    "that are not UTF-8 are read as Windows-1252, and long entries stay. By default what fits the harm.",
)
@click.option("--yes", is_flag=True, help="Do what the plan says.")
@common_options
def repair(entity: str, how: Remedy | None, *, yes: bool) -> None:
    """Plan how to mend ENTITY, which no tool wrote as it is: not UTF-8, or with an entry over the whole limit.

    Without --yes the plan is shown and nothing is written: exit status 1 if there is something to mend. ENTITY is
    PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.workspace.repairing import apply_repair, plan_repair

    workspace = open_with_store()
    plan = plan_repair(workspace, entity, how)
    if not (plan.changes and yes):
        _show_plan(plan)
        raise SystemExit(_TO_DO if plan.changes else 0)
    show_written(apply_repair(workspace, plan), "mended", {})
    if plan.moved and plan.moved_to:
        say(f"What did not fit was moved to {shown_path(plan.moved_to)}.")


def _show_plan(plan: RepairPlan) -> None:
    if in_json():
        emit_json(plan.to_dict())
        return
    say(plan.message)
    # A person looks at this, so bytes that are no text are shown as escapes.
    before, after = (data.decode(errors="backslashreplace") for data in (plan.before, plan.after))
    emit(text_diff(before, after, f"a/{plan.entity}", f"b/{plan.entity}"))
    if plan.changes:
        say("Nothing was written. Do it with --yes.")


@click.command(
    cls=Command,
    examples=(
        "catmem purge trinity/user 'The card number is' --dry-run",
        "catmem purge trinity/user - --every --yes < secret.txt",
    ),
)
@entity_argument
@text_argument("old", "OLD")
@click.option("--every", is_flag=True, help="Erase all entries that hold OLD, also where several do now.")
@click.option("--yes", is_flag=True, help="Do it. It cannot be undone.")
@dry_run_option
@common_options
def purge(entity: str, old: str, *, every: bool, yes: bool, dry_run: bool) -> None:
    """Erase an entry from ENTITY and its whole history, from backups, and from the files of all other profiles.

    OLD is a piece of the text of one entry, its id, or - for stdin. Older wordings that held it go too; for an id, that
    body alone. If several entries hold OLD now, nothing is erased without --every. --dry-run lists them. What could not
    be reached is named: exit status 1. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.

    Of an entity that catmem.yaml declares, such as project:alpha, the lines or JSON values that hold OLD are erased.
    """
    from catmem.workspace.purging import purge

    if yes == dry_run:
        raise click.UsageError("Purging cannot be undone. See what would go with --dry-run, then do it with --yes.")
    workspace = open_with_store()
    report = purge(workspace, entity, old, every=every, dry_run=dry_run)
    if in_json():
        emit_json(report.to_dict())
    else:
        _show(report, workspace.root)
    if report.left and not dry_run:
        raise SystemExit(_LEFT)


def _show(report: PurgeReport, root: Path) -> None:
    revisions = f"{report.revisions} {plural(report.revisions, 'revision')}"
    done = "would be erased" if report.dry_run else "erased"
    emit(printable(f"{done} from {', '.join(report.entities)} and {revisions}:\n"))
    _show_entries(report.entries, dry_run=report.dry_run)
    emit(columns([("", place) for place in report.places]))
    for entity in dict.fromkeys(entity for entity, _ in report.elsewhere):
        emit(printable(f"in {entity}:\n"))
        _show_entries([entry for each, entry in report.elsewhere if each == entity], dry_run=report.dry_run)
    _show_files("rewritten", [shown_path(root / name) for name in report.files])
    _show_files("removed", [shown_path(root / name) for name in report.removed])
    _show_files("not reached", [f"{shown_path(root / left.path)}: {left.why}" for left in report.left], most=None)
    say("Nothing was erased." if report.dry_run else "Copies in git, in other backups and in prompts are not reached.")


def _show_files(what: str, lines: list[str], *, most: int | None = _MOST) -> None:
    if not lines:
        return
    emit(f"{what}:\n" + "".join(printable(f"  {line}\n") for line in lines[:most]))
    if most is not None and len(lines) > most:
        emit(f"  and {len(lines) - most:,} more\n")


def _show_entries(entries: Iterable[Entry], *, dry_run: bool) -> None:
    # What was to be forgotten is not written once more, to a terminal or a log.
    rows = [("", each.category, each.id, first_line(each.body, _WIDTH) if dry_run else "") for each in entries]
    emit(columns(rows))


@click.group(cls=Group, examples=("catmem store info", "catmem store copy files sqlite:///.catmem/memory.db --dry-run"))
def store() -> None:
    """Say what the store of a root keeps, or copy it to another kind of store, with its whole history."""


@store.command(examples=("catmem store info", "catmem store info --format json"))
@common_options
def info() -> None:
    """Print where a root keeps its entities, and how many revisions and unmerged branches each has.

    In a database also its generation, how often its rows were changed: `4, found 7` means that another program changed
    them since catmem recorded generation 4. The next write takes that in.

    Exit status 2 if a profile is not right, so that the place of its files is unknown; all others are there.
    """
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.copying import store_info
    from catmem.workspace.root import entities_of_each
    from catmem.workspace.stores import shown_store

    refuse_no_root(open_workspace().config)  # a database would be made there
    workspace = open_with_store()
    found = store_info(workspace.store)
    unreadable = () if workspace.store.has_catalog else entities_of_each(workspace).unreadable
    where = shown_store(workspace.config.store)
    if in_json():
        errors = [error.to_dict() for error in unreadable]
        emit_json({"store": where, "entities": [each.to_dict() for each in found], "unreadable": errors})
        raise SystemExit(print_unreadable(unreadable))
    say(f"store: {where}")
    has_rows = any(each.generation_actual is not None for each in found)
    rows = [("entity", "head", "revisions", "branches", *(["generation"] if has_rows else []))]
    rows += [_stored_row(each, has_rows=has_rows) for each in found]
    emit(printable(columns(rows)) if found else "")
    if not found:
        say("No entity has a revision yet.")
    raise SystemExit(print_unreadable(unreadable))


def _stored_row(each: StoredEntity, *, has_rows: bool) -> tuple[str, ...]:
    row = each.entity, each.head, f"{each.revisions:,}", ", ".join(each.branches) or "-"
    if not has_rows:
        return row
    known, found = each.generation_observed, each.generation_actual
    return *row, f"{found}" if known == found else f"{known}, found {found}"


@store.command(
    examples=(
        "catmem store copy files sqlite:///.catmem/memory.db --dry-run",
        "catmem store copy files postgresql://db.example.com/memory",
        "catmem store copy sqlite:///.catmem/memory.db files",
    )
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@dry_run_option
@common_options
def copy(source: str, target: str, *, dry_run: bool) -> None:
    """Copy all entities of a root from one store to another, with their whole history, and compare the two.

    FROM and TO are said as `store` in catmem.yaml, as in the examples above. Nothing in FROM changes. An entity that TO
    has already, exactly so, is left as it is, so that a copy that was stopped goes on; one that TO has with another
    history is refused, before anything is copied. Let nothing write to FROM meanwhile.

    Exit status 1 if rows of a database were left out, which are then named: rows of no profile, or no entries.
    """
    from catmem.workspace.copying import copy_root, left_out
    from catmem.workspace.stores import shown_store

    workspace = open_workspace()
    copied = copy_root(workspace, source, target, dry_run=dry_run)
    missed, shown = left_out(workspace, source), shown_store(target)
    if in_json():
        said = {"from": shown_store(source), "to": shown, "dry_run": dry_run}
        entities = [each.to_dict() for each in copied]
        emit_json({**said, "entities": entities, "left_out": [each.to_dict() for each in missed]})
    else:
        emit(printable(columns(_row(each) for each in copied)))
        _say_what_is_next(copied, shown, dry_run=dry_run)
    for each in missed:
        say(f"warning: {each.entity}: {counted(each.rows, 'row')} left out: {each.why}")
    if missed:
        sys.exit(1)


def _say_what_is_next(copied: Sequence[CopiedEntity], shown: str, *, dry_run: bool) -> None:
    if not copied:
        say("There is nothing to copy: no entity has a revision or a text.")
        return
    if any(each.adopted for each in copied):
        say("adopted: what others wrote, and no record of the source has, is the last revision of the copy")
    if dry_run:
        say("Nothing was written.")
        return
    say("Every revision was read again from the copy, and is the same.")
    say(f"Next: let catmem.yaml say `store: {shown}`. Until then this root goes on with the store it has.")
    say("catmem.seed.lock, what searches count and reviews remember is in no store: it stays where it is.")


def _row(each: CopiedEntity) -> tuple[str, ...]:
    branches = f", branches {', '.join(each.branches)}" if each.branches else ""
    head = f"head {each.head}{', adopted' if each.adopted else ''}{branches}"
    return each.outcome, each.entity, counted(each.revisions, "revision"), head
