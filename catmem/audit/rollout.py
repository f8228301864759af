"""What a rollout enforces for which entity, and the emergency bypass.

For a while a bypass lets soft refusals pass everywhere. A person begins it, and it is audited. It is kept in
``.catmem/bypass.json`` of the root and ends by itself. What cannot be read there is no bypass.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from catmem import clock
from catmem.config.config import Rollout
from catmem.config.profile import refuse_no_root
from catmem.errors import CatmemError, EditError, StoreError
from catmem.files import os_errors, read_bounded, replace_json
from catmem.jsonable import jsonable
from catmem.store.audit_log import AuditLine
from catmem.store.contract import PERSON, SIDECAR
from catmem.workspace.root import Root, log_attempt, person_name

NAME = "bypass.json"
LONGEST = timedelta(days=7)
_ALL_ENTITIES = "*"
"""What stands as the entity on the lines of a bypass."""

_LONGEST_REASON = 500
_LARGEST = 1 << 14


@dataclass(frozen=True, slots=True)
class Bypass:
    """Why soft refusals are let pass, and from when until when (UTC)."""

    reason: str
    since: datetime
    until: datetime

    def __json__(self) -> dict[str, Any]:
        return {"reason": self.reason, "since": clock.timestamp(self.since), "until": clock.timestamp(self.until)}


def current_bypass(workspace: Root) -> Bypass | None:
    """The bypass that is on, if any. One that has run out is removed, and the log records its end."""
    found = _read(workspace.root / SIDECAR / NAME)
    if found is None:
        return None
    # A clock that was put back does not make a bypass longer.
    if found.since <= clock.now() < found.until:
        return found
    _take_away(workspace, "bypass_expired", found)
    return None


def begin_bypass(workspace: Root, reason: str, lasts: timedelta) -> Bypass:
    """Let soft refusals pass from now on; another bypass that is on gives way to this one."""
    refuse_no_root(workspace.config)
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= _LONGEST_REASON:
        raise EditError(
            f"a bypass needs a reason, of at most {_LONGEST_REASON} characters",
            code="bad_bypass",
            hint="Say in a sentence why it is needed: it stands in the audit log.",
        )
    if not timedelta() < lasts <= LONGEST:
        raise EditError(
            f"a bypass lasts {LONGEST.days} days at most",
            code="bad_bypass",
            hint="Say how long it is needed, such as 30m or 2h. It can be begun again.",
        )
    now = clock.now()
    begun = Bypass(reason, now, now + lasts)
    folder = workspace.root / SIDECAR
    with os_errors(
        "the bypass cannot be kept",
        path=folder / NAME,
        hint="Nothing was changed. Check the rights of the folder and the space on the disk.",
        kind=StoreError,
    ):
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_json(folder / NAME, jsonable(begun))
    _tell(workspace, "bypass_start", f"until {clock.timestamp(begun.until)}: {reason}")
    return begun


def end_bypass(workspace: Root) -> Bypass | None:
    """End the bypass that is on, and give it; ``None`` if none was."""
    refuse_no_root(workspace.config)
    found = current_bypass(workspace)
    if found is not None:
        _take_away(workspace, "bypass_end", found)
    return found


def _take_away(workspace: Root, what: str, found: Bypass) -> None:
    """Remove the file; the process that removed it writes to the log."""
    path = workspace.root / SIDECAR / NAME
    try:
        path.unlink()
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        if what == "bypass_expired":
            return  # it has run out whether its file is there or not
        raise StoreError(
            f"the bypass cannot be ended: {error.strerror or error}",
            code="not_writable",
            path=path,
            hint=f"It ends by itself at {clock.timestamp(found.until)}. Check the rights of the folder.",
        ) from error
    _tell(workspace, what, found.reason)


def _tell(workspace: Root, what: str, note: str) -> None:
    said = clock.timestamp(clock.now()), _ALL_ENTITIES, "bypass", PERSON, None, None, "ok", what, None
    log_attempt(workspace, AuditLine(*said, note=note, person=person_name(workspace.root)))


def _read(path: Path) -> Bypass | None:
    if not os.path.lexists(path):
        return None
    try:
        said = json.loads(read_bounded(path, _LARGEST, follow_symlink=False))
        since, until = (datetime.fromisoformat(said[key]) for key in ("since", "until"))
        if until - since <= LONGEST:
            return Bypass(str(said["reason"])[:_LONGEST_REASON], since, until)
        why = "it is for too long"
    except (CatmemError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) or type(error).__name__
    import logging

    logging.getLogger("catmem.audit").warning("%s: no bypass is on, since this is none (%s)", path, ascii(why))
    return None


# --- which refusals are enforced ----------------------------------------------------------------------------------


SOFT = frozenset({"role_drift", "bad_signature", "clock_skew", "semantic_collision", "stale_prev"})
"""The codes of refusals that a rollout may let pass: they are about the writer's view and papers.

All others are enforced from the first day. What they keep out would harm readers (``forbidden``, ``threat``), the file
(``schema``, ``structure``, ``over_budget``), or what others wrote (``drift``, ``hash_collision``). ``bad_signature`` is
one of these where there is no signature at all; a wrong one is never let pass, and no one asks for it.
"""

_SHARES = 100


def place_of(entity: str) -> int:
    """Where an entity stands among 100 equal shares, 0 to 99: the same on every machine and for ever."""
    return int.from_bytes(sha256(entity.encode(errors="surrogatepass")).digest()) % _SHARES


def enforces(rollout: Rollout, entity: str) -> bool:
    """Whether soft refusals are enforced for an entity. Who is in at 10 percent is in at 20."""
    if rollout.mode == "canary":
        return place_of(entity) < (rollout.canary or 0)
    return rollout.mode != "shadow"
