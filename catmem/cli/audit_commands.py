"""``catmem audit`` and ``catmem rollout``: what was done, by whom, and which refusals are enforced."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from catmem.cli.command import Command, Group
from catmem.cli.options import (
    common_options,
    format_choice,
    length_option,
    moment_option,
    open_with_store,
    open_workspace,
    root_option,
)
from catmem.cli.output import columns, emit, emit_json, in_json, printable, say, say_all, shown_moment
from catmem.digest import jsonable
from catmem.store.audit_log import STATUSES
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from catmem.audit.log_queries import Audit, Counts, Filter
    from catmem.audit.rollout import Bypass, RolloutReport, RolloutState
    from catmem.store.audit_log import AuditLine, Damage
    from catmem.workspace.workspace import Workspace

_FINDINGS = 1
_SECONDS = 19
"""Characters of a time stamp up to its seconds."""
_FIRST_SHOWN = 10
_LOOK_EVERY = 0.2
"""Seconds between two looks of ``--follow``."""
_KINDS = {"status": "by_status", "code": "by_reason", "agent": "by_agent", "entity": "by_entity"}
_MODES = {
    "shadow": "refusals that a rollout may let pass are noted in the audit log, and the writes pass",
    "canary": "refusals are enforced for {canary} % of all entities, by their names; elsewhere they are noted",
    "enforce": "every refusal is enforced",
}


@click.command(
    cls=Command,
    examples=(
        "catmem audit --since 1d",
        "catmem audit --entity trinity/user --status refused",
        "catmem audit --follow",
        "catmem audit --summary",
    ),
)
@click.option("--entity", metavar="ENTITY", help="Only this one; PROFILE alone means both its files.")
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
@format_choice(
    *("text", "json", "jsonl"),
    said="Output for people, or for programs (fields: docs/cli.md): one JSON value, or one a line.",
)
def audit(form: str, *, limit: int | None, follow: bool, summary: bool, **wanted: Any) -> None:  # noqa: ANN401 - the fields of Filter
    """List what was done to the memory files of the root, the newest last: one line an operation, refused ones too.

    A line tells the time (UTC), how it ended, the entity, what was done, by whom, the revisions before and after, and
    the code of a refusal. No text of an entry and no name of a category is in the log.

    Exit status 1 if a line of the log is damaged; all others are there.
    """
    from catmem.audit.log_queries import Counts, Filter, read_audit

    if follow and (summary or form == "json"):
        raise click.UsageError("--follow goes with --format text or jsonl, and not with --summary.")
    if summary and form == "jsonl":
        raise click.UsageError("--summary goes with --format text or json.")
    if wanted["since"] and wanted["until"] and wanted["since"] >= wanted["until"]:
        raise click.UsageError("--since is not before --until, so nothing can lie between them.")
    wanted["entity"] = wanted["entity"] and wanted["entity"].rstrip("/")
    workspace, chosen = open_workspace(), Filter(**wanted)
    if follow:
        with suppress(KeyboardInterrupt):
            _follow(workspace, chosen, limit or _FIRST_SHOWN)
        return
    found = read_audit(workspace, chosen, limit)
    if summary:
        counts = Counts.of(found.lines)
        if in_json():
            emit_json({**counts.to_dict(), "damaged": jsonable(found.damaged)})
        else:
            emit(_table(counts))
    else:
        _show_lines(found, form, chosen)
    if not found.lines:
        _tell_unknown(workspace, chosen)
    _end(found.damaged)


def _show_lines(found: Audit, form: str, wanted: Filter) -> None:
    from catmem.audit.log_queries import EVERYTHING

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
    from catmem.audit.log_queries import unknown_names

    say_all(unknown_names(workspace, wanted))


def _follow(workspace: Workspace, wanted: Filter, limit: int) -> None:
    from catmem.audit.log_queries import follow_audit
    from catmem.store.audit_log import Damage

    _tell_unknown(workspace, wanted)
    for each in follow_audit(workspace, wanted, limit, lambda: time.sleep(_LOOK_EVERY)):
        if isinstance(each, Damage):
            _tell_damaged([each])
        else:
            emit(_json(each) if in_json() else "  ".join(_row(each)).rstrip() + "\n")


def _json(line: AuditLine) -> str:
    return line.to_json().decode()


def _row(line: AuditLine) -> tuple[str, ...]:
    revisions = f"{_revision(line.prev_rev)} -> {_revision(None if line.is_refused else line.mem_rev)}"
    said = " ".join(each for each in (line.reason, f"({line.note})" if line.note else None) if each)
    row = shown_moment(line.ts), line.status, line.entity_id, line.op, printable(line.who), revisions, said
    return tuple(printable(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in row)


def _revision(revision: str | None) -> str:
    if revision is None:
        return "-"
    return f"{revision[:_SECONDS]}…" if len(revision) > _SECONDS else revision


def _table(counts: Counts) -> str:
    said = counts.to_dict()
    kinds = {title: said[key] for title, key in _KINDS.items()}
    kinds |= {"branches of": said["branches"], "overwrites prevented": said["prevented"]}
    rows = [("operations", "", f"{said['operations']:,}"), *_counted(kinds)]
    if said["latency"]["operations"]:
        mean = 1000 * said["latency"]["seconds"] / said["latency"]["operations"]
        rows.append(("mean time", "", f"{mean:.1f} ms"))
    return printable(columns(rows))


def _counted(kinds: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, ...]]:
    """A row for each name, the most frequent first; the kind stands before its first."""
    for kind, numbers in kinds.items():
        named = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
        yield from (("" if place else kind, name, f"{number:,}") for place, (name, number) in enumerate(named))


def _tell_damaged(damaged: Iterable[Damage]) -> None:
    say_all(f"warning: line {each.line} of {each.file} is damaged, so it was passed over" for each in damaged)


def _end(damaged: Sequence[Damage]) -> None:
    _tell_damaged(damaged)
    sys.exit(_FINDINGS if damaged else 0)


@click.group(
    cls=Group,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    examples=(
        "catmem rollout --root demo",
        "catmem rollout report --since 7d",
        "catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h",
        "catmem rollout bypass --end",
    ),
)
@common_options
@click.pass_context
def rollout(ctx: click.Context) -> None:
    """Show how the rollout stands: its mode, for which entities refusals are enforced, and whether a bypass is on.

    The mode is rollout in catmem.yaml.
    """
    if ctx.invoked_subcommand is not None:
        given = [name for name in ("root", "form") if ctx.get_parameter_source(name) != ParameterSource.DEFAULT]
        if given:
            raise click.UsageError(f"Options go behind {ctx.invoked_subcommand}.", ctx)
        return
    from catmem.audit.rollout import rollout_state

    state = rollout_state(open_workspace())
    if in_json():
        emit_json(state.to_dict())
        return
    emit(printable(_standing(state)))
    emit(columns([(printable(name), "enforced" if on else "noted") for name, on in state.entities.items()]))


def _standing(state: RolloutState) -> str:
    """How the rollout stands; a bypass first, since until it ends nothing of the rest holds."""
    mode = f"rollout is {state.mode}: {_MODES[state.mode].format(canary=state.canary)}\n"
    if state.bypass is None:
        return mode
    until = "Until then no refusal that a rollout may let pass is enforced, for any entity. After it:"
    return f"{_bypass(state.bypass)}\n{until}\n{mode}"


def _bypass(bypass: Bypass) -> str:
    until = shown_moment(bypass.to_dict()["until"])
    return f"A bypass is on until {until}: {bypass.reason}"


@rollout.command(examples=("catmem rollout report", "catmem rollout report --since 7d --format json"))
@moment_option("--since", "Only from this moment on: a day, a time in UTC, or how long ago (2h).")
@common_options
def report(since: datetime | None) -> None:
    """Count, from the audit log, what the rollout let pass and would have refused, and what was refused.

    Exit status 1 if a line of the log is damaged; all others are counted.
    """
    from catmem.audit.log_queries import Filter
    from catmem.audit.rollout import rollout_report

    found = rollout_report(open_workspace(), Filter(since=since))
    if in_json():
        emit_json(found.to_dict())
    else:
        emit(printable(_standing(found.state) + "".join(_tallies(found))))
    _end(found.damaged)


def _tallies(found: RolloutReport) -> Iterator[str]:
    if found.since is None:
        yield "No operation is recorded.\n"
    else:
        yield f"{counted(found.writes, 'operation')} since {shown_moment(found.since)}\n"
    parts = {
        "let pass, and refused if everything were enforced": found.shadowed,
        "let pass by a bypass": found.bypassed,
        "refused, with a code that a rollout may let pass": found.refused,
        "refused in any mode": found.always,
    }
    for title, tally in parts.items():
        said = tally.to_dict()
        rows = _counted({kind: said[key] for kind, key in _KINDS.items() if key in said})
        yield f"\n{title}: {tally.operations:,}\n{columns(('', *row) for row in rows)}"


@rollout.command(
    examples=(
        "catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h",
        "catmem rollout bypass --end",
    )
)
@click.option("--reason", metavar="TEXT", help="Why it is needed, in a sentence; it stands in the audit log.")
@length_option("--for", "lasts", "How long it lasts, such as 30m or 1h; 7d at most. It ends by itself.")
@click.option("--end", is_flag=True, help="End the one that is on.")
@common_options
def bypass(reason: str | None, lasts: timedelta | None, *, end: bool) -> None:
    """Let refusals pass for a while that a rollout may let pass, for every entity: for an emergency, by a person.

    Its beginning, its end, and each write that it lets through stand in the audit log.
    """
    from catmem.audit.rollout import begin_bypass, end_bypass

    if end:
        if reason is not None or lasts is not None:
            raise click.UsageError("--end goes without --reason and --for.")
        ended = end_bypass(open_with_store())
        said = "No bypass was on." if ended is None else "The bypass is ended."
        on, found = False, ended
    else:
        if reason is None or lasts is None:
            raise click.UsageError("A bypass needs --reason and --for, or --end.")
        found = begin_bypass(open_with_store(), reason, lasts)
        on, said = True, _bypass(found)
    if in_json():
        emit_json({"on": on, "bypass": None if found is None else found.to_dict()})
    else:
        say(said)
