"""What ``sync`` of catmem.yaml declares: whose memory stands in which files, and whether these may be written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from catmem.config.config import Config, expand_user
from catmem.config.profile import profile_names
from catmem.config.yamlfile import load_yaml
from catmem.errors import ConfigError, UnknownNameError
from catmem.files import shown_path
from catmem.plugins.harnesses.harness_table import CODEX_LIMIT, HARNESSES, Harness, own_folders
from catmem.workspace.root import Root, run_git


@dataclass(frozen=True, slots=True)
class DeclaredSync:
    """One name of ``sync``, as the configuration has it and with its defaults."""

    name: str
    profile: str
    row: Harness
    scope: str
    said: Mapping[str, Any]

    @property
    def agent(self) -> str:
        """The name of the subagent: those of Claude Code have no underscore."""
        return str(self.said.get("agent", self.profile.replace("_", "-")))

    @property
    def edits(self) -> str:
        """What becomes of an agent's changes."""
        return str(self.said.get("edits", "propose"))

    def filled(self, template: str) -> str:
        """A template of the table with what is declared in it."""
        values = {"agent": self.agent, "workspace": "~/.openclaw/workspace", "apply_to": "**", **self.said}
        return template.format_map({**values, **own_folders(), "name": self.name, "part": "{part}"})


class SyncTarget(NamedTuple):
    """A file of a sync: the parts of the memory that it holds, and the folder that has to be there already."""

    sync: DeclaredSync
    part: str
    targets: tuple[str, ...]
    base: Path
    path: Path


def declared_syncs(config: Config) -> dict[str, DeclaredSync]:
    """What is declared, by its name. Raises ``ConfigError`` (``bad_sync``) with the place in catmem.yaml."""
    found: dict[str, DeclaredSync] = {}
    for name, said in config.sync.items():
        row = HARNESSES[said["harness"]]
        usual = ("local", "project", "user") if "project" in said else ("user",)
        scope = str(said.get("scope") or next((each for each in usual if each in row.where), ""))
        if scope not in row.where:
            has = ", ".join(row.where)
            what = f"has no file of the scope {scope}" if scope else "needs the folder of a project"
            raise _fault(config, name, "harness", f"{said['harness']} {what}", f"It has: {has}. Give project: DIR.")
        if scope != "user" and "project" not in said:
            raise _fault(config, name, "scope", f"the scope {scope} needs a project", "Give project: DIR.")
        found[name] = DeclaredSync(name, said["profile"], row, scope, said)
    return found


def _fault(config: Config, name: str, key: str, message: str, hint: str) -> ConfigError:
    line = column = None
    if config.path is not None:
        places = load_yaml(config.path).positions
        line, column = places.get(("sync", name, key)) or places.get(("sync", name)) or (None, None)
    where: dict[str, Any] = {"path": config.path, "line": line, "column": column, "key": f"sync.{name}.{key}"}
    return ConfigError(message, code="bad_sync", hint=hint, **where)


def chosen_syncs(config: Config, names: tuple[str, ...]) -> list[DeclaredSync]:
    """Those of these names; all, if there are none. Raises ``UnknownNameError``."""
    declared = declared_syncs(config)
    for name in names:
        if name not in declared:
            raise UnknownNameError(
                f"catmem.yaml declares no sync {name!r}",
                code="unknown_sync",
                hint=f"It declares {', '.join(declared) or 'none'}. Or: catmem sync --profile NAME --to HARNESS",
            )
    return [declared[name] for name in names or declared]


def targets_of(config: Config, sync: DeclaredSync) -> Iterator[SyncTarget]:
    """The files of a sync."""
    folder, below = (sync.filled(each) for each in sync.row.where[sync.scope])
    base = config.root / expand_user(folder)
    for part, targets in sync.row.targets.items():
        yield SyncTarget(sync, part, targets, base, base / below.replace("{part}", part))


def refuse_place(workspace: Root, target: SyncTarget) -> None:
    """Refuse a file that may not be written, or that would hide others from the harness. Raises ``ConfigError``."""
    path, base, row = target.path, target.base, target.sync.row
    if not base.is_dir():
        hint = "Start the harness once."
        raise ConfigError("no such folder: the harness is not here", code="no_harness", path=base, hint=hint)
    real = Path(os.path.realpath(path))  # a circle of links is no error here
    inside = [base.resolve()] + ([Path.home().resolve()] if target.sync.scope == "user" else [])
    if not any(real.is_relative_to(each) for each in inside):
        said = f"leads to {real}, outside of {shown_path(base)}"
        hint = "Nothing was written. Remove the link, or name the folder itself."
        raise ConfigError(said, code="sync_outside", path=path, hint=hint)
    if any(real.parent == workspace.config.home(name).resolve() for name in _profiles(workspace)):
        hint = "Name another folder: catmem would write its own text into its memory."
        raise ConfigError("is a memory file of this root", code="sync_outside", path=path, hint=hint)
    if not target.sync.said.get("shared") and _is_seen_by_git(real):
        hint = (
            f"It is personal. Add a line for it to .git/info/exclude, or say shared: true in sync.{target.sync.name}."
        )
        raise ConfigError("git would see this file, and with it the memory", code="seen_by_git", path=path, hint=hint)
    over = path.with_name(row.masked_by) if row.masked_by else None
    if over is not None and over.is_file() and over.read_bytes().strip():
        said = f"is not read: {over.name} stands beside it"
        raise ConfigError(said, code="masked", path=path, hint=f"Remove {over.name}, or put the text there by hand.")
    if target.sync.scope != "user" and not os.path.lexists(path):
        for masked in (folder / name for folder in project_folders(base) for name in row.masks):
            if masked.is_file() and not any((masked.parent / name).exists() for name in _UNMASKED.get(masked.name, ())):
                hint = f"Make it yourself with the line @{masked.name}, or name another harness (claude-rules)."
                said = f"with this file there, {masked.name} is read no more"
                raise ConfigError(said, code="masked", path=path, hint=hint)


_UNMASKED = {"AGENTS.md": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"), "CLAUDE.md": ("AGENTS.md",)}
"""Where one of these is there, the file is masked already."""


def _profiles(workspace: Root) -> list[str]:
    return profile_names(workspace.config.profiles_dir)


def _is_seen_by_git(path: Path) -> bool:
    """Whether the file is in a work tree of git, and git does not ignore it."""
    if not any(os.path.lexists(folder / ".git") for folder in path.parents):
        return False
    there = next(folder for folder in path.parents if folder.is_dir())
    try:
        return run_git("-C", str(there), "check-ignore", "-q", "--", str(path)).returncode != 0
    except OSError:
        return True  # without git it cannot be known


def project_folders(folder: Path) -> list[Path]:
    """The folders from the top of a project, where git begins, down to this one; this one alone outside of git."""
    chain = [folder, *folder.parents]
    top = next((place for place, each in enumerate(chain) if os.path.lexists(each / ".git")), 0)
    return chain[top::-1]


def codex_room(target: SyncTarget, size: int) -> tuple[int, int]:
    """Bytes of all AGENTS.md of a project, with ``size`` for this one, and how many of them Codex reads."""
    if target.sync.scope == "user":
        return size, size
    total = size
    for folder in project_folders(target.base):
        there = [folder / name for name in ("AGENTS.override.md", "AGENTS.md") if (folder / name).is_file()]
        sizes = [each.stat().st_size for each in there if each.stat().st_size]
        total += sizes[0] if sizes and folder != target.base else 0
    return total, _codex_limit()


def _codex_limit() -> int:
    import tomllib

    try:
        said = tomllib.loads(Path(expand_user(own_folders()["codex"]), "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return CODEX_LIMIT
    limit = said.get("project_doc_max_bytes", CODEX_LIMIT)
    return limit if isinstance(limit, int) and limit > 0 else CODEX_LIMIT
