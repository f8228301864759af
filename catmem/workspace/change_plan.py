"""One plan for all that changes whole files: what becomes of each, what to know of it, and what is refused.

::

    fmt, migrate, sort, lint --fix, seed, import --snapshot, fsck --repair
            └── ChangePlan ── shown, or ── apply ──> ChangePlan, done

A change that is refused leaves its file as it was, and does not stop the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.files import real_path, rewrite_file, shown_path
from catmem.jsonable import jsonable
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.retention import keep_copy
from catmem.workspace.root import Root
from catmem.workspace.stores import store_of_file
from catmem.writing import gate
from catmem.writing.written import notes_on


class RefusedChange(NamedTuple):
    """A file that was not changed, or would not be, and why."""

    name: str
    error: CatmemError


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What becomes of ``files``, also of those that stay as they are, or became of them (``done``).

    Each has a ``name``, as people know it, and says whether it ``changes``. ``notes`` are about all of them.
    """

    files: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    refused: tuple[RefusedChange, ...] = ()
    done: bool = False

    @property
    def changed(self) -> list[Any]:
        """The changes of files that are other ones then."""
        return [each for each in self.files if each.changes]

    @property
    def changes(self) -> bool:
        """Whether any file would change."""
        return bool(self.changed)

    @property
    def errors(self) -> list[CatmemError]:
        """Why files are refused."""
        return [each.error for each in self.refused]

    @property
    def exit_status(self) -> int:
        """What the command line returns after it: the worst status of what is refused."""
        return max((error.exit_status for error in self.errors), default=0)

    def __json__(self) -> dict[str, Any]:
        files = [{**jsonable(each), "written": self.done and each.changes} for each in self.files]
        return {"files": files, "notes": self.notes, "refused": self.refused, "written": self.done and self.changes}


P = TypeVar("P", bound=ChangePlan)


def apply(plan: P, write: Callable[[Any], Any], *, at_once: int = 1) -> P:
    """Carry out a plan: ``write`` each change, ``at_once`` so many. What it refuses stands in the plan that is done."""

    def tried(change: Any) -> Any:  # noqa: ANN401 - the change, or why it is refused
        try:
            return write(change) if change.changes else change
        except CatmemError as error:
            return RefusedChange(change.name, error)

    # Most of a write is waiting for the disk, which confirms several at once as fast as one.
    with ThreadPoolExecutor(at_once) as pool:
        try:
            # Each thread acts for the same person, and on the same reading of the profiles.
            contexts = [copy_context() for _ in plan.files]
            made = list(pool.map(lambda context, change: context.run(tried, change), contexts, plan.files))
        finally:
            pool.shutdown(cancel_futures=True)
    refused = [each for each in made if isinstance(each, RefusedChange)]
    done = tuple(each for each in made if not isinstance(each, RefusedChange))
    return replace(plan, files=done, refused=(*plan.refused, *refused), done=True)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The text of one file before and after. ``entity`` is the profile's entity that it is, ``None`` for any other.

    ``about`` is what its maker knows of the entries. Of one that was written ``revision`` is the new one and
    ``restore`` the one before, where it is an entity; else ``backup`` is the copy of what it was, if one is kept.
    ``notes`` tell what else the store did.
    """

    path: Path | None
    entity: str | None
    old: bytes
    new: bytes
    warnings: tuple[str, ...] = ()
    about: Any = None
    revision: str | None = None
    restore: str | None = None
    backup: Path | None = None
    notes: tuple[str, ...] = ()
    __json__ = "path=name entity changed=changes revision restore backup *about warnings notes"

    @property
    def name(self) -> str:
        """The file as people know it."""
        return shown_path(self.path) if self.path is not None else str(self.entity)

    @property
    def changes(self) -> bool:
        """Whether there is something to write."""
        return self.old != self.new

    @property
    def before(self) -> str:
        """The text before; of bytes that are none escapes."""
        return self.old.decode(errors="backslashreplace")

    @property
    def after(self) -> str:
        """The text afterwards."""
        return self.new.decode(errors="backslashreplace")


def write_file(
    workspace: Root, file: FileChange, change: Change, *, expected: str | None = None, keeps_copy: bool = False
) -> FileChange:
    """Write the new text of a file, if it is another one; ``expected`` is what was read, by default the text before."""
    if not file.changes:
        return file
    old, new = file.old, file.new
    if file.entity is not None:
        store = workspace.store
        done = gate.commit(workspace, file.entity, expected or bytes_digest(old), lambda _: new, change)
        made = next(each for each in store.log(file.entity) if each.revision == done.revision)
        # That the first text is in the history by now is said by what takes the write back.
        notes = () if done.adopted == "1" else notes_on(done)
        return replace(file, revision=made.revision, restore=next(iter(made.parents), None), notes=notes)
    if file.path is None:
        raise TypeError("a file of no entity has a path")
    backup = keep_copy(file.path, old) if keeps_copy else None
    if has_journal(file.path):
        with closing(store_of_file(workspace.config, file.path)) as store:
            store.commit(str(file.path), bytes_digest(old), lambda _: new, change)
    else:
        rewrite_file(file.path, old, new)
    return replace(file, backup=backup)


def has_journal(path: Path) -> bool:
    """Whether a file lies in a folder that a store has used before. A root keeps other things in ``.catmem`` too."""
    return os.path.lexists(real_path(path).parent / SIDECAR / "journal")
