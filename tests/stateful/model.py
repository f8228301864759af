"""What a store must do, as lists and dictionaries: the model that the real stores are held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import bytes_digest
from catmem.errors import DriftError, StaleError

if TYPE_CHECKING:
    from catmem.store.contract import OnDrift


class Kept(NamedTuple):
    """One revision."""

    data: bytes
    outside: bool = False


class Allowed(NamedTuple):
    """The write may be made; the update is shown ``base``."""

    base: bytes | None


@dataclass
class Entity:
    """One entity. ``there`` is what is in its file, ``None`` where there is none; of a store without files, the head."""

    revisions: list[Kept] = field(default_factory=list)
    there: bytes | None = None

    @property
    def data(self) -> bytes:
        return self.there or b""

    @property
    def known(self) -> bytes:
        """What was recorded last."""
        return self.revisions[-1].data if self.revisions else b""

    @property
    def head(self) -> str:
        return str(len(self.revisions))

    @property
    def read_as(self) -> str | None:
        """The revision that a read must name."""
        if self.data != self.known or (self.there is not None and not self.revisions):
            return None
        return self.head

    def bytes_of(self, revision: int) -> bytes:
        return self.revisions[revision - 1].data if revision else b""

    def attempt(self, expected: str | None, on_drift: OnDrift) -> Allowed | type[DriftError | StaleError]:
        """What becomes of a write by a caller who says ``expected``. An outsider's bytes are recorded whatever follows."""
        before = len(self.revisions)
        drifted = self.data != self.known
        if drifted:
            self.revisions.append(Kept(self.data, outside=True))
        # An outsider who removed or emptied the file wrote no text that could be lost.
        changed = drifted and before > 0 and bool(self.data)
        if changed and on_drift == "refuse":
            return DriftError
        if expected is None:
            return Allowed(self.bytes_of(before) if changed else None)
        if expected in (self.head, bytes_digest(self.data)):
            return Allowed(None)
        seen = self.seen(expected)
        if seen is None:
            return self._refusal(0)
        if drifted and before and (self.bytes_of(seen) == self.data or (not changed and seen == before)):
            return Allowed(None)  # the outsider put back what the caller saw, or wrote nothing since
        return Allowed(self.bytes_of(seen)) if on_drift == "merge" else self._refusal(seen)

    def _refusal(self, seen: int) -> type[DriftError | StaleError]:
        return DriftError if any(each.outside for each in self.revisions[seen:]) else StaleError

    def seen(self, expected: str) -> int | None:
        """The number of the newest recorded revision that is ``expected``."""
        for number in range(len(self.revisions), 0, -1):
            if expected in (str(number), bytes_digest(self.bytes_of(number))):
                return number
        return None

    def write(self, data: bytes) -> None:
        """A write of the store's own."""
        if data != self.data:
            self.revisions.append(Kept(data))
            self.there = data
