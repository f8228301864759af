"""The homes of Hermes Agent on this machine: their ``config.yaml``, ``catmem.json`` in them, and a root over them all.

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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from catmem.config.config import CONFIG_NAME, expand_user
from catmem.config.json_schema import nearest, shown
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import CatmemError, ConfigError, UnknownNameError, UnreadableError, WouldOverwriteError, errors_at
from catmem.files import os_errors, read_bounded, replace_file, shown_path
from catmem.names import is_name
from catmem.resources import package_text
from catmem.text import decode, printable
from catmem.workspace.init import SEES_ALL, NewRoot, has_bytes, put_new, refuse_what_is_there, role_of

DEFAULT = "default"
SIZE = 1 << 20
"""Bytes of a file of Hermes Agent's, or of the plugin in it."""

_CONFIG = "config.yaml"
_PROFILES = "profiles"
_VERSION = 1
_NO_PROVIDER = {"default", "builtin", "built-in", "none"}
_KEYS = {"version", "for", "root", "profile"}


class Home(NamedTuple):
    """The home of one profile of Hermes Agent. ``root`` is the folder of all of them."""

    name: str
    path: Path
    root: Path

    @property
    def memories(self) -> Path:
        return self.path / "memories"

    @property
    def config(self) -> Path:
        """Its ``config.yaml``, whether it exists or not."""
        return self.path / _CONFIG

    @property
    def settings(self) -> Path:
        """Its ``catmem.json``, whether it exists or not."""
        return self.path / "catmem.json"


@dataclass(frozen=True, slots=True)
class HermesConfig:
    """What a ``config.yaml`` says: its section ``memory``, and the text of the file; ``None`` for no file."""

    text: str | None = None
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def provider(self) -> str:
        """The memory provider that it names; empty for none, whatever word a release has for that."""
        said = str(self.memory.get("provider") or "").strip()
        return "" if said in _NO_PROVIDER else said

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
        """How many characters Hermes Agent allows its own file of that target."""
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


def usual_home() -> Home:
    """The home of ``HERMES_HOME``, else ``~/.hermes``; it need not exist."""
    return home_at(expand_user(os.environ.get("HERMES_HOME", "").strip() or "~/.hermes"))


def find_home(named: str | None = None, *, option: str = "--home DIR") -> Home:
    """The home in the folder ``named``; else the usual one. ``option`` is how a person names the folder."""
    home = home_at(expand_user(named)) if named else usual_home()
    if not home.path.is_dir():
        raise UnreadableError(
            "there is no home of Hermes Agent here",
            code="missing",
            path=home.path,
            hint=f"Name it with {option}, or set HERMES_HOME; Hermes Agent makes it when it first runs.",
        )
    if not (os.path.lexists(home.config) or os.path.lexists(home.memories)):
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
    """The home of the profile ``name`` of Hermes Agent, by default ``home`` itself, or all of them."""
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


def read_config(home: Home) -> HermesConfig:
    """What the ``config.yaml`` of a home says; nothing where there is none."""
    if not os.path.lexists(home.config):
        return HermesConfig()
    with errors_at(home.config):
        # A person may keep the file elsewhere, with a link in its place.
        text = decode(read_bounded(home.config, SIZE))
    memory = parse_config(text, home.config).get("memory")
    if memory is not None and not isinstance(memory, dict):
        raise _broken(home.config, "memory is no mapping")
    return HermesConfig(text, memory or {})


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


def _broken(path: Path, why: str, line: int | None = None) -> ConfigError:
    return ConfigError(
        f"Hermes Agent's configuration cannot be read: {why}",
        code="hermes_config",
        path=path,
        line=line,
        hint="Nothing was changed. Mend it first; 'hermes config check' helps.",
    )


# --- catmem.json: the root and the profile of a home -----------------------------------------------------------------


class HermesSettings(NamedTuple):
    """What the provider reads: a profile of a root."""

    root: Path
    profile: str

    def to_text(self, home: Home) -> str:
        said = {"version": _VERSION, "for": home.name, "root": str(self.root), "profile": self.profile}
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def read_settings(home: Home) -> HermesSettings | None:
    """The settings of a home; ``None`` if there are none and no root lies at Hermes's own folder either."""
    if os.path.lexists(home.settings):
        return parse_settings(read_bounded(home.settings, SIZE), home)
    return HermesSettings(home.root, home.name) if os.path.lexists(home.root / CONFIG_NAME) else None


def parse_settings(data: bytes, home: Home) -> HermesSettings:
    """The settings that the bytes of a ``catmem.json`` hold. Raises ``ConfigError``."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _wrong(home, "it is no JSON") from error
    if not isinstance(said, dict) or said.get("version") != _VERSION:
        raise _wrong(home, f"it holds no object with the version {_VERSION}")
    unknown = next((key for key in said if key not in _KEYS), None)
    if unknown is not None:
        raise _wrong(home, f"the key {shown(unknown)} is not known here")
    if said.get("for", home.name) != home.name:
        raise ConfigError(
            f"these settings are those of {shown(said['for'])}, and this is the home of {home.name}",
            code="hermes_copied",
            path=home.settings,
            hint="Was the home copied, or the profile renamed? 'catmem hermes install' sets it up for this one.",
        )
    root, profile = said.get("root"), said.get("profile")
    if not isinstance(root, str) or not root:
        raise _wrong(home, "root names no folder")
    if not isinstance(profile, str) or not is_name(profile):
        raise _wrong(home, f"{shown(profile)} cannot be the name of a profile")
    return HermesSettings(Path(os.path.normpath(home.path / expand_user(root))), profile)


def _wrong(home: Home, why: str) -> ConfigError:
    return ConfigError(
        f"these settings are not right: {why}",
        code="hermes_settings",
        path=home.settings,
        hint="'catmem hermes install' writes them anew once the file is moved away; docs/hermes.md lists the keys.",
    )


def refuse_link(home: Home) -> None:
    """Raise ``UnreadableError`` (``symlink``) if the settings are a link: the file may be that of another home."""
    if home.settings.is_symlink():
        raise UnreadableError(
            "is a symbolic link, and the settings of a home are not written through links",
            code="symlink",
            path=home.settings,
            hint="Nothing was changed. Put the file itself there, or move the link away.",
        )


def write_settings(home: Home, settings: HermesSettings) -> None:
    """Write the settings of a home, whole or not at all. Raises ``UnreadableError`` (``symlink``, ``not_writable``)."""
    refuse_link(home)
    hint = "Check the rights of the folder and the space on the disk."
    with os_errors("cannot be written", path=home.settings, hint=hint):
        replace_file(home.settings, settings.to_text(home).encode())


# --- a root over the homes: ``catmem init --from-hermes`` ------------------------------------------------------------

PROFILES = "catmem-profiles"

_ROOT = """\
# The root of the memory of these profiles of Hermes Agent, whose own files stay as they are.
version: 1
profiles: {profiles}
# Where Hermes Agent keeps USER.md and MEMORY.md; those of its profile 'default' are in memories/.
homes: profiles/{{name}}/memories
limits: {{user: {user}, memory: {memory}}}   # characters, as Hermes Agent counts them
"""

_PROFILE = """\
# The profile {name} of Hermes Agent, which keeps its own two files, as before.
name: {name}
tier: {tier}
{more}
# With "*" it sees and writes everything in these. Name categories here and take out include_uncategorized: then its
# prompt has no entry of another category, or of none.
{lists}"""


def make_root(named: str | None, *, dry_run: bool) -> tuple[NewRoot, dict[str, CatmemError]]:
    """``make_root_over`` the home in the folder ``named``, for ``catmem init --from-hermes``."""
    return make_root_over(find_home(named, option="catmem init --from-hermes DIR"), dry_run=dry_run)


def make_root_over(home: Home, *, dry_run: bool = False) -> tuple[NewRoot, dict[str, CatmemError]]:
    """Write a ``catmem.yaml`` and the profiles into the folder of all homes; files that are there stay as they are."""
    limits: dict[str, dict[str, int]] = {}
    skipped: dict[str, CatmemError] = {}
    for name, each in all_homes(home).items():
        try:
            config = read_config(each)
            limits[name] = {target: config.limit(target) for target in HERMES_LIMITS}
        except CatmemError as error:
            if name == DEFAULT:
                raise
            skipped[name] = error
    texts = {
        CONFIG_NAME: _ROOT.format(profiles=PROFILES, **limits[DEFAULT]),
        **{f"{PROFILES}/{name}.yaml": _profile(name, limits) for name in limits},
    }
    there = [name for name in texts if os.path.lexists(home.root / name)]
    # A profile that is there may have been edited since; the root itself has to be the one that this makes.
    if CONFIG_NAME in there and not has_bytes(home.root / CONFIG_NAME, texts[CONFIG_NAME].encode()):
        raise WouldOverwriteError(home.root, [CONFIG_NAME])
    written = [name for name in texts if name not in there]
    refuse_what_is_there(home.root, written, is_there=False)
    hint = "What was written before stays; running it again goes on."
    with os_errors("cannot be written", path=home.root, hint=hint, named=True):
        for name in written if not dry_run else ():
            put_new(home.root / name, texts[name].encode())
    made = NewRoot(
        home.root, tuple(written), tuple(there), source=DEFAULT, folder=PROFILES, next=_next(home.root, written)
    )
    return made, skipped


def _next(root: Path, written: Sequence[str]) -> tuple[str, ...]:
    """The commands to type after a new root."""
    there = [Path(name).stem for name in written if name.startswith(f"{PROFILES}/")]
    names = " ".join(f"--profile {name}" for name in there if role_of(name)) or "--profile finance"
    return (
        f"cd {printable(shown_path(root.absolute()))}",
        f"catmem init {names}    # and others, also new ones: each then sees the categories of its kind",
        f"catmem sort -p {DEFAULT}",
        f"catmem seed {DEFAULT} --all",
        "catmem hermes install --home . --all --dry-run",
    )


def _profile(name: str, limits: dict[str, dict[str, int]]) -> str:
    if name == DEFAULT:
        return _PROFILE.format(name=name, tier=1, more="memory_dir: memories\n", lists=package_text(SEES_ALL))
    more = f"# seed_from: {DEFAULT}   # then 'catmem seed {DEFAULT} --all' copies what it may read from there\n"
    more += f"# 'catmem init --profile {name}' does this, and names the categories of its kind below.\n"
    if limits[name] != limits[DEFAULT]:
        more += "limits: {{user: {user}, memory: {memory}}}\n".format(**limits[name])
    return _PROFILE.format(name=name, tier=2, more=more, lists=package_text(SEES_ALL))
