"""How often an agent was shown an entry by a search, and when last: in ``.catmem/usage.json`` of the root.

It holds days, counts and digests of bodies, and no text; of the entries that were shown last, so many. It is a
convenience: without it, or where it cannot be written, everything works.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import content_digest
from catmem.errors import UnreadableError
from catmem.files import locked_folder, read_bounded, replace_json
from catmem.store.contract import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root

USAGE_NAME = "usage.json"

_MOST = 2_000
"""Entries of a root that are counted: those that were shown last."""
_LARGEST = 1 << 20
_PATIENCE = 1.0
"""Seconds to wait where another process counts; nothing else takes the lock of this folder."""


class EntryUse(NamedTuple):
    """How an entry was used: on which day last, and how many times."""

    last: date
    times: int


class EntryUsage(NamedTuple):
    """The uses of an entity's entries by ``usage_key``, and why nothing is known of them, if so."""

    uses: dict[str, EntryUse]
    note: str | None = None


def usage_key(entry: Entry) -> str:
    """What usage knows an entry by: a digest of its body, so that new tags and another category change nothing."""
    return content_digest(entry.body)


def read_usage(workspace: Root, entity: str) -> EntryUsage:
    """How the entries of an entity were used; those that never were are left out. Never fails."""
    try:
        found = _read(_folder(workspace))
    except (OSError, UnreadableError) as error:
        return EntryUsage({}, _note("read", error))
    return EntryUsage({key: use for (of, key), use in found.items() if of == entity})


def count_used(workspace: Root, entity: str, shown: Iterable[Entry], day: date) -> str | None:
    """Count one more use, on ``day``, of the entries that were ``shown``; a note where that could not be kept."""
    # Nothing is kept in a root to which nothing was ever written, and a file that cannot be read is left as it is.
    folder = _folder(workspace)
    try:
        with locked_folder(folder, _PATIENCE):
            uses = _read(folder)
            for key in dict.fromkeys(map(usage_key, shown)):
                last, times = uses.pop((entity, key), EntryUse(day, 0))
                uses[entity, key] = EntryUse(max(last, day), times + 1)
            _write(folder, uses)
    except FileNotFoundError:
        return None
    except (OSError, UnreadableError) as error:
        return _note("kept", error)
    return None


def drop_gone(workspace: Root, entity: str, document: Document) -> None:
    """Forget the uses of entries of an entity that are not in its document any more."""
    folder = _folder(workspace)
    there = set(map(usage_key, document.entries))
    try:
        with locked_folder(folder, _PATIENCE):
            for unfinished in folder.glob(f".{USAGE_NAME}-*"):
                unfinished.unlink()
            uses = _read(folder)
            left = {(of, key): use for (of, key), use in uses.items() if of != entity or key in there}
            if left != uses:
                _write(folder, left)
    except FileNotFoundError:
        return


def _note(what: str, error: Exception) -> str:
    why = error.strerror if isinstance(error, OSError) else error
    return f"how often entries were used cannot be {what}: {why}"


def _folder(workspace: Root) -> Path:
    return workspace.root / SIDECAR


def _read(folder: Path) -> dict[tuple[str, str], EntryUse]:
    """All uses by entity and ``usage_key``, those that were used last at the end. Raises ``UnreadableError``."""
    path = folder / USAGE_NAME
    try:
        rows = json.loads(read_bounded(path, _LARGEST, follow_symlink=False))
        return {(str(of), str(key)): EntryUse(date.fromisoformat(last), int(times)) for of, key, last, times in rows}
    except UnreadableError as error:
        if error.code == "missing":
            return {}
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UnreadableError("it is damaged; without it, all is counted anew", code="io", path=path) from error


def _write(folder: Path, uses: dict[tuple[str, str], EntryUse]) -> None:
    rows = [[of, key, use.last.isoformat(), use.times] for (of, key), use in uses.items()]
    replace_json(folder / USAGE_NAME, rows[-_MOST:])
