"""``catmem.json`` in a home of Hermes Agent: which root and which profile the provider reads there.

``{"version": 1, "for": "coder", "root": "/srv/memory", "profile": "trinity"}``. ``root`` may be relative to the home.
``for`` is the profile of Hermes Agent: a home that was copied does not go on with the memory of another. Without the
file the root is the folder of Hermes's homes, if it has a ``catmem.yaml``, and the profile is called as Hermes Agent
calls it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.errors import ConfigError, UnreadableError
from catmem.files import os_errors, read_bounded
from catmem.names import is_name
from catmem.policy.config import CONFIG_NAME, expand_user
from catmem.policy.schema import shown

if TYPE_CHECKING:
    from catmem.hermes.setup_homes import Home

FILE_NAME = "catmem.json"
VERSION = 1
_SIZE = 1 << 16
_REFRESH = "refresh_after_compression"
_KEYS = {"version", "for", "root", "profile", _REFRESH}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the provider reads, and how.

    ``refresh_after_compression`` builds the prompt anew when Hermes Agent has shortened a conversation. ``written`` is
    whether the file exists.
    """

    root: Path
    profile: str
    refresh_after_compression: bool = False
    written: bool = True

    def to_text(self, home: Home) -> str:
        """The file for a home, as ``catmem hermes install`` writes it."""
        said: dict[str, Any] = {"version": VERSION, "for": home.name, "root": str(self.root), "profile": self.profile}
        if self.refresh_after_compression:
            said[_REFRESH] = True
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def settings_path(home: Home) -> Path:
    """Where the settings of a home are, whether they exist or not."""
    return home.path / FILE_NAME


def read_settings(home: Home) -> Settings | None:
    """The settings of a home; ``None`` if there are none and no root lies at Hermes's own folder either.

    Raises ``UnreadableError``, and ``ConfigError`` (``hermes_settings``, ``hermes_copied``).
    """
    path = settings_path(home)
    if not os.path.lexists(path):
        if os.path.lexists(home.root / CONFIG_NAME):
            return Settings(home.root, home.name, written=False)
        return None
    return parse_settings(read_bounded(path, _SIZE), home)


def parse_settings(data: bytes, home: Home) -> Settings:
    """The settings that the bytes of a ``catmem.json`` hold. Raises ``ConfigError``."""
    path = settings_path(home)
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, "it is no JSON") from error
    if not isinstance(said, dict):
        raise _wrong(path, "it holds no object")
    if said.get("version") != VERSION:
        raise _wrong(path, f"the version is {shown(said.get('version'))}, and this catmem knows {VERSION}")
    for key in said:
        if key not in _KEYS:
            raise _wrong(path, f"the key {shown(key)} is not known here")
    if said.get("for", home.name) != home.name:
        raise ConfigError(
            f"these settings are those of {shown(said['for'])}, and this is the home of {home.name}",
            code="hermes_copied",
            path=path,
            hint="Was the home copied, or the profile renamed? 'catmem hermes install' sets it up for this one.",
        )
    root, profile = said.get("root"), said.get("profile")
    if not isinstance(root, str) or not root:
        raise _wrong(path, "root names no folder")
    if not isinstance(profile, str) or not is_name(profile):
        raise _wrong(path, f"{shown(profile)} cannot be the name of a profile")
    refresh = said.get(_REFRESH, False)
    if not isinstance(refresh, bool):
        raise _wrong(path, f"{_REFRESH} is neither true nor false")
    return Settings(Path(os.path.normpath(home.path / expand_user(root))), profile, refresh)


def refuse_link(home: Home) -> None:
    """Raise ``UnreadableError`` (``symlink``) if the settings are a link: the file may be that of another home."""
    path = settings_path(home)
    if path.is_symlink():
        raise UnreadableError(
            "is a symbolic link, and the settings of a home are not written through links",
            code="symlink",
            path=path,
            hint="Nothing was changed. Put the file itself there, or move the link away.",
        )


def write_settings(home: Home, settings: Settings) -> None:
    """Write the settings of a home, whole or not at all. Raises ``UnreadableError`` (``symlink``, ``not_writable``)."""
    refuse_link(home)
    path = settings_path(home)
    temporary = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    hint = "Check the rights of the folder and the space on the disk."
    try:
        with os_errors("cannot be written", path=path, hint=hint):
            temporary.write_text(settings.to_text(home), encoding="utf-8")
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _wrong(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"these settings are not right: {why}",
        code="hermes_settings",
        path=path,
        hint="'catmem hermes install' writes them anew once the file is moved away; docs/hermes.md lists the keys.",
    )
