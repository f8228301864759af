"""How long the prompts of a root are, profile by profile. Each file is read and parsed once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.names import TARGETS
from catmem.policy.sizes import Sizes, Whole, measure, total
from catmem.service.fleet import documents_of
from catmem.service.profiles import load_each

if TYPE_CHECKING:
    from datetime import date

    from catmem.errors import CatmemError
    from catmem.policy.profile import Profile
    from catmem.service.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Measured:
    """The prompt of one profile from the files of ``owner``; ``missing`` names the targets that have no file."""

    profile: str
    tier: int
    style: str
    owner: str
    missing: tuple[str, ...]
    sizes: Sizes

    def to_dict(self) -> dict[str, Any]:
        """The measures as JSON-ready data."""
        return {
            "profile": self.profile,
            "tier": self.tier,
            "style": self.style,
            "owner": self.owner,
            "missing": list(self.missing),
            **self.sizes.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Stats:
    """The prompts of some profiles by tier and name. ``problems`` are the profiles and files that are left out."""

    as_of: date
    source: str | None
    profiles: tuple[Measured, ...]
    problems: tuple[CatmemError, ...]

    @property
    def total(self) -> Sizes:
        """All of them together."""
        return total(measured.sizes for measured in self.profiles)

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON-ready data."""
        return {
            "as_of": self.as_of.isoformat(),
            "source": self.source,
            "profiles": [measured.to_dict() for measured in self.profiles],
            "total": self.total.to_dict(),
            "problems": [problem.to_dict() for problem in self.problems],
        }


def read_stats(
    workspace: Workspace, names: tuple[str, ...] = (), *, source: str | None = None, as_of: date | None = None
) -> Stats:
    """The sizes of the prompts of all profiles, or of those named, from their own files or from those of ``source``.

    A profile whose files cannot all be read is left out and named among the problems: half a file is no measure. Raises
    ``UnknownNameError`` and ``ConfigError`` for a profile that is named and not right, and ``UnreadableError`` for the
    files of ``source``.
    """
    day = as_of or clock.today()
    profiles, problems = ([workspace.profile(name) for name in names], []) if names else load_each(workspace)
    given = None if source is None else workspace.profile(source)
    shared = None
    if given is not None:
        shared, wrong = _whole(workspace, given)
        if shared is None:
            raise wrong[0]
    measured: dict[str, Measured] = {}
    for profile in sorted(profiles, key=lambda each: (each.tier, each.name)):
        owner, whole = given or profile, shared
        if whole is None:
            whole, wrong = _whole(workspace, owner)
            problems += wrong
        if whole is not None:
            measured[profile.name] = _measured(workspace, profile, owner, whole, day)
    return Stats(day, source, tuple(measured.values()), tuple(problems))


def _measured(workspace: Workspace, profile: Profile, owner: Profile, whole: Whole, day: date) -> Measured:
    return Measured(
        profile=profile.name,
        tier=profile.tier,
        style=profile.prompt.style,
        owner=owner.name,
        missing=tuple(
            target
            for target in TARGETS
            # A store of another kind keeps no file in the folder.
            if not (whole.documents[target].text or os.path.lexists(workspace.path(owner.name, target)))
        ),
        sizes=measure(whole, profile, owner, as_of=day, config=workspace.config),
    )


def _whole(workspace: Workspace, owner: Profile) -> tuple[Whole | None, list[CatmemError]]:
    documents, problems = documents_of(workspace, owner.name)
    return (None, problems) if problems else (Whole(documents), problems)
