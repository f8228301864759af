"""Counts of the audit log, kept in ``.catmem/counts.json`` with the place up to which they count.

The log forgets its oldest lines, and numbers that fell with every start of a server would look like news to whoever
watches them. The file may be lost at any time: then the log is counted again from its oldest line on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.policy.config import is_name
from catmem.service.counts import CONFLICTS, OTHER, Counts
from catmem.service.derived import read_derived, write_derived
from catmem.store.audit_line import STATUSES
from catmem.store.audit_reader import LogPlace

if TYPE_CHECKING:
    from pathlib import Path

NAME = "counts.json"
_FORMAT = 1
_LIMIT = 1 << 26
_MOST = 100_000
_ENTITY = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}/(user|memory)|other")


class Kept(NamedTuple):
    """What an earlier process counted, up to a place of the log."""

    place: LogPlace
    counts: Counts
    damaged: int


def write_kept(folder: Path, place: LogPlace, counts: Counts, damaged: int) -> None:
    """Keep counts in ``folder``, the sidecar of a root. Raises ``OSError``."""
    said = {"format": _FORMAT, "place": place._asdict(), "damaged": damaged, "counts": counts.kept()}
    write_derived(folder, NAME, said)


def read_kept(folder: Path) -> Kept | None:
    """What was kept there; ``None`` for nothing, and for what catmem did not write."""
    said: Any = read_derived(folder / NAME, _LIMIT)
    try:
        if said["format"] != _FORMAT:
            return None
        place = LogPlace(_number(said["place"]["offset"]), _number(said["place"]["line"]), str(said["place"]["digest"]))
        kept = Kept(place, Counts.from_kept(said["counts"]), _number(said["damaged"]))
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return None
    return kept if place.offset and _is_bounded(kept.counts) else None


def _is_bounded(counts: Counts) -> bool:
    """Whether all names are such as a configuration has, so that a file cannot put others into labels."""
    entities = {*counts.branches, *counts.heads, *(each[0] for each in (*counts.writes, *counts.conflicts))}
    agents = {agent for _, agent, _ in counts.writes}
    return (
        len(counts.writes) + len(counts.conflicts) + len(counts.branches) <= _MOST
        and all(_ENTITY.fullmatch(name) for name in entities)
        and all(is_name(name) for name in agents)
        and {status for *_, status in counts.writes} <= {*STATUSES, OTHER}
        and {*counts.reasons, *(reason for _, reason in counts.conflicts)} <= CONFLICTS
    )


def _number(value: Any) -> int:  # noqa: ANN401 - JSON data
    if type(value) is not int or value < 0:
        raise ValueError("not a number of something")
    return value
