"""All that the files of a root hold: entry by entry, and as numbers of what is stale, drifted or unmerged."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from catmem import clock
from catmem.config.profile import profile_names
from catmem.entities.contents import content_of
from catmem.errors import CatmemError
from catmem.names import TARGETS
from catmem.proposals.proposal import ProposalReader
from catmem.staleness.freshness import freshness
from catmem.store.contract import revision_number
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import load_each
from catmem.workspace.seen_entry import SeenEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.workspace.root import Root


E = TypeVar("E", bound=SeenEntry)


class SharedEntry(NamedTuple, Generic[E]):
    """An entry, and where else a file has the same words in the same category: seeded copies, as a rule."""

    entry: E
    copies: tuple[E, ...]

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data, with its ``entity`` and its ``copies``."""
        copies = [{"entity": each.entity, "line": each.line, "id": each.entry.id} for each in self.copies]
        return {"entity": self.entry.entity, **self.entry.to_dict(), "copies": copies}


def folded(entries: Iterable[E]) -> list[SharedEntry[E]]:
    """Each of the entries once, in the order in which they come."""
    groups: dict[tuple[str, str], list[E]] = {}
    for each in entries:
        groups.setdefault((each.entry.category, each.entry.body), []).append(each)
    return [SharedEntry(first, tuple(others)) for first, *others in groups.values()]


def list_everywhere(
    workspace: Root, *, target: str | None = None, category: str | None = None, as_of: date | None = None
) -> tuple[list[SeenEntry], list[CatmemError], dict[str, str]]:
    """The entries of all profiles' files, hidden ones too; what could not be read; the digests of the files."""
    profiles, unreadable = load_each(workspace)
    config, day = workspace.config, as_of or clock.today()
    wanted = None if category is None else config.taxonomy.category(category)
    found, digests = list[SeenEntry](), dict[str, str]()
    for profile in profiles:
        for each in TARGETS if target is None else (target,):
            try:
                document = read_document(workspace, profile, each)
            except CatmemError as error:
                unreadable.append(error)
                continue
            digests[f"{profile.name}/{each}"] = document.digest
            found += [
                SeenEntry(
                    f"{profile.name}/{each}",
                    document.line(entry.start),
                    entry,
                    freshness(entry, profile, config, as_of=day),
                )
                for entry in document.entries
                if wanted in {None, entry.category}
            ]
    return found, unreadable, digests


class Standing(NamedTuple):
    """How one entity stands; ``waiting_for`` is for how many seconds its oldest proposal waits."""

    entity: str
    head: int
    entries: int
    stale: int
    expired: int
    unverified: int
    drifted: bool
    unmerged: int
    waiting: int
    waiting_for: float


@dataclass(frozen=True, slots=True)
class Survey:
    """How a root stands; nothing is known of the entities that are ``unreadable``."""

    standings: tuple[Standing, ...]
    unreadable: tuple[str, ...]
    begun: datetime
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The survey as JSON-ready data."""
        return {
            "entities": [standing._asdict() for standing in self.standings],
            "unreadable": list(self.unreadable),
            "begun": self.begun.isoformat(),
            "seconds": round(self.seconds, 6),
        }


def survey(workspace: Root, *, as_of: date | None = None) -> Survey:
    """Look over all entities of a root, with configuration and profiles as they are now."""
    begun, started = clock.now(), time.perf_counter()
    day = clock.today() if as_of is None else as_of
    standings: list[Standing] = []
    unreadable: list[str] = []
    with workspace.anew() as now:
        profiles = {profile.name: profile for profile in load_each(now)[0]}
        names = profile_names(now.config.profiles_dir)
        for entity in (*(f"{name}/{target}" for name in names for target in TARGETS), *now.config.entities):
            try:
                standings.append(_standing(now, profiles, entity, day))
            except (CatmemError, OSError, KeyError):
                unreadable.append(entity)
    return Survey(tuple(standings), tuple(unreadable), begun, time.perf_counter() - started)


def damages(workspace: Root) -> int:
    """How many damages the stores find in themselves, by a look at every byte; one that cannot look is one."""
    with workspace.anew() as now:
        try:
            return sum(fault.damage for fault in now.store.verify())
        except (CatmemError, OSError):
            return 1


def _standing(workspace: Root, profiles: Mapping[str, Profile], entity: str, as_of: date) -> Standing:
    # The head comes first: what is read after it may be newer, and is no drift for that.
    tips = workspace.store.branches(entity)
    now = workspace.store.read(entity)
    states: Counter[str] = Counter()
    waiting: list[str] = []
    declared = workspace.config.entities.get(entity)
    if declared is None:
        profile, entries = profiles[entity.partition("/")[0]], workspace.parse(now.data).entries
        waiting = [each.timestamp for each in ProposalReader(workspace, entity).open() if each.is_open]
        states.update(freshness(entry, profile, workspace.config, as_of=as_of).state for entry in entries)
    else:
        content_of(declared, now.data)
    head = next((tip for tip in tips if not tip.is_branch), None)
    return Standing(
        entity=entity,
        head=0 if head is None else revision_number(head.revision),
        entries=states.total(),
        stale=states["stale"],
        expired=states["expired"],
        unverified=states["unverified"],
        drifted=head is not None and now.revision is None,
        unmerged=sum(tip.is_branch and not tip.is_proposal for tip in tips),
        waiting=len(waiting),
        waiting_for=(clock.now() - datetime.fromisoformat(min(waiting))).total_seconds() if waiting else 0,
    )
