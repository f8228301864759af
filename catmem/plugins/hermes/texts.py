"""What becomes of homes of Hermes Agent, as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catmem.cli.output import columns, emit, say, say_all
from catmem.cli.texts.files import diff_of, plan_line, show_seed
from catmem.files import shown_path
from catmem.names import parts_of
from catmem.ops.table import Call
from catmem.plugins.hermes.operations import Applied
from catmem.plugins.hermes.setup import HomeStatus, SetupStep
from catmem.seeding.plan import SeedPlan
from catmem.seeding.slices import FilePlan
from catmem.text import printable, text_diff


def _step(step: SetupStep, _: Call) -> None:
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


def _applied(done: Applied, _: Call) -> None:
    emit(printable(f"{done.step.done} in {shown_path(done.step.home.path)}\n"))


def _statuses(found: Sequence[HomeStatus], _: Call) -> None:
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


def _plan(plan: SeedPlan, _: Call) -> None:
    def shown(each: FilePlan) -> str:
        return plan_line(each) if plan.done or not each.changes else diff_of(each)

    show_seed(plan, shown)
    say_all(_next_steps(plan.files))


def _next_steps(plans: Iterable[FilePlan]) -> list[str]:
    """How to settle the conflicts that are open after a sync, a line for each source."""
    names: dict[str, dict[str, None]] = {}
    for plan in plans:
        if plan.conflicts:
            source, target = (parts_of(each).owner for each in (plan.source, plan.target))
            names.setdefault(source, {})[target] = None
    return [
        f"Conflicts are left to you: 'catmem hermes sync {source} {' '.join(targets)} --interactive' asks who wins; "
        "--resolve target keeps what is there for good, --resolve source takes the source's."
        for source, targets in names.items()
    ]


TEXTS = {"SetupStep": _step, "Applied": _applied, "list": _statuses, "SeedPlan": _plan}
