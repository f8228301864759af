"""Make a root: the files of ``catmem init``.

No file that exists is ever changed, but for lines added to a ``.gitignore``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.errors import UnreadableError, WouldOverwriteError
from catmem.files import os_errors, read_bounded
from catmem.resources import example_files, profile_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

_IGNORED = (".catmem/", "*.bak.*")
_GITIGNORE_LIMIT = 1 << 20

_CONFIG = b"""\
# The root of an agent memory. Every key is optional; docs/schemas.md lists them all.
version: 1
profiles: profiles              # one YAML file a profile
homes: homes                    # homes/<profile>/USER.md and MEMORY.md
taxonomy:
  # Closed: a slip in a section header opens a category that nobody reads, instead of one that a pattern may pick.
  # A new category is a line below.
  closed: true
  categories:
    communication-style: {title: Communication Style}
    working-relationship: {title: Working Relationship}
    workflow-rules: {title: Workflow Rules}
    projects: {title: Projects}
"""

_USER = b"""\
# About the user

## Communication Style
"""

_STARTERS = ("orchestrator",)


@dataclass(frozen=True, slots=True)
class Made:
    """What ``make_root`` did: paths relative to the root."""

    root: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that were there already, with the same content."""


def make_root(folder: str | Path, *, example: bool = False) -> Made:
    """Write a configuration, profiles and a memory file into ``folder``, which is made if it is missing.

    With ``example`` they are those of the worked example. Raises ``WouldOverwriteError``, and ``UnreadableError``
    (``not_writable``, ``not_a_file``, ``symlink`` for a linked folder in ``folder``, …).
    """
    root = Path(folder)
    files = {f"profiles/{name}.yaml": text.encode() for name, text in profile_texts().items()}
    if example:
        files |= example_files()
    else:
        files = {name: data for name, data in files.items() if Path(name).stem in _STARTERS}
        files |= {"catmem.yaml": _CONFIG, "homes/orchestrator/USER.md": _USER}
    files = dict(sorted(files.items()))
    _refuse_linked_folders(root, files)
    kept = [name for name, data in files.items() if _is_there(root / name, data)]
    in_the_way = [name for name in files if name not in kept and os.path.lexists(root / name)]
    if in_the_way:
        raise WouldOverwriteError(root, in_the_way)
    ignored = root / ".gitignore"
    to_ignore = _to_ignore(ignored)
    written = [name for name in files if name not in kept]
    with os_errors(
        "cannot be written",
        path=root,
        hint="Choose a folder that this user may write. What was written before stays; running it again goes on.",
        named=True,
    ):
        for name in written:
            _create(root / name, files[name])
        if to_ignore:
            with ignored.open("a", encoding="utf-8", newline="") as stream:
                stream.write(to_ignore)
            written.append(ignored.name)
    return Made(root, tuple(written), tuple(kept))


def _refuse_linked_folders(root: Path, files: Iterable[str]) -> None:
    """The root may come from somebody else, and nothing outside it is to be written."""
    for name in files:
        for folder in reversed(Path(name).parents[:-1]):
            if (root / folder).is_symlink():
                raise UnreadableError(
                    "is a symbolic link, and a new root is not written through links",
                    code="symlink",
                    path=root / folder,
                    hint="Nothing was written. Put a folder there, or move the link away.",
                )


def _is_there(path: Path, data: bytes) -> bool:
    return os.path.lexists(path) and path.is_file() and read_bounded(path, max(len(data), path.stat().st_size)) == data


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        stream.write(data)


def _to_ignore(path: Path) -> str:
    """What to add to a ``.gitignore``, so that git leaves out what is not for committing: journals and backups."""
    present = ""
    if os.path.lexists(path):
        try:
            # Git follows no link here, and nothing outside the folder is to be written.
            present = read_bounded(path, _GITIGNORE_LIMIT, follow_symlink=False).decode(errors="replace")
        except UnreadableError as error:
            error.hint = "Nothing was written. Put a file there, or move away what is there."
            raise
    lines = {line.rstrip() for line in present.split("\n")}
    missing = [line for line in _IGNORED if line not in lines]
    start = "\n" if missing and present and not present.endswith("\n") else ""
    return start + "".join(f"{line}\n" for line in missing)
