"""What configuration files were found to say, and that it is valid: PyYAML and jsonschema take half of a short command.

Each is a file in the cache folder of the account that runs this, named by a digest, and readable by it alone. It is not
in the root: a root may have another author, who could vouch there for what is not valid.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

_FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "catmem", "known")  # noqa: PTH111
_MOST = 5_000
"""About so many files are kept, two for each profile: all are forgotten when there are more."""
_COUNTS = "00"
"""A file whose digest begins so has the others counted: that takes as long as there are many."""
_LARGEST = 100_000
"""Characters of one; a larger file is read anew each time."""


def digest_of(data: Any, judge: str) -> str:  # noqa: ANN401 - any JSON value
    """The SHA-256 of a value and of what judges it, such as the text of its schema, as 64 hexadecimal digits."""
    said = json.dumps([judge, data])
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()


def recall(digest: str) -> str | None:
    """What was remembered of this digest; ``None`` for nothing."""
    try:
        return (_FOLDER / digest).read_text(encoding="utf-8") if _is_own() else None
    except (OSError, UnicodeDecodeError):
        return None  # A folder that cannot be read costs time alone, as below.


def remember(digest: str, text: str = "") -> None:
    """Keep a text for a digest."""
    if len(text) > _LARGEST or not _FOLDER.is_absolute():
        return
    try:
        _FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own():
            return
        kept = list(_FOLDER.iterdir()) if digest.startswith(_COUNTS) else []
        for each in kept if len(kept) >= _MOST else ():
            each.unlink(missing_ok=True)
        part = _FOLDER / f"{digest}.{os.getpid()}"
        part.touch(mode=0o600)
        part.write_text(text, encoding="utf-8")
        part.replace(_FOLDER / digest)
    except OSError:
        return  # A folder that cannot be written costs time alone: the same file is read again.


def _is_own() -> bool:
    """Whether this account alone may write the folder: what another put there could say what a file does not say."""
    # A folder that is not named from the root of the system on is another in each place, as in another author's root.
    found = _FOLDER.lstat()
    return (
        _FOLDER.is_absolute()
        and stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & 0o022
        and not _FOLDER.parent.lstat().st_mode & 0o002
    )
