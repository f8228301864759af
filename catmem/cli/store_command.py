"""``catmem store``: what the store of a root keeps, and how it moves to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.options import common_options, dry_run_option, open_with_store, open_workspace
from catmem.cli.output import columns, emit, emit_json, in_json, print_unreadable, printable, say
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.workspace.copying import CopiedEntity


@click.group(epilog="Examples: catmem store info   catmem store copy files sqlite:///.catmem/memory.db --dry-run")
def store() -> None:
    """Say what the store of a root keeps, or copy it to another kind of store, with its whole history."""


@store.command(epilog="Examples: catmem store info   catmem store info --format json")
@common_options
def info() -> None:
    """Print where a root keeps its entities, and how many revisions and unmerged branches each has.

    Exit status 2 if a profile is not right, so that nobody knows where its files are; all others are there.
    """
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.backends import shown_store
    from catmem.workspace.copying import store_info
    from catmem.workspace.root_profiles import entities_of_each

    refuse_no_root(open_workspace().config)  # a database would be made there
    workspace = open_with_store()
    found = store_info(workspace.store)
    unreadable = () if workspace.store.has_catalog else entities_of_each(workspace).unreadable
    where = shown_store(workspace.config.store)
    if in_json():
        told = [error.to_dict() for error in unreadable]
        emit_json({"store": where, "entities": [each.to_dict() for each in found], "unreadable": told})
        raise SystemExit(print_unreadable(unreadable))
    say(f"store: {where}")
    rows = [("entity", "head", "revisions", "branches")]
    rows += [(each.entity, each.head, f"{each.revisions:,}", ", ".join(each.branches) or "-") for each in found]
    emit(printable(columns(rows)) if found else "")
    if not found:
        say("No entity has a revision yet.")
    raise SystemExit(print_unreadable(unreadable))


@store.command(
    epilog="Examples: catmem store copy files sqlite:///.catmem/memory.db --dry-run   "
    "catmem store copy files postgresql://db.example.com/memory   catmem store copy sqlite:///.catmem/memory.db files"
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@dry_run_option
@common_options
def copy(source: str, target: str, *, dry_run: bool) -> None:
    """Copy all entities of a root from one store to another, with their whole history, and compare the two.

    FROM and TO are said as `store` in catmem.yaml: files, sqlite:///PATH or postgresql://HOST/DATABASE. Nothing in FROM
    changes. An entity that TO has already, exactly so, is left as it is, so that a copy that was stopped goes on; one
    that TO has with another history is refused, before anything is copied. Let nothing write to FROM meanwhile.

    Exit status 1 if rows of a database were left out, which are then named: nobody's, or no entries.
    """
    from catmem.workspace.backends import shown_store
    from catmem.workspace.copying import copy_root, left_out

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
