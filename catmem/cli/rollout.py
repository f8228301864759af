"""``catmem rollout``: which refusals are enforced for which entity, and what was let pass."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from catmem.cli.moments import length_option, moment_option
from catmem.cli.options import format_option, open_with_store, open_workspace, root_option
from catmem.cli.output import columns, emit, emit_json, printable, say
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from catmem.service.auditing.rollout import Bypass, RolloutReport, RolloutState, Tally

_FINDINGS = 1
_SECONDS = 19
"""Characters of a time stamp up to its seconds."""
_MODES = {
    "shadow": "refusals that a rollout may let pass are noted in the audit log, and the writes pass",
    "canary": "refusals are enforced for {canary} % of all entities, by their names; elsewhere they are noted",
    "enforce": "every refusal is enforced",
}


@click.group(
    invoke_without_command=True,
    epilog="Examples: catmem rollout --root demo   catmem rollout report --since 7d   "
    "catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h   catmem rollout bypass --end",
)
@root_option
@format_option
@click.pass_context
def command(ctx: click.Context, root_folder: str | None, *, as_json: bool) -> None:
    """Show how the rollout stands: its mode, for which entities refusals are enforced, and whether a bypass is on.

    The mode is rollout in catmem.yaml.
    """
    if ctx.invoked_subcommand is not None:
        given = [
            name for name in ("root_folder", "as_json") if ctx.get_parameter_source(name) != ParameterSource.DEFAULT
        ]
        if given:
            raise click.UsageError(f"Options go behind {ctx.invoked_subcommand}.", ctx)
        return
    from catmem.service.auditing.rollout import rollout_state

    state = rollout_state(open_workspace(root_folder))
    if as_json:
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
    until = bypass.to_dict()["until"][:_SECONDS].replace("T", " ")
    return f"A bypass is on until {until}Z: {bypass.reason}"


@command.command(epilog="Examples: catmem rollout report   catmem rollout report --since 7d --format json")
@moment_option("--since", "Only from this moment on: a day, a time in UTC, or how long ago (2h).")
@root_option
@format_option
def report(since: datetime | None, root_folder: str | None, *, as_json: bool) -> None:
    """Count, from the audit log, what the rollout let pass and would have refused, and what was refused.

    Exit status 1 if a line of the log is damaged; all others are counted.
    """
    from catmem.service.auditing.reading import Filter
    from catmem.service.auditing.rollout import rollout_report

    found = rollout_report(open_workspace(root_folder), Filter(since=since))
    if as_json:
        emit_json(found.to_dict())
    else:
        emit(printable("".join((_standing(found.state), _looked_at(found), *_tallies(found)))))
    for each in found.damaged:
        say(printable(f"warning: line {each.line} of {each.file} is damaged, so it was passed over"))
    if found.damaged:
        sys.exit(_FINDINGS)


def _looked_at(found: RolloutReport) -> str:
    if found.since is None:
        return "No operation is recorded.\n"
    return f"{counted(found.writes, 'operation')} since {found.since[:_SECONDS].replace('T', ' ')}Z\n"


def _tallies(found: RolloutReport) -> list[str]:
    parts = (
        ("let pass, and refused if everything were enforced", found.shadowed),
        ("let pass by a bypass", found.bypassed),
        ("refused, with a code that a rollout may let pass", found.refused),
        ("refused in any mode", found.always),
    )
    return [_tally(title, tally) for title, tally in parts]


def _tally(title: str, tally: Tally) -> str:
    said = tally.to_dict()
    rows = [
        *_counted("code", said["by_reason"]),
        *_counted("agent", said["by_agent"]),
        *_counted("entity", said["by_entity"]),
    ]
    return f"\n{title}: {tally.operations:,}\n{columns(rows)}"


def _counted(title: str, numbers: Mapping[str, int]) -> list[tuple[str, ...]]:
    named = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    return [("", "" if place else title, name, f"{number:,}") for place, (name, number) in enumerate(named)]


@command.command(
    epilog="Examples: catmem rollout bypass --reason 'The planner writes old revisions.' --for 1h   "
    "catmem rollout bypass --end"
)
@click.option("--reason", metavar="TEXT", help="Why it is needed, in a sentence; it stands in the audit log.")
@length_option("--for", "lasts", "How long it lasts, such as 30m or 1h; 7d at most. It ends by itself.")
@click.option("--end", is_flag=True, help="End the one that is on.")
@root_option
@format_option
def bypass(reason: str | None, lasts: timedelta | None, root_folder: str | None, *, end: bool, as_json: bool) -> None:
    """Let refusals pass for a while that a rollout may let pass, for every entity: for an emergency, by a person.

    Its beginning, its end, and each write that it lets through stand in the audit log.
    """
    from catmem.service.auditing.rollout import begin_bypass, end_bypass

    if end:
        if reason is not None or lasts is not None:
            raise click.UsageError("--end goes without --reason and --for.")
        ended = end_bypass(open_with_store(root_folder))
        said = "No bypass was on." if ended is None else "The bypass is ended."
        on, found = False, ended
    else:
        if reason is None or lasts is None:
            raise click.UsageError("A bypass needs --reason and --for, or --end.")
        found = begin_bypass(open_with_store(root_folder), reason, lasts)
        on, said = True, _bypass(found)
    if as_json:
        emit_json({"on": on, "bypass": None if found is None else found.to_dict()})
    else:
        say(printable(said))
