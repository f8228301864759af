"""Profiles that are not right, as a watch tells of them: what they say decides where files are, and who may hear."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from catmem.service.profiles import broken_profiles, profile_files
from catmem.service.watching.news import News

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from catmem.service.workspace import Workspace


class _Mark(NamedTuple):
    """What shows that a file may say something else."""

    inode: int
    size: int
    modified: int
    changed: int
    """Both in nanoseconds."""


@dataclass(slots=True)
class Broken:
    """The profiles that were not right when they were last looked at, with what was wrong with each."""

    said: dict[str, str] = field(default_factory=dict)
    _marks: Mapping[Path, _Mark | None] | None = None

    def forget(self) -> None:
        """Have the next look read the profiles again: another configuration may find other faults in them."""
        self._marks = None

    def look(self, workspace: Workspace) -> Iterator[News]:
        """What is new: a profile that is not right, or not right in another way, is trouble, which is told once.

        Raises ``UnreadableError`` if the folder of profiles cannot be listed.
        """
        marks = {file: _mark(file) for file in profile_files(workspace.config.profiles_dir)}
        if marks == self._marks:
            return
        broken = broken_profiles(workspace)
        self._marks = marks  # as they were before: who writes meanwhile has them read again
        before, self.said = self.said, {name: str(error) for name, error in broken.items()}
        yield from (News("recovered", None, profile=name) for name in before if name not in broken)
        for name, error in broken.items():
            if before.get(name) != self.said[name]:
                yield News("trouble", None, error=error, profile=name)


def _mark(file: Path) -> _Mark | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - many
    except OSError:
        return None  # gone, or a link to nowhere: reading says which
    return _Mark(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
