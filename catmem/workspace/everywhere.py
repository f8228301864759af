"""All that the files of a root hold, for a person: what several of them have word for word stands there once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from catmem import clock
from catmem.errors import CatmemError
from catmem.names import TARGETS
from catmem.staleness.freshness import freshness
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import load_each
from catmem.workspace.seen_entry import SeenEntry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

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
