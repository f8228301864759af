"""Configuration files that were found valid before: to load jsonschema is a third of the time of a short command.

An empty file in the user's cache folder stands for each, named by a digest of what it says and of its schema. The
folder is the user's and not the root's: a root may have another author, who could vouch there for what is not valid.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

_FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "catmem", "valid")
_MOST = 1_000
"""Digests that are kept; all are forgotten when one more comes."""


def digest_of(data: Any, schema: str) -> str:  # noqa: ANN401 - any JSON value
    """The SHA-256 of a value and of the text of its schema, as 64 hexadecimal digits."""
    said = json.dumps([schema, data])
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()


def is_known(digest: str) -> bool:
    """Whether a value of this digest was found valid before."""
    try:
        return (_FOLDER / digest).is_file()
    except OSError:
        return False  # A folder that cannot be read costs time alone, as below.


def remember(digest: str) -> None:
    """Keep that a value is valid."""
    try:
        _FOLDER.mkdir(parents=True, exist_ok=True)
        kept = list(_FOLDER.iterdir())
        for each in kept if len(kept) >= _MOST else ():
            each.unlink(missing_ok=True)
        (_FOLDER / digest).touch()
    except OSError:
        return  # A folder that cannot be written costs time alone: the same file is validated again.
