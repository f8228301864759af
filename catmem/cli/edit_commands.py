"""``catmem add``, ``replace``, ``remove``, ``move`` and ``verify``: changes of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import click

from catmem.cli.command import Command
from catmem.cli.options import (
    actor_option,
    asking_about_secrets,
    day_option,
    found_options,
    how_options,
    narrow_option,
    open_with_store,
    profile_option,
    secret_option,
    tag_option,
    text_argument,
)
from catmem.cli.output import emit, emit_json, first_line, in_json, printable, say, say_all, show_waiting, show_written
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from catmem.model.document import Entry
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import How, Written

_WIDTH = 72


@click.command(
    cls=Command,
    examples=(
        "catmem add -p trinity -c workflow-rules-finance 'Vendor is Acme Ltd.'",
        "catmem add -p trinity -c workflow-rules-finance --tag expires=2026-12-31 'Travel goes to cost centre 410.'",
        "catmem add -p trinity -c workflow-rules-finance --tag domain=finance - < fact.txt",
    ),
)
@text_argument("content", "TEXT")
@found_options
@click.option(
    "-c",
    "--category",
    metavar="SLUG",
    help="Where it goes. By default the one category that the profile of --as may write; in a file without sections "
    "it needs none.",
)
@tag_option("A tag; KEY=[a, b] for a list. Can be given several times.")
@day_option("The day for its tag created, YYYY-MM-DD. By default today.")
@secret_option
@how_options
def add(  # noqa: PLR0913 - one parameter an option
    content: str,
    profile: str,
    *,
    target: str | None,
    category: str | None,
    tags: Mapping[str, str | list[str] | None] | None,
    as_of: date | None,
    **how: Unpack[How],
) -> None:
    """Add an entry with the words of TEXT, which may be - for stdin.

    The same words are not added to a category twice. A TEXT that begins with - goes behind -- or comes from stdin.
    """
    given = {key: value for key, value in (tags or {}).items() if value is not None}
    if len(given) != len(tags or {}):
        raise click.UsageError("--tag KEY= without a value takes a tag away, and a new entry has none yet.")
    workspace = open_with_store()
    said: dict[str, Any] = {"target": target, "category": category, "tags": given or None, "as_of": as_of}
    written = asking_about_secrets(workspace.config, how, lambda: workspace.add(profile, content, **said, **how))
    show_written(written, "added to", how)


@click.command(
    cls=Command,
    examples=(
        "catmem replace -p trinity 'Vendor is Acme' 'Vendor is Zenith Ltd.'",
        "catmem replace -p trinity 'Vendor is' --tag domain=finance --tag owner=",
    ),
)
@text_argument("old", "OLD")
@text_argument("new", "[NEW]", required=False)
@found_options
@narrow_option
@tag_option("A tag to set; KEY=[a, b] for a list, KEY= to take it away. Can be given several times; other tags stay.")
@click.option(
    "--confirm", is_flag=True, help="Write NEW also if it has little in common with the entry (see semantic_alert)."
)
@secret_option
@how_options
def replace(  # noqa: PLR0913 - one parameter an option
    old: str,
    new: str | None,
    profile: str,
    *,
    target: str | None,
    category: str | None,
    tags: Mapping[str, str | list[str] | None] | None,
    confirm: bool,
    **how: Unpack[How],
) -> None:
    """Give the entry that holds OLD the words of NEW. Its tags stay, but for verified_date: new words are not verified.

    Without NEW only tags change.

    OLD is a piece of its text that no other entry holds, or its id. One of OLD and NEW may be - for stdin.
    """
    if new is None and tags is None:
        raise click.UsageError("Give the new words, or tags with --tag, or both.")
    workspace = open_with_store()
    said: dict[str, Any] = {"target": target, "category": category, "tags": tags, "confirm": confirm}
    written = asking_about_secrets(workspace.config, how, lambda: workspace.replace(profile, old, new, **said, **how))
    show_written(written, "replaced in", how)


@click.command(cls=Command, examples=("catmem remove -p trinity 'Book travel to cost centre'",))
@text_argument("old", "OLD")
@found_options
@narrow_option
@how_options
def remove(old: str, profile: str, *, target: str | None, category: str | None, **how: Unpack[How]) -> None:
    """Remove the entry that holds OLD: a piece of its text that no other entry holds, its id, or - for stdin.

    It stays in the history: 'catmem restore' brings it back, and 'catmem purge' is for what must be forgotten.
    """
    workspace = open_with_store()
    written = workspace.remove(profile, old, target=target, category=category, **how)
    show_written(written, "removed from", how)


@click.command(cls=Command, examples=("catmem move -p trinity 'Silence is not approval' -c workflow-rules-finance",))
@text_argument("old", "OLD")
@found_options
@click.option("-c", "--category", required=True, metavar="SLUG", help="Where it goes.")
@click.option("--from", "source", metavar="SLUG", help="Look for the entry in this category only.")
@how_options
def move(old: str, profile: str, *, target: str | None, category: str, source: str | None, **how: Unpack[How]) -> None:
    """Put the entry that holds OLD into another category of the same file, with its tags.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    workspace = open_with_store()
    written = workspace.move(profile, old, category, target=target, category=source, **how)
    show_written(written, "moved to", how)


@click.command(
    cls=Command,
    examples=(
        "catmem verify -p trinity 'Vendor is Acme'",
        "catmem verify -p neo --as-of 2026-11-02 uv",
        "catmem verify -p trinity --all -c approval-conventions --dry-run",
        "catmem verify -p neo --search 'package manager'",
        "catmem verify -p neo uv --evidence 'uv.lock at 4f2c1d'",
    ),
)
@text_argument("old", "[OLD]", required=False)
@click.option("--all", "whole_category", is_flag=True, help="Every entry of the category that -c names.")
@click.option(
    "--search", "query", metavar="QUERY", help="Every entry that the profile sees and that has all words of QUERY."
)
@profile_option(required=True)
@actor_option
@click.option(
    "-t",
    "--target",
    type=click.Choice(["user", "memory"]),
    help="USER.md or MEMORY.md. By default the one that holds the entry; with --all and --search both.",
)
@narrow_option
@day_option(
    "The day on which it was found to hold, YYYY-MM-DD: not before its last verification and not after today, which is "
    "the default."
)
@click.option(
    "--evidence", metavar="TEXT", help="What it was checked against; the history keeps it, and catmem log shows it."
)
@secret_option
@how_options
@click.pass_context
def verify(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    old: str | None,
    profile: str,
    *,
    whole_category: bool,
    query: str | None,
    target: str | None,
    category: str | None,
    as_of: date | None,
    evidence: str | None,
    **how: Unpack[How],
) -> None:
    """Say that the entry that holds OLD still holds: its tag verified_date becomes the day.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin. --all and --search take the place of
    OLD: they verify many entries, in one revision a file, and --dry-run lists them.
    """
    _refuse_mixture(ctx, old, query, category, whole_category=whole_category)
    workspace = open_with_store()
    if old is not None:
        said: dict[str, Any] = {"target": target, "category": category, "as_of": as_of, "evidence": evidence}
        written = asking_about_secrets(workspace.config, how, lambda: workspace.verify(profile, old, **said, **how))
        show_written(written, "verified in", how)
        say_all(_at_source(workspace, [written]))
        return
    which: dict[str, Any] = {"target": target, "category": category, "query": query}
    which |= {"as_of": as_of, "evidence": evidence}
    done = asking_about_secrets(workspace.config, how, lambda: workspace.verify_all(profile, **which, **how))
    newly = [(each, _newly(workspace, each) if evidence is None else each.entries) for each in done]
    _show_all(newly, dry_run=bool(how.get("dry_run")))
    say_all(_at_source(workspace, done))


def _refuse_mixture(
    ctx: click.Context, old: str | None, query: str | None, category: str | None, *, whole_category: bool
) -> None:
    given = [name for name, is_given in (("OLD", old), ("--all", whole_category), ("--search", query)) if is_given]
    if old == "" or query == "":
        given.append("OLD" if old == "" else "--search")
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other: each says which entries are meant.", ctx)
    if not given:
        raise click.UsageError("Say which entries: OLD for one, --all -c CATEGORY, or --search QUERY.", ctx)
    if whole_category and category is None:
        raise click.UsageError("--all needs -c CATEGORY, whose entries it verifies.", ctx)


def _at_source(workspace: Workspace, done: Sequence[Written]) -> Iterator[str]:
    """Where to verify the sources of seeded copies: a review asks there, and a seed brings the answer to all copies."""
    from catmem.seeding.lockfile import copies_in

    for written in () if in_json() else done:
        said = {(entry.category, entry.body) for entry in written.entries}
        before = workspace.parse(written.before).entries
        copies = copies_in(
            workspace, written.entity, [each.id for each in before if (each.category, each.body) in said]
        )
        for entry, source in ((entry, each) for entry, sources in copies.items() for each in sorted(sources)):
            command = "catmem verify -p {} -t {}".format(*source.split("/"))
            yield f"this is a copy of {source}: verify it there, too ({command} {entry}), then 'catmem seed --all'"


def _newly(workspace: Workspace, written: Written) -> list[Entry]:
    # Some may have had the day.
    before = {(entry.category, entry.id) for entry in workspace.parse(written.before).entries}
    return [entry for entry in written.entries if (entry.category, entry.id) not in before]


def _show_all(done: Sequence[tuple[Written, Sequence[Entry]]], *, dry_run: bool) -> None:
    count = sum(len(entries) for _, entries in done)
    if in_json():
        emit_json({"verified": count, "files": [written.to_dict() for written, _ in done], "dry_run": dry_run})
        return
    for written, entries in done:
        say_all((*written.warnings, *written.notes))
        if written.waiting is not None:
            show_waiting(written)
        elif dry_run:
            lines = (f"{entry.category}: {first_line(entry.body, _WIDTH)}\n" for entry in entries)
            emit(printable("".join(lines)))
        elif written.changed:
            emit(f"verified {counted(len(entries), 'entry')} in {written.entity} (revision {written.revision})\n")
        else:
            emit(f"{counted(len(written.entries), 'entry')} in {written.entity} verified already; nothing written\n")
    if dry_run:
        say(f"Nothing was written. {counted(count, 'entry')} would be verified.")
