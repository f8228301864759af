"""Purging and ``catmem.seed.lock``, which keeps the texts of seeded entries."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.files import read_bounded
from catmem.model.version import Version
from catmem.policy.seedlock import LOCK_NAME
from catmem.service.seeding.lockfile import LOCK_LIMIT, SeedFile

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.policy.seedlock import Record, Seeded, SeedLock
    from catmem.service.purging.redaction import Redaction

_BY_HAND = "take the text out by hand, or remove the file: a seed makes it again"

_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")


@dataclass(slots=True)
class Reached:
    """What a purge reached: files that it rewrote, those that it ``removed``, and what is ``left``, with the reason."""

    files: dict[Path, None] = field(default_factory=dict)
    removed: dict[Path, None] = field(default_factory=dict)
    left: dict[Path, str] = field(default_factory=dict)


def purge_lock(root: Path, entity: str, redaction: Redaction, reached: Reached, *, dry_run: bool) -> None:
    """Take the entries that are forgotten out of the lock of ``root``, and remove copies of it that hold them.

    An entry goes if its body is one of those; of what was seeded from or to ``entity`` also if it holds the text by
    which they were chosen. A lock that is not whole cannot be taken apart: it is left, and named.
    """
    file = SeedFile(root)
    try:
        if dry_run:
            _purge(file, entity, redaction, reached, dry_run=True)
        elif _concerns(*file.read(), entity, redaction):
            with file.held():  # a root that may not be written has a lock that need not be, too
                _purge(file, entity, redaction, reached, dry_run=False)
    except CatmemError as error:
        reached.left[file.path] = error.message
    for path in sorted([*root.glob(f"{LOCK_NAME}.bak.*"), *root.glob(f".{LOCK_NAME}*")]):
        _purge_copy(path, redaction, reached, dry_run=dry_run)


def _concerns(data: bytes, lock: SeedLock, entity: str, redaction: Redaction) -> bool:
    """Whether a lock has something that is forgotten, however its JSON spells it."""
    return bool(_ids(lock, entity, redaction)) or _holds(data, redaction)


def _purge(file: SeedFile, entity: str, redaction: Redaction, reached: Reached, *, dry_run: bool) -> None:
    data, lock = file.read()
    if not _concerns(data, lock, entity, redaction):
        return
    if lock.notes:
        reached.left[file.path] = f"{lock.notes[0]}; {_BY_HAND}"
        return
    purged = lock.without(_ids(lock, entity, redaction))
    if purged.to_text().encode() == data:
        return
    if not dry_run:
        file.write(data, purged)
    reached.files[file.path] = None


def _ids(lock: SeedLock, entity: str, redaction: Redaction) -> set[str]:
    return {
        each.id
        for record in lock.records.values()
        for each in record.entries
        if _is_one(record, each, entity, redaction)
    }


def _is_one(record: Record, each: Seeded, entity: str, redaction: Redaction) -> bool:
    body = Version.read(each.category, each.text).body
    own = entity in {record.target, record.source}
    return (body or each.text) in redaction.bodies or (own and redaction.text is not None and redaction.text in body)


def _holds(data: bytes, redaction: Redaction) -> bool:
    """Whether a file may hold the text, as it is or as JSON writes it."""
    written = json.dumps(redaction.needle.decode(errors="replace"), ensure_ascii=False)[1:-1].encode()
    # Any character may be spelled as an escape, also in a file that is not whole.
    plain = _ESCAPES.sub(_unescaped, data)
    return bool(data) and any(needle in each for needle in (redaction.needle, written) for each in (data, plain))


def _unescaped(found: re.Match[bytes]) -> bytes:
    r"""What a run of ``\u`` escapes stands for; as ``json.dumps`` writes it, where it must write an escape."""
    units = bytes.fromhex(found[0].replace(b"\\u", b"").decode())
    return json.dumps(units.decode("utf-16-be", "replace"), ensure_ascii=False)[1:-1].encode()


def _purge_copy(path: Path, redaction: Redaction, reached: Reached, *, dry_run: bool) -> None:
    """Remove a copy that catmem made of a lock, or left of one, if it may hold the text."""
    try:
        if not _holds(read_bounded(path, LOCK_LIMIT), redaction):
            return
        if not dry_run:
            path.unlink()
    except (CatmemError, OSError) as error:
        reached.left[path] = error.message if isinstance(error, CatmemError) else str(error.strerror)
    else:
        reached.removed[path] = None
