"""What ``catmem sort`` asks at a terminal: the list in an editor."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from catmem.cli.output import say
from catmem.errors import CatmemError, ConfigError, RefusedError
from catmem.files import shown_path
from catmem.ops.table import Call
from catmem.plugins.sorting.operations import KEPT, chosen, finish
from catmem.plugins.sorting.sort_files import SortPlan

_FAULT = "#! "
"""How a comment begins that says what is wrong in a list."""


def _command(plan: SortPlan, path: str | Path) -> str:
    profile, _, target = (plan.entity or "").partition("/")
    whose = f"-p {profile} -t {target}" if profile else shlex.quote(shown_path(plan.path))
    return f"catmem sort {whose} --read {shlex.quote(shown_path(path))}"


def _temporary(text: str) -> Path:
    """A file of this user alone with a list."""
    with tempfile.NamedTemporaryFile(prefix=KEPT, suffix=".txt", delete=False) as stream:
        stream.write(text.encode())
    return Path(stream.name)


@contextmanager
def _kept(plan: SortPlan, path: Path) -> Iterator[None]:
    """Whatever goes wrong, keep the list that a person made, and say where it is."""
    try:
        yield
    except CatmemError as error:
        then = "Then" if isinstance(error, RefusedError) else "Mend it, then"
        error.hint = f"{error.hint or 'Nothing was written.'}\n  Your list is kept. {then}: {_command(plan, path)}"
        raise


def _edit(call: Call, plan: SortPlan) -> bool:
    """Sort by a list in an editor, which opens again until the list is right, emptied, or left as it was.

    ``False`` if nothing is to be written: the list was emptied, or not saved the first time.
    """
    text: str | None = plan.to_text()
    path = _temporary(str(text))
    made = path.stat().st_mtime_ns
    while text is not None:
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            path.unlink(missing_ok=True)
            said = f"{error.message.rstrip('.')}. Nothing was written. Say in EDITOR what opens a file, or see --read."
            raise click.UsageError(said) from None
        edited = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        is_empty = all(not line.strip() or line.startswith("#") for line in edited.splitlines())
        if is_empty or (edited == text and path.stat().st_mtime_ns == made):
            say(f"The list {'is empty' if is_empty else 'was not saved'}: nothing was written.")
            path.unlink(missing_ok=True)
            return False
        with _kept(plan, path):
            text = None if edited == text else _with_faults(plan, edited)
            if text is None:
                finish(call, plan, chosen(call, plan, str(path)))
            else:
                path.write_text(text, encoding="utf-8")
    if call.values["dry_run"]:
        say(f"the list is kept: {_command(plan, path)}")
    else:
        path.unlink(missing_ok=True)
    return True


def _with_faults(plan: SortPlan, text: str) -> str | None:
    """A list with what is wrong in it as comments at its top; ``None`` if nothing is."""
    from catmem.plugins.sorting.sort_list import read_list

    own, faults = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_FAULT)), ""
    for _ in range(2):  # the comments move the lines that they name
        try:
            plan.chosen(read_list(faults + own))
        except ConfigError as error:
            faults = "".join(f"{_FAULT}{each.strip()}\n" for each in str(error.hint).splitlines())
    return faults + own if faults else None


DIALOGUE = _edit
