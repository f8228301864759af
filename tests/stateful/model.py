"""What a store must do, as lists and dictionaries: the model that the real stores are held against."""

from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import NamedTuple

from catmem.digest import bytes_digest
from catmem.errors import DriftError, StaleError
from catmem.store.contract import OnDrift, OnStale


class Kept(NamedTuple):
    """One head. ``merges`` are its parents beside the head before; ``parents`` all of them, where those are others."""

    data: bytes
    outside: bool = False
    merges: tuple[str, ...] = ()
    parents: tuple[str, ...] | None = None


class Branch(NamedTuple):
    """One branch. ``after`` is the number of the head when it was made."""

    data: bytes
    parent: str
    after: int


class Allowed(NamedTuple):
    """The write may be made; the update is shown ``base``."""

    base: bytes | None


class Beside(NamedTuple):
    """The write becomes a branch of the revision ``parent``, of which ``data`` are the bytes."""

    parent: str
    data: bytes


@dataclass
class Entity:
    """One entity. ``there`` is what is in its file, ``None`` where there is none; of a store without files, the head."""

    revisions: list[Kept] = field(default_factory=list)
    branches: dict[str, Branch] = field(default_factory=dict)
    """By their names, in the order in which they were made."""
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

    @property
    def history(self) -> list[tuple[str, bytes, tuple[str, ...]]]:
        """Name, bytes and parents of every revision, the oldest first."""
        told: list[tuple[str, bytes, tuple[str, ...]]] = []
        for number in range(len(self.revisions) + 1):
            if number:
                kept = self.revisions[number - 1]
                before = (str(number - 1),) if number > 1 else ()
                parents = (*before, *kept.merges) if kept.parents is None else kept.parents
                told.append((str(number), kept.data, parents))
            for name, branch in self.branches.items():
                if branch.after == number:
                    told.append((name, branch.data, () if branch.parent == "0" else (branch.parent,)))
        return told

    @property
    def tips(self) -> list[str]:
        """The head, and the branches that nothing came from, the newest first."""
        followed = {parent for _, _, parents in self.history for parent in parents}
        newest_first = [name for name in reversed(self.branches) if name not in followed]
        return [*([self.head] if self.revisions else []), *newest_first]

    def bytes_of(self, revision: int | str) -> bytes:
        if str(revision) in self.branches:
            return self.branches[str(revision)].data
        return self.revisions[int(revision) - 1].data if int(revision) else b""

    def attempt(
        self, expected: str | None, on_drift: OnDrift, on_stale: OnStale = "refuse"
    ) -> Allowed | Beside | type[DriftError | StaleError]:
        """What becomes of a write by a caller who says ``expected``. An outsider's bytes are recorded whatever follows."""
        allowed = self._attempt(expected, on_drift)
        if isinstance(allowed, Allowed) or expected is None or on_stale == "refuse":
            return allowed
        if allowed is DriftError and on_drift == "refuse":
            return allowed
        seen = self.seen(expected)
        return allowed if seen is None else Beside(seen, self.bytes_of(seen))

    def _attempt(self, expected: str | None, on_drift: OnDrift) -> Allowed | type[DriftError | StaleError]:
        before = len(self.revisions)
        drifted = self.data != self.known
        if drifted:
            self.revisions.append(Kept(self.data, outside=True))
        # An outsider who removed or emptied the file wrote no text that could be lost.
        changed = drifted and before > 0 and bool(self.data)
        if changed and on_drift == "refuse":
            return DriftError
        if expected is None:
            # It has seen nothing of what outsiders wrote since the store's own last write, however long that is known.
            last = len(self.revisions)
            own = next((each for each in range(last, 0, -1) if not self.revisions[each - 1].outside), min(1, last))
            return Allowed(self.bytes_of(own) if own < last and self.data else None)
        if expected in (self.head, bytes_digest(self.data)):
            return Allowed(None)
        seen = None if expected == "0" else self.seen(expected)
        if seen is None:
            return self._refusal(0)
        if drifted and before and (self.bytes_of(seen) == self.data or (not changed and seen == str(before))):
            return Allowed(None)  # the outsider put back what the caller saw, or wrote nothing since
        after = self.branches[seen].after if seen in self.branches else int(seen)
        return Allowed(self.bytes_of(seen)) if on_drift == "merge" else self._refusal(after)

    def _refusal(self, seen: int) -> type[DriftError | StaleError]:
        return DriftError if any(each.outside for each in self.revisions[seen:]) else StaleError

    def seen(self, expected: str) -> str | None:
        """The newest recorded revision that is ``expected``; ``0`` is one for who says so, and no digest's."""
        if expected == "0":
            return "0"
        return next((name for name, data, _ in reversed(self.history) if expected in (name, bytes_digest(data))), None)

    def write(self, data: bytes, merges: tuple[str, ...] = ()) -> None:
        """A write of the store's own."""
        if data != self.data or merges:
            self.revisions.append(Kept(data, merges=merges))
            self.there = data if data != self.data else self.there

    def branch(self, beside: Beside, data: bytes) -> str:
        """Keep a write beside the head, and say under which name. One that changes nothing is not kept."""
        if data == beside.data:
            return beside.parent
        # However far branches grow on branches, a name is at most one ahead of the head's.
        number = min(int(beside.parent.rstrip(ascii_lowercase)), int(self.head)) + 1
        letters = (f"{number}{first}{second}" for first in ("", *ascii_lowercase) for second in ascii_lowercase)
        name = next(name for name in letters if name not in self.branches)
        self.branches[name] = Branch(data, beside.parent, len(self.revisions))
        return name
