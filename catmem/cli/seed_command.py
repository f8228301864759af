"""``catmem seed``: slices of one profile's memory for others."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.options import (
    as_of_option,
    common_options,
    dry_run_option,
    open_with_store,
    replace_cloned_option,
    secret_option,
    target_option,
)
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    emit_text,
    first_line,
    in_json,
    print_error,
    print_unreadable,
    printable,
    say,
    say_all,
    shown_path,
    text_diff,
)
from catmem.cli.seed_conflicts import SeedDialogue, Settlements, conflict_lines, settled, settlements
from catmem.errors import UnknownNameError
from catmem.seeding.plan import OVER
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from catmem.errors import CatmemError
    from catmem.seeding.plan import SeedPlan, SeedRefusal, SeedResult
    from catmem.seeding.slices import FilePlan, State
    from catmem.store.contract import OnDrift
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import How

_WIDTH = 60
_OUT_OF_SYNC = 1


@click.command(
    cls=Command,
    examples=(
        "catmem seed orchestrator trinity neo --dry-run",
        "catmem seed orchestrator neo -c talk",
        "catmem seed orchestrator --all",
        "catmem seed orchestrator --all --interactive",
        "catmem seed --all --check",
        "catmem seed orchestrator --ephemeral scout",
    ),
)
@click.argument("source", required=False)
@click.argument("targets", nargs=-1)
@click.option(
    "--all",
    "everybody",
    is_flag=True,
    help="Every profile that names SOURCE in seed_from, but those of tier 3 that were never seeded. Without SOURCE: "
    "every source in turn, from the top down.",
)
@dry_run_option
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 if anything is out of date (for CI).")
@click.option(
    "--status", is_flag=True, help="Write nothing; show how each entry stands on both sides, or with --all each file."
)
@click.option("--ephemeral", is_flag=True, help="Print one target's slice as a memory file; nothing is written.")
@target_option
@click.option(
    "-c",
    "--category",
    "categories",
    metavar="SLUG",
    multiple=True,
    help="Only this category; may be given several times. Entries of others are neither copied nor removed.",
)
@click.option(
    "--resolve",
    metavar="[ID=]SIDE",
    multiple=True,
    callback=lambda _ctx, _param, values: settlements(values),
    help="Settle conflicts: 'target' keeps its entries for good, 'source' takes the source's, 'both' keeps both; "
    "ID=SIDE settles the one of that id. May be given several times.",
)
@click.option("-i", "--interactive", is_flag=True, help="Show each conflict, and ask.")
@click.option(
    "--fit",
    is_flag=True,
    help="Where a slice is over a target's limit, seed what fits and name the rest: expired and stale entries stay out "
    "first, then those of the last category in the target's profile.",
)
@replace_cloned_option
@click.option(
    "--on-drift",
    type=click.Choice(["adopt", "refuse"]),
    help="If another program changed a target: merge into what is there (adopt), or refuse that file once and "
    "keep a copy. By default what catmem.yaml says, else adopt.",
)
@secret_option
@click.option("--as", "actor", metavar="NAME", help="The profile that acts: one of tier 1. By default you, a person.")
@as_of_option
@common_options
def seed(  # noqa: PLR0913 - one parameter an option
    source: str | None,
    targets: tuple[str, ...],
    *,
    everybody: bool,
    dry_run: bool,
    check: bool,
    status: bool,
    ephemeral: bool,
    target: str | None,
    categories: tuple[str, ...],
    resolve: Settlements,
    interactive: bool,
    fit: bool,
    replace_cloned: bool,
    on_drift: OnDrift | None,
    allow_secret: bool,
    actor: str | None,
    as_of: date | None,
) -> None:
    """Copy from SOURCE's files to those of each TARGET the entries whose categories the target's profile names.

    Run it again whenever the source has changed: its edits arrive, what a target added or changed stays, and what both
    changed is a conflict, which is reported and left to you (exit status 3): --interactive asks who wins, --resolve
    says it. What was seeded stands in catmem.seed.lock; commit it with the files. Expired entries, and those that a
    prompt would withhold, are not seeded; what expires after it was seeded expires in the copies.
    With --all a profile that is not right is named in the end (exit status 2), and the others are seeded.
    """
    modes = (dry_run, check, status, ephemeral)
    given = {"everybody": everybody, "on_drift": on_drift, "interactive": interactive, "fit": fit}
    _refuse_slips(source, targets, resolve, given, modes)
    workspace = open_with_store()
    filters: dict[str, Any] = {"as_of": as_of, "actor": actor, "categories": categories or None}
    if ephemeral:
        _show_ephemeral(workspace, str(source), targets[0], target, filters)
        return
    seeds, unreadable = _seeds(workspace, source, targets, everybody=everybody)
    plans: list[SeedPlan] = []
    results: list[SeedResult] = []
    unknown: UnknownNameError | None = None
    answers: How = {"actor": actor, "allow_secret": allow_secret}
    dialogue = SeedDialogue(workspace, answers) if interactive else None
    for each, named in seeds:
        try:
            how = {**filters, "fit": fit, "target": target, "every_entry": status, "replace_cloned": replace_cloned}
            plan = settled(dialogue or resolve, partial(workspace.plan_seed, each, named, **how))
        except UnknownNameError as error:
            # Of all sources one may have a category that another has not.
            if source is not None or error.code != "unknown_category":
                raise
            unknown = error
            continue
        plans.append(plan)
        if not (dry_run or check or status):
            results.append(workspace.apply_seed(plan, on_drift=on_drift))
    if unknown is not None and not plans:
        raise unknown
    if results:
        ended = _show_results(results, unreadable)
    else:
        ended = _show_plans(plans, unreadable, check=check, status=status, everybody=everybody)
    raise SystemExit(print_unreadable(unreadable) or ended)


def _show_ephemeral(
    workspace: Workspace, source: str, name: str, target: str | None, filters: Mapping[str, Any]
) -> None:
    texts = workspace.ephemeral_seed(source, name, **filters)
    texts = {each: text for each, text in texts.items() if target in {None, each}}
    about_user = workspace.path(source, "user")
    if about_user in workspace.missing_files(source):
        say(f"warning: {shown_path(about_user)} is not there")
    if in_json():
        emit_json({"source": source, "target": name, **texts})
        return
    from catmem.seeding.planner import joined

    emit_text(joined(workspace, texts.values()))
    if not any(texts.values()):
        say(f"{source} has nothing that {name} may read.")
        say_all(workspace.plan_seed(source, name, target=target, **filters).notes)


def _refuse_slips(
    source: str | None, targets: Sequence[str], resolve: Settlements, given: Mapping[str, Any], modes: Sequence[bool]
) -> None:
    """Raise ``UsageError`` for options that do not go together."""
    (for_all, by_id), ephemeral, everybody = resolve, modes[3], given["everybody"]
    slips = {
        "Use one of --dry-run, --check, --status and --ephemeral.": sum(modes) > 1,
        "Name the targets, or give --all.": everybody and targets,
        "--ephemeral prints the slice of one target: name it.": everybody and ephemeral,
        "Name the source and the targets, or give --all.": source is None and not everybody,
        f"Name the profiles that get a slice of {source}, or give --all.": not (everybody or targets),
        "--ephemeral prints the slice of one target.": ephemeral and len(targets) != 1,
        "--on-drift is for a seed that writes, and this one writes nothing.": given["on_drift"] and any(modes),
        "--interactive asks a person, and writes: it goes without --resolve, --dry-run, --check, --status, "
        "--ephemeral and --format json.": given["interactive"] and (for_all or by_id or any(modes) or in_json()),
        "--resolve ID=SIDE goes with the SOURCE of that conflict.": by_id and source is None,
        "--resolve settles conflicts in files, --fit keeps to their limits; --ephemeral has none.": ephemeral
        and (for_all or by_id or given["fit"]),
    }
    for said, is_so in slips.items():
        if is_so:
            raise click.UsageError(said)


def _seeds(
    workspace: Workspace, source: str | None, targets: Sequence[str], *, everybody: bool
) -> tuple[Sequence[tuple[str, Sequence[str]]], Sequence[CatmemError]]:
    """The sources with their targets, in the order in which they are seeded, and what is wrong with other profiles."""
    from catmem.seeding.order import seed_order

    if not everybody:
        return [(str(source), targets)], ()
    order, unreadable = seed_order(workspace)
    if source is not None:
        order = [each for each in order if each[0] == workspace.profile(source).name]
    if unreadable and not order:
        raise unreadable[0]
    if not order and workspace.config.path is None:
        where = shown_path(workspace.root)
        raise click.UsageError(f"No catmem.yaml was found in {where} or above. Go to the root, or name it with --root.")
    if not order:
        said = "no profile has a seed_from" if source is None else f"no profile has seed_from: {source}"
        raise click.UsageError(
            f"There is no profile to seed: {said} (tier 3 does not count). Name the targets instead."
        )
    return order, unreadable


# --- plans ----------------------------------------------------------------------------------------------------------


def _show_plans(
    plans: Sequence[SeedPlan], unreadable: Sequence[CatmemError], *, check: bool, status: bool, everybody: bool
) -> int:
    """Print what would be done; the exit status. Of all targets a line each is enough to see where to look."""
    shown = _line if check or (status and everybody) else _status if status else plan_diff
    in_sync = all(plan.in_sync for plan in plans)
    if in_json():
        emit_json({"in_sync": in_sync and not unreadable, **_as_dict(plans, unreadable)})
    else:
        for plan in plans:
            say_all(plan.notes)
            for each in plan.files:
                emit(shown(each))
                emit(conflict_lines(each))
                say_all(() if status else _left_out(each))
            say_refused(plan.refused)
        _say_summary(plans, in_sync=in_sync, whole=not unreadable)
    if check:
        return 0 if in_sync else _OUT_OF_SYNC
    return max((plan.exit_status for plan in plans), default=0)


def _as_dict(seeds: Sequence[SeedPlan | SeedResult], unreadable: Sequence[CatmemError]) -> dict[str, Any]:
    return {"seeds": [each.to_dict() for each in seeds], "unreadable": [error.to_dict() for error in unreadable]}


def _say_summary(plans: Sequence[SeedPlan], *, in_sync: bool, whole: bool) -> None:
    files = [each for plan in plans for each in plan.files]
    if in_sync:
        what = "In sync" if whole else "In sync as far as it could be looked at"
        say(f"{what}: {counted(len(files), 'file')}. Nothing was written.")
        return
    parts = [f"{counted(sum(each.changes for each in files), 'file')} would change"]
    conflicts, refused = sum(len(each.conflicts) for each in files), sum(len(plan.refused) for plan in plans)
    parts += [f"{counted(conflicts, 'conflict')} {'is' if conflicts == 1 else 'are'} open"] if conflicts else []
    parts += [f"{counted(refused, 'file')} would be refused"] if refused else []
    say(f"Nothing was written. {', '.join(parts)}.")


def plan_diff(plan: FilePlan) -> str:
    """What would change in one file."""
    return text_diff(plan.before, plan.after, f"a/{plan.target}", f"b/{plan.target}") if plan.changes else ""


def _line(plan: FilePlan, more: str = "") -> str:
    return printable(f"{plan.target}: {_said(plan)}{more}\n")


def _status(plan: FilePlan) -> str:
    head = printable(f"{plan.target} from {plan.source}: {_said(plan)}\n")
    found = [(row.state.replace("_", " "), row.version) for row in plan.rows]
    found += [(f"not seeded: {each.withheld}", each.version) for each in plan.withheld]
    return head + columns([("", state, version.category, first_line(version.body, _WIDTH)) for state, version in found])


def _left_out(plan: FilePlan) -> Iterator[str]:
    """The entries that a target did not get for its limit."""
    for each in plan.withheld:
        if str(each.withheld).startswith(OVER):
            text = first_line(each.version.body, _WIDTH)
            yield f"{plan.target}: left out, {each.withheld}: {each.version.category}: {text}"


_WORDS: dict[State, str] = {
    "new": "added",
    "changed_in_source": "changed",
    "changed_in_both": "merged",
    "removed_from_source": "removed",
}
_KEPT: dict[State, str] = {"changed_in_target": "kept as changed here", "removed_in_target": "kept removed here"}


def _said(plan: FilePlan) -> str:
    counts = Counter(row.state for row in plan.rows)
    parts = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
    done = counts["conflict"] - sum(conflict.reason != "title" for conflict in plan.conflicts)
    parts += [f"{done} settled"] if done else []
    parts += [f"{len(plan.conflicts)} in conflict"] if plan.conflicts else []
    if not plan.changes and not plan.conflicts:
        parts = [f"{done} settled"] if done else ["in sync"]
    parts = parts or [f"{plan.cloned} taken out"]
    parts += [f"{counts[state]} {word}" for state, word in _KEPT.items() if counts[state]]
    kinds = Counter(
        OVER if str(each.withheld).startswith(OVER) else str(each.withheld).partition(" ")[0].rstrip(":")
        for each in plan.withheld
    )
    parts += [f"{count} {kind} left out" for kind, count in sorted(kinds.items())]
    return ", ".join(parts)


# --- results --------------------------------------------------------------------------------------------------------


def _show_results(results: Sequence[SeedResult], unreadable: Sequence[CatmemError]) -> int:
    """Print what was done; the exit status."""
    status = max(result.exit_status for result in results)
    if in_json():
        emit_json(_as_dict(results, unreadable))
        return status
    for result in results:
        for each in result.files:
            revision = "" if each.revision is None else f" (revision {each.revision})"
            emit(_line(each.plan, revision) + conflict_lines(each.plan))
            say_all(_left_out(each.plan))
            say_all(f"{each.plan.target}: {note}" for note in each.notes)
        say_all(result.notes)
        say_refused(result.refused)
    done = [each for result in results for each in result.files]
    written = sum(each.revision is not None for each in done)
    refused = sum(len(result.refused) for result in results)
    conflicts = sum(len(each.plan.conflicts) for each in done)
    parts = [f"{counted(written, 'file')} written", f"{len(done) - written} unchanged"]
    parts += [f"{refused} refused"] if refused else []
    if conflicts:
        parts.append(f"{counted(conflicts, 'conflict')} left to you (--interactive asks who wins, --resolve says it)")
    say(f"{', '.join(parts)}.")
    return status


def say_refused(refused: Iterable[SeedRefusal], shown: Callable[[str], str] = str) -> None:
    """Which files were refused, and why; ``shown`` says how a file is named."""
    for each in refused:
        say(f"{shown(each.target)}: refused")
        print_error(each.error)
