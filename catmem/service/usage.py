"""How often an agent was shown an entry by a search, and when last: in the sidecar, never in the memory file.

``usage.json`` lies in ``.catmem`` beside the file, once the store has made that. It holds days, counts and digests of
bodies, and no text. It is a convenience: without it, or where it cannot be written, everything works, and what is
damaged is begun anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.digest import content_digest
from catmem.policy.staleness import read_date
from catmem.service.stores import locate
from catmem.store.folder import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date

    from catmem.model.document import Document, Entry
    from catmem.service.workspace import Workspace

USAGE_NAME = "usage.json"

_VERSION = 1
_NEXT = "usage.json.new"
_LARGEST = 16 << 20
_MOST_TIMES = 1 << 40
_TRIES, _WAIT = 100, 0.01
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        with _sidecar(workspace, entity) as folder:
            return _read(folder, entity)
    except FileNotFoundError:
        return Usage({})
    except OSError as error:
        return Usage({}, _cannot("read", entity, error))


def count_used(workspace: Workspace, entity: str, shown: Iterable[Entry], document: Document, day: date) -> str | None:
    """Count one more use, on ``day``, of the entries of ``document`` that were ``shown``.

    What is not in the document any more is dropped when a new one is counted, so there are never more than entries.
    Gives a note where nothing could be kept, or where what was kept could not be read. Never fails.
    """
    try:
        with _sidecar(workspace, entity) as folder, _alone(folder):
            known = _read(folder, entity)
            uses = dict(known.uses)
            for key in dict.fromkeys(map(usage_key, shown)):
                before = uses.get(key, Use(day, 0))
                uses[key] = Use(max(before.last, day), min(before.times + 1, _MOST_TIMES))
            if len(uses) > len(known.uses):
                uses = _only_there(uses, document)
            if uses != known.uses:
                _write(folder, entity, uses)
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
        with _sidecar(workspace, entity) as folder, _alone(folder):
            known = _read(folder, entity)
            left = _only_there(known.uses, document)
            if left == known.uses and known.note is None:
                return False
            _write(folder, entity, left)
            return True
    except FileNotFoundError:
        return False


def _only_there(uses: Mapping[str, Use], document: Document) -> dict[str, Use]:
    keys = set(map(usage_key, document.entries))
    return {key: use for key, use in uses.items() if key in keys}


def _cannot(what: str, entity: str, error: OSError) -> str:
    return f"the usage of {entity} cannot be {what}: {error.strerror or error}"


# --- the file -------------------------------------------------------------------------------------------------------


@contextmanager
def _sidecar(workspace: Workspace, entity: str) -> Iterator[int]:
    """The open sidecar of an entity's file. Raises ``OSError``; ``FileNotFoundError`` where there is none.

    Only the store makes one: whoever finds it takes the folder for one whose history is kept.
    """
    folder = os.open(locate(workspace.config, workspace.profile, entity).path.parent / SIDECAR, _FOLDER)
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


def _read(folder: int, entity: str) -> Usage:
    kept = _kept(folder)
    if kept is None:
        return Usage({}, f"the usage of {entity} was damaged, and is counted anew")
    found = kept.get(_target(entity), {})
    try:
        return Usage({key: _use(value) for key, value in found.items()})
    except (AttributeError, TypeError, ValueError):
        return Usage({}, f"the usage of {entity} was damaged, and is counted anew")


def _kept(folder: int) -> dict[str, Any] | None:
    """What the file says, by target; nothing if there is none, ``None`` if it is not one of ours."""
    try:
        descriptor = os.open(USAGE_NAME, os.O_RDONLY | _FILE, dir_fd=folder)
    except FileNotFoundError:
        return {}
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
    entities: dict[str, Any] = said["entities"]
    return entities


def _use(value: Any) -> Use:  # noqa: ANN401 - JSON data
    last, times = value["last"], value["times"]
    day = read_date(last)
    if day is None or type(times) is not int or not 0 < times <= _MOST_TIMES:
        raise ValueError(value)
    return Use(day, times)


def _write(folder: int, entity: str, uses: Mapping[str, Use]) -> None:
    """Put a new file in the place of the old one. Nothing is waited for: after a power cut it may be an older one."""
    entities = _kept(folder) or {}
    entities[_target(entity)] = {key: use.to_dict() for key, use in sorted(uses.items())}
    said = {"version": _VERSION, "entities": entities}
    data = (json.dumps(said, separators=(",", ":"), sort_keys=True) + "\n").encode()
    with suppress(FileNotFoundError):
        os.unlink(_NEXT, dir_fd=folder)
    descriptor = os.open(_NEXT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(data)
    os.rename(_NEXT, USAGE_NAME, src_dir_fd=folder, dst_dir_fd=folder)


def _target(entity: str) -> str:
    return entity.partition("/")[2]
