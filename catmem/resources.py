"""Files of catmem's own, of no root: those that the package ships, and what is kept in the user's cache folder.

Shipped are JSON schemas, profiles, the pages of lint rules and the example. In a wheel the first three are in
``catmem/data/``; in a checkout (and an editable install) they are in the folders ``schemas/``, ``profiles/`` and
``docs/`` beside the package, which is where people look for them.

Kept is what configuration files were found to say, and that it is valid: PyYAML and jsonschema take half of a short
command. Each is a file named by a digest, and readable by the account that runs this alone. It is not in the root: a
root may have another author, who could vouch there for what is not valid.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from catmem.errors import ConfigError

SCHEMA_NAMES = ("category", "config", "document", "envelope", "profile", "tags", "tool")

_PACKAGE = Path(__file__).parent

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "catmem", "known")  # noqa: PTH111
_MOST_KEPT = 5_000
"""About so many files are kept, two for each profile: all are forgotten when there are more."""
_HAS_OTHERS_COUNTED = "00"
"""A file whose digest begins so has the others counted: that takes as long as there are many."""
_LARGEST_KEPT = 100_000
"""Characters of one; a larger file is read anew each time."""


def schema_path(name: str) -> Path:
    """The path of ``<name>.schema.json``; ``name`` is one of ``SCHEMA_NAMES``. Raises ``ConfigError``."""
    if name not in SCHEMA_NAMES:
        hint = f"The schemas are {', '.join(SCHEMA_NAMES)}."
        raise ConfigError(f"there is no schema {name!r}", code="unknown_schema", hint=hint)
    return _shipped("schemas") / f"{name}.schema.json"


def schema_text(name: str) -> str:
    """The text of a schema. Raises ``ConfigError``."""
    return schema_path(name).read_text(encoding="utf-8")


@cache
def schema(name: str) -> dict[str, Any]:
    """A schema as data. It is read once and shared, so it must not be changed."""
    parsed: dict[str, Any] = json.loads(schema_text(name))
    return parsed


def profile_texts() -> dict[str, str]:
    """The text of each profile of the worked example by its name, sorted."""
    files = files_below(_shipped("profiles"))
    return {Path(name).stem: data.decode() for name, data in files.items() if name.endswith(".yaml")}


def example_files() -> dict[str, bytes]:
    """The rest of the worked example: ``catmem.yaml`` and the memory files, by their path from the root, with ``/``."""
    return files_below(_existing(_PACKAGE / "example"))


def rules_text() -> str:
    """What each lint rule finds, why, and what to do (``docs/rules.md``). Raises ``ConfigError``."""
    return (_shipped("docs") / "rules.md").read_text(encoding="utf-8")


def package_text(name: str) -> str:
    """A text that stands in the package, by its path there, such as ``threats/rules.txt``."""
    return (_PACKAGE / name).read_text(encoding="utf-8")


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file under ``folder``, by its path from there, sorted. For folders of the package: nothing is bounded."""
    paths = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return {name: path.read_bytes() for name, path in paths}


def install_command(extra: str = "", python: str = sys.executable) -> str:
    """The command that installs this catmem, with an extra, for a Python: from where this one was installed from."""
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    installed = next(iter(metadata.distributions(name="catmem")), None)
    found = installed and installed.read_text("direct_url.json")
    said = json.loads(found) if found else {}
    url, wanted = said.get("url", ""), f"[{extra}]" if extra else ""
    path = url2pathname(urlsplit(url).path)
    if "vcs_info" in said:
        url = f"{said['vcs_info']['vcs']}+{url}@{said['vcs_info']['commit_id']}"
    if url and not url.startswith("file:"):
        return f"{quote(python)} -m pip install {quote(f'catmem{wanted} @ {url}')}"
    if not url or not Path(path).exists():
        return f"{quote(python)} -m pip install {quote(f'FOLDER_OF_CATMEM{wanted}')}"
    editable = "-e " if said.get("dir_info", {}).get("editable") else ""
    return f"{quote(python)} -m pip install {editable}{quote(f'{path}{wanted}')}"


def _shipped(name: str) -> Path:
    installed = _PACKAGE / "data" / name
    return installed if installed.is_dir() else _existing(_PACKAGE.parent / name)


def _existing(folder: Path) -> Path:
    if folder.is_dir():
        return folder
    raise ConfigError(
        "the installed package is not complete: this folder is missing",
        code="incomplete_install",
        path=folder,
        hint="Install catmem again.",
    )


def digest_of(data: Any, judge: str) -> str:  # noqa: ANN401 - any JSON value
    """The SHA-256 of a value and of what judges it, such as the text of its schema, as 64 hexadecimal digits."""
    said = json.dumps([judge, data])
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()


def recall(digest: str) -> str | None:
    """What was remembered of this digest; ``None`` for nothing."""
    try:
        return (_CACHE / digest).read_text(encoding="utf-8") if _is_own() else None
    except (OSError, UnicodeDecodeError):
        return None  # A folder that cannot be read costs time alone, as below.


def remember(digest: str, text: str = "") -> None:
    """Keep a text for a digest."""
    if len(text) > _LARGEST_KEPT or not _CACHE.is_absolute():
        return
    try:
        _CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own():
            return
        kept = list(_CACHE.iterdir()) if digest.startswith(_HAS_OTHERS_COUNTED) else []
        for each in kept if len(kept) >= _MOST_KEPT else ():
            each.unlink(missing_ok=True)
        part = _CACHE / f"{digest}.{os.getpid()}"
        part.touch(mode=0o600)
        part.write_text(text, encoding="utf-8")
        part.replace(_CACHE / digest)
    except OSError:
        return  # A folder that cannot be written costs time alone: the same file is read again.


def _is_own() -> bool:
    """Whether this account alone may write the folder: what another put there could say what a file does not say."""
    # A folder that is not named from the root of the system on is another in each place, as in another author's root.
    found = _CACHE.lstat()
    return (
        _CACHE.is_absolute()
        and stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & 0o022
        and not _CACHE.parent.lstat().st_mode & 0o002
    )
