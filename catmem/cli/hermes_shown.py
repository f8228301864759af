"""What ``catmem hermes`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.cli.output import columns, emit, print_error, printable, say, shown_path, text_diff
from catmem.cli.seed_shown import conflict_lines, next_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catmem.hermes.setup import Step
    from catmem.hermes.setup_status import HomeStatus
    from catmem.policy.seed import FilePlan
    from catmem.service.seeding.plan import SeedPlan, SeedRefusal
    from catmem.service.workspace import Workspace


def show_step(step: Step) -> None:
    """What would be done in one home: files by name, ``config.yaml`` as a diff."""
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


def step_dict(step: Step) -> dict[str, Any]:
    """The same as JSON-ready data."""
    return {
        "name": step.home.name,
        "home": str(step.home.path),
        "changes": step.changes,
        "config_changes": step.before != step.after,
        "writes": [str(path) for path in step.writes],
        "removes": [str(path) for path in step.removes],
        "notes": list(step.notes),
    }


def show_statuses(found: Sequence[HomeStatus]) -> None:
    """A row for each home, then what is wrong."""
    rows: list[tuple[str, ...]] = [("profile", "catmem", "root", "as", "own tool")]
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


def show_plan(plan: SeedPlan) -> None:
    """What a sync would change."""
    say_all(plan.notes)
    for each in plan.files:
        if each.changes:
            emit(text_diff(each.before, each.after, f"a/{each.target}", f"b/{each.target}"))
        elif not each.conflicts:
            emit(printable(f"{each.target}: in sync\n"))
        emit(conflict_lines(each))
    for refusal in plan.refused:
        say(printable(f"{refusal.target}: refused"))
        print_error(refusal.error, as_json=False)
    say_all(next_steps(plan.files))


def show_file(plan: FilePlan, revision: str | None, workspace: Workspace, notes: Sequence[str]) -> None:
    """What a sync did to one file, in a line."""
    name, _, target = plan.target.partition("/")
    where = shown_path(workspace.path(name, target))
    if revision is None:
        said = f"{len(plan.conflicts)} in conflict, left as it is" if plan.conflicts else "in sync"
    else:
        counts = {
            "added": plan.count("new"),
            "changed": plan.count("changed_in_source", "changed_in_both"),
            "removed": plan.count("removed_from_source"),
            "in conflict": len(plan.conflicts),
        }
        said = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "written"
        said += f" (revision {revision})"
    emit(printable(f"{where}: {said}\n") + conflict_lines(plan))
    say_all(f"{where}: {note}" for note in notes)


def show_refused(refused: Iterable[SeedRefusal], workspace: Workspace) -> None:
    """Which files were refused, and why."""
    for each in refused:
        name, _, target = each.target.partition("/")
        say(printable(f"{shown_path(workspace.path(name, target))}: refused"))
        print_error(each.error, as_json=False)


def say_all(notes: Iterable[str]) -> None:
    """Notes on standard error, a line each."""
    for note in notes:
        say(printable(note))
