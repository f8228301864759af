"""A root that was made, as people read it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from catmem.cli.output import emit, print_error, printable, say, say_all, shown_path
from catmem.ops.setup import Init
from catmem.ops.table import Call
from catmem.workspace.init import NewCategory


def _init(done: Init, call: Call) -> None:
    from catmem.workspace.init import on_uncategorized

    made, git = done.made, done.git
    where = printable(shown_path(made.root.absolute()))
    lines = [f"{'would write' if call.values['dry_run'] else 'wrote'} {where}/{name}\n" for name in made.written]
    if git is not None:
        lines += [f"wrote {where}/.gitattributes: {printable(line)}\n" for line in git.attributes]
        lines += [f"set {printable(line)}\n" for line in git.config]
    lines += [f"{line}\n" for line in on_uncategorized("orchestrator", done.uncategorized)]
    lines += ["\n", *_table(made.categories)] if made.categories else []
    emit("".join(lines) if lines else "nothing to do\n")
    say_all(f"warning: {warning}" for warning in (git.warnings if git else ()))
    if done.next:
        place = [] if where == "." or done.over else [f"cd {shlex.quote(where)}"]
        emit("\nNext:\n" + "".join(f"  {step}\n" for step in [*place, *done.next]))
        if not (done.over or call.values["example"] or call.values["profiles"]):
            emit("\nTo add a specialist later: catmem init --profile NAME\n")
    for name, error in done.skipped.items():
        say(f"{name}: skipped; mend this and run it again")
        print_error(error)


def _table(categories: Sequence[NewCategory]) -> list[str]:
    """What was made for new specialists: each category, what belongs there, who reads it and who writes it."""
    wide, everybody = max(len(each.slug) for each in categories), set(categories[0].readers)
    lines = [f"{'category':<{wide}}  read by, * may write\n"]
    for each in categories:
        names = [f"{name}*" if name in each.writers else name for name in each.readers]
        is_shared = set(each.readers) == everybody and not each.writers
        lines.append(f"{each.slug:<{wide}}  {'all' if is_shared else ', '.join(names)}\n{'':<{wide}}    {each.about}\n")
    return lines


TEXTS = {Init: _init}
