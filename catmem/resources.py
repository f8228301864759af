"""The files that the package ships (JSON schemas, profiles, the pages of lint rules, the example), and its source.

In a wheel the first three are in ``catmem/data/``; in a checkout (and an editable install) they are in the folders
``schemas/``, ``profiles/`` and ``docs/`` beside the package, which is where people look for them.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from catmem.errors import ConfigError

SCHEMA_NAMES = ("category", "config", "document", "envelope", "profile", "tags", "tool")

_PACKAGE = Path(__file__).parent


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
