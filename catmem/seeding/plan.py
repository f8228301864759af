"""What a seed would do, and what it did, as values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.seeding.slices import conflict_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from catmem.errors import CatmemError
    from catmem.model.version import Version
    from catmem.seeding.seed_lock import SeedLock
    from catmem.seeding.slices import FilePlan, Parts, Resolve
    from catmem.store.contract import Snapshot


OVER = "over the limit"
"""How the reason of an entry begins that a seed leaves out to fit."""


class SeedRequest(NamedTuple):
    """What was asked for, so that a plan can be made again. ``categories`` are slugs, ``None`` for all."""

    source: str
    targets: tuple[str, ...]
    only: str | None
    as_of: date
    resolve: Resolve | None
    actor: str | None
    categories: tuple[str, ...] | None = None
    fit: bool = False
    replace_cloned: bool = False


class SeedRefusal(NamedTuple):
    """A file that was not seeded, or would not be, and why."""

    target: str
    error: CatmemError


@dataclass(frozen=True, slots=True)
class SeedPlan:
    """What a seed would do: one plan for each file, in the order of the targets, and the files that it must not touch.

    ``warnings`` are the ``notes`` that are about files; ``starved``: no entry of a file of the source has a category.
    ``unreadable`` is what is wrong with profiles that may be targets too, where the targets were not named. ``clocks``
    say by target and by the key of their words how old entries without a date of their own are; with them stands what
    the plan was made of.
    """

    asked: SeedRequest = field(repr=False)
    files: tuple[FilePlan, ...]
    refused: tuple[SeedRefusal, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    starved: bool
    parts: Mapping[str, Parts] = field(repr=False, compare=False)
    lock_data: bytes = field(repr=False, compare=False)
    lock: SeedLock = field(repr=False, compare=False)
    read: Mapping[str, Snapshot] = field(repr=False, compare=False)
    clocks: Mapping[str, Mapping[str, list[str]]] = field(repr=False, compare=False)
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The profiles that are to be seeded."""
        return self.asked.targets

    @property
    def changes(self) -> bool:
        """Whether any file would change."""
        return any(each.changes for each in self.files)

    @property
    def in_sync(self) -> bool:
        """Whether there is nothing to do, nothing refused, no open conflict, and a whole lock."""
        whole = not (self.lock.notes or self.unreadable or self.starved)
        return whole and not (self.changes or self.refused or any(each.conflicts for each in self.files))

    @property
    def exit_status(self) -> int:
        """What the command line returns after it: that of the worst refusal; 3 for an open conflict."""
        return _exit_status(self.files, self.refused, self.unreadable)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON-ready data."""
        return {
            "source": self.asked.source,
            "as_of": self.asked.as_of.isoformat(),
            "in_sync": self.in_sync,
            "files": [_file_dict(each) for each in self.files],
            **_rest_dict(self),
        }


class SeededFile(NamedTuple):
    """What a seed did to one file. ``revision`` is the new one, ``None`` where nothing was to write."""

    plan: FilePlan
    revision: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What a seed did, file by file, in the order of the targets. ``unreadable`` as in the plan."""

    source: str
    files: tuple[SeededFile, ...]
    refused: tuple[SeedRefusal, ...]
    notes: tuple[str, ...]
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def exit_status(self) -> int:
        """What the command line returns: that of the worst refusal; 3 for an open conflict."""
        return _exit_status((each.plan for each in self.files), self.refused, self.unreadable)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        return {
            "source": self.source,
            "files": [
                {**_file_dict(each.plan), "revision": each.revision, "notes": list(each.notes)} for each in self.files
            ],
            **_rest_dict(self),
        }


def _file_dict(plan: FilePlan) -> dict[str, Any]:
    return {
        "target": plan.target,
        "source": plan.source,
        "changes": plan.changes,
        "counts": dict(sorted(Counter(row.state for row in plan.rows).items())),
        "entries": [{"state": row.state, **_version_dict(row.version)} for row in plan.rows],
        "conflicts": [
            {
                "id": conflict_id(plan.target, conflict),
                "reason": conflict.reason,
                "base": _version_dict(conflict.base),
                "target": _version_dict(conflict.ours),
                "source": _version_dict(conflict.theirs),
            }
            for conflict in plan.conflicts
        ],
        "withheld": [
            {
                "category": each.version.category,
                "id": each.id,
                "reason": each.withheld,
                "body": None if each.is_hostile else each.version.body,
            }
            for each in plan.withheld
        ],
    }


def _version_dict(version: Version | None) -> dict[str, Any]:
    return {} if version is None else {name: getattr(version, name) for name in ("category", "id", "body", "tags")}


def _rest_dict(seed: SeedPlan | SeedResult) -> dict[str, Any]:
    return {
        "refused": [{"target": each.target, "error": each.error.to_dict()} for each in seed.refused],
        "unreadable": [error.to_dict() for error in seed.unreadable],
        "notes": list(seed.notes),
    }


def _exit_status(files: Iterable[FilePlan], refused: Iterable[SeedRefusal], unreadable: Iterable[CatmemError]) -> int:
    open_conflict = 3 if any(each.conflicts for each in files) else 0
    errors = [*(each.error for each in refused), *unreadable]
    return max([open_conflict, *(error.exit_status for error in errors)])
