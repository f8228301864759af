"""Put the memory provider into homes of Hermes Agent, take it out again, and say how it stands.

::

    plan_install ── Step (the files to write, the text of config.yaml) ── apply_step
    plan_uninstall ┘                     shown first

What ``install`` did is on record in the plugin's folder, with a copy of ``config.yaml`` as it was: ``uninstall`` puts
back those bytes, or, where the file changed since, the keys alone.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catmem.digest import bytes_digest
from catmem.errors import ConfigError
from catmem.files import os_errors, read_bounded, replace_file, rewrite_file
from catmem.names import FILE_NAMES
from catmem.plugins.hermes.setup_config import with_memory
from catmem.plugins.hermes.setup_homes import (
    HermesConfig,
    HermesSettings,
    Home,
    read_config,
    refuse_link,
    refuse_other_version,
    settings_path,
)
from catmem.text import DEFAULT_LIMITS

FOLDER = "plugins/catmem"
MARK = "Written by 'catmem hermes install'; 'catmem hermes uninstall' removes it."

# Hermes Agent looks for the word register_memory_provider in the first 8,192 characters.
_INIT = f'''"""catmem as the memory provider of Hermes Agent.

{MARK}
"""

import logging
import sys

try:
    from catmem.plugins.hermes import plugin as _plugin
except ImportError as error:
    logging.getLogger("catmem.plugins.hermes").error(
        "The memory provider catmem is switched on, and the Python of Hermes Agent cannot import it (%s). This "
        "conversation has no memory of catmem. 'catmem hermes status' has the command that installs it for %s",
        error,
        sys.executable,
    )
    raise


def register(ctx):
    """Called by Hermes Agent, which takes what goes to ctx.register_memory_provider()."""
    _plugin.register(ctx)
'''

_MANIFEST = f"""\
# {MARK}
name: catmem
version: 1.0.0
description: Categorized memory, each profile its own categories (catmem)
kind: exclusive
"""

FILES = {"__init__.py": _INIT, "plugin.yaml": _MANIFEST}
"""The texts of the plugin by name, in the folder ``FOLDER`` of a home.

They stay the same over versions of catmem: what they do is ``catmem.plugins.hermes.plugin``, in the installed package.
"""

RECORD = "before.json"
BACKUP = "config.yaml.before"
_SIZE = 1 << 20
_RECORD_VERSION = 1

KEEP_TOOL = {"memory_enabled": "false", "user_profile_enabled": "true", "provider": "catmem"}
"""What ``memory`` in ``config.yaml`` says from then on, if Hermes Agent's own memory tool is to go on."""
SWITCH_OVER = {"memory_enabled": "false", "user_profile_enabled": "false", "provider": "catmem"}
"""The same if all memory in the prompt is to come from catmem, filtered."""


@dataclass(frozen=True, slots=True)
class SetupStep:
    """What is to be done in one home: files to write, files to remove, and ``config.yaml`` before and after.

    ``folders`` are those to remove where they are left empty. ``notes`` are for the person who decides.
    """

    home: Home
    done: str
    writes: dict[Path, bytes] = field(default_factory=dict)
    removes: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    before: str = ""
    after: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.writes or self.removes) or self.before != self.after


def plan_install(
    home: Home,
    settings: HermesSettings,
    folder: Path | None = None,
    *,
    keep_tool: bool = False,
    any_version: bool = False,
) -> SetupStep:
    """What would put the provider into a home. Nothing is written.

    ``folder`` is where the profile keeps its files, if that is not where Hermes Agent does. With ``keep_tool`` Hermes
    Agent's own memory tool goes on, and so does its showing the whole ``USER.md``.
    Raises ``ConfigError`` (``hermes_no_config``, ``hermes_config``, ``hermes_version``, ``hermes_by_hand``,
    ``hermes_in_the_way``) and ``UnreadableError``, among others for settings that are a link (``symlink``).
    """
    config = read_config(home)
    if config is None:
        raise ConfigError(
            "this home of Hermes Agent has no config.yaml",
            code="hermes_no_config",
            path=home.config,
            hint="Nothing was changed. Set Hermes Agent up first ('hermes setup'), then run this again.",
        )
    if not any_version:
        refuse_other_version(home, config)
    record, now = _read_record(home), bytes_digest(config.text.encode())
    _refuse_other_plugin(home, now if record is None else record["backup"])
    refuse_link(home)
    wanted = KEEP_TOOL if keep_tool else SWITCH_OVER
    after, was = with_memory(config.text, wanted, home.config)
    writes: dict[Path, bytes] = {home.path / FOLDER / name: text.encode() for name, text in FILES.items()}
    writes[settings_path(home)] = settings.to_text(home).encode()
    if record is None:
        record = {
            "version": _RECORD_VERSION,
            "had_plugins": (home.path / "plugins").is_dir(),
            "settings": _text(settings_path(home)),
            "backup": now,
        }
        writes[home.path / FOLDER / BACKUP] = config.text.encode()
    if now == record["backup"]:
        record["memory"] = was
        record["had_section"] = "memory" in config.data
        record["digest"] = now
    elif now != record["digest"]:
        record = _changed_since(record, config, was)
    if record["digest"] is not None:
        record["digest"] = bytes_digest(after.encode())
    record["set"] = wanted
    writes[home.path / FOLDER / RECORD] = (json.dumps(record, indent=2) + "\n").encode()
    writes = {path: data for path, data in writes.items() if not _holds(path, data)}
    notes = _notes_on_files(home, folder or home.memories, keep_tool=keep_tool)
    if config.provider and config.provider != "catmem":
        notes.append(f"the memory provider {config.provider} is switched off; uninstall switches it on again")
    return SetupStep(home, "installed", writes, before=config.text, after=after, notes=tuple(notes))


def plan_uninstall(home: Home) -> SetupStep:
    """What would take the provider out of a home again. Nothing is written.

    Raises ``ConfigError`` (``hermes_not_installed``, ``hermes_config``, ``hermes_by_hand``, ``hermes_in_the_way``) and
    ``UnreadableError``.
    """
    folder, config = home.path / FOLDER, read_config(home)
    record = _read_record(home)
    if record is None:
        raise ConfigError(
            "catmem is not installed in this home of Hermes Agent",
            code="hermes_not_installed",
            path=home.path,
            hint="Nothing was changed. 'catmem hermes status --all' shows where it is.",
        )
    _refuse_other_plugin(home, record["backup"])
    refuse_link(home)
    ours = {folder / name for name in (*FILES, RECORD, BACKUP)} | {settings_path(home)}
    ours |= set((folder / "__pycache__").glob("*.pyc"))
    folders = [folder / "__pycache__", folder]
    folders += [] if record["had_plugins"] else [folder.parent]
    before, notes = "" if config is None else config.text, []
    after = before
    if config is not None:
        if bytes_digest(before.encode()) == record["digest"] and os.path.lexists(folder / BACKUP):
            after = read_bounded(folder / BACKUP, _SIZE).decode()
        else:
            still = {key for key, said in record["set"].items() if _says(config.memory.get(key), said)}
            was = {key: old for key, old in record["memory"].items() if key in still}
            after, _ = with_memory(before, was, home.config, keeps_section=record["had_section"])
            notes.append("config.yaml changed since: only what catmem had set there goes back to what it was")
    writes: dict[Path, bytes] = {}
    if record["settings"] is not None:
        ours.discard(settings_path(home))
        writes = {settings_path(home): record["settings"].encode()}
    # The record goes last: without it the rest could not be recognised.
    removes = sorted((path for path in ours if os.path.lexists(path)), key=lambda path: (path.name == RECORD, path))
    return SetupStep(home, "uninstalled", writes, tuple(removes), tuple(folders), before, after, tuple(notes))


def apply_step(step: SetupStep) -> None:
    """Carry out a step. Raises ``UnreadableError`` (``not_writable``) and ``ChangedMeanwhileError``.

    The provider is whole before ``config.yaml`` names it, and no longer named before it goes.
    """
    with os_errors(
        "cannot be written",
        path=step.home.path,
        hint="Check the rights of the folder and the space on the disk, then run it again: it goes on.",
        named=True,
    ):
        for path, data in step.writes.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)  # the copy of a configuration may hold secrets, so no other user reads it
        if step.before != step.after:
            rewrite_file(step.home.config, step.before.encode(), step.after.encode())
        for path in step.removes:
            path.unlink(missing_ok=True)
        for folder in step.folders:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def installed(home: Home) -> bool:
    """Whether the plugin of catmem is in a home, whatever ``config.yaml`` says."""
    path = home.path / FOLDER / "__init__.py"
    return os.path.lexists(path) and MARK in read_bounded(path, _SIZE).decode(errors="replace")


def _notes_on_files(home: Home, folder: Path, *, keep_tool: bool) -> list[str]:
    """What to know where catmem reads other files than those of Hermes Agent."""
    if os.path.realpath(folder) == os.path.realpath(home.memories):
        return []
    if keep_tool:
        return [f"Hermes Agent's own tool goes on writing to {home.memories}, and catmem reads {folder}"]
    files = [path for name in FILE_NAMES.values() if (path := home.memories / name).is_file()]
    left = [path.name for path in files if read_bounded(path, DEFAULT_LIMITS.file_bytes).strip()]
    if not left:
        return []
    return [f"{' and '.join(left)} in {home.memories} will not be shown any more: catmem reads {folder}"]


def _changed_since(record: dict[str, Any], config: HermesConfig, was: dict[str, str | None]) -> dict[str, Any]:
    """The record where a person edited ``config.yaml`` since it was made.

    The bytes of the backup are not to come back, and a key that was set since goes back to that.
    """
    since = {key: old for key, old in was.items() if not _says(config.memory.get(key), record["set"].get(key))}
    had_section = record["had_section"] and "memory" in config.data
    return {**record, "memory": {**record["memory"], **since}, "had_section": had_section, "digest": None}


def _refuse_other_plugin(home: Home, backup: str) -> None:
    """Refuse files that catmem would write over or remove and did not write; ``backup`` is the digest of its copy."""
    folder = home.path / FOLDER
    if folder.is_symlink():
        raise _in_the_way(folder)
    for name in FILES:
        path = folder / name
        if os.path.lexists(path) and MARK not in read_bounded(path, _SIZE).decode(errors="replace"):
            raise _in_the_way(path)
    path = folder / BACKUP
    if os.path.lexists(path) and bytes_digest(read_bounded(path, _SIZE)) != backup:
        raise _in_the_way(path)


def _in_the_way(path: Path) -> ConfigError:
    return ConfigError(
        "is in the way: the plugin called catmem goes there, and catmem did not write this",
        code="hermes_in_the_way",
        path=path,
        hint="Nothing was changed. Move it away first.",
    )


def _read_record(home: Home) -> dict[str, Any] | None:
    path = home.path / FOLDER / RECORD
    if not os.path.lexists(path):
        return None
    try:
        record = json.loads(read_bounded(path, _SIZE))
        whole = record["version"] == _RECORD_VERSION and isinstance(record["memory"], dict)
        whole = whole and {"had_section", "had_plugins", "settings", "set", "digest", "backup"} <= set(record)
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise ConfigError(
            "the record of what was installed is not whole",
            code="hermes_record",
            path=path,
            hint=f"Nothing was changed. {BACKUP} beside it is config.yaml as it was; put that back by hand and remove "
            "the folder.",
        )
    return dict(record)


def _holds(path: Path, data: bytes) -> bool:
    return os.path.lexists(path) and path.is_file() and read_bounded(path, _SIZE) == data


def _text(path: Path) -> str | None:
    return read_bounded(path, _SIZE).decode() if os.path.lexists(path) else None


def _says(value: object, said: str) -> bool:
    return value == {"true": True, "false": False}.get(said, said)
