"""Who may go on: what becomes of a write, by what its caller saw, what is there now, and who wrote in between.

Every store asks the same question at the same moment, under its lock and before the caller's update is made; here is
the one answer. See ``Store.commit``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from catmem.digest import bytes_digest
from catmem.store.contract import sees

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.store.contract import Change


class Point(NamedTuple):
    """A revision in the record: its id, the digest of its bytes, and its place in the order of records."""

    revision: str
    digest: str
    sequence: int


NOTHING = Point("0", bytes_digest(b""), 0)
"""What somebody saw who looked before there was anything."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a store knows of an entity when somebody wants to write it.

    ``before`` is the head before this commit found an outsider's text, ``adopted`` says whether it recorded one, and
    ``has_text`` whether anything is there now. ``seen`` finds what a caller saw who says a revision or a digest:
    ``None`` for a digest that no record has. ``outsider_since`` says whether an outsider wrote after a point.
    """

    now: Point
    before: Point | None
    adopted: bool
    has_text: bool
    seen: Callable[[str], Point | None]
    outsider_since: Callable[[Point], bool]


class Verdict(NamedTuple):
    """What becomes of a write.

    ``go_on`` works on what is there; with a ``point`` that is what the caller could know at best, and the update
    refuses what touches the difference. ``branch`` works on the ``point``, beside the head. ``stale`` and ``drift``
    are refusals: catmem wrote in between, or somebody else did.
    """

    kind: Literal["go_on", "branch", "stale", "drift"]
    point: Point | None = None


def judge(expected: str | None, change: Change, ground: Ground) -> Verdict:  # noqa: PLR0911 - one answer each
    """The verdict on a write that was made on ``expected``: a revision, a digest, ``None`` for no view at all.

    A revision has to be in the record; that of a revision nobody can have seen is refused before.
    """
    # A missing or emptied file is nobody's new text.
    changed = ground.before is not None and ground.has_text
    if changed and change.on_drift == "refuse":
        return Verdict("drift")
    if expected is None:
        return Verdict("go_on", ground.before if changed else None)
    if sees(expected, ground.now.revision, ground.now.digest):
        return Verdict("go_on")
    seen = NOTHING if expected == "0" else ground.seen(expected)
    if seen is None:
        # When that text was there nobody can tell, so only what this commit found itself counts.
        return Verdict("drift" if ground.adopted else "stale")
    # Who says 0 says that nobody ever wrote, and that does not come back.
    before = None if seen is NOTHING else ground.before
    if before is not None and _is_as_good(seen, before, ground.now, changed=changed):
        return Verdict("go_on")
    if change.on_drift == "merge":
        return Verdict("go_on", seen)
    drifted = ground.outsider_since(seen)
    if change.on_stale == "branch" and not (drifted and change.on_drift == "refuse"):
        return Verdict("branch", seen)
    return Verdict("drift" if drifted else "stale")


def _is_as_good(seen: Point, before: Point, now: Point, *, changed: bool) -> bool:
    """Whether what the caller saw is as good as what is there, though an outsider touched it since.

    It is the newest of catmem's own and was only taken away, or the outsider put back what the caller saw.
    """
    return (not changed and seen.revision == before.revision) or seen.digest == now.digest
