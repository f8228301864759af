"""How often an agent was shown an entry by a search, and when last: in the sidecar, never in the memory file.

``usage.json`` lies in ``.catmem`` beside the file, once the store has made that, and beside it ``usage.log``
(``usage_log.py``), to which each search adds a line: what is known is both together. They hold days, counts and digests
of bodies, and no text. They are a convenience: without them, or where they cannot be written, everything works, and
what is damaged is begun anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.digest import content_digest
from catmem.policy.staleness import read_date
from catmem.service.searching.usage_log import (
    FILE_FLAGS,
    LOG_NAME,
    Line,
    Log,
    append,
    begin,
    drop_unfinished,
    mark_of,
    put,
    read_log,
)
from catmem.service.stores import locate
from catmem.store.lasting import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date
    from pathlib import Path

    from catmem.model.document import Document, Entry
    from catmem.service.workspace import Workspace

USAGE_NAME = "usage.json"

_VERSION = 1
_LARGEST = 16 << 20
_MOST_TIMES = 1 << 40
_TRIES, _WAIT = 100, 0.01
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Use(NamedTuple):
    """How an entry was used: on which day last, and how many times."""

    last: date
    times: int

    def to_dict(self) -> dict[str, Any]:
        """The use as JSON-ready data."""
        return {"last": self.last.isoformat(), "times": self.times}


class Usage(NamedTuple):
    """The uses of an entity's entries by ``usage_key``, and why nothing is known of those before, if so."""

    uses: dict[str, Use]
    note: str | None = None


def usage_key(entry: Entry) -> str:
    """What usage knows an entry by: a digest of its body, so that new tags and another category change nothing."""
    return content_digest(entry.body)


def usage_of(workspace: Workspace, entity: str) -> Mapping[str, Use]:
    """How the entries of an entity were used, by ``usage_key``; those that never were are left out."""
    return read_usage(workspace, entity).uses


def read_usage(workspace: Workspace, entity: str) -> Usage:
    """What is known of an entity. Never fails: what cannot be read is nothing, with a note."""
    try:
        with _sidecar(_path_of(workspace, entity)) as folder:
            return _read(folder).of(entity)
    except FileNotFoundError:
        return Usage({})
    except OSError as error:
        return Usage({}, _cannot("read", entity, error))


def count_used(  # noqa: PLR0913 - what was shown of what, when, and where that is
    workspace: Workspace,
    entity: str,
    shown: Iterable[Entry],
    document: Document,
    day: date,
    *,
    path: Path | None = None,
) -> str | None:
    """Count one more use, on ``day``, of the entries of ``document`` that were ``shown``.

    This costs the same however much is known, but once after each change of the memory file, and once in more than a
    hundred times. Then, if new ones were counted meanwhile, what is not in the document any more is dropped. ``path``
    is that of the memory file, no link, for callers who have it. Gives a note where nothing could be kept, or where
    what was kept could not be read. Never fails.
    """
    path = path or _path_of(workspace, entity)
    try:
        with _sidecar(path) as folder, _alone(folder):
            line = Line(_target(entity), day, tuple(dict.fromkeys(map(usage_key, shown))))
            memory = mark_of(path)
            if append(folder, line, memory, mark_of(USAGE_NAME, folder)):
                return None
            both = _read(folder)
            known = both.of(entity)
            uses = _counted(known.uses, line)
            if len(uses) > len(both.kept(line.target) or {}):
                uses = _only_there(uses, document)
            _fold(folder, both, entity, uses)
            _begin_log(folder, both, {line.target: memory})
    except FileNotFoundError:
        return None  # the store has kept nothing here yet
    except OSError as error:
        return _cannot("kept", entity, error)
    return known.note


def drop_gone(workspace: Workspace, entity: str, document: Document) -> bool:
    """Forget the uses of entries that are not in the document any more; whether anything was forgotten.

    Raises ``OSError`` where the sidecar cannot be written.
    """
    try:
        with _sidecar(_path_of(workspace, entity)) as folder, _alone(folder):
            for name in (USAGE_NAME, LOG_NAME):
                drop_unfinished(folder, name)
            both = _read(folder)
            known = both.of(entity)
            left = _only_there(known.uses, document)
            if left == known.uses and known.note is None and not both.is_folded:
                return False
            _fold(folder, both, entity, left)
            if both.log is not None:
                _begin_log(folder, both, {})
            return True
    except FileNotFoundError:
        return False


def _only_there(uses: Mapping[str, Use], document: Document) -> dict[str, Use]:
    keys = set(map(usage_key, document.entries))
    return {key: use for key, use in uses.items() if key in keys}


def _counted(uses: Mapping[str, Use], line: Line) -> dict[str, Use]:
    """The uses with one more of each entry of a line."""
    more = dict(uses)
    for key in line.keys:
        before = more.get(key, Use(line.day, 0))
        more[key] = Use(max(before.last, line.day), min(before.times + 1, _MOST_TIMES))
    return more


def _cannot(what: str, entity: str, error: OSError) -> str:
    return f"the usage of {entity} cannot be {what}: {error.strerror or error}"


# --- the files ------------------------------------------------------------------------------------------------------


def _path_of(workspace: Workspace, entity: str) -> Path:
    return locate(workspace.config, workspace.profile, entity).path


@contextmanager
def _sidecar(path: Path) -> Iterator[int]:
    """The open sidecar of the file at ``path``. Raises ``OSError``; ``FileNotFoundError`` where there is none.

    Only the store makes one: whoever finds it takes the folder for one whose history is kept.
    """
    folder = os.open(path.parent / SIDECAR, _FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _alone(folder: int) -> Iterator[None]:
    """Keep others from counting at the same moment. The lock is that of the folder itself, which nobody else takes.

    Raises ``BlockingIOError`` if somebody holds it for long.
    """
    for remaining in reversed(range(_TRIES)):
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not remaining:
                raise
            time.sleep(_WAIT)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


class _Both(NamedTuple):
    """What the two files say. ``entities`` is ``None`` where ``usage.json`` is damaged or not one of ours.

    ``folded`` is the number of the last log that ``usage.json`` has taken in.
    """

    entities: dict[str, Any] | None
    folded: int
    log: Log | None

    @property
    def is_folded(self) -> bool:
        """Whether somebody was stopped after the log was folded in, and before a new one was begun."""
        return self.log is not None and 0 < self.log.number <= self.folded

    @property
    def lines(self) -> tuple[Line, ...]:
        """What counts beside ``usage.json``."""
        return () if self.log is None or self.is_folded else self.log.lines

    def kept(self, target: str) -> dict[str, Use] | None:
        """What ``usage.json`` says of a target; ``None`` where that is damaged."""
        if self.entities is None:
            return None
        try:
            return {key: _use(value) for key, value in self.entities.get(target, {}).items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            return None

    def of(self, entity: str) -> Usage:
        """What is known of an entity."""
        target, note = _target(entity), None
        uses = self.kept(target)
        if uses is None:
            uses, note = {}, f"the usage of {entity} was damaged, and is counted anew"
        elif self.log is not None and not self.log.whole:
            note = f"the usage of {entity} was damaged, and some of it is not counted"
        for line in self.lines:
            if line.target == target:
                uses = _counted(uses, line)
        return Usage(uses, note)


def _read(folder: int) -> _Both:
    # The log first: what is folded in between is then in the other file, which says so.
    log = read_log(folder)
    said = _read_kept(folder)
    if said is None:
        return _Both(None, 0, log)
    folded = said.get("folded", 0)
    return _Both(said["entities"], folded if type(folded) is int else 0, log)


def _read_kept(folder: int) -> dict[str, Any] | None:
    """What ``usage.json`` says; nothing of any entity if there is none, ``None`` if it is not one of ours."""
    try:
        descriptor = os.open(USAGE_NAME, os.O_RDONLY | FILE_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return {"entities": {}}
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        data = file.read(_LARGEST + 1)
    try:
        said = json.loads(data) if len(data) <= _LARGEST else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("version") != _VERSION or not isinstance(said.get("entities"), dict):
        return None
    return said


def _use(value: Any) -> Use:  # noqa: ANN401 - JSON data
    last, times = value["last"], value["times"]
    day = read_date(last)
    if day is None or type(times) is not int or not 0 < times <= _MOST_TIMES:
        raise ValueError(value)
    return Use(day, times)


def _fold(folder: int, both: _Both, entity: str, uses: Mapping[str, Use]) -> None:
    """Write all that is known to ``usage.json``, with these ``uses`` of the entity."""
    name, _, own = entity.partition("/")
    entities = dict(both.entities or {})
    for target in {line.target for line in both.lines} - {own}:
        entities[target] = _as_data(both.of(f"{name}/{target}").uses)
    entities[own] = _as_data(uses)
    said = {"version": _VERSION, "folded": _number(both), "entities": entities}
    put(folder, USAGE_NAME, (json.dumps(said, separators=(",", ":"), sort_keys=True) + "\n").encode())


def _begin_log(folder: int, both: _Both, files: Mapping[str, list[int] | None]) -> None:
    before = {} if both.log is None else both.log.files
    begin(folder, _number(both) + 1, mark_of(USAGE_NAME, folder), {**before, **files})


def _number(both: _Both) -> int:
    """The number of the log that is folded in, or that could have been."""
    return max(both.folded, 0 if both.log is None else both.log.number)


def _as_data(uses: Mapping[str, Use]) -> dict[str, Any]:
    return {key: use.to_dict() for key, use in sorted(uses.items())}


def _target(entity: str) -> str:
    return entity.partition("/")[2]
