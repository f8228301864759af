"""Which person acts: the name that a record keeps beside the agent ``person``.

A server knows it from the caller's token. Else it is what ``CATMEM_PERSON`` says, git's ``user.name`` in the root, or
the login name. It is for people to read, and gives no rights: a name is easily said.
"""

from __future__ import annotations

import getpass
import os
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "CATMEM_PERSON"
"""The environment variable with the name; an empty one has none kept."""

LONGEST = 80
"""Characters that are kept of a name."""

caller_name: ContextVar[str | None] = ContextVar("caller_name", default=None)
"""The name of the person whose request is served now, ``None`` outside of one."""


def person_name(root: Path) -> str | None:
    """The name of the person who acts on a root, on one line; ``None`` where none is known, or none shall be kept."""
    said = caller_name.get()
    if said is None:
        said = os.environ.get(VARIABLE)
    if said is None:
        said = _of_system(root)
    kept = "".join(each for each in " ".join(said.split()) if each.isprintable())[:LONGEST].strip()
    return kept or None


@lru_cache(64)
def _of_system(root: Path) -> str:
    from catmem.workspace.git_program import run_git

    try:
        named = run_git("-C", os.fspath(root), "config", "user.name").stdout.strip()
    except OSError:
        named = ""  # there is no git
    if named:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""  # a process of a user without a name, as in a container
