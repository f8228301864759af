"""``catmem hermes``: the memory provider in homes of Hermes Agent, and slices for their files."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import as_of_option, dry_run_option, format_option, root_option
from catmem.cli.output import emit, emit_json, print_unreadable, printable, say, shown_path
from catmem.errors import CatmemError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.hermes.setup import Step
    from catmem.hermes.setup_homes import Home
    from catmem.hermes.setup_settings import Settings
    from catmem.service.workspace import Workspace

_FINDINGS = 1
_NOT_CONFIRMED = 2

_home_option = click.option(
    "--home",
    metavar="DIR",
    help="A home of Hermes Agent. By default what HERMES_HOME says, else ~/.hermes.",
)
_profile_option = click.option(
    "-p", "--profile", metavar="NAME", help="The profile of Hermes Agent. By default the one whose home this is."
)
_all_option = click.option("--all", "everybody", is_flag=True, help="Every profile of Hermes Agent.")
_yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.group(epilog="Examples: catmem hermes install --dry-run   catmem hermes status --all   catmem hermes sync --all")
def command() -> None:
    """Put catmem into Hermes Agent as its memory provider, or write slices into its files."""


@command.command(
    epilog="Examples: catmem hermes install --dry-run   catmem hermes install --all --yes   "
    "catmem hermes install --profile coder --root ~/memory --as neo"
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
@root_option
@format_option
def install(  # noqa: PLR0913 - one parameter an option
    home: str | None,
    profile: str | None,
    name: str | None,
    root_folder: str | None,
    *,
    everybody: bool,
    keep_tool: bool,
    any_version: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put the memory provider and its settings into homes of Hermes Agent.

    What would change is shown first, config.yaml as a diff. The root is what --root says, else the folder of Hermes
    Agent's homes if it has a catmem.yaml, else the one that this folder lies in. A second run changes nothing, and
    uninstall undoes it.
    """
    from catmem.hermes.setup import plan_install
    from catmem.hermes.setup_homes import chosen_homes, find_home

    _refuse_mixed(profile, name, everybody=everybody)
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    workspace = _workspace(root_folder, chosen[0])
    steps: list[Step] = []
    for each in chosen:
        settings = _settings(workspace, each, name or each.name)
        folder = workspace.path(settings.profile, "user").parent
        steps.append(plan_install(each, settings, folder, keep_tool=keep_tool, any_version=any_version))
    if not _carried_out(steps, yes=yes, dry_run=dry_run, as_json=as_json) or as_json:
        return
    say("Next: catmem has to be installed for the Python of Hermes Agent too; 'hermes memory status' says if it is.")
    say("It counts from the next conversation on.")


@command.command(epilog="Examples: catmem hermes uninstall --dry-run   catmem hermes uninstall --all --yes")
@_home_option
@_profile_option
@_all_option
@_yes_option
@dry_run_option
@format_option
def uninstall(  # noqa: PLR0913 - one parameter an option
    home: str | None, profile: str | None, *, everybody: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Take the memory provider out again. Memory files and roots stay as they are.

    config.yaml gets back the bytes it had; if it was changed since, only the keys that install had set go back.
    """
    from catmem.hermes.setup import installed, plan_uninstall
    from catmem.hermes.setup_homes import chosen_homes, find_home

    _refuse_mixed(profile, None, everybody=everybody)
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    with_catmem = [each for each in chosen if installed(each)]
    _carried_out(
        [plan_uninstall(each) for each in (with_catmem or chosen[:1])], yes=yes, dry_run=dry_run, as_json=as_json
    )


@command.command(epilog="Examples: catmem hermes status   catmem hermes status --all --format json")
@_home_option
@_profile_option
@_all_option
@format_option
def status(home: str | None, profile: str | None, *, everybody: bool, as_json: bool) -> None:
    """Say where the memory provider is on, with which root and profile, and what is wrong (exit status 1)."""
    from catmem.cli.hermes_shown import show_statuses
    from catmem.hermes.setup_homes import chosen_homes, find_home
    from catmem.hermes.setup_status import statuses

    _refuse_mixed(profile, None, everybody=everybody)
    found = statuses(chosen_homes(find_home(home), profile, everybody=everybody))
    if as_json:
        emit_json({"homes": [each.to_dict() for each in found]})
    else:
        show_statuses(found)
    if any(each.problems for each in found):
        raise SystemExit(_FINDINGS)


@command.command(
    epilog="Examples: catmem hermes sync default --all --dry-run   catmem hermes sync orchestrator trinity neo   "
    "catmem hermes sync --all"
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
@_home_option
@dry_run_option
@as_of_option
@root_option
@format_option
def sync(  # noqa: PLR0913 - one parameter an option
    source: str | None,
    names: tuple[str, ...],
    home: str | None,
    as_of: date | None,
    root_folder: str | None,
    *,
    everybody: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write slices of SOURCE's memory into the USER.md and MEMORY.md of profiles of Hermes Agent.

    It is a seed (catmem seed) into files that Hermes Agent edits too: under its locks, within its limits, in the shared
    layout. What Hermes Agent wrote there since stays, and is in the history from then on. Nothing else of Hermes Agent
    changes, and it needs no provider.
    """
    from catmem import clock
    from catmem.cli.hermes_shown import say_all, show_file, show_plan, show_refused
    from catmem.cli.seed_shown import next_steps
    from catmem.hermes.setup_homes import all_homes, find_home
    from catmem.hermes.sync import apply_sync, plan_sync

    if everybody == bool(names) or (source is None and not everybody):
        raise click.UsageError("Name the source and the profiles, or the source and --all, or --all alone.")
    found = find_home(home)
    workspace = _workspace(root_folder, found)
    click.get_current_context().call_on_close(workspace.store.close)
    homes = list(all_homes(found).values())
    sources = [source] if source is not None else _sources(workspace, homes)
    shown: list[dict[str, Any]] = []
    unreadable: Sequence[CatmemError] = ()
    status = 0
    for each in sources:
        made = plan_sync(workspace, homes, each, names or None, as_of=as_of or clock.today())
        unreadable = made.plan.unreadable
        if dry_run:
            status = max(status, made.plan.exit_status)
            shown.append(made.plan.to_dict())
            if not as_json:
                show_plan(made.plan)
            continue
        result = apply_sync(workspace, made)
        status = max(status, result.exit_status)
        shown.append(result.to_dict())
        if not as_json:
            for file in result.files:
                show_file(file.plan, file.revision, workspace, file.notes)
            show_refused(result.refused, workspace)
            say_all([*result.notes, *next_steps(file.plan for file in result.files)])
    if as_json:
        emit_json({"dry_run": dry_run, "syncs": shown})
    elif dry_run:
        say("Nothing was written.")
    raise SystemExit(max(status, print_unreadable(unreadable, as_json=as_json)))


# --- what is asked ---------------------------------------------------------------------------------------------------


def _refuse_mixed(profile: str | None, name: str | None, *, everybody: bool) -> None:
    if everybody and profile is not None:
        raise click.UsageError("Use --profile or --all.")
    if everybody and name is not None:
        raise click.UsageError("With --all each profile is the one of its own name: leave --as out.")


def _workspace(root_folder: str | None, home: Home) -> Workspace:
    """The root that was named, else that of Hermes Agent's own folder, else the one that the working folder lies in."""
    from catmem.policy.config import CONFIG_NAME, find_root
    from catmem.service.workspace import Workspace

    if root_folder is not None:
        workspace = Workspace.open(root_folder, search=False)
        if workspace.config.path is None:
            raise _no_root(root_folder)
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


def _settings(workspace: Workspace, home: Home, name: str) -> Settings:
    from dataclasses import replace

    from catmem.hermes.setup_settings import Settings, read_settings

    try:
        workspace.profile(name)
    except CatmemError as error:
        if error.code == "unknown_name":
            error.hint = f"{error.hint or ''} Say which profile of this root it is: --profile {home.name} --as NAME"
            error.hint = error.hint.strip()
        raise
    new = Settings(workspace.root, name)
    try:
        old = read_settings(home) or new
    except ConfigError as error:
        if error.code != "hermes_copied":
            raise
        old = new  # a copy of another home becomes one of its own
    return replace(old, root=workspace.root, profile=name, written=True)


def _sources(workspace: Workspace, homes: Sequence[Home]) -> list[str]:
    from catmem.hermes.sync import hermes_profiles
    from catmem.service.seeding.order import seed_order

    found = hermes_profiles(workspace, homes)
    order = seed_order(workspace)
    sources = [source for source, names in order.sources if any(name in found for name in names)]
    if order.unreadable and not sources:
        raise order.unreadable[0]
    if not sources:
        raise click.UsageError(
            "There is nobody to write to: no profile that keeps its files in a home of Hermes Agent has a seed_from."
        )
    return sources


# --- what is done ----------------------------------------------------------------------------------------------------


def _carried_out(steps: Sequence[Step], *, yes: bool, dry_run: bool, as_json: bool) -> bool:
    """Show what would be done, ask, and do it; whether anything was done."""
    from catmem.cli.hermes_shown import show_step, step_dict
    from catmem.hermes.setup import apply_step

    changing = [step for step in steps if step.changes]
    if as_json and not (yes or dry_run):
        raise click.UsageError("--format json asks nothing: give --yes or --dry-run.")
    if not as_json:
        for step in steps:
            show_step(step)
        if dry_run:
            say("Nothing was written.")
        elif changing and not yes:
            _confirm()
    if not dry_run:
        for step in changing:
            apply_step(step)
            if not as_json:
                emit(printable(f"{step.done} in {shown_path(step.home.path)}\n"))
    if as_json:
        emit_json({"dry_run": dry_run, "homes": [step_dict(step) for step in steps]})
    return bool(changing) and not dry_run


def _confirm() -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        say("Nothing was written. Give --yes to do it.")
        raise SystemExit(_NOT_CONFIRMED)
    if not click.confirm("Do this?", err=True):
        say("Nothing was written.")
        raise SystemExit(_NOT_CONFIRMED)
