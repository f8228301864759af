"""The emergency bypass: for a while soft refusals are let pass everywhere. A person begins it, and it is audited.

It is kept in ``.catmem/bypass.json`` of the root and ends by itself. What cannot be read there is no bypass.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.errors import CatmemError, EditError, ForbiddenError, StoreError
from catmem.files import os_errors, read_bounded, replace_json
from catmem.policy.profile import refuse_no_root
from catmem.service.gate import record
from catmem.store.audit import Line
from catmem.store.contract import SIDECAR

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.service.workspace import Workspace

NAME = "bypass.json"
LONGEST = timedelta(days=7)
EVERYTHING = "*"
"""What stands as the entity on the lines of a bypass: it is for all of them."""

_LONGEST_REASON = 500
_LARGEST = 1 << 14


@dataclass(frozen=True, slots=True)
class Bypass:
    """Why soft refusals are let pass, and from when until when (UTC)."""

    reason: str
    since: datetime
    until: datetime

    def to_dict(self) -> dict[str, Any]:
        """The bypass as JSON-ready data."""
        return {"reason": self.reason, "since": clock.timestamp(self.since), "until": clock.timestamp(self.until)}


def is_bypassed(workspace: Workspace) -> bool:
    """Whether a bypass is on. One that has run out is taken away, and the log told of its end."""
    return current_bypass(workspace) is not None


def current_bypass(workspace: Workspace) -> Bypass | None:
    """The bypass that is on, if there is one."""
    found = _read(_path(workspace))
    if found is None:
        return None
    # A clock that was put back does not make a bypass longer.
    if found.since <= clock.now() < found.until:
        return found
    _take_away(workspace, "bypass_expired", found)
    return None


def begin_bypass(workspace: Workspace, reason: str, lasts: timedelta, *, actor: str | None = None) -> Bypass:
    """Let soft refusals pass from now on; another bypass that is on gives way to this one.

    Raises ``ForbiddenError`` unless a person does it, ``EditError`` for no reason or a time that is none,
    ``StoreError``, and ``ConfigError`` where no root is.
    """
    _refuse_agents(actor)
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
        replace_json(folder / NAME, begun.to_dict())
    _tell(workspace, "bypass_start", f"until {clock.timestamp(begun.until)}: {reason}")
    return begun


def end_bypass(workspace: Workspace, *, actor: str | None = None) -> Bypass | None:
    """End the bypass that is on, and give it; ``None`` if none was.

    Raises ``ForbiddenError``, ``StoreError``, and ``ConfigError`` where no root is.
    """
    _refuse_agents(actor)
    refuse_no_root(workspace.config)
    found = current_bypass(workspace)
    if found is not None:
        _take_away(workspace, "bypass_end", found)
    return found


def _refuse_agents(actor: str | None) -> None:
    if actor is not None:
        raise ForbiddenError("only a person may begin or end a bypass", hint="Ask a person for it.")


def _take_away(workspace: Workspace, what: str, found: Bypass) -> None:
    """Remove the file; whoever did remove it tells the log."""
    path = _path(workspace)
    try:
        path.unlink()
    except FileNotFoundError:
        return  # somebody else was faster
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


def _tell(workspace: Workspace, what: str, note: str) -> None:
    now = clock.timestamp(clock.now())
    record(workspace, Line(now, EVERYTHING, "bypass", "person", None, None, "ok", what, None, None, note))


def _path(workspace: Workspace) -> Path:
    return workspace.root / SIDECAR / NAME


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
