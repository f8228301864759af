"""All that the files of a root hold: entry by entry, and as numbers of what is stale, unverified, drifted or unmerged."""

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
    """The entries of all profiles' files, hidden categories included; what could not be read; the digests of the files.

    Raises ``UnreadableError`` if the folder of profiles cannot be listed.
    """
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
    """How one entity stands.

    ``head`` is the number of its newest revision, 0 for none. ``entries`` are all that it has (an entity that
    catmem.yaml declares has none), of which so many are
    ``stale`` or ``expired`` by the limits of its own profile, or ``unverified``. ``drifted``: it has an
    external change that no write has taken in yet. ``unmerged`` are its open branches, ``waiting`` its proposals, of
    which the oldest waits for so many seconds (``waiting_for``, 0 for none).
    """

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
    """How a root stands.

    ``unreadable`` are the entities that could not be looked at: a file, a history or a profile is not right; nothing is
    known of those. ``begun`` is UTC, ``seconds`` how long the look took.
    """

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
    """Look over all entities of a root, with configuration and profiles as they are now.

    Raises ``ConfigError`` for a bad ``catmem.yaml``, ``UnreadableError`` if the folder of profiles cannot be listed.
    """
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
    """How many damages the stores of a root find in themselves; ``catmem fsck`` tells which.

    A store that cannot look at itself is one. Reads every byte of the histories, which takes its time. Raises as
    ``survey`` does.
    """
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
