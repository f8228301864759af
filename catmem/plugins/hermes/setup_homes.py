"""The homes of Hermes Agent on this machine: what their ``config.yaml`` says of memory, and ``catmem.json`` in them.

``~/.hermes`` is the home of the profile ``default``, ``~/.hermes/profiles/<name>`` that of every other. Nothing here
needs Hermes Agent to be installed.

``catmem.json`` says which root and which profile the provider reads:
``{"version": 1, "for": "coder", "root": "/srv/memory", "profile": "trinity"}``. ``root`` may be relative to the home.
``for`` is the profile of Hermes Agent: a home that was copied does not go on with the memory of another. Without the
file the root is the folder of Hermes's homes, if it has a ``catmem.yaml``, and the profile is called as Hermes Agent
calls it.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catmem.config.config import CONFIG_NAME, expand_user
from catmem.config.json_schema import nearest, shown
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import ConfigError, UnknownNameError, UnreadableError
from catmem.files import os_errors, read_bounded, replace_file
from catmem.names import is_name
from catmem.text import decode

_CONFIG = "config.yaml"
DEFAULT = "default"
KNOWN_VERSION = 33
"""The newest ``_config_version`` that was tried: that of hermes-agent 0.19.0."""

_PROFILES = "profiles"
_SIGNS = (_CONFIG, "memories")
_SIZE = 1 << 20
FILE_NAME = "catmem.json"
VERSION = 1
_SETTINGS_SIZE = 1 << 16
_REFRESH = "refresh_after_compression"
_KEYS = {"version", "for", "root", "profile", _REFRESH}


@dataclass(frozen=True, slots=True)
class Home:
    """The home of one profile of Hermes Agent. ``root`` is the folder of all of them."""

    name: str
    path: Path
    root: Path

    @property
    def memories(self) -> Path:
        """The folder of its ``USER.md`` and ``MEMORY.md``."""
        return self.path / "memories"

    @property
    def config(self) -> Path:
        """Its ``config.yaml``, whether it exists or not."""
        return self.path / _CONFIG


@dataclass(frozen=True, slots=True)
class HermesConfig:
    """What a ``config.yaml`` says: the ``text`` of the file, the ``data`` in it, and its section ``memory``."""

    text: str
    data: dict[str, Any]
    memory: dict[str, Any]

    @property
    def provider(self) -> str:
        """The memory provider that it names; empty for none."""
        return str(self.memory.get("provider") or "").strip()

    @property
    def write_approval(self) -> bool:
        """Whether memory is to be written only after the user's yes; the words that count are Hermes Agent's."""
        said = self.memory.get("write_approval", False)
        words = said.strip().lower() if isinstance(said, str) else ""
        return said is True or words in {"on", "true", "yes", "1", "approve", "enabled"}

    def shows(self, target: str) -> bool:
        """Whether Hermes Agent puts the whole of its own file of that target into the prompt."""
        key = {"user": "user_profile_enabled", "memory": "memory_enabled"}[target]
        return bool(self.memory.get(key, True))

    def limit(self, target: str) -> int:
        """How many characters Hermes Agent allows its own file of that target.

        A fraction has no say over a number of characters. Where there is no limit (``.inf``), the usual one counts.
        """
        said = self.memory.get(f"{target}_char_limit")
        if isinstance(said, float) and math.isfinite(said):
            said = int(said)
        return said if isinstance(said, int) and said > 0 else HERMES_LIMITS[target]


def home_at(path: str | Path) -> Home:
    """The home in the folder ``path``, which may be that of a named profile; it need not exist."""
    folder = Path(os.path.abspath(path))  # noqa: PTH100 - as the user knows it: links are not resolved
    if folder.parent.name == _PROFILES and is_name(folder.name):
        return Home(folder.name, folder, folder.parent.parent)
    return Home(DEFAULT, folder, folder)


def find_home(named: str | None = None, *, option: str = "--home DIR") -> Home:
    """The home in the folder ``named``; else that of ``HERMES_HOME``; else ``~/.hermes``.

    ``option`` is how a person names the folder, for the hint of an error.
    Raises ``UnreadableError`` (``missing``) if there is no such folder, and ``ConfigError`` (``not_hermes``) for a
    folder that is not a home of Hermes Agent.
    """
    home = home_at(expand_user(named or os.environ.get("HERMES_HOME", "").strip() or "~/.hermes"))
    if not home.path.is_dir():
        raise UnreadableError(
            "there is no home of Hermes Agent here",
            code="missing",
            path=home.path,
            hint=f"Name it with {option}, or set HERMES_HOME; Hermes Agent makes it when it first runs.",
        )
    if not any(os.path.lexists(home.path / sign) for sign in _SIGNS):
        raise ConfigError(
            "this is no home of Hermes Agent: it has neither config.yaml nor memories",
            code="not_hermes",
            path=home.path,
            hint=f"Name the right folder with {option}.",
        )
    return home


def all_homes(home: Home) -> dict[str, Home]:
    """All homes beside ``home``, by name: ``default`` first, then the named profiles in alphabetical order."""
    found = {DEFAULT: Home(DEFAULT, home.root, home.root)}
    folder = home.root / _PROFILES
    with os_errors("cannot be listed", path=folder, hint=None, code="permission"):
        names = sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    named = (name for name in names if is_name(name) and name != DEFAULT)
    return found | {name: Home(name, folder / name, home.root) for name in named}


def chosen_homes(home: Home, name: str | None, *, everybody: bool) -> list[Home]:
    """The home of the profile ``name`` of Hermes Agent, by default ``home`` itself, or all of them.

    Raises ``UnknownNameError`` for a profile that Hermes Agent does not have.
    """
    homes = all_homes(home)
    if everybody:
        return list(homes.values())
    if name is None:
        return [home]
    if name not in homes:
        near = nearest(name, tuple(homes))
        raise UnknownNameError(
            f"Hermes Agent has no profile {shown(name)}",
            path=home.root,
            hint=f"Did you mean {near!r}?" if near else f"There are: {', '.join(homes)}.",
        )
    return [homes[name]]


def read_config(home: Home) -> HermesConfig | None:
    """What the ``config.yaml`` of a home says; ``None`` if there is none.

    Raises ``UnreadableError``, and ``ConfigError`` (``hermes_config``) for one that Hermes Agent cannot read either.
    """
    if not os.path.lexists(home.config):
        return None
    try:
        # A person may keep the file elsewhere, with a link in its place.
        text = decode(read_bounded(home.config, _SIZE))
    except UnreadableError as error:
        error.path = str(home.config)
        raise
    data = parse_config(text, home.config)
    memory = data.get("memory")
    if memory is not None and not isinstance(memory, dict):
        raise _broken(home.config, "memory is no mapping")
    return HermesConfig(text, data, memory or {})


def parse_config(text: str, path: Path) -> dict[str, Any]:
    """The mapping that a ``config.yaml`` holds. Raises ``ConfigError`` (``hermes_config``)."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise _broken(path, str(getattr(error, "problem", None) or "it is no YAML"), line) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise _broken(path, "it holds no mapping")
    return data


def refuse_other_version(home: Home, config: HermesConfig) -> None:
    """Raise ``ConfigError`` (``hermes_version``) for a configuration that is newer than what was tried."""
    version = config.data.get("_config_version", 0)
    if isinstance(version, bool) or not isinstance(version, int) or version > KNOWN_VERSION:
        raise ConfigError(
            f"the configuration is of version {shown(str(version))}, and this catmem knows those up to {KNOWN_VERSION}",
            code="hermes_version",
            path=home.config,
            key="_config_version",
            hint="Nothing was changed. A newer catmem may know it; --any-version goes on all the same, and shows what "
            "would change first.",
        )


def _broken(path: Path, why: str, line: int | None = None) -> ConfigError:
    return ConfigError(
        f"Hermes Agent's configuration cannot be read: {why}",
        code="hermes_config",
        path=path,
        line=line,
        hint="Nothing was changed. Mend it first; 'hermes config check' helps.",
    )


@dataclass(frozen=True, slots=True)
class HermesSettings:
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


def read_settings(home: Home) -> HermesSettings | None:
    """The settings of a home; ``None`` if there are none and no root lies at Hermes's own folder either.

    Raises ``UnreadableError``, and ``ConfigError`` (``hermes_settings``, ``hermes_copied``).
    """
    path = settings_path(home)
    if not os.path.lexists(path):
        if os.path.lexists(home.root / CONFIG_NAME):
            return HermesSettings(home.root, home.name, written=False)
        return None
    return parse_settings(read_bounded(path, _SETTINGS_SIZE), home)


def parse_settings(data: bytes, home: Home) -> HermesSettings:
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
    return HermesSettings(Path(os.path.normpath(home.path / expand_user(root))), profile, refresh)


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


def write_settings(home: Home, settings: HermesSettings) -> None:
    """Write the settings of a home, whole or not at all. Raises ``UnreadableError`` (``symlink``, ``not_writable``)."""
    refuse_link(home)
    path = settings_path(home)
    with os_errors("cannot be written", path=path, hint="Check the rights of the folder and the space on the disk."):
        replace_file(path, settings.to_text(home).encode())


def _wrong(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"these settings are not right: {why}",
        code="hermes_settings",
        path=path,
        hint="'catmem hermes install' writes them anew once the file is moved away; docs/hermes.md lists the keys.",
    )
