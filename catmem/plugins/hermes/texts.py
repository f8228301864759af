"""What becomes of homes of Hermes Agent, as people read it."""

from __future__ import annotations

from collections.abc import Sequence

from catmem.cli.output import columns, emit, say, say_all
from catmem.files import shown_path
from catmem.ops.table import Call
from catmem.plugins.hermes.operations import HomeStatus, SetupStep
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


TEXTS = {"SetupStep": _step, "list": _statuses}
