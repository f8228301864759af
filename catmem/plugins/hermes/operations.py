"""The operations of the family hermes: the memory provider in homes of Hermes Agent."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Annotated

from catmem.config.config import CONFIG_NAME, find_root
from catmem.errors import CatmemError, ConfigError
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.ops.shared import DryRun
from catmem.ops.table import FINDINGS, WRONG, Call, Outcome, P, UsageError, family, operation
from catmem.plugins.hermes.homes import (
    HermesSettings,
    Home,
    chosen_homes,
    find_home,
    read_settings,
)
from catmem.plugins.hermes.setup import (
    SetupStep,
    apply_step,
    hermes_python,
    installed,
    plan_install,
    plan_uninstall,
    refuse_no_catmem,
    statuses,
)
from catmem.resources import install_command
from catmem.workspace.workspace import Workspace

_HomeOption = Annotated[
    str | None, P("A home of Hermes Agent. By default what HERMES_HOME says, else ~/.hermes.", metavar="DIR")
]
_OneProfile = Annotated[
    str | None, P("The profile of Hermes Agent. By default the one whose home this is.", "-p --profile", metavar="NAME")
]
_All = Annotated[bool, P("Every profile of Hermes Agent.", "--all")]
_Yes = Annotated[bool, P("Do it without asking.")]

family(
    "hermes",
    "Put catmem into Hermes Agent as its memory provider.",
    ("catmem hermes install --dry-run", "catmem hermes status --all"),
)


@dataclass(frozen=True, slots=True)
class Applied:
    """A step that was done."""

    step: SetupStep


@operation(
    "hermes install",
    examples=(
        "catmem hermes install --dry-run",
        "catmem hermes install --all --yes",
        "catmem hermes install --profile coder --root ~/memory --as neo",
    ),
    apart={"everybody": "profile name"},
)
def install(
    call: Call,
    *,
    home: _HomeOption = None,
    profile: _OneProfile = None,
    everybody: _All = False,
    name: Annotated[
        str | None, P("The profile of catmem that it acts as. By default the one of the same name.", "--as")
    ] = None,
    yes: _Yes = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Put the memory provider and its settings into homes of Hermes Agent.

    It first shows what would change, config.yaml as a diff. The root is that of --root, else the folder of Hermes
    Agent's homes if it has a catmem.yaml, else the root that this folder lies in. A second run changes nothing, and
    uninstall undoes it. If 'hermes' on the PATH runs in a Python that cannot import catmem, nothing is changed.
    """
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    refuse_no_catmem()
    workspace = _workspace(call, chosen[0])
    steps: list[SetupStep] = []
    for each in chosen:
        settings = _settings(workspace, each, name or each.name)
        folder = workspace.path(settings.profile, "user").parent
        steps.append(plan_install(each, settings, folder))
    done = _carried_out(call, steps, yes=yes, dry_run=dry_run)
    if call.for_program or dry_run or done.status or not any(step.changes for step in steps):
        return done
    if hermes_python() is None:
        call.tell("Next: 'hermes memory status' says whether its Python can import catmem.")
        call.tell(f"If it cannot: {install_command(python='PYTHON')}, with the Python of Hermes Agent.")
    call.tell("It counts from the next conversation on.")
    return done


@operation(
    "hermes uninstall",
    examples=("catmem hermes uninstall --dry-run", "catmem hermes uninstall --all --yes"),
    rooted=False,
    apart={"everybody": "profile"},
)
def uninstall(
    call: Call,
    *,
    home: _HomeOption = None,
    profile: _OneProfile = None,
    everybody: _All = False,
    yes: _Yes = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Take the memory provider out again. Memory files and roots stay as they are.

    config.yaml gets back the bytes it had; if it was changed since, only the keys that install had set go back.
    """
    chosen = chosen_homes(find_home(home), profile, everybody=everybody)
    with_catmem = [each for each in chosen if installed(each)]
    return _carried_out(call, [plan_uninstall(each) for each in (with_catmem or chosen[:1])], yes=yes, dry_run=dry_run)


@operation(
    "hermes status",
    examples=("catmem hermes status", "catmem hermes status --all --format json"),
    rooted=False,
    apart={"everybody": "profile"},
)
def status(call: Call, *, home: _HomeOption = None, profile: _OneProfile = None, everybody: _All = False) -> Outcome:
    """Say where the memory provider is on, with which root and profile, and what is wrong (exit status 1)."""
    found = statuses(chosen_homes(find_home(home), profile, everybody=everybody))
    findings = FINDINGS if any(each.problems for each in found) else 0
    return Outcome(found, {"homes": [jsonable(each) for each in found]}, status=findings)


def _workspace(call: Call, home: Home) -> Workspace:
    """The root that was named, else that of Hermes Agent's own folder, else the one that the working folder lies in."""
    root = call.named_root
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
    try:
        workspace.profile(name)
    except CatmemError as error:
        if error.code == "unknown_name":
            said = f"Say which profile of this root it is: --profile {home.name} --as NAME"
            error.hint = f"{error.hint or ''} {said}".strip()
        raise
    try:
        read_settings(home)  # what is wrong with the old ones is said, and they stay
    except ConfigError as error:
        if error.code != "hermes_copied":  # a copy of another home becomes one of its own
            raise
    return HermesSettings(workspace.root, name)


def _carried_out(call: Call, steps: Sequence[SetupStep], *, yes: bool, dry_run: bool) -> Outcome:
    changing = [step for step in steps if step.changes]
    if call.for_program and not (yes or dry_run):
        raise UsageError("--format json asks nothing: give --yes or --dry-run.")
    for step in steps:
        call.show(step)
    if dry_run:
        if not call.for_program:
            call.tell("Nothing was written.")
    elif changing and not yes:
        on_terminal = sys.stdin is not None and sys.stdin.isatty()
        if not (on_terminal and call.dialogue("confirm")("Do this?")):
            call.tell("Nothing was written." if on_terminal else "Nothing was written. Give --yes to do it.")
            return Outcome(None, status=WRONG)
    for step in () if dry_run else changing:
        apply_step(step)
        call.show(Applied(step))
    return Outcome(None, {"dry_run": dry_run, "homes": [jsonable(step) for step in steps]})
