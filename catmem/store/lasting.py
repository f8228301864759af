"""What a store that lasts can do besides the contract: be looked after, and forget.

The types that go in and out of it are here, beside no store in particular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, runtime_checkable

from catmem.store.contract import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SIDECAR = ".catmem"
"""The folder beside memory files, and in a root, for what is kept besides them."""

Kind: TypeAlias = Literal["backup", "moved", "retired", "left", "aside", "torn", "stray"]
"""A ``backup`` of the file; what a repair ``moved`` out of it; a file ``retired`` from its place, or a copy of rows;
something ``left`` by a process that was stopped; part of a journal that was moved ``aside``; a ``torn`` line of the
journal; a ``stray`` file that the store did not make."""


class Kept(NamedTuple):
    """One text that lies at ``path``, which may hold several.

    ``file`` is the name of the memory file that it is of (in a database, of the entity), ``None`` where that is not
    known. ``whole`` is false where the file cannot be read to its end, so that nobody can tell what else is in it.
    """

    path: Path
    data: bytes
    kind: Kind
    file: str | None
    whole: bool = True


Redact: TypeAlias = Callable[[bytes], bytes]
"""Gives the bytes without what is to be forgotten; the same bytes if it is not in them."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be erased: from revisions and backups, from a file beside with no form, and which texts hold it."""

    redact: Redact
    redact_moved: Redact
    holds: Callable[[Kept], bool]

    @classmethod
    def of(cls, redact: Redact) -> Erasure:
        """One that treats all bytes alike."""
        return cls(redact, redact, lambda each: redact(each.data) != each.data)


class Left(NamedTuple):
    """A file that holds what is to be forgotten, or may, and why it was left."""

    path: Path
    why: str


class Erased(NamedTuple):
    """How many revisions of the history were rewritten, and which files beside it; which were removed, or left."""

    revisions: int
    rewritten: tuple[Path, ...]
    removed: tuple[Path, ...]
    left: tuple[Left, ...]


class Anchor(TypedDict):
    """The end of a history, small enough to be kept elsewhere: only that reveals a rollback of the whole tail."""

    store: str
    sequence: int
    line: str


class Feature(NamedTuple):
    """One thing that the store makes use of: whether it is there, and what that means for a write."""

    name: str
    there: bool
    means: str

    def to_dict(self) -> dict[str, Any]:
        """The feature as JSON-ready data."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What a folder of memory files, or a database, gives a store.

    ``file_system`` may be the database's name and version. ``records`` counts those of the history, ``note`` says why
    it cannot be used.
    """

    path: str
    file_system: str
    features: tuple[Feature, ...]
    store: bool
    records: int | None
    note: str | None

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "path": self.path,
            "file_system": self.file_system,
            "features": [feature.to_dict() for feature in self.features],
            "store": self.store,
            "records": self.records,
            "note": self.note,
        }


@runtime_checkable
class LastingStore(Store, Protocol):
    """A store that outlives its process."""

    def examine(self) -> Sequence[FolderReport]:
        """Try what the store makes use of, wherever it keeps entities; nothing is left behind."""
        ...

    def history_place(self, entity: str) -> Path:
        """Where the history of an entity is, for a person."""
        ...

    def kept_name(self, entity: str) -> str:
        """What ``Kept.file`` calls an entity."""
        return entity

    def mend(self) -> list[str]:
        """Mend what is safe to mend; says what was done."""
        ...

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        """The ends of all histories, each with the folder or name that it stands for."""
        ...

    def holds(self, anchor: Anchor) -> bool:
        """Whether the store still holds the record that an anchor names. Raises ``UnknownRevisionError``."""
        ...

    def backup(self, entity: str) -> Path:
        """Keep a copy of the entity as it is now, and say where."""
        ...

    def kept(self, entity: str) -> Iterator[Kept]:
        """Every text that is kept of an entity besides its head and its history."""
        ...

    def erase(self, entity: str, erasure: Erasure | Redact) -> Erased:
        """Erase from all that is kept of an entity, once the entity itself no longer has it."""
        ...
