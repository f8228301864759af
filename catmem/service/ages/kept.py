"""What was worked out of a history, kept in ``.catmem/ages.json`` beside the files, so that it is worked out once.

It is only a shortcut: without it, or with one that is not right, everything is worked out again. It holds digests of
bodies and moments, no texts.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from catmem.service.ages.gone import Known, Moment
from catmem.service.ages.history import FirstSeen, Seen
from catmem.service.derived import read_derived, write_derived
from catmem.store.files.folder import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from catmem.model.document import Document

NAME = "ages.json"

WORTH = 1_000_000
"""Bytes of revisions; what was looked at up to there is looked at again sooner than it is kept."""

_FORMAT = 2
_LIMIT = 1 << 26


def read_kept(path: Path, parse: Callable[[bytes], Document]) -> FirstSeen:
    """What was kept of the file at ``path``; new where nothing was, or nothing that can be used."""
    kept = FirstSeen(parse)
    said: Any = _files(path.parent / SIDECAR / NAME).get(path.name)
    try:
        times = [_moment(*each) for each in said["times"]]
        places = [frozenset(map(str, each)) for each in said["places"]]
        known = {str(key): Known(times[index], places[place]) for key, (index, place) in said["seen"].items()}
        sequence, op_id, revision = said["last"]
        kept.last = Seen(int(sequence), str(op_id), str(revision))
    except (TypeError, KeyError, IndexError, ValueError, AttributeError, OverflowError):
        return FirstSeen(parse)  # nothing was kept, or somebody else's data stands there
    kept.bring(known)
    return kept


def keep(path: Path, ages: FirstSeen) -> None:
    """Keep what was worked out of the file at ``path``, if that was much work. Nothing is kept where it cannot be."""
    side = path.parent / SIDECAR
    if ages.looked_at < WORTH or ages.last is None or not side.is_dir():
        return
    known = ages.all()
    times = list(dict.fromkeys(each.moment for each in known.values()))
    index = {moment: number for number, moment in enumerate(times)}
    places = list(dict.fromkeys(each.categories for each in known.values()))
    place = {categories: number for number, categories in enumerate(places)}
    own = {
        "last": ages.last,
        "times": times,
        "places": [sorted(categories) for categories in places],
        "seen": {key: [index[each.moment], place[each.categories]] for key, each in known.items()},
    }
    value = {"format": _FORMAT, "files": _files(side / NAME) | {path.name: own}}
    # Reading must not fail because a shortcut cannot be written: a folder may be read-only, or the disk full.
    with suppress(OSError):
        write_derived(side, NAME, value)
        ages.looked_at = 0


def forget(path: Path) -> bool:
    """Remove what is kept of the folder of the file at ``path``; whether there was anything.

    For a purge: digests of what it erases may be in it, and it is worked out again. Raises ``OSError``.
    """
    kept = path.parent / SIDECAR / NAME
    try:
        kept.unlink()
    except FileNotFoundError:
        return False
    return True


def _files(path: Path) -> dict[str, Any]:
    found = read_derived(path, _LIMIT)
    fits = isinstance(found, dict) and found.get("format") == _FORMAT and isinstance(found.get("files"), dict)
    return found["files"] if fits else {}


def _moment(basis: Any, time: Any) -> Moment:  # noqa: ANN401 - JSON data
    if basis not in {"first_seen", "file_time"} or not isinstance(time, str):
        raise ValueError("no moment")
    return Moment(basis, time)
