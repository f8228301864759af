"""Whether a root wants tokens, so that it is never open to all just because they are not found.

Where tokens are depends on where the root is and on who runs the server. So the first token leaves a mark in
``.catmem`` of the root, which goes wherever the root goes. It says where the tokens were, and nothing of what they are.
What git carries has no mark: ``server.require_tokens`` in ``catmem.yaml`` says it for good.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from catmem.errors import CatmemError, UnreadableError
from catmem.files import read_bounded, write_private
from catmem.store.contract import SIDECAR

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.policy.config import Config


MARK = "tokens-wanted.json"
_LARGEST = 1 << 14


def why_wanted(config: Config, path: Path) -> str | None:
    """Why a root is not to be served without tokens, as half a sentence about it; ``None`` if nothing says so.

    ``path`` is where its tokens are looked for. ``server.require_tokens`` decides, where ``catmem.yaml`` has it.
    """
    said = config.server.get("require_tokens")
    if said is not None:
        return "catmem.yaml says server.require_tokens" if said else None
    if "tokens" in config.server:
        return "catmem.yaml names a file of them, as server.tokens"
    if os.path.lexists(path):
        return "it had some, of which the last was removed"
    return _marked(config.root / SIDECAR / MARK)


def remember_tokens(config: Config, path: Path) -> None:
    """Have a root remember that it wants tokens, and that they are kept at ``path``.

    Raises ``UnreadableError`` (``not_writable``) where that cannot be written and ``catmem.yaml`` does not say it.
    """
    place = config.root / SIDECAR / MARK
    with suppress(CatmemError, ValueError, RecursionError):  # then it is written anew
        if json.loads(read_bounded(place, _LARGEST, follow_symlink=False)) == _said(path):
            return
    try:
        _write(config.root / SIDECAR, path)
    except OSError as error:
        if "require_tokens" in config.server:
            return  # that is what counts
        raise UnreadableError(
            f"the root cannot remember that it wants tokens: {error.strerror or error}",
            code="not_writable",
            path=place,
            hint="Check the rights of .catmem, or say it in catmem.yaml: server: {require_tokens: true}.",
        ) from error


def _write(folder: Path, path: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        write_private(descriptor, MARK, _said(path))
    finally:
        os.close(descriptor)


def _said(path: Path) -> dict[str, object]:
    return {"version": 1, "kept": str(path)}


def _marked(place: Path) -> str | None:
    """What the mark says; ``None`` if there is none. One that cannot be read is one all the same."""
    try:
        data = read_bounded(place, _LARGEST, follow_symlink=False)
    except UnreadableError as error:
        if error.code == "missing":
            return None
        return f"nobody can tell whether it had some: {place}: {error.message}"
    except CatmemError:
        return "it had some"
    try:
        return f"it had some, which were in {json.loads(data)['kept']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "it had some"
