"""What ``sync`` of catmem.yaml declares, and the table of harnesses: whose memory stands in which files, and where.

The table says how much of its files a harness reads, and what must not be made there. Rows that are ``tried`` are held
against readers made from the harness's documented rules (``tests/harnesses``); the others are by this table alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from catmem.config.config import Config, expand_user
from catmem.config.profile import profile_names
from catmem.config.yamlfile import load_yaml
from catmem.errors import ConfigError, ErrorPlace, UnknownNameError
from catmem.files import shown_path
from catmem.text import BOM, unify_newlines
from catmem.workspace.root import Root, run_git

SyncScope = Literal["user", "project", "local"]
_COMMENT = re.compile(r"(?ms)^ {0,3}<!--.*?-->[ \t]*$\n?")
_FENCED = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)")
_FRONT = re.compile(rf"\A{BOM}?---[ \t]*\n.*?^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Harness:
    """One harness. ``where`` gives, by scope, a folder that has to be there and the file below it.

    ``targets`` are the files of each part of the memory, where there is more than one. ``lines`` and ``characters``
    bound what catmem writes; ``whole`` says of a whole file, and its name, what counts of it and how much may.
    ``masks`` names files that are not read any more where the file is made, and ``masked_by`` one that hides it.
    """

    said: str
    where: Mapping[str, tuple[str, str]]
    shape: Literal["block", "file"] = "block"
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("user", "memory")})
    at_top: bool = False
    imports: bool = False
    lines: int = 400
    characters: int = 12_000
    whole: Callable[[str, str], tuple[int, int]] | None = None
    masks: tuple[str, ...] = ()
    masked_by: str | None = None
    front: str = ""
    counts: str = "the next session"
    tried: bool = False


def _claude_memory(text: str, _: str) -> tuple[int, int]:
    """What Claude Code counts of a MEMORY.md, as a part of 25,000 bytes: of 200 lines or of the bytes, what is more."""
    shown = memory_view(text)
    return max(len(shown.encode()), shown.rstrip("\n").count("\n") * 125 + 125 if shown.strip() else 0), 25_000


def memory_view(text: str) -> str:
    """A MEMORY.md without its front matter, and without comments that stand outside of code."""
    text = _FRONT.sub("", unify_newlines(text))
    made, at = "", 0
    for code in _FENCED.finditer(text):
        made, at = made + _COMMENT.sub("", text[at : code.start()]) + code[0], code.end()
    return made + _COMMENT.sub("", text[at:])


def _openclaw(text: str, name: str) -> tuple[int, int]:
    return len(text), 4_000 if name == "USER.md" else 20_000


def own_folders() -> dict[str, str]:
    """The folders that harnesses let a user move, by what templates call them."""
    moved = {"claude": os.environ.get("CLAUDE_CONFIG_DIR"), "codex": os.environ.get("CODEX_HOME")}
    return {name: folder or f"~/.{name}" for name, folder in moved.items()}


_CODEX_LIMIT = 32_768
"""Bytes of all AGENTS.md from the top of a project down."""
_RULES = "catmem-{name}"

HARNESSES: Mapping[str, Harness] = {
    "claude-agent": Harness(
        "the memory of a subagent of Claude Code",
        {
            "user": ("{claude}", "agent-memory/{agent}/MEMORY.md"),
            "project": ("{project}", ".claude/agent-memory/{agent}/MEMORY.md"),
            "local": ("{project}", ".claude/agent-memory-local/{agent}/MEMORY.md"),
        },
        at_top=True,
        imports=True,
        lines=120,
        whole=_claude_memory,
        counts="the next start of the subagent",
        tried=True,
    ),
    "claude": Harness(
        "the instructions of Claude Code",
        {
            "user": ("{claude}", "CLAUDE.md"),
            "project": ("{project}", "CLAUDE.md"),
            "local": ("{project}", "CLAUDE.local.md"),
        },
        imports=True,
        masks=("AGENTS.md",),
        counts="the next session, /clear or /compact",
        tried=True,
    ),
    "claude-rules": Harness(
        "a rules file of Claude Code",
        {
            "user": ("{claude}", f"rules/{_RULES}.md"),
            "project": ("{project}", f".claude/rules/{_RULES}.md"),
        },
        "file",
        imports=True,
        tried=True,
    ),
    "codex": Harness(
        "the instructions of Codex",
        {"user": ("{codex}", "AGENTS.md"), "project": ("{project}", "AGENTS.md")},
        masks=("CLAUDE.md",),
        masked_by="AGENTS.override.md",
        counts="the next run",
        tried=True,
    ),
    "openclaw": Harness(
        "the workspace of an agent of OpenClaw",
        {"user": ("{workspace}", "{part}")},
        targets={"USER.md": ("user",), "MEMORY.md": ("memory",)},
        whole=_openclaw,
        counts="the next turn (USER.md), the next session (MEMORY.md)",
        tried=True,
    ),
    "openclaw-agents": Harness(
        "AGENTS.md of an agent of OpenClaw, which its sub-agents get",
        {"user": ("{workspace}", "AGENTS.md")},
        whole=_openclaw,
        tried=True,
    ),
    "copilot": Harness(
        "an instructions file of GitHub Copilot",
        {
            "user": ("~/.copilot", f"instructions/{_RULES}.instructions.md"),
            "project": ("{project}", f".github/instructions/{_RULES}.instructions.md"),
        },
        "file",
        front='---\nname: "{name}"\napplyTo: "{apply_to}"\n---\n',
        counts="the next request",
        tried=True,
    ),
    "cursor": Harness(
        "a rule of Cursor",
        {"project": ("{project}", f".cursor/rules/{_RULES}.mdc")},
        "file",
        front="---\ndescription: Memory of {profile}\nalwaysApply: true\n---\n",
    ),
    "opencode": Harness(
        "an instructions file of OpenCode",
        {
            "user": ("~/.config/opencode", f"{_RULES}.md"),
            "project": ("{project}", f".opencode/{_RULES}.md"),
        },
        "file",
        counts='the next session, once "instructions" in opencode.json names the file',
    ),
    "gemini": Harness(
        "the context of Gemini CLI",
        {"user": ("~/.gemini", "GEMINI.md"), "project": ("{project}", "GEMINI.md")},
        imports=True,
        counts="the next session, or /memory reload",
    ),
    "kiro": Harness(
        "a steering file of Kiro",
        {
            "user": ("~/.kiro", f"steering/{_RULES}.md"),
            "project": ("{project}", f".kiro/steering/{_RULES}.md"),
        },
        "file",
        front="---\ninclusion: always\n---\n",
    ),
    "cline": Harness(
        "a rule of Cline",
        {
            "user": ("~/Documents/Cline", f"Rules/{_RULES}.md"),
            "project": ("{project}", f".clinerules/{_RULES}.md"),
        },
        "file",
    ),
    "zed": Harness("the instructions of Zed", {"user": ("~/.config/zed", "AGENTS.md")}),
}


# --- what is declared, and whether it may be written -----------------------------------------------------------------


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
    where: ErrorPlace = {"path": config.path, "line": line, "column": column, "key": f"sync.{name}.{key}"}
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
    folder, below = (sync.filled(each) for each in sync.row.where[sync.scope])
    base = config.root / expand_user(folder)
    for part, targets in sync.row.targets.items():
        yield SyncTarget(sync, part, targets, base, base / below.replace("{part}", part))


def refuse_place(workspace: Root, target: SyncTarget) -> None:
    """Refuse a file that may not be written, or that would hide others from the harness. Raises ``ConfigError``."""
    path, base, row = target.path, target.base, target.sync.row
    if not base.is_dir():
        what, hint = "the harness", "Start the harness once."
        if target.sync.scope != "user":
            what, hint = f"the project of sync.{target.sync.name}", "Nothing was written. Mend the path."
        raise ConfigError(f"no such folder: {what} is not here", code="no_harness", path=base, hint=hint)
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
    return total, _CODEX_LIMIT
