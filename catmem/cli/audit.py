"""``catmem audit``: what was done, by whom, and how it ended."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.moments import moment_option
from catmem.cli.options import open_workspace, root_option
from catmem.cli.output import columns, emit, emit_json, printable, say
from catmem.store.audit import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from catmem.service.auditing.reading import Audit, Filter
    from catmem.service.counts import Counts
    from catmem.service.workspace import Workspace
    from catmem.store.audit import Damage, Line

_FINDINGS = 1
_SECONDS = 19
"""Characters of a time stamp up to its seconds."""
_FIRST_SHOWN = 10
_LOOK_EVERY = 0.2
"""Seconds between two looks of ``--follow``."""


def _format(ctx: click.Context, _param: click.Parameter, value: str) -> str:
    # Errors are printed outside the command; they follow its format.
    ctx.meta["catmem.json"] = value != "text"
    return value


def _entity(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    return value and value.rstrip("/")


@click.command(
    epilog="Examples: catmem audit --since 1d   catmem audit --entity trinity/user --status refused   "
    "catmem audit --follow   catmem audit --summary"
)
@click.option("--entity", metavar="ENTITY", callback=_entity, help="Only this one; PROFILE alone means both its files.")
@click.option("--agent", metavar="NAME", help="Only what this agent did; you are 'person'.")
@click.option("--op", metavar="OP", help="Only operations of this kind: add, replace, seed, merge …")
@click.option("--status", type=click.Choice(STATUSES), help="Only operations that ended so.")
@click.option("--reason", metavar="CODE", help="Only operations that were refused, or let pass, with this code.")
@moment_option("--since", "Only from this moment on: a day, a time in UTC, or how long ago (2h).")
@moment_option("--until", "Only before this moment.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@click.option("--follow", is_flag=True, help="Wait for more, and print each as it comes, until you press Ctrl-C.")
@click.option("--summary", is_flag=True, help="Print how many there are of each kind.")
@root_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    show_default=True,
    is_eager=True,
    callback=_format,
    help="Output for people, or for programs (fields: docs/cli.md): one JSON value, or one a line.",
)
def command(
    root_folder: str | None,
    form: str,
    *,
    limit: int | None,
    follow: bool,
    summary: bool,
    **wanted: Any,  # noqa: ANN401 - the fields of Filter
) -> None:
    """List what was done to the memory files of the root, the newest last: one line an operation, refused ones too.

    A line tells the time (UTC), how it ended, the entity, what was done, by whom, the revisions before and after, and
    the code of a refusal. No text of an entry and no name of a category is in the log.

    Exit status 1 if a line of the log is damaged; all others are there.
    """
    from catmem.service.auditing.reading import Filter, read_audit

    if follow and (summary or form == "json"):
        raise click.UsageError("--follow goes with --format text or jsonl, and not with --summary.")
    if summary and form == "jsonl":
        raise click.UsageError("--summary goes with --format text or json.")
    _refuse_reversed(wanted["since"], wanted["until"])
    workspace, chosen = open_workspace(root_folder), Filter(**wanted)
    if follow:
        with suppress(KeyboardInterrupt):
            _follow(workspace, chosen, limit or _FIRST_SHOWN, as_json=form == "jsonl")
        return
    found = read_audit(workspace, chosen, limit)
    if summary:
        _show_counts(found, as_json=form == "json")
    else:
        _show_lines(found, form, chosen)
    if not found.lines:
        _tell_unknown(workspace, chosen)
    _tell_damaged(found.damaged)
    if found.damaged:
        sys.exit(_FINDINGS)


def _show_counts(found: Audit, *, as_json: bool) -> None:
    from catmem.service.counts import Counts

    counts = Counts.of(found.lines)
    if as_json:
        emit_json({**counts.to_dict(), "damaged": [each.to_dict() for each in found.damaged]})
    else:
        emit(_table(counts))


def _show_lines(found: Audit, form: str, wanted: Filter) -> None:
    from catmem.service.auditing.reading import EVERYTHING

    if form == "json":
        emit_json(found.to_dict())
    elif form == "jsonl":
        emit("".join(_json(line) for line in found.lines))
    else:
        emit(columns([_row(line) for line in found.lines]))
        if not found.lines:
            say("No operation was recorded that fits." if wanted != EVERYTHING else "No operation is recorded yet.")


def _tell_unknown(workspace: Workspace, wanted: Filter) -> None:
    """Say which names are none of this root: a slip, or names of the past."""
    from catmem.service.auditing.reading import unknown_names

    for said in unknown_names(workspace, wanted):
        say(printable(said))


def _refuse_reversed(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since is not before --until, so nothing can lie between them.")


def _follow(workspace: Workspace, wanted: Filter, limit: int, *, as_json: bool) -> None:
    from catmem.service.auditing.reading import follow_audit
    from catmem.store.audit import Damage

    _tell_unknown(workspace, wanted)
    for each in follow_audit(workspace, wanted, limit, lambda: time.sleep(_LOOK_EVERY)):
        if isinstance(each, Damage):
            _tell_damaged([each])
        else:
            emit(_json(each) if as_json else "  ".join(_row(each)).rstrip() + "\n")


def _json(line: Line) -> str:
    return line.to_json().decode()


def _row(line: Line) -> tuple[str, ...]:
    when = f"{line.ts[:_SECONDS].replace('T', ' ')}Z"
    revisions = f"{_revision(line.prev_rev)} -> {_revision(line.mem_rev)}"
    said = " ".join(each for each in (line.reason, f"({line.note})" if line.note else None) if each)
    row = when, line.status, line.entity_id, line.op, line.agent, revisions, said
    return tuple(printable(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in row)


def _revision(revision: str | None) -> str:
    if revision is None:
        return "-"
    return f"{revision[:_SECONDS]}…" if len(revision) > _SECONDS else revision


def _table(counts: Counts) -> str:
    said = counts.to_dict()
    rows: list[tuple[str, ...]] = [("operations", "", f"{said['operations']:,}")]
    for title, key in (("status", "by_status"), ("code", "by_reason"), ("agent", "by_agent"), ("entity", "by_entity")):
        rows += _counted(title, said[key])
    rows += _counted("branches of", said["branches"])
    if said["latency"]["operations"]:
        mean = 1000 * said["latency"]["seconds"] / said["latency"]["operations"]
        rows.append(("mean time", "", f"{mean:.1f} ms"))
    return printable(columns(rows))


def _counted(title: str, numbers: Mapping[str, int]) -> list[tuple[str, ...]]:
    named = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    return [("" if place else title, name, f"{number:,}") for place, (name, number) in enumerate(named)]


def _tell_damaged(damaged: Iterable[Damage]) -> None:
    for each in damaged:
        say(printable(f"warning: line {each.line} of {each.file} is damaged, so it was passed over"))
