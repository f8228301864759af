"""``catmem hermes``: the memory provider in homes of Hermes Agent, and slices for their files."""

from __future__ import annotations

import sys
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Group
from catmem.cli.door import given_root
from catmem.cli.options import as_of_option, common_options, dry_run_option, format_option, replace_cloned_option
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    in_json,
    print_unreadable,
    printable,
    say,
    say_all,
    shown_path,
    text_diff,
)
from catmem.cli.seed_command import plan_diff, say_refused
from catmem.cli.seed_conflicts import SeedDialogue, conflict_lines, next_steps, settled, settlements
from catmem.errors import CatmemError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.cli.seed_conflicts import Settlements
    from catmem.plugins.hermes.setup import SetupStep
    from catmem.plugins.hermes.setup_homes import HermesSettings, Home
    from catmem.plugins.hermes.setup_status import HomeStatus
    from catmem.seeding.plan import SeedPlan, SeedResult
    from catmem.seeding.slices import FilePlan
    from catmem.workspace.workspace import Workspace

_FINDINGS = 1
_NOT_CONFIRMED = 2

_home_option = click.option(
    "--home", metavar="DIR", help="A home of Hermes Agent. By default what HERMES_HOME says, else ~/.hermes."
)
_profile_option = click.option(
    "-p", "--profile", metavar="NAME", help="The profile of Hermes Agent. By default the one whose home this is."
)
_all_option = click.option("--all", "everybody", is_flag=True, help="Every profile of Hermes Agent.")
_yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.group(
    cls=Group, examples=("catmem hermes install --dry-run", "catmem hermes status --all", "catmem hermes sync --all")
)
def hermes() -> None:
    """Put catmem into Hermes Agent as its memory provider, or write slices into its files."""


@hermes.command(
    examples=(
        "catmem hermes install --dry-run",
        "catmem hermes install --all --yes",
        "catmem hermes install --profile coder --root ~/memory --as neo",
    )
)
@_home_option
@_profile_option
@_all_option
@click.option("--as", "name", metavar="NAME", help="The profile of catmem that it is. By default the one called alike.")
@click.option(
    "--keep-tool",
    is_flag=True,
    help="Leave Hermes Agent's own memory tool on. It shows the whole USER.md in the prompt then, unfiltered.",
)
@click.option("--any-version", is_flag=True, help="Go on with a config.yaml that is newer than what was tried.")
@_yes_option
@dry_run_option
@common_options
def install(  # noqa: PLR0913 - one parameter an option
    home: str | None,
    profile: str | None,
    name: str | None,
    *,
    everybody: bool,
    keep_tool: bool,
    any_version: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Put the memory provider and its settings into homes of Hermes Agent.

    What would change is shown first, config.yaml as a diff. The root is what --root says, else the folder of Hermes
    Agent's homes if it has a catmem.yaml, else the one that this folder lies in. A second run changes nothing, and
    uninstall undoes it. If 'hermes' on the PATH names a Python that cannot import catmem, nothing is changed.
    """
    from catmem.plugins.hermes.setup import plan_install
    from catmem.plugins.hermes.setup_homes import chosen_homes, find_home
    from catmem.plugins.hermes.setup_status import hermes_python, refuse_no_catmem
    from catmem.resources import install_command

    _refuse_mixed(profile, name, everybody=everybody)
    refuse_no_catmem()
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    workspace = _workspace(chosen[0])
    steps: list[SetupStep] = []
    for each in chosen:
        settings = _settings(workspace, each, name or each.name)
        folder = workspace.path(settings.profile, "user").parent
        steps.append(plan_install(each, settings, folder, keep_tool=keep_tool, any_version=any_version))
    if not _carried_out(steps, yes=yes, dry_run=dry_run) or in_json():
        return
    if hermes_python() is None:
        say("Next: 'hermes memory status' says whether its Python can import catmem.")
        say(f"If it cannot: {install_command(python='PYTHON')}, with the Python of Hermes Agent.")
    say("It counts from the next conversation on.")


@hermes.command(examples=("catmem hermes uninstall --dry-run", "catmem hermes uninstall --all --yes"))
@_home_option
@_profile_option
@_all_option
@_yes_option
@dry_run_option
@format_option
def uninstall(home: str | None, profile: str | None, *, everybody: bool, yes: bool, dry_run: bool) -> None:
    """Take the memory provider out again. Memory files and roots stay as they are.

    config.yaml gets back the bytes it had; if it was changed since, only the keys that install had set go back.
    """
    from catmem.plugins.hermes.setup import installed, plan_uninstall
    from catmem.plugins.hermes.setup_homes import chosen_homes, find_home

    _refuse_mixed(profile, None, everybody=everybody)
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    with_catmem = [each for each in chosen if installed(each)]
    _carried_out([plan_uninstall(each) for each in (with_catmem or chosen[:1])], yes=yes, dry_run=dry_run)


@hermes.command(examples=("catmem hermes status", "catmem hermes status --all --format json"))
@_home_option
@_profile_option
@_all_option
@format_option
def status(home: str | None, profile: str | None, *, everybody: bool) -> None:
    """Say where the memory provider is on, with which root and profile, and what is wrong (exit status 1)."""
    from catmem.plugins.hermes.setup_homes import chosen_homes, find_home
    from catmem.plugins.hermes.setup_status import statuses

    _refuse_mixed(profile, None, everybody=everybody)
    found = statuses(chosen_homes(find_home(home), profile, everybody=everybody))
    if in_json():
        emit_json({"homes": [each.to_dict() for each in found]})
    else:
        _show_statuses(found)
    if any(each.problems for each in found):
        raise SystemExit(_FINDINGS)


@hermes.command(
    examples=(
        "catmem hermes sync default --all --dry-run",
        "catmem hermes sync orchestrator trinity neo",
        "catmem hermes sync --all",
    )
)
@click.argument("source", required=False)
@click.argument("names", nargs=-1)
@click.option(
    "--all",
    "everybody",
    is_flag=True,
    help="Every profile that names SOURCE in seed_from and keeps its files in a home of Hermes Agent. Without SOURCE: "
    "every source in turn.",
)
@replace_cloned_option
@click.option(
    "--resolve",
    metavar="[ID=]SIDE",
    multiple=True,
    callback=settlements,
    help="Settle conflicts: target, source or both, as for catmem seed.",
)
@click.option("-i", "--interactive", is_flag=True, help="Show each conflict, and ask.")
@_home_option
@dry_run_option
@as_of_option
@common_options
def sync(  # noqa: PLR0913 - one parameter an option
    source: str | None,
    names: tuple[str, ...],
    home: str | None,
    as_of: date | None,
    *,
    everybody: bool,
    replace_cloned: bool,
    resolve: Settlements,
    interactive: bool,
    dry_run: bool,
) -> None:
    """Write slices of SOURCE's memory into the USER.md and MEMORY.md of profiles of Hermes Agent.

    It is a seed (catmem seed) into files that Hermes Agent edits too: under its locks, within its limits, in the shared
    layout. What Hermes Agent wrote there since stays, and is in the history from then on. Nothing else of Hermes Agent
    changes, and it needs no provider.
    """
    from catmem import clock
    from catmem.plugins.hermes.setup_homes import all_homes, find_home
    from catmem.plugins.hermes.sync import plan_sync
    from catmem.seeding.plan import SeedPlan

    if everybody == bool(names) or (source is None and not everybody):
        raise click.UsageError("Name the source and the profiles, or the source and --all, or --all alone.")
    if interactive and (any(resolve) or dry_run or in_json()):
        raise click.UsageError("--interactive asks and writes: leave --resolve, --dry-run and --format json out.")
    if resolve[1] and source is None:
        raise click.UsageError("--resolve ID=SIDE goes with the SOURCE of that conflict.")
    found = find_home(home)
    workspace = _workspace(found)
    click.get_current_context().call_on_close(workspace.store.close)
    homes = list(all_homes(found).values())
    sources = [source] if source is not None else _sources(workspace, homes)
    dialogue = SeedDialogue(workspace, {"actor": None, "allow_secret": False}) if interactive else None
    shown: list[dict[str, Any]] = []
    unreadable: Sequence[CatmemError] = ()
    status = 0
    for each in sources:
        how: dict[str, Any] = {"as_of": as_of or clock.today(), "replace_cloned": replace_cloned}
        plan = settled(dialogue or resolve, partial(plan_sync, workspace, homes, each, names or None, **how))
        unreadable = plan.unreadable
        done = plan if dry_run else workspace.apply_seed(plan)
        status = max(status, done.exit_status)
        shown.append(done.to_dict())
        if in_json():
            continue
        if isinstance(done, SeedPlan):
            _show_plan(done)
        else:
            _show_result(workspace, done)
    if in_json():
        emit_json({"dry_run": dry_run, "syncs": shown})
    elif dry_run:
        say("Nothing was written.")
    raise SystemExit(max(status, print_unreadable(unreadable)))


def _refuse_mixed(profile: str | None, name: str | None, *, everybody: bool) -> None:
    if everybody and profile is not None:
        raise click.UsageError("Use --profile or --all.")
    if everybody and name is not None:
        raise click.UsageError("With --all each profile is the one of its own name: leave --as out.")


def _workspace(home: Home) -> Workspace:
    """The root that was named, else that of Hermes Agent's own folder, else the one that the working folder lies in."""
    from catmem.config.config import CONFIG_NAME, find_root
    from catmem.workspace.workspace import Workspace

    root = given_root()
    if root is not None:
        workspace = Workspace.open(root, search=False)
        if workspace.config.path is None:
            raise _no_root(root)
        return workspace
    if (home.root / CONFIG_NAME).is_file():
        return Workspace.open(home.root, search=False)
    if find_root(".") is None:
        raise _no_root(str(home.root), home)
    return Workspace.open(".")


def _no_root(folder: str, home: Home | None = None) -> ConfigError:
    over = "" if home is None else f" {quote(shown_path(home.root))}"
    return ConfigError(
        "there is no catmem.yaml here",
        code="no_root",
        path=folder,
        hint=f"Name a root with --root DIR, or make one over Hermes Agent's own files: catmem init --from-hermes{over}",
    )


def _settings(workspace: Workspace, home: Home, name: str) -> HermesSettings:
    from dataclasses import replace

    from catmem.plugins.hermes.setup_homes import HermesSettings, read_settings

    try:
        workspace.profile(name)
    except CatmemError as error:
        if error.code == "unknown_name":
            said = f"Say which profile of this root it is: --profile {home.name} --as NAME"
            error.hint = f"{error.hint or ''} {said}".strip()
        raise
    new = HermesSettings(workspace.root, name)
    try:
        old = read_settings(home) or new
    except ConfigError as error:
        if error.code != "hermes_copied":
            raise
        old = new  # a copy of another home becomes one of its own
    return replace(old, root=workspace.root, profile=name, written=True)


def _sources(workspace: Workspace, homes: Sequence[Home]) -> list[str]:
    from catmem.plugins.hermes.sync import hermes_profiles
    from catmem.seeding.order import seed_order

    found = hermes_profiles(workspace, homes)
    order = seed_order(workspace)
    sources = [source for source, names in order.sources if any(name in found for name in names)]
    if order.unreadable and not sources:
        raise order.unreadable[0]
    if not sources:
        raise click.UsageError(
            "There is no profile to write to: none that keeps its files in a home of Hermes Agent has a seed_from."
        )
    return sources


def _carried_out(steps: Sequence[SetupStep], *, yes: bool, dry_run: bool) -> bool:
    """Show what would be done, ask, and do it; whether anything was done."""
    from catmem.plugins.hermes.setup import apply_step

    changing = [step for step in steps if step.changes]
    if in_json() and not (yes or dry_run):
        raise click.UsageError("--format json asks nothing: give --yes or --dry-run.")
    if not in_json():
        for step in steps:
            _show_step(step)
        if dry_run:
            say("Nothing was written.")
        elif changing and not yes:
            _confirm()
    if not dry_run:
        for step in changing:
            apply_step(step)
            if not in_json():
                emit(printable(f"{step.done} in {shown_path(step.home.path)}\n"))
    if in_json():
        emit_json({"dry_run": dry_run, "homes": [_step_dict(step) for step in steps]})
    return bool(changing) and not dry_run


def _confirm() -> None:
    on_terminal = sys.stdin is not None and sys.stdin.isatty()
    if not (on_terminal and click.confirm("Do this?", err=True)):
        say("Nothing was written." if on_terminal else "Nothing was written. Give --yes to do it.")
        raise SystemExit(_NOT_CONFIRMED)


def _show_step(step: SetupStep) -> None:
    where = shown_path(step.home.path)
    if not step.changes:
        emit(printable(f"{where}: nothing to do\n"))
        return
    say_all(f"{where}: {note}" for note in step.notes)
    for path in step.writes:
        emit(printable(f"write {shown_path(path)}\n"))
    if step.before != step.after:
        name = shown_path(step.home.config)
        emit(text_diff(step.before, step.after, f"a/{name}", f"b/{name}"))
    for path in step.removes:
        emit(printable(f"remove {shown_path(path)}\n"))


def _step_dict(step: SetupStep) -> dict[str, Any]:
    return {
        "name": step.home.name,
        "home": str(step.home.path),
        "changes": step.changes,
        "config_changes": step.before != step.after,
        "writes": [str(path) for path in step.writes],
        "removes": [str(path) for path in step.removes],
        "notes": list(step.notes),
    }


def _show_statuses(found: Sequence[HomeStatus]) -> None:
    rows = [("profile", "catmem", "root", "as", "own tool")]
    for each in found:
        state = _ACTIVE[each.loads] if each.active else "installed, not on" if each.installed else "-"
        if each.provider not in {"", "catmem"}:
            state += f" (provider {each.provider})"
        root = "-" if each.root is None else shown_path(each.root)
        rows.append(
            (each.name, printable(state), printable(root), each.profile or "-", "on" if each.own_tool else "off")
        )
    emit(columns(rows))
    say_all(f"{each.name}: {problem}" for each in found for problem in each.problems)
    if any(each.active and each.loads is None for each in found):
        say("installed; check with 'hermes memory status': whether its Python can load catmem cannot be known here")


_ACTIVE = {True: "on", False: "cannot be loaded", None: "installed"}


def _show_plan(plan: SeedPlan) -> None:
    say_all(plan.notes)
    for each in plan.files:
        in_sync = not each.changes and not each.conflicts
        emit(printable(f"{each.target}: in sync\n") if in_sync else plan_diff(each) + conflict_lines(each))
    say_refused(plan.refused)
    say_all(next_steps(plan.files))


def _show_result(workspace: Workspace, result: SeedResult) -> None:
    """What a sync did, a line for each file."""

    def shown(entity: str) -> str:
        name, _, target = entity.partition("/")
        return shown_path(workspace.path(name, target))

    for each in result.files:
        where = shown(each.plan.target)
        emit(printable(f"{where}: {_said(each.plan, each.revision)}\n") + conflict_lines(each.plan))
        say_all(f"{where}: {note}" for note in each.notes)
    say_refused(result.refused, shown)
    say_all([*result.notes, *next_steps(each.plan for each in result.files)])


def _said(plan: FilePlan, revision: str | None) -> str:
    if revision is None:
        return f"{len(plan.conflicts)} in conflict, left as it is" if plan.conflicts else "in sync"
    counts = {
        "added": plan.count("new"),
        "changed": plan.count("changed_in_source", "changed_in_both"),
        "removed": plan.count("removed_from_source"),
        "in conflict": len(plan.conflicts),
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "written"
    return f"{said} (revision {revision})"
